#include "model.hpp"

int main(int count, char** words) {
  const contestant::arguments given(count, words);
  if (given.form.starts_with("microbatch4"))
    contestant::train_either<loss_of<batch / 4>, by_adamw, update<by_adamw>, microbatch<4>>(given, feed);
  else contestant::train<loss, by_adamw>(count, words, feed);
}
