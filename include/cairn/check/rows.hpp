// Checks that tiled layers treat rows independently.
#pragma once

#include "cairn/check/names.hpp"

namespace cairn::detail {

/// Rejects a tiled layer that mixes rows or updates a state. graph/rows.hpp has found the fault.
struct rows_are_independent {
  template <class Compiled>
  static constexpr auto of() {
    constexpr const graphs::mixed_rows* found = Compiled::graph.wrong.rows;
    if constexpr (found == nullptr) {
      return sound{};
    } else if constexpr (found->updates_state) {
      return mistake<misuse::updated_by_groups, top_scope,
                     about<fact::state, text_of_name<[] { return name<Compiled>; }>>, fact::groups<found->groups>>{};
    } else {
      return of_operation<Compiled>(std::make_integer_sequence<int, found->argument_count>{});
    }
  }

 private:
  template <class Compiled>
  static constexpr std::string_view name = Compiled::graph.wrong.rows->name;
  template <class Compiled, int Argument>
  struct value {
    static constexpr cairn::shape shape = Compiled::graph.wrong.rows->arguments[Argument]->extents;
    static constexpr element_type element = Compiled::graph.wrong.rows->arguments[Argument]->element;
  };
  template <class Compiled, int... Argument>
  static constexpr auto of_operation(std::integer_sequence<int, Argument...>) {
    return mistake<
        misuse::mixes_rows, top_scope,
        fact::operation<text_of_name<[] { return name<Compiled>; }>, tensor_fact<value<Compiled, Argument>>...>,
        fact::groups<Compiled::graph.wrong.rows->groups>>{};
  }
};

}  // namespace cairn::detail
