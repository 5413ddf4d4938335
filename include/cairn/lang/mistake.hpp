// Lets mistakes travel. A mistake that is found inside a body becomes a `poison`, which takes the place of the
// expression. The poison moves outward silently and gathers the names of the blocks and segments around it. The
// outermost call reports the mistake, because this call is in the user's code, where the user can see it.
#pragma once

#include "cairn/base/setting.hpp"
#include "cairn/lang/expression.hpp"
#include "cairn/misuse/table.hpp"

#include <tuple>

namespace cairn::lang {

/// The type of an element as messages print it.
template <dtype T>
struct shown_element {
  using type = stored_as<T, float>;
};
/// The array type for extents, for example float[128][784].
template <dtype T, int... Extents>
struct as_array : shown_element<T> {};
template <dtype T, int First, int... Rest>
struct as_array<T, First, Rest...> {
  using type = typename as_array<T, Rest...>::type[First];
};
template <class E, std::size_t... Axis>
as_array<E::element.type, E::shape.extent[Axis]...> shown_as(std::index_sequence<Axis...>);
/// The type of a tensor as messages print it: `float[128][784]`, or `int[128]` for indices.
template <class E>
using tensor_fact = typename decltype(shown_as<E>(axes_of_expression<E>{}))::type;

/// The name of a value in messages: the name of its leaf, of its layer, or of the operation that computes it. If the
/// type of the value does not tell a name, the name is "...".
template <class E>
inline constexpr auto known_as = fixed_string{"..."};
template <class Opaque>
inline constexpr auto known_as<renamed<Opaque>> = known_as<revealed<Opaque>>;
template <int Level, int Index, class Tensor, class F>
inline constexpr auto known_as<argument<Level, Index, Tensor, F>> = fixed_string{"argument "} + detail::digits<Index>;

template <a_layer L>
  requires requires { L::name; }
inline constexpr auto known_as<L> = L::name;

/// Finds where the number of axes of E comes from, among E and all expressions that E is made of: a leaf, or an
/// operation with arguments that all have fewer axes. `type` is the fact that names this leaf or operation. If E is a
/// leaf, `is_leaf` is true, so that a message need not name it.
template <class E>
struct axes_origin {
  static constexpr bool is_leaf = true;
  using type = fact::axes_come_from<known_as<E>>;
};
template <class Opaque>
struct axes_origin<renamed<Opaque>> : axes_origin<revealed<Opaque>> {};

/// Replaces an expression after its mistake has been reported. All expressions made of it are silent.
struct rejected : expression {
  using owner = top_scope;
  static constexpr cairn::shape shape{1, 1, 1, 1};  // so that shape[-1] and shape[0] exist
  static constexpr element_type element{};
  static constexpr expression_traits traits{};
  static constexpr bool shown = true;
  constexpr rejected operator()(const auto&...) const { return {}; }
};

/// A mistake that is not reported yet and travels outward. `Owner` is the body that the mistake has reached. `Path`
/// holds the names of the blocks and segments that it has left, the outermost first.
template <class Misuse, class Owner, class Path, class... Facts>
struct poison : rejected {
  using owner = Owner;
};

template <class E>
inline constexpr bool is_poison = false;
template <class M, class O, class P, class... F>
inline constexpr bool is_poison<poison<M, O, P, F...>> = true;

/// Poison P one body further out: it belongs to `Owner`, and its path begins with the given names.
template <class P, class Owner, fixed_string... Name>
struct outward;
template <class M, class O, fixed_string... Path, class... F, class Owner, fixed_string... Name>
struct outward<poison<M, O, fact::in<Path...>, F...>, Owner, Name...> {
  using type = poison<M, Owner, fact::in<Name..., Path...>, F...>;
};

/// The length of the longest text that clang shows in full.
inline constexpr std::size_t most_shown = 30;
/// Returns the end of the piece of a name that begins at `begin`. A piece ends at the last dot before clang would cut
/// it; without such a dot, at the next dot or at the end of the name.
constexpr std::size_t piece_end(std::string_view name, std::size_t begin) {
  if (name.size() - begin <= most_shown) return name.size();
  const std::size_t dot = name.substr(0, begin + most_shown).rfind('.');
  return dot != name.npos && dot > begin ? dot : std::min(name.find('.', begin), name.size());
}
template <fixed_string Name, std::size_t Begin, std::size_t End>
inline constexpr auto piece_of = [] {
  fixed_string<End - Begin + 1> text;
  std::copy_n(Name.text + Begin, End - Begin, text.text);
  text.text[End - Begin] = '\0';  // clang prints only characters that were written
  return text;
}();
/// Splits a name at dots into pieces, so that clang shows each piece in full. Returns the fact with all pieces.
template <template <fixed_string...> class Fact, fixed_string Name, std::size_t Begin = 0, fixed_string... Done>
constexpr auto in_pieces() {
  constexpr std::size_t end = piece_end(Name, Begin);
  constexpr auto piece = piece_of<Name, Begin, end>;
  if constexpr (end + 1 == sizeof(Name.text)) return std::type_identity<Fact<Done..., piece>>{};
  else return in_pieces<Fact, Name, end + 1, Done..., piece>();
}
template <fixed_string First, fixed_string... More>
inline constexpr auto with_dots = (First + ... + (fixed_string{"."} + More));

/// An argument of any kind as messages show it, and the body that it belongs to.
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
template <an_expression... E>
struct showing<std::tuple<E...>> {
  using type = std::tuple<tensor_fact<E>...>;
  using owner = owner_of<E...>;
};
/// A fact as messages show it. The type in fact::given is shown as an argument is.
template <class Fact>
struct displayed {
  using type = Fact;
};
template <class A>
struct displayed<fact::given<A>> {
  using type = fact::given<typename showing<A>::type>;
};

/// The class that reports a mistake in its constructor. For anything that is no mistake, this is a class with a silent
/// constructor.
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

/// The type that a call returns to report a mistake. It differs between compilers, so that the message is as short as
/// possible. With g++ the message is shortest if the assertion fails while a returned class is completed: it names only
/// the user's line. With clang it is shortest if the called function constructs the report itself.
#ifdef __clang__
template <class Report>
using returned = Report;
#else
template <class Report>
struct returned : rejected {
  static_assert(Report{}.shown);
};
#endif

/// The type that a call returns for E: see `surfaced`.
template <class E>
struct surfacing {
  using type = E;
};
template <class M, class Path, class... F>
struct surfacing<poison<M, top_scope, Path, F...>> {
  using type = returned<typename reporting<poison<M, top_scope, Path, F...>>::type>;
};

/// An element of a tuple, after the mistake in the tuple has been reported. The class is final, so that std::tuple does
/// not derive from it.
struct silent_element final : rejected {};
template <class Indices>
struct silent_elements;
template <std::size_t... I>
struct silent_elements<std::index_sequence<I...>> {
  using type = std::tuple<std::conditional_t<(I >= 0), silent_element, void>...>;
};
/// The report of a mistake in place of a tuple of N elements.
template <class Report, std::size_t N>
struct reported_tuple : Report, silent_elements<std::make_index_sequence<N>>::type {};
template <class M, class Path, class... F, class... Silent>
struct surfacing<std::tuple<poison<M, top_scope, Path, F...>, Silent...>> {
  using type = reported_tuple<typename surfacing<poison<M, top_scope, Path, F...>>::type, 1 + sizeof...(Silent)>;
};

/// Returns the first argument that stands for a mistake. One argument must do so.
template <class First, class... Rest>
constexpr auto first_wrong(First first, Rest... rest) {
  if constexpr (__is_base_of(rejected, First)) return first;
  else return first_wrong(rest...);
}

/// E stands for a mistake. The mistake may have been reported or not.
template <class E>
concept wrong = an_expression<E> && __is_base_of(rejected, E);
/// True for a tuple of expressions with a mistake among them.
template <class T>
inline constexpr bool has_wrong_elements = false;
template <an_expression... E>
inline constexpr bool has_wrong_elements<std::tuple<E...>> = (wrong<E> || ...);

/// The type that a call returns for E. Expressions without a mistake, and poisons inside a body, stay as they are. A
/// poison at the top level becomes the report of its mistake.
template <class E>
using surfaced = typename surfacing<E>::type;

/// A fact about a name of any length.
template <template <fixed_string...> class Fact, fixed_string Name>
using about = typename decltype(in_pieces<Fact, Name>())::type;

/// Reports a mistake that no call returns: `static_assert(report_of<Problem>{}.shown)`. Reports nothing if Problem is
/// `sound`.
template <class Problem>
using report_of = typename reporting<Problem>::type;
/// Stands for the absence of a mistake.
struct sound {
  static constexpr bool shown = true;
};
/// Returns the first argument that is not `sound`, or `sound` if there is none.
constexpr sound first_problem() { return {}; }
template <class First, class... Rest>
constexpr auto first_problem(First first, Rest... rest) {
  if constexpr (std::same_as<First, sound>) return first_problem(rest...);
  else return first;
}

/// A new mistake in the body Owner.
template <class Misuse, class Owner, class... Facts>
using mistake = poison<Misuse, Owner, fact::in<>, Facts...>;

/// Returns the mistake in the first setting with a value that is not allowed, or `sound`. Listed::all is the array of
/// settings.
template <class Listed, class Owner, class Path, class... Facts>
constexpr auto problem_of_settings() {
  constexpr std::span<const setting> all(Listed::all);
  constexpr std::size_t i = detail::first_refused(all);
  if constexpr (i == all.size()) {
    return sound{};
  } else {
    constexpr const setting& wrong = all[i];
    return poison<misuse::meaningless_setting, Owner, Path, Facts...,
                  fact::setting<detail::fixed<wrong.name.size()>(wrong.name), wrong.value,
                                detail::fixed<wrong.range.size()>(wrong.range)>>{};
  }
}

/// Returns the first mistake among the arguments of an expression in the body Owner. The mistake then belongs to Owner.
template <class Owner, class... A>
constexpr auto pass_on(A... args) {
  using found = decltype(first_wrong(args...));
  if constexpr (is_poison<found>) return typename outward<found, Owner>::type{};
  else return rejected{};
}

/// Returns the mistake of calling the function `Name` with arguments A, or the mistake among the arguments if there is
/// one.
template <class Misuse, fixed_string Name, class... A>
constexpr auto mistaken_call() {
  using owner = owner_of<showing<A>...>;
  if constexpr ((wrong<A> || ...)) return decltype(pass_on<owner>(std::declval<A>()...)){};
  else return mistake<Misuse, owner, fact::operation<Name, typename showing<A>::type...>>{};
}

#ifdef __clang__
template <class E>
using surfacing_at_once = surfacing<E>;
#else
// If no argument depends on a body, g++ completes the returned class only when the body is instantiated, which may be
// nested deeply. To keep the message short, this type reports the mistake where the compiler reads the call.
template <class P>
struct surfacing_at_once : surfacing<P> {};
template <class M, class Path, class... F>
struct surfacing_at_once<poison<M, top_scope, Path, F...>> {
  using type = typename reporting<poison<M, top_scope, Path, F...>>::type;
  static_assert(type{}.shown);
};
#endif

/// The type that a call of the function `Name` with wrong arguments A returns: see `mistaken_call`.
template <class Misuse, fixed_string Name, class... A>
using misused = surfaced<decltype(mistaken_call<Misuse, Name, A...>())>;

/// A layer that is a mistake. The mistake is reported where the layer is applied, because a layer does not know in
/// which body it is made.
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

template <class Misuse, class... A>
struct layer_call {
  template <fixed_string Called>
  using type = mistaken_layer<Misuse, fact::operation<Called, typename showing<A>::type...>>;
};
template <class Misuse, class... A>
  requires((an_expression<A> || ...) || (std::is_invocable_v<const A&> && ...))
struct layer_call<Misuse, A...> {
  template <fixed_string Called>
  using type = misused<Misuse, Called, A...>;
};
/// The mistake of calling ckpt, block or repeat with wrong template arguments. If the arguments contain an expression,
/// or are nothing but functions without parameters, the mistake takes the place of a value; otherwise the place of a
/// layer.
template <class Misuse, fixed_string Called, class... A>
using mistaken_layer_call = typename layer_call<Misuse, A...>::template type<Called>;
/// The mistake of calling ckpt, block or repeat without a name.
template <fixed_string Called, class... A>
using nameless = mistaken_layer_call<misuse::no_name, Called, A...>;

template <class Problem, class Made>
struct made_if_sound {
  using type = surfaced<Problem>;
};
template <class Made>
struct made_if_sound<sound, Made> {
  using type = Made;
};
/// The type `Made`, or the report of the problem if there is one.
template <class Problem, class Made>
using sound_or = typename made_if_sound<Problem, Made>::type;

/// Returns the mistake that the function `Name` was given an expression in place of the layer L, or `sound`.
template <fixed_string Name, class L>
constexpr auto problem_of_layer() {
  if constexpr (an_expression<L>) return mistaken_call<misuse::expression_for_layer, Name, L>();
  else return sound{};
}
/// The type `Made` that the function `Name` makes of the layer L, or the report that L is an expression.
template <fixed_string Name, class L, class Made>
using made_from_layer = sound_or<decltype(problem_of_layer<Name, L>()), Made>;

}  // namespace cairn::lang

template <class Report, std::size_t N>
struct std::tuple_size<cairn::lang::reported_tuple<Report, N>> : std::integral_constant<std::size_t, N> {};
template <std::size_t I, class Report, std::size_t N>
struct std::tuple_element<I, cairn::lang::reported_tuple<Report, N>> {
  using type = cairn::lang::silent_element;
};

namespace cairn::lang {
/// Returns the mistake of taking the value e apart.
template <class E>
constexpr auto not_several(E e) {
  if constexpr (is_poison<E>) return e;
  else if constexpr (wrong<E>) return rejected{};
  else return mistake<misuse::one_value, typename E::owner, fact::operation<"get", tensor_fact<E>>>{};
}
/// The mistake of taking one value apart with std::get. For anything that is no single value there is no member `type`,
/// because compilers form return types before they look at constraints.
template <class E>
struct taken_apart {};
template <an_expression E>
  requires(!requires { std::tuple_size<E>::value; })
struct taken_apart<E> {
  using type = surfaced<decltype(not_several(E{}))>;
};
}  // namespace cairn::lang
namespace std {
/// Reports that std::get was called with one value. The overload is in namespace std, because `std::get` is looked up
/// only there.
template <std::size_t I, class E>
constexpr typename cairn::lang::taken_apart<E>::type get(E) {
  return {};
}
}  // namespace std
