#pragma once
#include "cairn/testing/gradcheck.hpp"
