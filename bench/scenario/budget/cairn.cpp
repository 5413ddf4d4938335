// Trains the model of another scenario within a part of the memory that its plain form takes. The compiler is given the
// folder of that scenario.
#include "model.hpp"

int main(int count, char** arguments) { contestant::train_within<loss, by_adamw>(count, arguments, feed); }
