// How misuse travels: a mistake found inside a body becomes a poison, which moves silently outward, gathers the names
// of the blocks and segments around it, and is reported by the outermost call, where the user can see it.
#pragma once

#include "cairn/misuse/misuse.hpp"
#include "cairn/base/setting.hpp"
#include "cairn/lang/expression.hpp"

#include <tuple>

namespace cairn {

namespace detail {
/// An element as messages print it.
template <dtype T>
struct shown_element {
  using type = stored_as<T, float>;
};
template <dtype T, int... Extents>
struct as_array : shown_element<T> {};
template <dtype T, int First, int... Rest>
struct as_array<T, First, Rest...> {
  using type = typename as_array<T, Rest...>::type[First];
};
template <class E, std::size_t... Axis>
as_array<E::element.type, E::shape.extent[Axis]...> shown_as(std::index_sequence<Axis...>);
}  // namespace detail
/// A tensor as messages print it: `float[128][784]`, or `int[128]` for indices.
template <class E>
using tensor_fact = typename decltype(detail::shown_as<E>(detail::axes_of_expression<E>{}))::type;

namespace detail {
/// What messages call a value: by its leaf, its layer, or the operation that makes it, where its type says so.
template <class E>
inline constexpr auto known_as = fixed_string{"..."};
template <class Opaque>
inline constexpr auto known_as<renamed<Opaque>> = known_as<revealed<Opaque>>;
template <int Level, int Index, class Tensor, class F>
inline constexpr auto known_as<argument<Level, Index, Tensor, F>> = fixed_string{"argument "} + digits<Index>;

template <a_layer L>
  requires requires { L::name; }
inline constexpr auto known_as<L> = L::name;

/// What first has as many axes as E, of all that E is made of: the leaf, or an operation of what has fewer.
template <class E>
struct rank_from {
  static constexpr bool itself = true;
  using type = fact::axes_added_by<known_as<E>>;
};
template <class Opaque>
struct rank_from<renamed<Opaque>> : rank_from<revealed<Opaque>> {};
}  // namespace detail

/// What replaces an expression whose mistake has been reported: everything made of it is silent.
struct rejected : expression {
  using owner = top_scope;
  static constexpr cairn::shape shape{1, 1, 1, 1};  // so that shape[-1] and shape[0] exist
  static constexpr element_type element{};
  static constexpr expression_traits traits{};
  static constexpr bool shown = true;
  constexpr rejected operator()(const auto&...) const { return {}; }
};

/// A mistake on its way out. Path holds the names of the blocks and segments passed, outermost first.
template <class Misuse, class Owner, class Path, class... Facts>
struct poison : rejected {
  using owner = Owner;
};

namespace detail {
template <class E>
inline constexpr bool is_poison = false;
template <class M, class O, class P, class... F>
inline constexpr bool is_poison<poison<M, O, P, F...>> = true;

template <class P, class Owner, fixed_string... Name>
struct outward;
template <class M, class O, fixed_string... Path, class... F, class Owner, fixed_string... Name>
struct outward<poison<M, O, fact::in<Path...>, F...>, Owner, Name...> {
  using type = poison<M, Owner, fact::in<Name..., Path...>, F...>;
};

/// The longest text that clang shows in full.
inline constexpr std::size_t most_shown = 30;
/// Where the piece of a name that begins at `begin` ends: at a dot, before clang would cut it.
constexpr std::size_t piece_end(std::string_view name, std::size_t begin) {
  if (name.size() - begin <= most_shown) return name.size();
  const std::size_t dot = name.substr(0, begin + most_shown).rfind('.');
  return dot != name.npos && dot > begin ? dot : std::min(name.find('.', begin), name.size());
}
template <fixed_string Name, std::size_t Begin, std::size_t End>
inline constexpr auto piece_of = [] {
  fixed_string<End - Begin + 1> text;
  std::copy_n(Name.text + Begin, End - Begin, text.text);
  text.text[End - Begin] = '\0';  // clang prints only what was written
  return text;
}();
/// A name in pieces.
template <template <fixed_string...> class Fact, fixed_string Name, std::size_t Begin = 0, fixed_string... Done>
constexpr auto in_pieces() {
  constexpr std::size_t end = piece_end(Name, Begin);
  constexpr auto piece = piece_of<Name, Begin, end>;
  if constexpr (end + 1 == sizeof(Name.text)) return std::type_identity<Fact<Done..., piece>>{};
  else return in_pieces<Fact, Name, end + 1, Done..., piece>();
}
template <fixed_string First, fixed_string... More>
inline constexpr auto with_dots = (First + ... + (fixed_string{"."} + More));

/// An argument as messages show it, whatever it is.
template <class A>
struct showing {
  using type = A;
  using owner = top_scope;
};
template <an_expression A>
struct showing<A> {
  using type = tensor_fact<A>;
  using owner = typename A::owner;
};
template <a_layer A>
struct showing<A> {
  using type = fact::layer;
  using owner = top_scope;
};
template <class Fact>
struct displayed {
  using type = Fact;
};
template <class A>
struct displayed<fact::given<A>> {
  using type = fact::given<typename showing<A>::type>;
};

/// The class whose constructor reports a mistake; that of anything else is silent.
template <class P>
struct reporting {
  using type = P;
};
template <class M, class O, fixed_string... Path, class... F>
struct reporting<poison<M, O, fact::in<Path...>, F...>> {
  using place = typename decltype(in_pieces<fact::in, with_dots<Path...>>())::type;
  using type = typename M::template found<rejected, place, typename displayed<F>::type...>;
};
template <class M, class O, class... F>
struct reporting<poison<M, O, fact::in<>, F...>> {
  using type = typename M::template found<rejected, typename displayed<F>::type...>;
};

// What a call returns. g++ names least where a returned class is completed: nothing but the user's line. clang
// names least where the called function constructs the report itself.
#ifdef __clang__
template <class Report>
using returned = Report;
#else
template <class Report>
struct returned : rejected {
  static_assert(Report{}.shown);
};
#endif

template <class E>
struct surfacing {
  using type = E;
};
template <class M, class Path, class... F>
struct surfacing<poison<M, top_scope, Path, F...>> {
  using type = returned<typename reporting<poison<M, top_scope, Path, F...>>::type>;
};

/// An element of a tuple whose mistake has been reported; final, so that the tuple does not derive from it.
struct silent_element final : rejected {};
template <class Indices>
struct silent_elements;
template <std::size_t... I>
struct silent_elements<std::index_sequence<I...>> {
  using type = std::tuple<std::conditional_t<(I >= 0), silent_element, void>...>;
};
/// The report of a mistake in place of a tuple of N.
template <class Report, std::size_t N>
struct reported_tuple : Report, silent_elements<std::make_index_sequence<N>>::type {};
template <class M, class Path, class... F, class... Silent>
struct surfacing<std::tuple<poison<M, top_scope, Path, F...>, Silent...>> {
  using type = reported_tuple<typename surfacing<poison<M, top_scope, Path, F...>>::type, 1 + sizeof...(Silent)>;
};

template <class First, class... Rest>
constexpr auto first_wrong(First first, Rest... rest) {
  if constexpr (__is_base_of(rejected, First)) return first;
  else return first_wrong(rest...);
}
}  // namespace detail

/// Whether an expression stands for a mistake, reported or not.
template <class E>
concept wrong = an_expression<E> && __is_base_of(rejected, E);

/// What a call returns: a good expression or a poison inside a body as it is; at the top level, a mistake's report.
template <class E>
using surfaced = typename detail::surfacing<E>::type;

/// A fact about a name, short or long.
template <template <fixed_string...> class Fact, fixed_string Name>
using about = typename decltype(detail::in_pieces<Fact, Name>())::type;

/// Reports a mistake that no call returns, nothing if it is `sound`: `static_assert(report_of<Problem>{}.shown)`.
template <class Problem>
using report_of = typename detail::reporting<Problem>::type;
struct sound {
  static constexpr bool shown = true;
};
constexpr sound first_problem() { return {}; }
template <class First, class... Rest>
constexpr auto first_problem(First first, Rest... rest) {
  if constexpr (std::same_as<First, sound>) return first_problem(rest...);
  else return first;
}

/// A new mistake in the body Owner.
template <class Misuse, class Owner, class... Facts>
using mistake = poison<Misuse, Owner, fact::in<>, Facts...>;

namespace detail {
/// The mistake of the first of Listed::all, an array of settings, whose value is not allowed; or sound.
template <class Listed, class Owner, class Path, class... Facts>
constexpr auto problem_of_settings() {
  constexpr std::span<const setting> all(Listed::all);
  constexpr std::size_t i = detail::first_refused(all);
  if constexpr (i == all.size()) {
    return sound{};
  } else {
    constexpr const setting& wrong = all[i];
    return poison<
        meaningless_setting, Owner, Path, Facts...,
        fact::setting<fixed<wrong.name.size()>(wrong.name), wrong.value, fixed<wrong.range.size()>(wrong.range)>>{};
  }
}
}  // namespace detail

/// The first mistake among the arguments of something made in the body Owner.
template <class Owner, class... A>
constexpr auto pass_on(A... args) {
  using found = decltype(detail::first_wrong(args...));
  if constexpr (detail::is_poison<found>) return typename detail::outward<found, Owner>::type{};
  else return rejected{};
}

namespace detail {
template <class Misuse, fixed_string Name, class... A>
constexpr auto misused_silently() {
  using owner = owner_of<showing<A>...>;
  if constexpr ((wrong<A> || ...)) return decltype(pass_on<owner>(std::declval<A>()...)){};
  else return mistake<Misuse, owner, fact::operation<Name, typename showing<A>::type...>>{};
}

#ifdef __clang__
template <class E>
using surfacing_at_once = surfacing<E>;
#else
// Where no argument is one of a body, g++ completes what is returned only where the body is instantiated, however deep
// that is. So this report is made where the call is read.
template <class P>
struct surfacing_at_once : surfacing<P> {};
template <class M, class Path, class... F>
struct surfacing_at_once<poison<M, top_scope, Path, F...>> {
  using type = typename reporting<poison<M, top_scope, Path, F...>>::type;
  static_assert(type{}.shown);
};
#endif
}  // namespace detail

/// The mistake of calling what is named so with these arguments, or the one that is among them.
template <class Misuse, fixed_string Name, class... A>
using misused = surfaced<decltype(detail::misused_silently<Misuse, Name, A...>())>;

/// A layer that is a mistake: reported where it is applied, for a layer does not know in which body it is made.
template <class Misuse, class... Facts>
struct mistaken_layer : layer_base {
  template <an_expression... X>
    requires(sizeof...(X) > 0)
  constexpr auto operator()(X... x) const {
    using owner = owner_of<X...>;
    if constexpr ((wrong<X> || ...)) return pass_on<owner>(x...);
    else return surfaced<mistake<Misuse, owner, Facts...>>{};
  }
};

namespace detail {
template <class... A>
struct namelessly {
  template <fixed_string Called>
  using type = mistaken_layer<no_name, fact::operation<Called, typename showing<A>::type...>>;
};
template <class... A>
  requires((an_expression<A> || ...) || (std::is_invocable_v<const A&> && ...))
struct namelessly<A...> {
  template <fixed_string Called>
  using type = misused<no_name, Called, A...>;
};
}  // namespace detail
/// The mistake of calling ckpt, block or repeat without a name: of a value where arguments are given, else of a layer.
template <fixed_string Called, class... A>
using nameless = typename detail::namelessly<A...>::template type<Called>;

namespace detail {
template <fixed_string Name, class L, class Made>
struct layer_taken {
  using type = Made;
};
template <fixed_string Name, an_expression E, class Made>
struct layer_taken<Name, E, Made> {
  using type = misused<expression_for_layer, Name, E>;
};
/// What a function named so makes of the layer L, or the mistake of giving it an expression.
template <fixed_string Name, class L, class Made>
using made_from_layer = typename layer_taken<Name, L, Made>::type;
}  // namespace detail

}  // namespace cairn

template <class Report, std::size_t N>
struct std::tuple_size<cairn::detail::reported_tuple<Report, N>> : std::integral_constant<std::size_t, N> {};
template <std::size_t I, class Report, std::size_t N>
struct std::tuple_element<I, cairn::detail::reported_tuple<Report, N>> {
  using type = cairn::detail::silent_element;
};

namespace cairn::detail {
template <class E>
constexpr auto not_several(E e) {
  if constexpr (is_poison<E>) return e;
  else if constexpr (wrong<E>) return rejected{};
  else return mistake<one_value, typename E::owner, fact::operation<"get", tensor_fact<E>>>{};
}
/// The mistake of taking one value apart. No type for anything else: compilers form return types before they look at
/// constraints.
template <class E>
struct taken_apart {};
template <an_expression E>
  requires(!requires { std::tuple_size<E>::value; })
struct taken_apart<E> {
  using type = surfaced<decltype(not_several(E{}))>;
};
}  // namespace cairn::detail
namespace std {
/// Of one value, std::get is a mistake. The overload stands in std, where alone `std::get` is looked up.
template <std::size_t I, class E>
constexpr typename cairn::detail::taken_apart<E>::type get(E) {
  return {};
}
}  // namespace std
