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

#include <cairn/data/npy.hpp>
#include <cairn/file/saving.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

using namespace cairn;

namespace {{

bool is_close = true;

double largest(const auto& array) {{
  double out = 0;
  for (const auto x : array) out = std::max(out, std::abs(static_cast<double>(x)));
  return out;
}}
/// Prints how far an array is from PyTorch's. The deviation may be `tolerance` times the largest number of PyTorch's
/// array, or `least`.
void compare(const std::string& name, const auto& array, double tolerance, double least = 0) {{
  const std::vector<double> expected = data::read_npy<double>("numbers/" + name + ".npy").values;
  double deviation = expected.size() == std::size(array) ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(expected.size(), std::size(array)); ++i) {{
    const double difference = std::abs(static_cast<double>(array.data()[i]) - expected[i]);
    deviation = difference <= deviation ? deviation : difference;  // also takes NaN
  }}
  const double size = largest(expected);
  const bool close = deviation <= std::max(tolerance * size, least);
  is_close = is_close && close;
  std::printf("%-60s deviation %.1e of %.1e%s\\n", name.c_str(), deviation, size, close ? "" : "  NOT CLOSE");
}}

}}  // namespace

int main() {{
{inputs}
{outputs}{training}  return is_close ? 0 : 1;
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
  step.for_each_gradient([&](std::string_view name, auto gradient) {{
    compare("gradients/" + std::string(name), gradient, 1e-4, 1e-6 * most);
  }});
  const auto compare_steps = [&](const std::string& name, auto optimizer) {{
    std::vector<double> losses(data::read_npy<double>("numbers/" + name + ".npy").values.size());
    for (double& loss : losses) {{
      loss = step.value_and_grad({bound});
      optimizer.update();
    }}
    compare(name, losses, 1e-4);
  }};
  compare_steps("losses_sgd", sgd{{step, {{.lr = 0.01}}}});
  static_cast<void>(step.load("weights.safetensors"));
  compare_steps("losses_adamw", adamw{{step, {{.lr = 1e-3, .weight_decay = 0.01}}}});
  step.save("trained.safetensors");
'''

SILENT = '''
  // Dropout draws other random numbers than PyTorch.
  std::puts("gradients and losses are not compared: import the model with dropout of 0 to compare them");
'''

TRAIN = '''// Trains the imported model.
#include "model.hpp"

#include <cairn/data/npy.hpp>
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
        return '\n'.join(f'  const auto {a.name} = data::read_npy<{"float" if a.kind == "real" else "std::int32_t"}>'
                         f'("numbers/{a.bound_name}.npy").values;' for a in self.model.inputs)

    def bound(self, arrays=None):
        return ', '.join(f'bind<{quoted(a.bound_name)}>({a.name})' for a in arrays or self.model.inputs)

    def check(self, has_training):
        lines = []
        for name, own in zip(self.model.outputs, self.names):
            inputs = read_by(self.model.outputs[name].array)
            arrays = [a for a in self.model.inputs if a in inputs]
            result = f'predict_{own}({self.bound(arrays)})'
            if not self.model.outputs[name].shape:
                result = f'std::vector{{{result}}}'
            lines.append(f'  predictor<{self.namespace}::{own}> predict_{own}{{"weights.safetensors"}};\n'
                         f'  compare({quoted(name)}, {result}, 1e-5);\n')
        wide = ''.join(f'  const std::vector<double> {a.name}_in_double({a.name}.begin(), {a.name}.end());\n'
                       for a in self.model.inputs if a.kind == 'real')
        bound = ', '.join(f'bind<{quoted(a.bound_name)}>({a.name}{"_in_double" if a.kind == "real" else ""})'
                          for a in self.model.inputs)
        training = TRAINING.format(bound=bound, wide=wide, options=', '.join(
            [f'{self.namespace}::{self.output_names[-1]}', *self.more])) if has_training else SILENT if self.has_loss else ''
        return CHECK.format(namespace=self.namespace, inputs=self.inputs(), outputs=''.join(lines), training=training)

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
