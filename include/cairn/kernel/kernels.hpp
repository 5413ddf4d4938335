// Every operation's kernel.
#pragma once

#include "cairn/kernel/comparison.hpp"
#include "cairn/kernel/concatenate.hpp"
#include "cairn/kernel/convert.hpp"
#include "cairn/kernel/convolution.hpp"
#include "cairn/kernel/dropout.hpp"
#include "cairn/kernel/elementwise.hpp"
#include "cairn/kernel/extremum.hpp"
#include "cairn/kernel/gather.hpp"
#include "cairn/kernel/loss.hpp"
#include "cairn/kernel/matmul.hpp"
#include "cairn/kernel/moments.hpp"
#include "cairn/kernel/pool.hpp"
#include "cairn/kernel/reduce.hpp"
#include "cairn/kernel/softmax.hpp"
#include "cairn/kernel/transpose.hpp"
#include "cairn/kernel/update.hpp"
