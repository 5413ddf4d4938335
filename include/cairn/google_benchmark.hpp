#pragma once
#include "cairn/testing/google_benchmark.hpp"
