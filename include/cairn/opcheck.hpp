#pragma once
#include "cairn/testing/opcheck.hpp"
