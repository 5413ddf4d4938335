// Saved programs. Saved numbers are loaded bit for bit, a run continues as if it had never ended, and a file that does
// not fit changes nothing.
#include "cairn/file/saving.hpp"

#include "cairn/cairn.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <sys/resource.h>
#include <vector>

#include "run/folder.hpp"

using namespace cairn;

namespace own {
/// Returns its argument. It throws after a given number of calls.
struct guarded_op : elementwise_op {
  static constexpr fixed_string name = "guarded";
  static constexpr auto vjp(auto g, auto, auto) { return gradients(g); }
  static inline int calls_left = 1000;
};
template <class V>
V lanewise(guarded_op, V x) {
  if (--guarded_op::calls_left < 0) throw std::runtime_error("called too often");
  return x;
}
// The operation is called once in the forward pass and once in the backward pass. When the backward pass calls it,
// `last` has already been updated.
constexpr auto guarded_loss = [] {
  const auto guarded = layer([](auto x) { return make<guarded_op>(x); });
  const auto segment = ckpt<"s", allow_useless>(nn::linear<"first", 1> | guarded | nn::linear<"mid", 4>);
  return mean(square(param<"start", 1, 4> | segment | nn::tanh | nn::linear<"last", 2>));
}();
}  // namespace own

namespace {

constexpr auto x = input<"x", 8, 6>;
constexpr auto hidden = x | nn::linear<"fc1", 16> | nn::batch_norm<"bn"> | nn::dropout<"drop", 0.2>;
constexpr auto result = hidden | nn::linear<"fc2", 2>;
constexpr auto loss = mean(square(result));

std::vector<float> batch(int i) {
  std::vector<float> numbers(8 * 6);
  for (std::size_t k = 0; k < numbers.size(); ++k)
    numbers[k] = static_cast<float>((k * 37 + static_cast<std::size_t>(i)) % 11);
  return numbers;
}
template <class Program>
std::vector<double> all_numbers(Program& step) {
  std::vector<double> all;
  step.for_each_parameter(
      [&](std::string_view, auto view) { all.insert(all.end(), view.data(), view.data() + view.size()); });
  return all;
}
using trained = program<loss, update<adamw_options{}>>;
void run(trained& step, int from, int to) {
  for (int i = from; i < to; ++i) step.train({.lr = 0.01}, bind<"x">(batch(i)));
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_SUITE(saving)

BOOST_AUTO_TEST_CASE(a_loaded_run_continues_as_if_it_had_not_ended) {
  const folder here;
  trained whole, before, after;
  for (trained* one : {&whole, &before, &after}) one->init(seed{7});
  run(whole, 0, 6);
  run(before, 0, 3);
  before.save((here.path / "run.safetensors"), file::metadata{{"epoch", "3"}});
  after.init(seed{8});
  run(after, 0, 1);
  const auto texts = after.load((here.path / "run.safetensors"));
  BOOST_TEST(texts.at("epoch") == "3");
  BOOST_TEST(after.steps() == 3);
  BOOST_TEST(after.random().from.value == 7U);
  run(after, 3, 6);
  BOOST_TEST(all_numbers(after) == all_numbers(whole));
}

BOOST_AUTO_TEST_CASE(names_of_tensors_are_pytorchs) {
  const folder here;
  trained step;
  step.init(seed{1});
  step.save((here.path / "run.safetensors"));
  const file::reader in((here.path / "run.safetensors"));
  std::vector<std::string> names;
  for (const auto& one : in.tensors()) names.push_back(one.name);
  const std::vector<std::string> expected{"bn.bias",  "bn.running_mean", "bn.running_var", "bn.weight",
                                          "fc1.bias", "fc1.weight",      "fc2.bias",       "fc2.weight"};
  std::vector<std::string> own;
  for (const auto& name : names) {
    if (!name.starts_with("optimizer.")) own.push_back(name);
  }
  BOOST_TEST(own == expected);
  BOOST_TEST(names.size() == 8U + 2 * 6);
  BOOST_TEST((in.find("optimizer.fc1.weight.exp_avg_sq")->shape == std::vector<std::int64_t>{16, 6}));
}

BOOST_AUTO_TEST_CASE(a_predictor_of_a_file_owns_its_parameters) {
  const folder here;
  trained step;
  step.init(seed{1});
  run(step, 0, 3);
  step.save((here.path / "run.safetensors"));
  predictor<result> shared{step}, own{here.path / "run.safetensors"};
  const auto input = batch(9);
  const auto a = shared(bind<"x">(input)), b = own(bind<"x">(input));
  BOOST_TEST(std::equal(a.data(), a.data() + a.size(), b.data()));
  predictor<hidden> part{here.path / "run.safetensors"};  // this predictor does not need all tensors of the file

  predictor<hidden> other{step};
  const auto c = part(bind<"x">(input)), d = other(bind<"x">(input));
  BOOST_TEST(std::equal(c.data(), c.data() + c.size(), d.data()));
}

BOOST_AUTO_TEST_CASE(all_mismatches_are_named_and_nothing_changes) {
  constexpr auto other = mean(square(x | nn::linear<"fc1", 12> | nn::linear<"extra", 12> | nn::linear<"fc2", 2>));
  const folder here;
  trained step;
  step.init(seed{1});
  run(step, 0, 2);
  const auto before = all_numbers(step);
  program<other> wrong;
  wrong.init(seed{1});
  wrong.save((here.path / "wrong.safetensors"));
  try {
    step.load((here.path / "wrong.safetensors"));
    BOOST_TEST(false);
  } catch (const mismatch_error& e) {
    const std::string said = e.what();
    BOOST_TEST(has(said, "\n  fc1.weight: expected {16, 6}, got {12, 6}"), said);
    BOOST_TEST(has(said, "\n  fc2.weight: expected {2, 16}, got {2, 12}"), said);
    BOOST_TEST(has(said, "\n  bn.running_mean: expected {16}, got nothing"), said);
    BOOST_TEST(has(said, "\n  extra.weight: expected nothing, got {12, 12}"), said);
    BOOST_TEST(!has(said, "fc2.bias"), said);
  }
  BOOST_TEST(all_numbers(step) == before);
  BOOST_TEST(step.steps() == 2);
}

constexpr auto scaled = layer([](auto h) { return h * param<"w", 6>; });
template <fixed_string Name>
constexpr auto deep = mean(square(x | repeat<12, Name>([](auto) { return scaled; })));
constexpr sgd_options with_momentum{.momentum = 0.9};

template <class Program>
std::string said_of(const std::string& path) {
  Program step;
  step.init(seed{1});
  try {
    step.load(path);
  } catch (const mismatch_error& e) {
    return e.what();
  }
  return "";
}
BOOST_AUTO_TEST_CASE(long_lists_of_mismatches_are_shortened) {
  const folder here;
  const std::string path = here.path / "run.safetensors";
  program<deep<"block">, update<adamw_options{}>> step;
  step.init(seed{1});
  step.save(path);
  const std::string others = said_of<program<deep<"part">, update<adamw_options{}>>>(path);
  BOOST_TEST(std::ranges::count(others, '\n') == 21);
  BOOST_TEST(others.ends_with("\n  and 4 more"), others);
  BOOST_TEST(has(others, "\n  part.0.w: expected {6}, got nothing\n"), others);
  BOOST_TEST(!has(others, "exp_avg"), others);
  const std::string moments = said_of<program<deep<"block">, update<with_momentum>>>(path);
  BOOST_TEST(has(moments, "\n  optimizer.block.11.w.momentum_buffer: expected {6}, got nothing"), moments);
}

BOOST_AUTO_TEST_CASE(weights_without_moments_start_a_new_run) {
  const folder here;
  program<loss> beside;
  beside.init(seed{3});
  beside.save((here.path / "weights.safetensors"));
  trained step, fresh;
  step.init(seed{1});
  run(step, 0, 2);
  step.load((here.path / "weights.safetensors"));
  fresh.init(seed{3});
  BOOST_TEST(step.steps() == 0);
  BOOST_TEST(step.random().from.value == 3U);
  run(step, 0, 2);
  run(fresh, 0, 2);
  BOOST_TEST(all_numbers(step) == all_numbers(fresh));  // the moments start from zero again, too
  step.save((here.path / "run.safetensors"));
  beside.load((here.path / "run.safetensors"));  // the file has moments, and `beside` ignores them
  BOOST_TEST(all_numbers(step) == all_numbers(beside));
}

BOOST_AUTO_TEST_CASE(parts_of_a_model_are_loaded_by_prefix) {
  constexpr auto encoder = x | block<"encoder">(nn::linear<"fc1", 16> | nn::gelu);
  constexpr auto old = mean(square(encoder | nn::linear<"head", 3>));
  constexpr auto tuned = mean(square(encoder | nn::linear<"head", 5>));
  constexpr auto renamed = mean(square(x | block<"body">(nn::linear<"fc1", 16> | nn::gelu) | nn::linear<"top", 5>));
  const folder here;
  program<old> before;
  before.init(seed{1});
  before.save((here.path / "old.safetensors"));
  program<tuned> step;
  step.init(seed{2});
  const std::vector<float> head(step.param<"head.weight">().data(), step.param<"head.weight">().data() + 80);
  step.load((here.path / "old.safetensors"), partly{"encoder"});
  BOOST_TEST(step.param<"encoder.fc1.weight">()(3, 2) == before.param<"encoder.fc1.weight">()(3, 2));
  BOOST_TEST(std::equal(head.begin(), head.end(), step.param<"head.weight">().data()));
  BOOST_TEST(step.random().from.value == 2U);
  program<renamed> other;
  other.init(seed{2});
  other.load((here.path / "old.safetensors"), partly{"body", "encoder"});
  BOOST_TEST(other.param<"body.fc1.weight">()(3, 2) == before.param<"encoder.fc1.weight">()(3, 2));
  BOOST_CHECK_THROW(step.load((here.path / "old.safetensors"), partly{"head"}), mismatch_error);
  BOOST_CHECK_THROW(step.load((here.path / "old.safetensors"), partly{"nowhere"}), mismatch_error);
  BOOST_CHECK_THROW(other.load((here.path / "old.safetensors"), partly{"body"}), mismatch_error);
  constexpr auto bare = mean(square(x | nn::linear<"fc1", 16> | nn::gelu));
  program<bare> encoder_alone;
  encoder_alone.init(seed{5});
  encoder_alone.load(here.path / "old.safetensors", partly{"", "encoder"});
  BOOST_TEST(encoder_alone.param<"fc1.weight">()(3, 2) == before.param<"encoder.fc1.weight">()(3, 2));
  encoder_alone.init(seed{6});
  encoder_alone.save(here.path / "bare.safetensors");
  step.load(here.path / "bare.safetensors", partly{"encoder", ""});
  BOOST_TEST(step.param<"encoder.fc1.weight">()(3, 2) == encoder_alone.param<"fc1.weight">()(3, 2));
  BOOST_CHECK_THROW(step.load((here.path / "old.safetensors"), partly{}), mismatch_error);  // head has another shape
}

BOOST_AUTO_TEST_CASE(the_prefix_of_a_part_is_not_a_pattern) {
  constexpr auto two = mean(square(x | nn::linear<"fc", 6> | nn::linear<"fc1", 6>));
  const folder here;
  program<two> before, step;
  before.init(seed{1});
  before.save(here.path / "two.safetensors");
  step.init(seed{2});
  const auto own = all_numbers(step);
  for (const std::string_view pattern :
       {"*.bias", "*fc.bias", "*", "*.a_longer_one_than_any_name", "f", "fc.", ".", "fc.weigh"})
    BOOST_CHECK_THROW(step.load(here.path / "two.safetensors", partly{std::string(pattern)}), mismatch_error);
  BOOST_TEST(all_numbers(step) == own);
  step.load(here.path / "two.safetensors", partly{"fc"});
  BOOST_TEST(step.param<"fc.weight">()(3, 2) == before.param<"fc.weight">()(3, 2));
  BOOST_TEST(step.param<"fc1.weight">()(3, 2) != before.param<"fc1.weight">()(3, 2));
  step.load(here.path / "two.safetensors", partly{"fc1.weight"});
  BOOST_TEST(step.param<"fc1.weight">()(3, 2) == before.param<"fc1.weight">()(3, 2));
}

BOOST_AUTO_TEST_CASE(a_block_may_be_called_optimizer) {
  constexpr auto model = mean(square(x | nn::linear<"fc", 6> | block<"optimizer">(nn::linear<"fc", 2>)));
  const folder here;
  program<model> weights, other;
  weights.init(seed{1});
  weights.save(here.path / "weights.safetensors");
  using updating = program<model, update<adamw_options{}>>;
  updating step, again;
  step.init(seed{2});
  step.load(here.path / "weights.safetensors");  // PyTorch would write such a file: it has no moments
  BOOST_TEST(all_numbers(step) == all_numbers(weights));
  for (int i = 0; i < 2; ++i) step.train({.lr = 0.01}, bind<"x">(batch(i)));
  step.save(here.path / "run.safetensors");
  again.load(here.path / "run.safetensors");
  BOOST_TEST(again.steps() == 2);
  BOOST_TEST((again.moment<"optimizer.fc.weight", "exp_avg">()(1, 2) ==
              step.moment<"optimizer.fc.weight", "exp_avg">()(1, 2)));
  other.load(here.path / "run.safetensors");  // `other` has no moments
  BOOST_TEST(all_numbers(other) == all_numbers(step));
  program<mean(square(x | nn::linear<"fc", 6>))> first;
  BOOST_CHECK_THROW(first.load(here.path / "weights.safetensors"), mismatch_error);  // no block of this name
}

BOOST_AUTO_TEST_CASE(a_parameter_with_the_name_of_a_moment_is_not_saved) {
  constexpr auto model = mean(square(param<"w", 4> * param<"optimizer.w.exp_avg", 4>));
  const folder here;
  program<model, update<adamw_options{}>> step;
  step.init(seed{1});
  BOOST_CHECK_EXCEPTION(step.save(here.path / "run.safetensors"), file::format_error, [](const file::file_error& e) {
    return e.expected == "another name of a parameter than that of the exp_avg of w" &&
           e.actual == "'optimizer.w.exp_avg'";
  });
  BOOST_TEST(!std::filesystem::exists(here.path / "run.safetensors"));
  program<model> without_moments;
  without_moments.init(seed{1});
  without_moments.save(here.path / "weights.safetensors");
  BOOST_TEST(std::filesystem::exists(here.path / "weights.safetensors"));
}

BOOST_AUTO_TEST_CASE(numbers_are_converted) {
  const folder here;
  program<loss> narrow;
  program<loss, real<double>> wide;
  narrow.init(seed{1});
  narrow.save((here.path / "f32.safetensors"));
  wide.load((here.path / "f32.safetensors"));
  BOOST_TEST(all_numbers(wide) == all_numbers(narrow));
  wide.save((here.path / "f64.safetensors"));
  narrow.init(seed{2});
  narrow.load((here.path / "f64.safetensors"));
  BOOST_TEST(all_numbers(wide) == all_numbers(narrow));
  constexpr auto counted = mean(square(x * param<"w", 6>)) + 0_c * state<"bn.num_batches_tracked", initial{}>;
  program<counted> counts;
  const std::vector<float> w(6, 2.0F);
  const std::int64_t batches = 123;
  const std::vector<file::tensor> tensors{
      {"w", file::dtype::f32, {6}, std::as_bytes(std::span(w))},
      {"bn.num_batches_tracked", file::dtype::i64, {}, std::as_bytes(std::span(&batches, 1))}};
  file::write((here.path / "counts.safetensors"), tensors);
  counts.load((here.path / "counts.safetensors"));
  BOOST_TEST(counts.param<"bn.num_batches_tracked">()() == 123);
}

/// Compares the prediction of a network for "x" with a file that PyTorch wrote. The file contains the input and the
/// result in addition to the module.
template <auto Net, auto Input>
void predicts_the_same(const std::string& kept) {
  const file::reader in(kept_file(kept));
  const folder here;  // the tensors of the module only; the file also has the input and the result
  std::vector<file::tensor> tensors;
  for (const auto& one : in.tensors()) {
    if (one.name != "x" && one.name != "result") tensors.push_back(one);
  }
  file::write(here.path / "module.safetensors", tensors);
  std::vector<float> input(static_cast<std::size_t>(Input.shape.count()));
  std::vector<float> expected(static_cast<std::size_t>(Net.shape.count()));
  file::copy_numbers(*in.find("x"), std::span(input));
  file::copy_numbers(*in.find("result"), std::span(expected));
  const auto agrees = [&](auto& predict) {
    const auto y = predict(bind<"x">(input));
    for (std::size_t i = 0; i < expected.size(); ++i) BOOST_TEST(std::abs(y.data()[i] - expected[i]) < 1e-5F);
  };
  predictor<Net> own{here.path / "module.safetensors"};
  agrees(own);
  program<mean(square(Net)), update<adamw_options{}>> step;
  step.load(here.path / "module.safetensors");
  predictor<Net> shared{step};
  agrees(shared);
  step.init(seed{77});
  step.load(here.path / "module.safetensors");
  BOOST_TEST(step.random().from.value == 77U);                    // files of PyTorch have no seed
  BOOST_CHECK_THROW(step.load(kept_file(kept)), mismatch_error);  // x and result are not expected
}

// A program in mixed precision saves floats. Its run is a run of floats, and programs of both kinds can continue it.
BOOST_AUTO_TEST_CASE(runs_in_mixed_precision) {
  const folder here;
  const auto path = here.path / "run.safetensors";
  using rounded = program<loss, update<adamw_options{}>, mixed<bf16>>;
  const auto go_on = [](auto& step, int from, int to) {
    for (int i = from; i < to; ++i) step.train({.lr = 0.01}, bind<"x">(batch(i)));
  };
  rounded whole, before, after;
  whole.init(seed{7}), before.init(seed{7});
  go_on(whole, 0, 6), go_on(before, 0, 3);
  before.save(path);
  const file::reader saved(path);
  for (const auto& one : saved.tensors()) BOOST_TEST((one.type == file::dtype::f32), one.name);
  after.load(path);
  trained exact;
  exact.load(path);
  BOOST_TEST(all_numbers(exact) == all_numbers(before));
  exact.save(path);
  go_on(after, 3, 6), go_on(exact, 3, 6);
  BOOST_TEST(all_numbers(after) == all_numbers(whole));
  BOOST_TEST(all_numbers(exact) != all_numbers(whole));
  after.load(path);
  go_on(after, 3, 6);
  BOOST_TEST(all_numbers(after) == all_numbers(whole));
}

BOOST_AUTO_TEST_CASE(modules_of_pytorch_make_the_same_predictions) {
  constexpr auto x = input<"x", 8, 6>;
  predicts_the_same<x | nn::linear<"fc1", 16> | nn::batch_norm<"bn"> | nn::linear<"fc2", 2>, x>("module.safetensors");
  constexpr nn::transformer_options before{.dim_feedforward = 12}, after{.dim_feedforward = 12, .norm_first = false};
  constexpr nn::recurrent_options stacked{.num_layers = 2};
  constexpr auto tokens = input<"x", 2, 5, 8>;
  constexpr auto encoded = tokens | block<"before">(nn::transformer_block<2, before>) |
                           block<"after">(nn::transformer_block<2, after, nn::relu>);
  predicts_the_same<encoded | nn::lstm<"lstm", 5, stacked>, tokens>("layers.safetensors");
}

BOOST_AUTO_TEST_CASE(files_without_a_run_are_refused) {
  const folder here;
  trained step;
  BOOST_CHECK_THROW(step.save((here.path / "run.safetensors")), program_error);
  step.init(seed{1});
  const auto before = all_numbers(step);
  BOOST_CHECK_THROW(step.load((here.path / "nowhere.safetensors")), file::read_error);
  step.save((here.path / "run.safetensors"), file::metadata{});
  const file::reader in((here.path / "run.safetensors"));
  auto texts = in.metadata();
  for (const char* const steps :
       {"3x", "-1", "", "4611686018427387905", "9223372036854775807", "99999999999999999999"}) {
    texts["cairn.steps"] = steps;
    file::write(here.path / "run.safetensors", std::vector(in.tensors().begin(), in.tensors().end()), texts);
    BOOST_CHECK_THROW(step.load(here.path / "run.safetensors"), file::format_error);
  }
  BOOST_TEST(all_numbers(step) == before);
  BOOST_CHECK_THROW(predictor<result>{(here.path / "nowhere.safetensors")}, file::read_error);
}

// cairn 0.2 wrote the file after run(step, 0, 3), compiled for AVX-512. Every later version must go on with it.
BOOST_AUTO_TEST_CASE(the_file_of_format_1_is_read) {
  trained whole, loaded;
  whole.init(seed{7});
  run(whole, 0, 3);
  loaded.load(kept_file("format_1.safetensors"));
  BOOST_TEST(loaded.steps() == 3);
  BOOST_TEST(loaded.random().from.value == 7U);
  run(whole, 3, 6);
  run(loaded, 3, 6);
  const auto wanted = all_numbers(whole), found = all_numbers(loaded);
  for (std::size_t i = 0; i < wanted.size(); ++i) BOOST_TEST(std::abs(found[i] - wanted[i]) < 1e-4);
}

BOOST_AUTO_TEST_CASE(files_of_a_newer_format_are_refused) {
  const folder here;
  const auto path = here.path / "run.safetensors";
  trained step;
  step.init(seed{1});
  step.save(path, file::metadata{});
  const file::reader in(path);
  auto texts = in.metadata();
  BOOST_TEST(texts.at("cairn.format") == "1");
  const auto before = all_numbers(step);
  const auto write = [&] { file::write(path, std::vector(in.tensors().begin(), in.tensors().end()), texts); };
  texts["cairn.format"] = "2";
  write();
  const auto says = [](const file::format_error& e) {
    return e.expected == "format version 1 or older" && e.actual == "2, which a newer cairn reads";
  };
  BOOST_CHECK_EXCEPTION(step.load(path), file::format_error, says);
  BOOST_CHECK_EXCEPTION(step.load(path, partly{}), file::format_error, says);
  BOOST_CHECK_EXCEPTION(predictor<result>{path}, file::format_error, says);
  for (const char* const wrong : {"0", "-1", "x", "1.5", ""}) {
    texts["cairn.format"] = wrong;
    write();
    BOOST_CHECK_THROW(step.load(path), file::format_error);
  }
  BOOST_TEST(all_numbers(step) == before);
  texts.erase("cairn.format");  // as cairn 0.1 wrote files
  write();
  step.load(path);
}

// If averages have taken the place of the parameters, a file stores them in this way, and says so.
BOOST_AUTO_TEST_CASE(a_file_says_that_averages_are_exchanged) {
  using averaging = program<loss, update<averaged{adamw_options{}, 0.9}>>;
  const folder here;
  const std::string path = here.path / "averages.safetensors";
  const auto go_on = [](averaging& step) {
    for (int i = 0; i < 3; ++i) step.train({.lr = 0.01}, bind<"x">(batch(i)));
  };
  averaging whole, loaded;
  whole.init(seed{1});
  go_on(whole);
  whole.exchange("average");
  const auto averages = all_numbers(whole);
  whole.save(path);
  BOOST_CHECK_EXCEPTION(go_on(whole), program_error,
                        [](const auto& e) { return has(e.what(), "exchange(\"average\")"); });
  BOOST_TEST(all_numbers(whole) == averages);
  whole.exchange("average");
  go_on(whole);

  const file::metadata texts = loaded.load(path);
  BOOST_TEST(texts.at("cairn.exchanged") == "average");
  BOOST_TEST(all_numbers(loaded) == averages);  // the averages, for predictions
  BOOST_CHECK_THROW(go_on(loaded), program_error);
  BOOST_CHECK_THROW(loaded.exchange("exp_avg"), program_error);
  loaded.exchange("average");
  go_on(loaded);
  BOOST_TEST(all_numbers(loaded) == all_numbers(whole));
  loaded.save(path, texts);  // the text of the loaded file is no longer true
  BOOST_TEST(!file::reader(path).metadata().contains("cairn.exchanged"));

  program<loss> beside;  // has no moments; the averages become its parameters
  whole.exchange("average");
  whole.save(path);
  beside.load(path);
  beside.save(here.path / "beside.safetensors");
  BOOST_TEST(!file::reader(here.path / "beside.safetensors").metadata().contains("cairn.exchanged"));
  loaded.load(path);
  loaded.init(seed{1});
  go_on(loaded);
  const file::reader in(path);
  auto damaged = in.metadata();
  damaged["cairn.exchanged"] = "no moment\n";
  file::write(path, std::vector(in.tensors().begin(), in.tensors().end()), damaged);
  BOOST_CHECK_EXCEPTION(loaded.load(path), file::format_error,
                        [](const auto& e) { return e.actual == "'no moment?'"; });
}

BOOST_AUTO_TEST_CASE(numbers_that_would_be_infinite_are_refused_by_name) {
  const folder here;
  const std::string path = here.path / "f64.safetensors";
  program<loss, real<double>> wide;
  wide.init(seed{1});
  wide.param<"fc1.weight">()(3, 2) = 1e300;
  wide.param<"fc2.weight">()(1, 2) = std::numeric_limits<double>::infinity();
  wide.save(path);
  trained narrow;
  narrow.init(seed{2});
  const auto before = all_numbers(narrow);
  BOOST_CHECK_EXCEPTION(narrow.load(path), mismatch_error, [](const auto& e) {
    return has(e.what(), "\n  fc1.weight: expected numbers within the range of F32, got 1e+300") &&
           !has(e.what(), "fc2");
  });
  BOOST_TEST(all_numbers(narrow) == before);
  wide.param<"fc1.weight">()(3, 2) = -3e38;
  wide.save(path);
  narrow.load(path);
  BOOST_TEST((narrow.param<"fc1.weight">()(3, 2)) == -3e38F);
  BOOST_TEST(std::isinf(narrow.param<"fc2.weight">()(1, 2)));
}

// Searching all names for each name would take a hundred times as long as reading them.
BOOST_AUTO_TEST_CASE(files_with_many_wrong_names_are_refused_quickly) {
  const folder here;
  const std::string path = here.path / "many.safetensors";
  std::vector<file::tensor> tensors;
  for (int i = 0; i < 50'000; ++i)
    tensors.push_back({"optimizer.other." + std::to_string(i), file::dtype::f32, {0}, {}});
  file::write(path, tensors);
  trained step;
  step.init(seed{1});
  BOOST_CHECK_THROW(step.load(path), mismatch_error);
}

BOOST_AUTO_TEST_CASE(names_are_compared_before_numbers_are_read) {
  const folder here;
  const std::string header = R"({"a":{"dtype":"U8","shape":[2147483648],"data_offsets":[0,2147483648]}})";
  const std::uint64_t length = header.size();
  const auto path = here.plain("big.safetensors", std::string(reinterpret_cast<const char*>(&length), 8) + header);
  // The file takes no space on the disk.
  std::filesystem::resize_file(path, 8 + header.size() + (std::uintmax_t{1} << 31));
  trained step;
  step.init(seed{1});
  const auto most_memory = [] {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
  };
  const long before = most_memory();
  BOOST_CHECK_THROW(step.load(path), mismatch_error);
  BOOST_TEST(most_memory() - before < 64 * 1024);  // KiB
}

BOOST_AUTO_TEST_CASE(text_of_a_file_is_shown_without_control_characters) {
  const folder here;
  const std::string path = here.path / "text.safetensors", long_name(1'000'000, 'x');
  file::write(path, std::vector<file::tensor>{{"\x1b[2J\ncairn: all is well", file::dtype::f32, {0}, {}},
                                              {"\u202eright to left", file::dtype::f32, {0}, {}},
                                              {long_name, file::dtype::f32, {0}, {}}});
  const std::string said = said_of<trained>(path);
  BOOST_TEST(has(said, "\n  ?[2J?cairn: all is well: expected nothing, got {0}"), said);
  BOOST_TEST(has(said, "\n  ???right to left: expected nothing"), said);
  BOOST_TEST(said.size() < 4000U);
  trained step;
  step.init(seed{1});
  step.save(path, file::metadata{});
  const file::reader in(path);
  auto texts = in.metadata();
  texts["cairn.seed"] = "1\n\x1b[2J" + long_name;
  file::write(path, std::vector(in.tensors().begin(), in.tensors().end()), texts);
  BOOST_CHECK_EXCEPTION(step.load(path), file::format_error,
                        [](const auto& e) { return e.actual.starts_with("'1??[2Jxxx") && e.actual.size() < 100; });
}

// The program is in the state in which a throwing operation leaves it. tests/run/threads.cpp tests this state, too.
BOOST_AUTO_TEST_CASE(a_half_updated_program_can_be_loaded_but_not_saved) {
  const folder here;
  const auto file = here.path / "run.safetensors";
  program<own::guarded_loss, update<sgd_options{.lr = 0.1}>> step;
  step.init(seed{1});
  step.save(file);
  const auto before = all_numbers(step);
  own::guarded_op::calls_left = 1;  // enough for the forward pass only
  BOOST_CHECK_THROW(step.train(), std::runtime_error);
  own::guarded_op::calls_left = 1000;
  BOOST_TEST(all_numbers(step) != before);
  BOOST_CHECK_THROW(step.save(file), program_error);
  BOOST_CHECK_THROW(step.load(here.path / "nowhere.safetensors"), file::read_error);
  step.load(file, partly{"last"});
  BOOST_CHECK_THROW(step.train(), program_error);
  step.load(file);
  BOOST_TEST(all_numbers(step) == before);
  static_cast<void>(step.train());
}

BOOST_AUTO_TEST_SUITE_END()
