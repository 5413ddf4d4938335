// Files with other names, other layouts, or only a part of a model: a selection says what fits, everything else is an
// error that changes nothing, and a report says what was done.
#include "cairn/file/selection.hpp"

#include "cairn/cairn.hpp"
#include "cairn/file/saving.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "run/folder.hpp"
#include "run/hugging_face.hpp"

using namespace cairn;

namespace {

constexpr auto x = input<"x", 4, 3>;
constexpr auto encoder = block<"encoder">(nn::linear<"fc1", 5> | nn::relu | nn::linear<"fc2", 6>);
constexpr auto logits = x | encoder | nn::linear<"head", 2>;
using tuned = program<mean(square(logits)), update<adamw_options{}>>;
/// Has another head than `tuned`, and a normalization in addition.
using trained_before = program<mean(square(x | encoder | nn::layer_norm<"norm"> | nn::linear<"head", 7>))>;

template <class Program>
std::vector<float> all_numbers(Program& step) {
  std::vector<float> all;
  step.for_each_parameter(
      [&](std::string_view, auto view) { all.insert(all.end(), view.data(), view.data() + view.size()); });
  return all;
}
tuned initialized(std::uint64_t with) {
  tuned step;
  step.init(seed{with});
  return step;
}
/// Returns the message with which a file is refused. Checks that the program has not changed.
std::string refusal(const std::string& path, const auto& wanted) {
  tuned step = initialized(2);
  const auto before = all_numbers(step);
  std::string said;
  try {
    step.load(path, wanted);
  } catch (const mismatch_error& e) {
    said = e.what();
  }
  BOOST_TEST(all_numbers(step) == before);
  return said;
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
using names = std::vector<std::string>;
names names_of(const std::vector<load_report::tensor>& tensors) {
  names all;
  for (const auto& one : tensors) all.push_back(one.name.empty() ? one.in_file : one.name);
  return all;
}
names names_in(const std::string& path) {
  names all;
  const file::reader saved(path);
  for (const auto& one : saved.tensors()) all.push_back(one.name);
  return all;
}

const std::vector<file::renamed> of_others{
    {.name = "encoder.fc*.weight", .in_file = "model.layers.*.kernel", .transposed = true},
    {.name = "encoder.fc*.*", .in_file = "model.layers.*.*"},
    {.name = "head", .in_file = "model.classifier"},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(selection_suite)

BOOST_AUTO_TEST_CASE(patterns_take_as_little_text_as_possible) {
  using detail::renamed_by;
  const auto renamed = [](std::string_view rule, std::string_view to, std::string_view name) {
    return renamed_by({.name = std::string(rule), .in_file = std::string(to)}, name);
  };
  BOOST_TEST(renamed("h.*.c_*.weight", "layer.*.*.w", "h.0.mlp.c_proj.weight") == "layer.0.mlp.proj.w");
  BOOST_TEST(renamed("*.*", "*/*", "a.b.c") == "a/b.c");
  BOOST_TEST(renamed("*", "model.*", "a.b") == "model.a.b");
  BOOST_TEST(renamed("a*", "*", "a") == "");
  BOOST_TEST(renamed("a*a", "x*x", "a") == "");
  BOOST_TEST(renamed("*.bias", "b*", "bias") == "");
  BOOST_TEST(renamed("fc", "model.fc", "fc.weight") == "model.fc.weight");
  BOOST_TEST(renamed("fc", "model.fc", "fc1.weight") == "");
  BOOST_TEST(renamed("", "model", "fc.weight") == "model.fc.weight");
  BOOST_TEST(renamed("encoder", "", "encoder.fc.weight") == "fc.weight");
  BOOST_TEST(detail::stands_for("*.bias", "fc.bias"));
  BOOST_TEST(detail::stands_for("fc", "fc.bias"));
  BOOST_TEST(!detail::stands_for("fc", "fc1.bias"));
  BOOST_TEST(!detail::stands_for("*.bias", "fc.bias.x"));
}

// The exception has the program's names. It does not leave out a tensor that has this name in the file only.
BOOST_AUTO_TEST_CASE(an_exception_does_not_count_for_new_names) {
  const folder here;
  const std::string path = here.path / "s.safetensors";
  const selection shifted{
      .only = {"encoder"}, .except = {"encoder.fc2"}, .names = {{.name = "encoder.fc1", .in_file = "encoder.fc2"}}};
  tuned step = initialized(1), back = initialized(2);
  step.save(path, shifted);
  BOOST_TEST((names_in(path) == names{"encoder.fc2.bias", "encoder.fc2.weight"}));
  BOOST_TEST(back.load(path, shifted).loaded.size() == 2U);
  BOOST_TEST(back.param<"encoder.fc1.weight">()(0, 0) == step.param<"encoder.fc1.weight">()(0, 0));
}

BOOST_AUTO_TEST_CASE(a_table_of_names_works_in_both_directions) {
  const folder here;
  const std::string path = here.path / "others.safetensors";
  tuned step = initialized(1), back = initialized(2);
  step.save(path, selection{.names = of_others}, file::metadata{{"by", "others"}});
  const names expected{"model.classifier.bias", "model.classifier.weight", "model.layers.1.bias",
                       "model.layers.1.kernel", "model.layers.2.bias",     "model.layers.2.kernel"};
  BOOST_TEST(names_in(path) == expected);
  const file::reader saved(path);
  const file::tensor& kernel = *saved.find("model.layers.1.kernel");
  BOOST_TEST((kernel.shape == std::vector<std::int64_t>{3, 5}));
  std::vector<float> numbers(15);
  file::copy_numbers(kernel, std::span(numbers));
  const auto weight = step.param<"encoder.fc1.weight">();
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 5; ++j) BOOST_TEST(numbers[static_cast<std::size_t>(i * 5 + j)] == weight(j, i));
  }

  const load_report report = back.load(path, selection{.names = of_others});
  BOOST_TEST(all_numbers(back) == all_numbers(step));
  BOOST_TEST(report.texts.at("by") == "others");
  BOOST_TEST(report.loaded.size() == 6U);
  BOOST_TEST(report.loaded[0].name == "encoder.fc1.weight");
  BOOST_TEST(report.loaded[0].in_file == "model.layers.1.kernel");
  BOOST_TEST((report.loaded[0].shape_in_file == std::vector<std::int64_t>{3, 5}));
  BOOST_TEST(has(report.text(), "loaded: 6\n  encoder.fc1.weight {5, 3}, in the file model.layers.1.kernel {3, 5}\n"));
}

BOOST_AUTO_TEST_CASE(a_head_is_left_out) {
  const folder here;
  const std::string path = here.path / "before.safetensors";
  trained_before before;
  before.init(seed{1});
  before.save(path);
  tuned step = initialized(2);
  const std::vector<float> head(step.param<"head.weight">().data(), step.param<"head.weight">().data() + 12);
  const load_report report = step.load(path, selection{.except = {"head", "norm.*"}});
  BOOST_TEST(step.param<"encoder.fc2.weight">()(3, 2) == before.param<"encoder.fc2.weight">()(3, 2));
  BOOST_TEST(std::equal(head.begin(), head.end(), step.param<"head.weight">().data()));
  BOOST_TEST(step.random().from.value == 2U);
  BOOST_TEST(names_of(report.loaded) ==
             (names{"encoder.fc1.weight", "encoder.fc1.bias", "encoder.fc2.weight", "encoder.fc2.bias"}));
  BOOST_TEST(names_of(report.other_shape) == (names{"head.weight", "head.bias"}));
  BOOST_TEST(names_of(report.not_in_program) == (names{"norm.bias", "norm.weight"}));
  BOOST_TEST(report.not_in_file.empty());
  BOOST_TEST(report.left_out.empty());
  BOOST_TEST(has(report.text(), "\n  head.weight {2, 6}, in the file {7, 6}\n"));
  BOOST_TEST(has(report.text(), "\n  norm.weight {6}\n"));

  const std::string said = refusal(path, selection{.except = {"norm", "encoder.fc3"}});
  BOOST_TEST(has(said, "\n  head.weight: expected {2, 6}, got {7, 6}"), said);
  BOOST_TEST(has(said, "\n  except 'encoder.fc3': expected a tensor of this name, got none"), said);
  BOOST_TEST(has(refusal(path, selection{.except = {"head"}}), "\n  norm.weight: expected nothing, got {6}"));
}

BOOST_AUTO_TEST_CASE(parts_are_saved_and_loaded_alone) {
  const folder here;
  const std::string path = here.path / "part.safetensors";
  tuned step = initialized(1), other = initialized(2);
  step.save(path, selection{.only = {"encoder.fc1", "*.bias"}, .except = {"head"}});
  BOOST_TEST(names_in(path) == (names{"encoder.fc1.bias", "encoder.fc1.weight", "encoder.fc2.bias"}));
  const load_report some = other.load(path, selection{.only = {"encoder.fc1", "encoder.fc2.bias"}});
  BOOST_TEST(other.param<"encoder.fc1.weight">()(3, 2) == step.param<"encoder.fc1.weight">()(3, 2));
  BOOST_TEST(other.param<"encoder.fc2.weight">()(3, 2) != step.param<"encoder.fc2.weight">()(3, 2));
  BOOST_TEST(names_of(some.not_in_file) == (names{"encoder.fc2.weight", "head.weight", "head.bias"}));
  const std::string said = refusal(path, selection{.only = {"encoder"}});
  BOOST_TEST(has(said, "\n  encoder.fc2.weight: expected {6, 5}, got nothing"), said);

  step.save(path);  // the whole run, with moments
  const load_report head = other.load(path, selection{.only = {"head"}});
  BOOST_TEST(names_of(head.loaded) == (names{"head.weight", "head.bias"}));
  BOOST_TEST(head.left_out.size() == 4U);
  BOOST_TEST(head.not_in_program.empty());                                                 // moments are not listed
  BOOST_TEST(other.load(path, selection{.except = {"optimizer.*"}}).loaded.size() == 6U);  // though they can be named
  const load_report both = other.load(path, partly{});
  BOOST_TEST(both.loaded.size() == 6U);
  BOOST_TEST(all_numbers(other) == all_numbers(step));
}

BOOST_AUTO_TEST_CASE(a_predictor_needs_all_of_its_parameters) {
  const folder here;
  const std::string path = here.path / "run.safetensors";
  initialized(1).save(path);
  const auto said = [&](const auto& wanted) {
    try {
      predictor<logits> predict{path, wanted};
    } catch (const mismatch_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string_view fault =
      "\n  head.bias: expected a selection with this tensor, which the predictor needs, got none";
  BOOST_TEST(said(selection{}) == "");
  BOOST_TEST(has(said(selection{.except = {"head.bias"}}), fault));
  BOOST_TEST(has(said(partly{"encoder"}), fault));
  initialized(1).save(path, selection{.only = {"encoder"}});
  BOOST_TEST(has(said(partly{}), "\n  head.bias: expected {2}, got nothing"));
}

BOOST_AUTO_TEST_CASE(a_model_in_several_files_is_loaded) {
  const folder here;
  tuned step = initialized(1), other = initialized(2);
  step.save(here.path / "one.safetensors", selection{.only = {"encoder"}});
  step.save(here.path / "two.safetensors", selection{.only = {"head"}});
  std::string index;
  for (const std::string& name : names_in(here.path / "one.safetensors"))
    index += "\"" + name + "\":\"one.safetensors\",";
  index += R"("head.weight":"two.safetensors","head.bias":"two.safetensors")";
  const std::string path = here.plain("model.safetensors.index.json", "{\"weight_map\":{" + index + "}}");
  other.load(path);
  BOOST_TEST(all_numbers(other) == all_numbers(step));
  BOOST_CHECK_EXCEPTION(step.save(path), file::format_error, [](const auto& e) {
    return has(e.what(), "expected the name of a safetensors file, got the name of an index of several files");
  });
  BOOST_CHECK_THROW(step.save(path, selection{}), file::format_error);
  other.load(path);
  const std::string bytes = read_bytes(here.path / "two.safetensors");
  static_cast<void>(here.plain("two.safetensors", bytes.substr(0, bytes.size() - 1)));
  const auto before = all_numbers(other);
  BOOST_CHECK_THROW(other.load(path, selection{.only = {"encoder"}}), file::format_error);
  BOOST_TEST(all_numbers(other) == before);
}

// tests/tools/exchange.py wrote the file with Hugging Face's GPT-2.
BOOST_AUTO_TEST_CASE(gpt2_of_hugging_face_makes_the_same_logits) {
  constexpr auto result = hugging_face::logits<2>;
  const file::reader kept(kept_file("gpt2.safetensors"));
  std::vector<float> tokens(12), expected(12 * 11);
  file::copy_numbers(*kept.find("text"), std::span(tokens));
  file::copy_numbers(*kept.find("logits"), std::span(expected));
  program<mean(square(result))> step;
  const load_report report =
      step.load(kept_file("gpt2.safetensors"), selection{.except = {"text", "logits"}, .names = hugging_face::names});
  BOOST_TEST(report.loaded.size() == kept.tensors().size() - 2);
  BOOST_TEST(names_of(report.not_in_program) == (names{"logits", "text"}));
  predictor<result> predict{step};
  const auto found = predict(bind<"text">(std::vector<std::int32_t>(tokens.begin(), tokens.end())));
  for (std::size_t i = 0; i < expected.size(); ++i) BOOST_TEST(std::abs(found.data()[i] - expected[i]) < 1e-5F);

  predictor<result> own{kept_file("gpt2.safetensors"), selection{.names = hugging_face::names}};
  const auto of_own = own(bind<"text">(std::vector<std::int32_t>(tokens.begin(), tokens.end())));
  BOOST_TEST(std::equal(found.data(), found.data() + found.size(), of_own.data()));

  const folder here;
  step.save(here.path / "back.safetensors", selection{.names = hugging_face::names});
  const file::reader back(here.path / "back.safetensors");
  BOOST_TEST(back.tensors().size() == report.loaded.size());
  for (const file::tensor& one : back.tensors()) {
    const file::tensor& of_kept = *kept.find(one.name);
    BOOST_TEST((one.shape == of_kept.shape), one.name);
    BOOST_TEST(std::ranges::equal(one.bytes, of_kept.bytes), one.name);
  }
}

BOOST_AUTO_TEST_CASE(names_that_do_not_fit_are_refused) {
  const folder here;
  const std::string path = here.path / "run.safetensors";
  initialized(1).save(path);
  const auto said = [&](const selection& wanted) { return refusal(path, wanted); };
  BOOST_TEST(has(said({.names = {{.name = "decoder", .in_file = "d"}}}),
                 "\n  rule 'decoder': expected a tensor that no rule before it names, got none"));
  BOOST_TEST(has(said({.names = {{.name = "*", .in_file = "*"}, {.name = "head", .in_file = "top"}}}), "rule 'head'"));
  BOOST_TEST(has(said({.names = {{.name = "*.weight", .in_file = "w"}}}),
                 "\n  rule '*.weight': expected 1 * in the name in the file, got 0 in 'w'"));
  BOOST_TEST(has(said({.names = {{.name = "encoder.fc1", .in_file = "head"}}}),
                 "\n  head.bias: expected one tensor of the program of this name in the file, got several"));
  BOOST_TEST(has(said({.names = {{.name = "head", .transposed = true}}}),
                 "\n  head.bias: expected two axes to transpose, got {2}"));
  BOOST_TEST(has(said({.names = {{.name = "head.weight", .transposed = true}}}),
                 "\n  head.weight: expected {6, 2}, got {2, 6}"));
  BOOST_TEST(has(said({.only = {"heat"}}), "\n  only 'heat': expected a tensor of this name, got none"));
  BOOST_TEST(has(said({.only = {"*.fc"}}), "\n  only '*.fc': expected a tensor of this name, got none"));
  const std::string_view of_blocks =
      " '*.fc1': expected a pattern of whole names of tensors, as '*.fc1.*', got names of blocks";
  BOOST_TEST(has(said({.only = {"*.fc1"}}), "\n  only" + std::string(of_blocks)));
  BOOST_TEST(has(said({.except = {"*.fc1"}}), "\n  except" + std::string(of_blocks)));
  BOOST_TEST(has(said({.names = {{.name = "*.fc1", .in_file = "*.fc"}}}), "\n  rule" + std::string(of_blocks)));
  BOOST_TEST(
      has(said({.only = {"head"}, .except = {"head"}}), "the selection: expected at least one tensor, got none"));
  BOOST_TEST(has(refusal(path, partly{"nowhere"}), "the selection: expected at least one tensor, got none"));

  tuned step = initialized(1);
  const std::string bytes = read_bytes(path);
  BOOST_CHECK_EXCEPTION(step.save(path, selection{.except = {"heat"}}), mismatch_error, [](const auto& e) {
    return has(e.what(), "expected names that fit the program, got others:\n  except 'heat': expected a tensor");
  });
  BOOST_CHECK_THROW(step.save(path, selection{.names = {{.name = "*", .in_file = "*", .transposed = true}}}),
                    mismatch_error);
  BOOST_TEST(read_bytes(path) == bytes);
}

// Numbers of the file that took the place of averages would be lost: the next exchange brings other parameters back.
BOOST_AUTO_TEST_CASE(averages_are_saved_by_a_selection_and_not_written_by_it) {
  using averaging = program<mean(square(logits)), update<averaged{adamw_options{}, 0.9}>>;
  const folder here;
  const std::string path = here.path / "averages.safetensors";
  averaging step;
  step.init(seed{1});
  for (int i = 0; i < 2; ++i) static_cast<void>(step.train(bind<"x">(std::vector<float>(12, 1))));
  const std::vector<float> parameters = all_numbers(step);
  step.exchange("average");
  const std::vector<float> averages = all_numbers(step);
  BOOST_TEST(averages != parameters);
  step.save(path, selection{});
  BOOST_TEST(!file::reader(path).metadata().contains("cairn.exchanged"));
  const auto refuses = [](const program_error& e) {
    return has(e.what(), "call exchange(\"average\") once more before a part of a file is loaded");
  };
  BOOST_CHECK_EXCEPTION(step.load(path, selection{}), program_error, refuses);
  BOOST_CHECK_EXCEPTION(step.load(path, partly{}), program_error, refuses);
  BOOST_TEST(all_numbers(step) == averages);
  step.exchange("average");
  BOOST_TEST(all_numbers(step) == parameters);
  step.load(path, selection{});
  BOOST_TEST(all_numbers(step) == averages);
}

BOOST_AUTO_TEST_CASE(a_saved_selection_has_no_texts_of_another_run) {
  const folder here;
  const std::string run = here.path / "run.safetensors", part = here.path / "part.safetensors";
  tuned step = initialized(1);
  step.save(run, file::metadata{{"by", "others"}});
  file::metadata texts = step.load(run);
  texts["cairn.exchanged"] = "average";
  step.save(part, selection{.only = {"encoder"}}, texts);
  const file::metadata expected{{"by", "others"}, {"cairn.format", "1"}, {"format", "pt"}};
  BOOST_TEST((file::reader(part).metadata() == expected));
}

BOOST_AUTO_TEST_CASE(a_partial_load_counts_only_what_it_loads_as_written) {
  const folder here;
  const std::string path = here.path / "run.safetensors";
  initialized(1).save(path);
  const std::vector<float> rows(12, 1);
  const auto refuses = [](const program_error& e) { return has(e.what(), "neither initialized nor written"); };
  const auto check = [&](const auto& part) {
    tuned step;
    predictor<x | encoder> encode{step};
    step.load(path, part);
    BOOST_CHECK_EXCEPTION(step.train(bind<"x">(rows)), program_error, refuses);
    BOOST_CHECK_EXCEPTION(step.save(here.path / "half.safetensors"), program_error, refuses);
    static_cast<void>(encode(bind<"x">(rows)));
    step.load(path, partly{"head"});
    static_cast<void>(step.train(bind<"x">(rows)));
  };
  check(partly{"encoder"});
  check(selection{.only = {"encoder"}});
  tuned step;
  step.load(path, partly{});
  static_cast<void>(step.train(bind<"x">(rows)));
  step.load(path, partly{"head"});  // the other parameters stay written
  static_cast<void>(step.train(bind<"x">(rows)));
}

BOOST_AUTO_TEST_SUITE_END()
