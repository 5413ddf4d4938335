// The arguments of the training programs. They are read in a source file of their own, because compiling CLI11 takes
// as long as compiling a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace training {

struct arguments {
  std::string name, about;
  int epochs;
  double lr;
  int threads;
  std::string picture = {};  ///< file for the picture of a training step's memory; empty for no picture
  std::string run = {};      ///< folder for weights, log and profile; empty for no folder
  bool resume = false;
  bool writes = false;                     ///< true for a program that learns to write; only then can there be a prompt
  std::optional<std::string> prompt = {};  ///< text to continue with the weights of a run, instead of training
  std::uint64_t seed = 1;
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::string data_is = "FOLDER", about_data = "the four gzipped IDX files";
  std::string about_epochs = "number of times through the training set";
  std::int64_t warm_up = 0;  ///< number of training steps in which the learning rate rises to the given one
  std::string again = {};    ///< command line that continues this run
};

/// Reads the arguments. If arguments are wrong or ask for help, the function ends the program.
arguments read(int argc, char** argv, arguments given);

}  // namespace training
