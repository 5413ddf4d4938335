// What operations and functions ask of their arguments, as misuse tags: see core/diagnose.hpp.
#pragma once

#include "cairn/core/facts.hpp"

namespace cairn {

/// Shape rules, which operations name.
namespace rule {
struct extents_equal_or_one {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [shape-mismatch]: extents must be equal or 1, aligned at the last axis; change an"
                    " argument");
    }
  };
};

struct inner_extents_equal {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [shape-mismatch]: matrices must be {..., m, k} and {..., k, n}; transpose or "
                    "change an argument");
    }
  };
};

struct same_number_of_elements {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [shape-mismatch]: reshape keeps the number of elements; ask for extents with the "
                    "same product");
    }
  };
};

struct axes_exist {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [shape-mismatch]: the argument has no such axes: they count from 0, or backward "
                    "from -1, and transpose names each once");
    }
  };
};

struct equal_but_along_axis {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [shape-mismatch]: extents must be equal except along the joined axis, which all must have; "
                    "change an argument");
    }
  };
};

struct part_of_axis {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [shape-mismatch]: a slice is one or more elements [begin, end) of an axis that exists; "
                    "negative ones count from the end");
    }
  };
};

struct one_label_per_row {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [shape-mismatch]: logits {..., classes} take one label for each row, "
                    "labels<\"name\", classes, rows>; change one of the two");
    }
  };
};

struct equal_shapes {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [shape-mismatch]: the shapes must be equal; change the argument that differs");
    }
  };
};

struct probability_below_one {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-probability]: elements are dropped with a probability from 0 to below 1; change it");
    }
  };
};

struct scalar_first {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [loss-not-scalar]: grad takes a scalar first, then what it is differentiated by; reduce it with "
                    "mean or sum");
    }
  };
};

struct positive_extents {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [shape-mismatch]: a tensor has at most 6 extents, each a positive "
                    "constant, that of the batch too");
    }
  };
};

struct at_least_two_axes {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [shape-mismatch]: this layer takes {..., rows, features}; reshape its argument");
    }
  };
};
}  // namespace rule

struct layer_for_expression {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: a layer stands where an expression is needed; apply "
                    "it: x | layer, or layer(x)");
    }
  };
};

struct expression_for_layer {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: an expression stands where a layer is needed; give "
                    "the layer itself, and apply the result: x | ckpt<\"name\">(layer)");
    }
  };
};

struct piped_into_expression {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: to the right of | stands a layer, not an expression; "
                    "write x | layer, or relu(x) without x |");
    }
  };
};

struct axes_as_arguments {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: axes and extents are template arguments; write sum<-1>(x), "
                    "reshape<8, 4>(x), slice<1, 0, 4>(x)");
    }
  };
};

struct two_arguments {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: this takes two arguments: cross_entropy(logits, "
                    "labels), accuracy(logits, labels), mse(result, target)");
    }
  };
};

struct two_or_more_arguments {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: this takes two expressions or more: concatenate<1>(a, b)");
    }
  };
};

struct state_second {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: updated takes a value, a state and what that becomes: "
                    "updated(x, state<\"s\", initial{}, 8>, next)");
    }
  };
};

struct function_first {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: ckpt takes a function, then the expressions to call "
                    "it with: ckpt<\"name\">(f, a, b), or ckpt<\"name\">(layer)");
    }
  };
};

struct no_policy {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: after its name ckpt takes policies: save<\"tag\">, save_matmuls, "
                    "allow_useless, or a predicate on a saveable without state");
    }
  };
};

struct contradicting_policies {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [contradicting-policies]: these two policies of one segment contradict each other; "
                    "take one out");
    }
  };
};

struct no_name {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: ckpt, block and repeat take a name in <...>: "
                    "ckpt<\"name\">(layer), block<\"name\">(layer), repeat<8, \"name\">(f)");
    }
  };
};

struct no_iterations {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: repeat<N, \"name\"> applies a layer N times; N is at "
                    "least 1");
    }
  };
};

struct no_tuple_of_layers {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: ckpt_sequential<N> takes the layers of a chain in one tuple; write "
                    "ckpt_sequential<2>(hana::make_tuple(l1, l2))");
    }
  };
};

struct segments_without_layers {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: ckpt_sequential<N> makes N segments of these layers; N is at least 1 and "
                    "at most their number");
    }
  };
};

struct array_without_name {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: an array enters under the name of an input, a "
                    "template argument; write bind<\"x\">(array)");
    }
  };
};

struct no_array {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: bind takes elements that lie side by side: a span, C "
                    "array, std::array, std::vector, or xtensor container");
    }
  };
};

struct options_in_braces {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: an optimizer takes its program, and options in "
                    "braces: sgd optimizer{step, {.lr = 0.1}}");
    }
  };
};

struct no_program_to_train {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [wrong-arguments]: an optimizer updates a program<...> of its own "
                    "element type; write sgd optimizer{step}");
    }
  };
};

}  // namespace cairn
