// The model of another scenario, whose folder is given to the compiler, within a part of the memory that it takes whole.
#include "model.hpp"

int main(int count, char** arguments) { contestant::train_within<loss, by_adamw>(count, arguments, feed); }
