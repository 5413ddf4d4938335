#include "model.hpp"

int main(int count, char** arguments) {
  contestant::train_either<loss, by_adamw, update<by_adamw>>(contestant::arguments(count, arguments), feed);
}
