"""The files that are written: the model, programs that check and train it, and files to build them."""

import re

from cairn_import.text import RESERVED, Call, Element, quoted
from cairn_import.value import plain
from cairn_import.write import Writer, text_of, wrapped

HEAD = '''// {title}
// cairn-import wrote this file. Parameters have the names and the layouts of the PyTorch model.
#pragma once

#include <cairn/cairn.hpp>

namespace {namespace} {{

using namespace cairn;

{functions}

{leaves}

{values}

}}  // namespace {namespace}
'''

USELESS = '''
// A segment with allow_useless is a checkpoint of the PyTorch model that may free no memory. cairn rejects such a
// segment without this word.'''

COMPARED = '''// Compares arrays with those that PyTorch computed.
#pragma once

#include <cairn/data/safetensors.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

/// The largest deviation of an array from PyTorch's, the largest number of PyTorch's array, and the deviation that the
/// array may have.
struct deviation {
  std::string name;
  double value, size, limit;
};

inline int arrays = 0, far_arrays = 0;  // all arrays, and those that are not close

inline double largest(const auto& array) {
  double out = 0;
  for (const double x : array) out = std::isfinite(x) ? std::max(out, std::abs(x)) : out;
  return out;
}

inline std::vector<double> of_pytorch(const std::string& kind, const std::string& name) {
  return cairn::data::read_safetensors<double>("numbers.safetensors", kind + "/" + name).values;
}

/// Compares an array with PyTorch's. The limit is `tolerance` times the largest number of PyTorch's array, or `least`.
inline deviation compared(const std::string& kind, const std::string& name, const auto& array, double tolerance,
                          double least = 0) {
  const std::vector<double> expected = of_pytorch(kind, name);
  double value = expected.size() == std::size(array) ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(expected.size(), std::size(array)); ++i) {
    const double x = array.data()[i];
    const double difference = x == expected[i] ? 0 : std::abs(x - expected[i]);
    value = std::isnan(difference) ? INFINITY : std::max(value, difference);
  }
  const double size = largest(expected);
  return {name, value, size, std::max(tolerance * size, least)};
}

/// Prints a line for arrays of one kind, with the deviation that is nearest to its limit. Prints another line for each
/// array that is not close.
inline void report(const std::string& what, const std::vector<deviation>& all) {
  const deviation& worst = *std::max_element(all.begin(), all.end(), [](const deviation& a, const deviation& b) {
    return a.value * b.limit < b.value * a.limit;
  });
  std::printf("%s: ", what.c_str());
  if (all.size() == 1) std::printf("deviation %.1e of %.1e\\n", worst.value, worst.size);
  else std::printf("largest deviation %.1e of %.1e, in %s\\n", worst.value, worst.size, worst.name.c_str());
  for (const auto& [name, value, size, limit] : all) {
    ++arrays;
    if (value <= limit) continue;
    ++far_arrays;
    std::printf("  NOT CLOSE: %s, deviation %.1e of %.1e, limit %.1e\\n", name.c_str(), value, size, limit);
  }
}

/// Compares gradients and training steps. The function is in check_training.cpp.
void check_training();
'''

CHECK = '''// Compares the imported model with numbers that PyTorch computed.
#include "check.hpp"
#include "model.hpp"

#include <cairn/file/saving.hpp>

using namespace cairn;

int main() {{
{inputs}
{outputs}{training}
  if (far_arrays == 0) std::puts("{agrees}");
  else std::printf("%d of %d arrays are not close to PyTorch's.\\n", far_arrays, arrays);
  return far_arrays == 0 ? 0 : 1;
}}
'''

TRAINING = '''// Compares gradients and training steps of the imported model with PyTorch's. This file is apart from check.cpp, so
// that both can be compiled at once.
#include "check.hpp"
#include "model.hpp"

#include <cairn/file/saving.hpp>

using namespace cairn;

void check_training() {{
{inputs}

  // Gradients are computed in double. A float may round to the other side of a kink, such as that of relu at 0, and
  // then a gradient changes by percents.
  program<{options}, real<double>> step;
  static_cast<void>(step.load("weights.safetensors"));
  static_cast<void>(step.value_and_grad({bound}));
  double most = 0;
  step.for_each_gradient([&](std::string_view, auto gradient) {{ most = std::max(most, largest(gradient)); }});
  std::vector<deviation> gradients;
  step.for_each_gradient([&](std::string_view name, auto gradient) {{
    gradients.push_back(compared("gradients", std::string(name), gradient, 1e-4, 1e-6 * most));
  }});
  report("gradients of " + std::to_string(gradients.size()) + " parameters", gradients);

  const auto compare_steps = [&](const std::string& rule, auto optimizer) {{
    std::vector<double> losses(of_pytorch("losses", rule).size());
    for (double& loss : losses) {{
      loss = step.value_and_grad({bound});
      optimizer.update();
    }}
    report("losses of " + std::to_string(losses.size()) + " steps with " + rule,
           {{compared("losses", rule, losses, 1e-4)}});
  }};
  compare_steps("sgd", sgd{{step, {{.lr = 0.01}}}});
  static_cast<void>(step.load("weights.safetensors"));
  compare_steps("adamw", adamw{{step, {{.lr = 1e-3, .weight_decay = 0.01}}}});
  step.save("trained.safetensors");
}}
'''

AGREES = "The model agrees with PyTorch's numbers."
SILENT = """The outputs agree with PyTorch's.\\n"
      "Dropout draws other random numbers, so gradients and losses are not compared: import the model without dropout."""

TRAIN = '''// Trains the imported model.
#include "model.hpp"

#include <cairn/data/safetensors.hpp>
#include <cairn/file/saving.hpp>

#include <cstdio>

using namespace cairn;

int main() {{
  {namespace}::train_step step;
  static_cast<void>(step.load("weights.safetensors"));
  adamw optimizer{{step, {{.lr = 1e-3}}}};
  // One batch, with which the model was imported. Put yours in its place.
{inputs}
  for (int i = 1; i <= 100; ++i) {{
    const float loss = step.value_and_grad({bound});
    optimizer.update();
    if (i % 10 == 0) std::printf("step %d  loss %.4f\\n", i, static_cast<double>(loss));
  }}
  step.save("trained.safetensors");
}}
'''

MESON = '''project('{namespace}', 'cpp', default_options: ['cpp_std=c++20', 'buildtype=release', 'cpp_args=-march=native'])
cairn = dependency('cairn')
{programs}
'''

CMAKE = '''cmake_minimum_required(VERSION 3.20)
project({namespace} CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
add_compile_options(-march=native)
find_package(cairn 0.2 REQUIRED)
{programs}
'''


def leaf(array):
    extents = ', '.join(map(str, array.extents))
    head = f'constexpr auto {array.name} = '
    if array.kind == 'real':
        return f'{head}input<{quoted(array.bound_name)}, {extents}>;'
    bound = 2 ** 31 - 1 if array.bound is None else array.bound  # of indices that nothing limits
    return f'{head}indices<{quoted(array.bound_name)}, {bound}, {extents}>;'


class Programs:
    def __init__(self, model, root, options):
        self.model, self.options = model, options
        self.namespace = re.sub(r'\W', '_', root.name)
        if self.namespace in RESERVED:
            self.namespace += '_model'
        values = {name: plain(v) for name, v in model.outputs.items()}
        root.returned = list(values.values())
        for name, array in values.items():
            array.hint = name
        self.writer = Writer(root)
        text, lines = text_of(root), []
        self.output_names = []
        for name, array in values.items():
            if array not in text.names:
                text.state(array)
            self.output_names.append(text.names[array])
        for head, *rest in text.statements:
            names = re.match(r'const auto \[(.*)\] = ', head)
            own = text.name('results') if names else ''
            head = f'constexpr auto {own} = ' if names else 'constexpr' + head.removeprefix('const')
            lines.append(wrapped(self.writer.expanded([head, *rest])))
            lines += [f'constexpr auto {name} = std::get<{i}>({own});'
                      for i, name in enumerate(names[1].split(', ') if names else [])]
        self.has_loss = 'loss' in values
        more = [f'freeze<{", ".join(quoted(n) for n in frozen)}>'] if (frozen := [
            n for n, p in model.parameters.items() if not p.requires_grad]) else []
        more += [f'fit<{options.fit}>'] if options.fit else []
        self.more = more
        self.names = self.output_names[:-1] if self.has_loss else self.output_names
        if self.has_loss:
            lines.append(f'\nusing train_step = program<{", ".join([self.output_names[-1], *more])}>;')
        self.values = '\n'.join(lines)

    def header(self):
        title = f'{type(self.model.original).__qualname__} of {type(self.model.original).__module__}, imported from PyTorch.'
        title += USELESS if self.model.has_useless_segments else ''
        return HEAD.format(title=title, namespace=self.namespace, functions='\n\n'.join(self.writer.functions()),
                           leaves='\n'.join(leaf(a) for a in self.model.inputs), values=self.values)

    def inputs(self, arrays=None, real='float'):
        return '\n'.join(f'  const auto {a.name} = data::read_safetensors<{real if a.kind == "real" else "std::int32_t"}>('
                         f'"numbers.safetensors", {quoted("inputs/" + a.bound_name)}).values;'
                         for a in (self.model.inputs if arrays is None else arrays))

    def bound(self, arrays=None):
        return ', '.join(f'bind<{quoted(a.bound_name)}>({a.name})' for a in arrays or self.model.inputs)

    def check(self, has_training):
        lines, compared, read = '', [], set()
        for name, own in zip(self.model.outputs, self.names):
            inputs = read_by(self.model.outputs[name].array)
            arrays = [a for a in self.model.inputs if a in inputs]
            read |= set(arrays)
            result = f'predict_{own}({self.bound(arrays)})'
            if not self.model.outputs[name].shape:
                result = f'std::vector{{{result}}}'
            lines += f'  predictor<{self.namespace}::{own}> predict_{own}{{"weights.safetensors"}};\n'
            compared.append(f'compared("outputs", {quoted(name)}, {result}, 1e-5)')
        if len(compared) > 1:
            lines += f'  report("{len(compared)} outputs", {{\n      ' + ',\n      '.join(compared) + '});\n'
        elif compared:
            lines += f'  report("output", {{{compared[0]}}});\n'
        return CHECK.format(inputs=self.inputs([a for a in self.model.inputs if a in read]), outputs=lines,
                            training='  check_training();\n' if has_training else '',
                            agrees=SILENT if self.has_loss and not has_training else AGREES)

    def check_training(self):
        options = ', '.join([f'{self.namespace}::{self.output_names[-1]}', *self.more])
        return TRAINING.format(inputs=self.inputs(real='double'), bound=self.bound(), options=options)

    def files(self, has_training):
        sources = {'check': ['check.cpp', *(['check_training.cpp'] if has_training else [])],
                   **({'train': ['train.cpp']} if self.has_loss else {})}
        return {'model.hpp': self.header(), 'check.hpp': COMPARED, 'check.cpp': self.check(has_training),
                **({'check_training.cpp': self.check_training()} if has_training else {}),
                **({'train.cpp': TRAIN.format(namespace=self.namespace, inputs=self.inputs(), bound=self.bound())}
                   if self.has_loss else {}),
                'meson.build': MESON.format(namespace=self.namespace, programs='\n'.join(
                    f"executable({name!r}, {', '.join(map(repr, files))}, dependencies: cairn)"
                    for name, files in sources.items())),
                'CMakeLists.txt': CMAKE.format(namespace=self.namespace, programs='\n'.join(
                    f'add_executable({name} {" ".join(files)})\ntarget_link_libraries({name} PRIVATE cairn::cairn)'
                    for name, files in sources.items()))}


def read_by(array):
    """All arrays from which this array is computed. One of several results of a function is computed from the arguments
    that this result reads, and not from all arguments of the function."""
    from cairn_import.body import used_by
    seen, waiting = set(), [array]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        element = next((p for p in one.pieces if isinstance(p, Element)), None)
        called = [p.body for p in element.bundle.pieces if isinstance(p, Call)] if element else []
        if called:
            waiting += [a.origin for a in read_by(called[0].returned[element.index]) if a.is_parameter]
        else:
            waiting += used_by(one)
    return seen
