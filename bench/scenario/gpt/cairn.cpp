#include "model.hpp"

int main(int count, char** arguments) { contestant::train<loss, by_adamw>(count, arguments, feed); }
