// The arguments of the programs that train. A file of its own reads them, for that takes compilers as long as a model.
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
  std::string picture = {};  ///< a file for the memory of a step; none where it is empty
  std::string run = {};      ///< a folder for weights, log and profile; none where it is empty
  bool resume = false;
  bool writes = false;  ///< whether it learns to write, so that there may be a prompt
  std::optional<std::string> prompt = {};  ///< what to write on from, by weights of a run, in place of training
  std::uint64_t seed = 1;
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::string data_is = "FOLDER", about_data = "the four gzipped IDX files";
  std::string about_epochs = "times through the training set";
  std::int64_t warm_up = 0;  ///< steps in which the learning rate rises to what is asked
  std::string again = {};    ///< the command line that goes on with this run
};

/// Arguments that are not understood, or the wish for help, end the program here.
arguments read(int argc, char** argv, arguments given);

}  // namespace training
