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

CHECK = '''// Compares the imported model with numbers that PyTorch computed.
#include "model.hpp"

#include <cairn/data/safetensors.hpp>
#include <cairn/file/saving.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using namespace cairn;

namespace {{

/// The largest deviation of an array from PyTorch's, the largest number of PyTorch's array, and the deviation that the
/// array may have.
struct deviation {{
  std::string name;
  double value, size, limit;
}};

int arrays = 0, far_arrays = 0;  // all arrays, and those that are not close

double largest(const auto& array) {{
  double out = 0;
  for (const double x : array) out = std::isfinite(x) ? std::max(out, std::abs(x)) : out;
  return out;
}}

std::vector<double> of_pytorch(const std::string& kind, const std::string& name) {{
  return data::read_safetensors<double>("numbers.safetensors", kind + "/" + name).values;
}}

/// Compares an array with PyTorch's. The limit is `tolerance` times the largest number of PyTorch's array, or `least`.
deviation compared(const std::string& kind, const std::string& name, const auto& array, double tolerance,
                   double least = 0) {{
  const std::vector<double> expected = of_pytorch(kind, name);
  double value = expected.size() == std::size(array) ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(expected.size(), std::size(array)); ++i) {{
    const double x = array.data()[i];
    const double difference = x == expected[i] ? 0 : std::abs(x - expected[i]);
    value = std::isnan(difference) ? INFINITY : std::max(value, difference);
  }}
  const double size = largest(expected);
  return {{name, value, size, std::max(tolerance * size, least)}};
}}

/// Prints a line for arrays of one kind, with the deviation that is nearest to its limit. Prints another line for each
/// array that is not close.
void report(const std::string& what, const std::vector<deviation>& all) {{
  const deviation& worst = *std::max_element(all.begin(), all.end(), [](const deviation& a, const deviation& b) {{
    return a.value * b.limit < b.value * a.limit;
  }});
  std::printf("%s: ", what.c_str());
  if (all.size() == 1) std::printf("deviation %.1e of %.1e\\n", worst.value, worst.size);
  else std::printf("largest deviation %.1e of %.1e, in %s\\n", worst.value, worst.size, worst.name.c_str());
  for (const auto& [name, value, size, limit] : all) {{
    ++arrays;
    if (value <= limit) continue;
    ++far_arrays;
    std::printf("  NOT CLOSE: %s, deviation %.1e of %.1e, limit %.1e\\n", name.c_str(), value, size, limit);
  }}
}}

}}  // namespace

int main() {{
{inputs}
{outputs}{training}
  if (far_arrays == 0) std::puts("{agrees}");
  else std::printf("%d of %d arrays are not close to PyTorch's.\\n", far_arrays, arrays);
  return far_arrays == 0 ? 0 : 1;
}}
'''

TRAINING = '''
  // Gradients are computed in double. A float may round to the other side of a kink, such as that of relu at 0, and
  // then a gradient changes by percents.
  program<{options}, real<double>> step;
  static_cast<void>(step.load("weights.safetensors"));
{wide}  static_cast<void>(step.value_and_grad({bound}));
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
foreach name : {programs}
  executable(name, name + '.cpp', dependencies: dependency('cairn'))
endforeach
'''

CMAKE = '''cmake_minimum_required(VERSION 3.20)
project({namespace} CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
add_compile_options(-march=native)
find_package(cairn 0.2 REQUIRED)
foreach(name {programs})
  add_executable(${{name}} ${{name}}.cpp)
  target_link_libraries(${{name}} PRIVATE cairn::cairn)
endforeach()
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

    def inputs(self):
        return '\n'.join(f'  const auto {a.name} = data::read_safetensors<{"float" if a.kind == "real" else "std::int32_t"}>('
                         f'"numbers.safetensors", {quoted("inputs/" + a.bound_name)}).values;' for a in self.model.inputs)

    def bound(self, arrays=None):
        return ', '.join(f'bind<{quoted(a.bound_name)}>({a.name})' for a in arrays or self.model.inputs)

    def check(self, has_training):
        lines, compared = '', []
        for name, own in zip(self.model.outputs, self.names):
            inputs = read_by(self.model.outputs[name].array)
            arrays = [a for a in self.model.inputs if a in inputs]
            result = f'predict_{own}({self.bound(arrays)})'
            if not self.model.outputs[name].shape:
                result = f'std::vector{{{result}}}'
            lines += f'  predictor<{self.namespace}::{own}> predict_{own}{{"weights.safetensors"}};\n'
            compared.append(f'compared("outputs", {quoted(name)}, {result}, 1e-5)')
        if len(compared) > 1:
            lines += f'  report("{len(compared)} outputs", {{\n      ' + ',\n      '.join(compared) + '});\n'
        elif compared:
            lines += f'  report("output", {{{compared[0]}}});\n'
        wide = ''.join(f'  const std::vector<double> {a.name}_in_double({a.name}.begin(), {a.name}.end());\n'
                       for a in self.model.inputs if a.kind == 'real')
        bound = ', '.join(f'bind<{quoted(a.bound_name)}>({a.name}{"_in_double" if a.kind == "real" else ""})'
                          for a in self.model.inputs)
        training = TRAINING.format(bound=bound, wide=wide, options=', '.join(
            [f'{self.namespace}::{self.output_names[-1]}', *self.more])) if has_training else ''
        return CHECK.format(namespace=self.namespace, inputs=self.inputs(), outputs=lines, training=training,
                            agrees=SILENT if self.has_loss and not has_training else AGREES)

    def files(self, has_training):
        names = ['check', 'train'] if self.has_loss else ['check']
        train = TRAIN.format(namespace=self.namespace, inputs=self.inputs(), bound=self.bound())
        out = {'model.hpp': self.header(), 'check.cpp': self.check(has_training),
               **({'train.cpp': train} if self.has_loss else {}),
               'meson.build': MESON.format(namespace=self.namespace, programs=[*names]),
               'CMakeLists.txt': CMAKE.format(namespace=self.namespace, programs=' '.join(names))}
        return out


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
