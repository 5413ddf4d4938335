// The model of another scenario, whose folder the compiler is given, in a part of the memory that plain takes.
#include "model.hpp"

int main(int count, char** arguments) { contestant::train_within<loss, by_adamw>(count, arguments, feed); }
