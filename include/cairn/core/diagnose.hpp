// The vocabulary of compile-time messages: facts as labelled template arguments, one sentence per misuse.
//
// A misuse is a tag with a nested template `found<Silent, Facts...>`, whose constructor holds the one
// static_assert. It is called, and so the misuse reported, where the user's outermost call returns it, and
// goes on as `Silent`, of which everything is accepted. In the constructor and not in the class, for clang
// accepts nothing of a class in which an assertion failed. Expression types carry only the tag and the facts.
// clang prints facts and sentence in one line: both must be short.
#pragma once

#include "cairn/core/facts.hpp"
#include "cairn/core/rules.hpp"

namespace cairn {

struct kind_mismatch {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [kind-mismatch]: arguments are real numbers (float) or class indices (int), as "
                    "the operation takes them; check their order");
    }
  };
};

struct raw_number {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [kind-mismatch]: a plain number cannot enter an expression, which is a type "
                    "without a value; write 0.5_c or constant<0.5>");
    }
  };
};

struct bound_shape_mismatch {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [shape-mismatch]: the array has other extents than the input that it is bound to;"
                    " bind the expected one, or a flat one of as many elements");
    }
  };
};

struct bound_kind_mismatch {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [kind-mismatch]: the array has other elements than the input that it is bound to;"
                    " convert it, or choose the program's type with real<...>");
    }
  };
};

struct other_element {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [kind-mismatch]: a predictor computes in its program's type; write predictor<..., real<...>>");
    }
  };
};

struct too_many_classes {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [shape-mismatch]: these labels can name a class for which there is no logit; give"
                    " both the same number of classes");
    }
  };
};

struct detached_in_segment {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [detached-in-segment]: this segment contains a detach, though its interior is "
                    "differentiated again in backward; detach outside and pass the result as an argument of "
                    "ckpt");
    }
  };
};

struct captured_value {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [captured-value]: a body uses a value that is neither its own nor its argument; "
                    "pass it as an argument");
    }
  };
};

struct unused_argument {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [unused-argument]: the body of this segment never reads this argument (the first is "
                    "number 0), which ckpt would keep for nothing; remove it from both");
    }
  };
};

struct not_a_layer {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [not-a-layer]: a layer takes expressions by value, returns one and captures nothing; "
                    "pass values as arguments");
    }
  };
};

struct no_function_of_index {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [not-a-layer]: repeat takes a function of the index that returns a layer; write "
                    "repeat<N, \"name\">([](auto i) { return ...; })");
    }
  };
};

// Calls that fit no function.

struct expression_too_large {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [expression-too-large]: too many operations one inside the other; make layers of "
                    "them and compose these with | or repeat, which may be as long as you like");
    }
  };
};

struct zero_grad_segment {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [zero-grad-segment]: nothing in this segment needs a gradient in this program, so"
                    " nothing of it is recomputed; write block, or allow_useless where another program trains it");
    }
  };
};

struct useless_segment {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(
          well_formed<Facts...>,
          "cairn [useless-segment]: this segment frees no more bytes than the boundaries and results that only it"
          " keeps; write block, put more into it, take a policy out, or add allow_useless");
    }
  };
};

struct whole_model_in_segment {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(
          well_formed<Facts...>,
          "cairn [useless-segment]: the whole model is this segment, so backward has all of it in memory again and "
          "the arena is no smaller; make segments of its parts");
    }
  };
};

struct over_budget {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [over-budget]: the arena of this program is larger than its budget<...>; put more of it "
                    "into segments, make the batch smaller, or allow these bytes");
    }
  };
};

struct zero_grad_output {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(
          well_formed<Facts...>,
          "cairn [zero-grad-output]: no gradient of the loss reaches any parameter: it has none to train, or "
          "only behind the operation named here; take that out, name inputs in wrt<...>, or use predictor<...>");
    }
  };
};

struct zero_grad_argument {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [zero-grad-argument]: a gradient is asked by a value of this shape on which the scalar does "
                    "not depend, or only through detach or indices; take it out of grad");
    }
  };
};

struct zero_grad_parameter {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [zero-grad-parameter]: no gradient of the loss reaches this parameter: it is "
                    "unused or only behind detach; name it in freeze<...> or remove it");
    }
  };
};

struct zero_grad_input {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(
          well_formed<Facts...>,
          "cairn [zero-grad-input]: no gradient of the loss reaches this input: only other outputs read it, or "
          "it is behind detach; take it out of wrt<...>");
    }
  };
};

struct gradient_of_indices {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [kind-mismatch]: labels are class indices, which have no gradient; wrt<...> names inputs of "
                    "real numbers");
    }
  };
};

struct parameter_as_input {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(
          well_formed<Facts...>,
          "cairn [unknown-name]: wrt<...> names inputs, and this is a parameter; its gradient is there anyway, "
          "unless it is frozen");
    }
  };
};

struct parameter_conflict {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [parameter-conflict]: one name stands for two different leaves; rename one, or "
                    "put them into different blocks");
    }
  };
};

struct same_random_key {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [same-random-key]: two random operations have one name and would draw the same numbers; "
                    "rename one, or put them into different blocks");
    }
  };
};

struct two_updates {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [two-updates]: a step would update this state to two different values, as where a "
                    "batch_norm is applied twice; rename one, or put them into different blocks");
    }
  };
};

struct loss_not_scalar {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [loss-not-scalar]: the first output of a program is differentiated and must be a "
                    "scalar; reduce it with mean or sum, or give its gradient with cotangent<\"name\">");
    }
  };
};

struct unknown_name {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [unknown-name]: the model has nothing of this name; names contain those of the "
                    "blocks around them, as in \"block.0.fc1.weight\"");
    }
  };
};

struct unknown_tag {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [unknown-name]: nothing in this segment has the tag that its policy names; write "
                    "tag<\"name\">(value) there, or correct it");
    }
  };
};

struct idle_policy {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [idle-policy]: this policy (the first is number 0) fits no value inside of its segment; take "
                    "it out, or move it to the segment that is meant");
    }
  };
};

struct frozen_parameter {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [unknown-name]: this parameter is frozen in this program and has no gradient; do "
                    "not ask for it, or train the parameter");
    }
  };
};

struct input_without_gradient {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [unknown-name]: this input has no gradient in this program; ask for it with the option "
                    "wrt<\"name\">");
    }
  };
};

struct unknown_option {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(
          well_formed<Facts...>,
          "cairn [unknown-option]: this is no option of a program; options are real<...>, freeze<...>, wrt<...>, "
          "cotangent<...>, accumulate_gradients, budget<...>, threads<...>, plain and check_finite");
    }
  };
};

struct missing_input {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [missing-input]: the model reads this input, but no bind<...> gives it; bind an "
                    "array to it");
    }
  };
};

struct duplicate_input {
  template <class Silent, class... Facts>
  struct found : Silent {
    constexpr found() {
      static_assert(well_formed<Facts...>,
                    "cairn [duplicate-input]: this input is bound more than once; remove a bind<...>");
    }
  };
};

}  // namespace cairn
