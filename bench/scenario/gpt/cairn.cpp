#include "model.hpp"

int main(int count, char** words) {
  const contestant::arguments given(count, words);
  using in_parts = program<loss_of<batch / 4>, update<by_adamw>, threads<2>, microbatch<4>>;
  if (given.form.starts_with("microbatch4")) contestant::train_program<in_parts, by_adamw>(given, feed);
  else contestant::train<loss, by_adamw>(count, words, feed);
}
