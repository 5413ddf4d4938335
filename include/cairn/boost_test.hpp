#pragma once
#include "cairn/testing/boost_test.hpp"
