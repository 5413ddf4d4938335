// Trains the model of another scenario within a part of its plain arena. The folder of this scenario is on the include
// path.
#include "model.hpp"

int main(int count, char** arguments) { contestant::train_within<loss, by_adamw>(count, arguments, feed); }
