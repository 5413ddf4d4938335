#include "cairn/report/profile.hpp"

#include "cairn/report/page.hpp"
#include "cairn/report/trace.hpp"

#include <boost/test/unit_test.hpp>
#include <cairn/cairn.hpp>
#include <sstream>

using namespace cairn;

namespace {

constexpr auto blocks = repeat<2, "block">([](auto) {
  return ckpt<"ff", allow_useless>(nn::residual(nn::linear<"fc1", 32> | nn::gelu | nn::linear<"fc2", 16>));
});
constexpr auto dense = mean(square(input<"x", 8, 16> | blocks | nn::linear<"head", 5>));

constexpr auto around = nn::window{.padding = 1};
constexpr auto unit = nn::residual(nn::conv2d<"conv", 4, 3, around> | nn::batch_norm<"norm"> | nn::relu);
constexpr auto units = repeat<2, "unit">([](auto) { return ckpt<"inner", allow_useless>(unit); });
constexpr auto outer = ckpt<"outer", allow_useless>(units | nn::dropout<"drop", 0.5>);
constexpr auto nested = mean(square(input<"x", 2, 6, 6, 4> | outer | nn::max_pool2d<2>));

template <class Step>
report::profiled profile_of(std::size_t count) {
  Step step;
  step.init(seed{1});
  return report::profile<2>(step, bind<"x">(std::vector<typename Step::real_type>(count, 0.5F)));
}

template <class Step>
void check_sums(const report::profiled& p) {
  constexpr flop_counts flops = Step::flops();
  const auto parts = report::by_phase(p);
  BOOST_TEST(parts[0].flops == flops.forward);
  BOOST_TEST(parts[1].flops == flops.recomputed);
  BOOST_TEST(parts[2].flops == flops.backward);
  report::profiled_share steps, operations;
  for (const report::profiled_step& s : p.steps) steps += report::profiled_share::of(s, s.flops, 1);
  for (const report::profiled_share& s : report::by_operation(p)) operations += s;
  BOOST_TEST(steps.flops == flops.total());
  BOOST_TEST(operations.flops == flops.total());
  BOOST_TEST(operations.seconds == p.seconds(), boost::test_tools::tolerance(1e-9));
  BOOST_TEST(operations.bytes == steps.bytes, boost::test_tools::tolerance(1e-9));
  const auto segments = report::by_segment(p);
  for (std::size_t i = 0; i < Step::segments().size(); ++i)
    BOOST_TEST(segments[i + 1][1].flops == Step::segments()[i].recomputed_flops);
}

void check_steps(const report::profiled& p) {
  BOOST_TEST(p.rounds == 2);
  BOOST_TEST(p.steps.size() == p.plan.steps.size());
  for (const report::profiled_step& s : p.steps) {
    BOOST_TEST(!s.operations.empty());
    BOOST_TEST(s.read >= 0);
    BOOST_TEST(s.written > 0);
    BOOST_TEST(s.seconds >= 0);
    BOOST_TEST(s.least > 0);
  }
}

/// Checks the arena at each plan step. The values in the arena are the living values, and no two of them share a byte.
/// The highest byte is the last byte of the arena.
template <class Step>
void check_arena(const report::profiled& p) {
  std::int64_t end = 0;
  const auto all = report::detail::holdings_of(p.plan);
  for (int i = 0; i < static_cast<int>(p.steps.size()); ++i) {
    std::vector<report::detail::holding> here;
    for (const report::detail::holding& h : all) {
      if (h.from <= i && i <= h.to) here.push_back(h);
    }
    std::ranges::sort(here, {}, &report::detail::holding::offset);
    std::int64_t live = 0, free = 0;
    for (const report::detail::holding& h : here) {
      BOOST_TEST(h.offset >= free);
      free = h.offset + h.bytes;
      live += h.bytes;
    }
    BOOST_TEST(live == p.steps[static_cast<std::size_t>(i)].live);
    end = std::max(end, free);
  }
  BOOST_TEST(end == Step::memory().peak_bytes);
}

/// Removes one value of JSON from the front of a text. Returns false if there is none.
bool take_json(std::string_view& text) {
  const auto take = [&](std::string_view one) {
    text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
    const bool found = text.starts_with(one);
    if (found) text.remove_prefix(one.size());
    return found;
  };
  const auto take_list = [&](std::string_view end, auto take_entry) {
    if (take(end)) return true;
    do {
      if (!take_entry()) return false;
    } while (take(","));
    return take(end);
  };
  if (take("[")) return take_list("]", [&] { return take_json(text); });
  if (take("{")) return take_list("}", [&] { return take_json(text) && take(":") && take_json(text); });
  if (take("\"")) {
    while (!text.empty() && text[0] != '"') {
      if (static_cast<unsigned char>(text[0]) < ' ') return false;
      text.remove_prefix(std::min<std::size_t>(text[0] == '\\' ? 2 : 1, text.size()));
    }
    return take("\"");
  }
  const std::size_t digits = std::min(text.find_first_not_of("-+.e0123456789"), text.size());
  text.remove_prefix(digits);
  return digits > 0;
}
bool is_json(std::string_view text) { return take_json(text) && text.find_first_not_of(" \n") == text.npos; }

template <class Step>
void check_texts(const report::profiled& p) {
  std::ostringstream table, trace, page;
  report::profile_table(table, p);
  report::trace(trace, p);
  report::page(page, p);
  BOOST_TEST((table.view().find("\nthe arena is fullest in the ") != table.view().npos) == !Step::segments().empty());
  BOOST_TEST(is_json(trace.view()));
  const std::string_view begin = "<script type=\"application/json\" id=\"profile\">";
  const std::string text = page.str(), data = text.substr(std::min(text.find(begin) + begin.size(), text.size()));
  BOOST_TEST(is_json(data.substr(0, data.find("</script>"))));
  constexpr memory_plan memory = Step::memory();
  const auto has = [&](const char* name, std::int64_t bytes) {
    BOOST_TEST(data.find('"' + std::string(name) + "\":" + std::to_string(bytes)) != data.npos, name);
  };
  has("parameters", memory.parameter_bytes);
  has("gradients", memory.gradient_bytes);
  has("moment_bytes", memory.moment_bytes);
  has("all", memory.total_bytes());
  for (const segment_plan& s : Step::segments()) {
    const std::string path(s.path), named = "\"name\":\"" + path + '"';
    BOOST_TEST(data.find("{" + named) != data.npos, path);
    BOOST_TEST(trace.view().find(named) != std::string_view::npos, path);
  }
  for (const report::profiled_operation& o : report::by_operation(p))
    BOOST_TEST(table.view().find(o.name) != std::string_view::npos, o.name);
  for (const std::string_view part : report::phase_names) BOOST_TEST(table.view().find(part) != std::string_view::npos);
}

template <class Step>
void check(std::size_t inputs) {
  const report::profiled p = profile_of<Step>(inputs);
  check_steps(p);
  check_sums<Step>(p);
  check_arena<Step>(p);
  check_texts<Step>(p);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(profile_suite)

BOOST_AUTO_TEST_CASE(a_profile_adds_up_to_the_plan) {
  check<program<dense>>(128);
  check<program<dense, plain, real<double>>>(128);
  check<program<dense, update<adamw_options{}>, clip<1.0>>>(128);
  check<program<nested, threads<kernels::threads_exist ? 2 : 1>>>(288);
}

BOOST_AUTO_TEST_CASE(plan_steps_are_described) {
  const report::profiled p = profile_of<program<dense>>(128);
  const report::profiled_step& s = p.steps[0];
  BOOST_TEST(s.operations == "matmul, add, gelu");
  BOOST_TEST(s.origin == "block.0.fc1");
  BOOST_TEST(s.segment == "block.0.ff");
  BOOST_TEST((s.what == report::phase::forward));
  BOOST_TEST(s.read == 4 * (8 * 16 + 32 * 16 + 32));
  BOOST_TEST(s.written == 4 * 8 * 32);
  const auto computed_again = std::ranges::find(p.steps, report::phase::recomputation, &report::profiled_step::what);
  BOOST_TEST(computed_again->segment == "block.1.ff");
  BOOST_TEST(computed_again->recomputed_flops == computed_again->flops);
}

BOOST_AUTO_TEST_CASE(a_profile_does_not_change_a_program) {
  const std::vector<float> x(288, 0.5F);
  const auto compare = [&](auto step, auto other, auto run) {
    step.init(seed{1});
    other.init(seed{1});
    static_cast<void>(report::profile<2>(step, bind<"x">(x)));
    for (int i = 0; i < 2; ++i) BOOST_TEST(run(step) == run(other));
    if constexpr (!decltype(step)::updates_parameters)
      BOOST_TEST(std::ranges::equal(step.gradients(), other.gradients()));
    std::vector<std::vector<float>> parameters;
    for (auto* one : {&step, &other})
      one->for_each_parameter([&](std::string_view, auto view) { parameters.emplace_back(view.begin(), view.end()); });
    const std::size_t count = parameters.size() / 2;
    for (std::size_t i = 0; i < count; ++i) BOOST_TEST(parameters[i] == parameters[i + count]);
  };
  const auto value = [&](auto& step) { return step.value_and_grad(bind<"x">(x)); };
  compare(program<nested>(), program<nested>(), value);
  compare(program<nested, accumulate_gradients>(), program<nested, accumulate_gradients>(), value);
  using updated = program<nested, update<adamw_options{}>>;
  compare(updated(), updated(), [&](auto& step) { return step.train(bind<"x">(x)); });
}

BOOST_AUTO_TEST_CASE(the_roof_depends_on_the_size) {
  const report::roof r{100, {{1000, 50}, {4000, 10}}};
  BOOST_TEST(r.rate(0) == 50);
  BOOST_TEST(r.rate(1000) == 50);
  BOOST_TEST(r.rate(1001) == 10);
  BOOST_TEST(r.rate(1'000'000) == 10);
  BOOST_TEST(r.seconds_of_work(50) == 0.5);
  BOOST_TEST(r.seconds_of_memory(100) == 2);
}

BOOST_AUTO_TEST_CASE(a_roof_needs_a_thread) {
  BOOST_CHECK_THROW(report::roof_of<float>(0), std::invalid_argument);
}
BOOST_AUTO_TEST_CASE(names_cannot_end_a_script) {
  BOOST_TEST(report::detail::json_text("a.</script>\"\\\n") == R"("a.\u003c/script\u003e\"\\\u000a")");
  BOOST_TEST(is_json(report::detail::json_text("a.</script>\"\\\n\x01")));
  BOOST_TEST(report::detail::json_number(0.25) == "0.25");
  BOOST_TEST(!is_json("{\"a\":}"));
  BOOST_TEST(!is_json("[1,2"));
}

BOOST_AUTO_TEST_SUITE_END()
