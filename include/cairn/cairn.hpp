// cairn: activation checkpointing for statically typed models. Everything, in reading order.
#pragma once

#include "cairn/core/diagnose.hpp"  // first, so that messages come with few lines of includes
#include "cairn/expr/leaf.hpp"
#include "cairn/expr/elementwise.hpp"
#include "cairn/expr/view.hpp"
#include "cairn/expr/reduce.hpp"
#include "cairn/expr/linalg.hpp"
#include "cairn/expr/norm.hpp"
#include "cairn/expr/random.hpp"
#include "cairn/expr/loss.hpp"
#include "cairn/expr/compose.hpp"
#include "cairn/expr/checkpoint.hpp"
#include "cairn/nn/activation.hpp"
#include "cairn/nn/linear.hpp"
#include "cairn/nn/dropout.hpp"
#include "cairn/pass/compile.hpp"
#include "cairn/exec/program.hpp"
#include "cairn/train/optimizer.hpp"
#include "cairn/train/schedule.hpp"
#include "cairn/train/progress.hpp"
#include "cairn/data/batches.hpp"
#include "cairn/data/idx.hpp"
