// cairn: activation checkpointing for statically typed models. This header includes the language, programs, optimizers,
// batches of data and the progress of a training. Files, the training loop, reports and readers of data sets are
// headers of their own.
#pragma once

#include "cairn/base/macros_aside.hpp"

// g++ warns that a parameter of a lambda in a template shadows a global name of the user, if both are equal.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"  // extents are ints, sizes of std are not
#include "cairn/misuse/table.hpp"  // first, so that messages come with few lines of includes
#include "cairn/embedded.hpp"
#include "cairn/train/progress.hpp"
#include "cairn/data/batches.hpp"
#pragma GCC diagnostic pop

#include "cairn/base/macros_back.hpp"
