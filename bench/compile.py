#!/usr/bin/env python3
"""compile.py [form...]: prints the user seconds, the memory, the object size and the longest symbol of nets, by depth.

The first forms compute the gradient and the plan of residual nets, and compile no kernels. Each segment has about 20
operations. The option is -g.
- repeat: the blocks are made by `repeat`.
- chained: each block has a width of its own, so that no two bodies are equal.
- policy: the blocks are chained, and the segments save a tag.
- nested: the blocks are chained, and there are segments inside segments.
- grad: the blocks are chained, and the loss has a penalty on the slope.
- placed: the blocks are made by `repeat` without marks. The compiler places segments within a third of the plain arena.
- placed32: the same, with chained blocks.

The other forms are compiled with their kernels.
- transformer, at -O2: blocks of a transformer, made by `repeat`.
- cells, at -O2: cells of an LSTM, made by `repeat`. Each cell carries two values.
- README, resnet50, densenet121, at -O2: the program of the README, and the programs of bench/compile.
- distinct, at -O3: layers that all have different widths.

The limits of the compilers are the default limits.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
COMPILERS = ['g++', 'clang++-19']
PLAN, DEEP, SOME = ['-g'], [2, 12, 48, 192], [12, 48]
FORMS = {
    'repeat': (DEEP, PLAN), 'chained': (DEEP, PLAN),
    'policy': (SOME, PLAN), 'nested': (SOME, PLAN), 'grad': (SOME, PLAN),
    'placed': ([12, 48, 96], PLAN), 'placed32': ([32], PLAN),
    'transformer': ([2, 6, 12, 24], ['-O2', '-march=native']), 'cells': ([2, 6, 12, 24], ['-O2', '-march=native']),
    'distinct': ([4, 12, 24], ['-O3', '-march=native']), 'README': ([8], ['-O2', '-march=native']),
    'resnet50': ([16], ['-O2', '-march=native']), 'densenet121': ([58], ['-O2', '-march=native']),
}

NET = '''#include <cairn/check/model.hpp>
#include <cairn/lang/checkpoint.hpp>
#include <cairn/lang/gradient.hpp>
#include <cairn/op/loss.hpp>
#include <cairn/nn/activation.hpp>
#include <cairn/nn/linear.hpp>
using namespace cairn;
constexpr auto norm = layer([](auto x) {{
  const auto c = x - mean<-1>(x, keepdim);
  return c / sqrt(mean<-1>(square(c), keepdim) + 1e-5_c) * param<"scale", 64> + param<"shift", 64>;
}});
template <int Width>
constexpr auto body =
    nn::residual(norm | nn::linear<"fc1", Width> | nn::gelu | nn::linear<"fc2", 64> | nn::tanh | nn::sigmoid);
template <int Width>
constexpr auto segment = ckpt<"s">(body<Width>);
template <int Width>
constexpr auto policy_segment = ckpt<"s", save<"t">>(body<Width> | nn::tag<"t"> | nn::tanh);
template <int Width>
constexpr auto nested_segment = ckpt<"outer">(segment<Width> | nn::tanh);
constexpr auto x = input<"x", 32, 64>;
constexpr auto logits = x | nn::linear<"in", 64> | {segments} | nn::linear<"out", 10>;
constexpr auto entropy = cross_entropy(logits, labels<"y", 10, 32>);
constexpr auto loss = entropy{penalty};
using plan = {plan};
constexpr memory_plan figures = detail::memory_in<plan>;
static_assert(detail::segments_in<plan>.size() >= {least});
int main() {{ return figures.peak_bytes > 0 ? 0 : 1; }}
'''
REPEATED = '''#include <cairn/cairn.hpp>
using namespace cairn;
constexpr auto cell = [](auto h, auto c) {{ return nn::lstm_cell<"cell", 64>(h, h, c); }};
constexpr auto x = input<"x", 1, 16, 64>;
constexpr auto transformer = x | repeat<{count}, "b">([](auto) {{ return ckpt<"s">(nn::transformer_block<4>); }});
constexpr auto cells = [] {{
  const auto [h, c] = repeat<{count}, "b">([](auto) {{ return ckpt<"s">(cell); }},
                                                        reshape<16, 64>(x), zeros<16, 64>);
  return h * c;
}}();
constexpr auto loss = mean(square({form}));
int main() {{
  program<loss> step;
  step.init(seed{{1}});
  const std::vector<float> numbers(16 * 64, 0.5F);
  return step.value_and_grad(bind<"x">(numbers)) > 0 ? 0 : 1;
}}
'''
DISTINCT = '''#include <cairn/cairn.hpp>
using namespace cairn;
constexpr auto loss = mean(square(input<"x", {rows}, 61> | {layers}));
int main() {{
  program<loss> step;
  step.init(seed{{1}});
  const std::vector<float> x({rows} * 61, 0.5F);
  return step.value_and_grad(bind<"x">(x)) > 0 ? 0 : 1;
}}
'''


def distinct(count, rows):
    layers = ' | '.join(f'nn::linear<"l{i}", {64 + 3 * i}> | nn::gelu' for i in range(count))
    return DISTINCT.format(layers=layers, rows=rows)


def source(form, count):
    if form == 'README':
        return (TOP / 'examples/quickstart.cpp').read_text()
    if form in ('resnet50', 'densenet121'):
        return (TOP / f'bench/compile/{form}.cpp').read_text()
    if form == 'distinct':
        return distinct(count, 64)
    if form in ('transformer', 'cells'):
        return REPEATED.format(form=form, count=count)
    placed = form.startswith('placed')
    segments = f'repeat<{count}, "b">([](auto) {{ return {"body" if placed else "segment"}<128>; }})'
    if form == 'placed32':
        segments = '\n| '.join(f'block<"b{i}">(body<{65 + i}>)' for i in range(count))
    elif form not in ('repeat', 'placed'):
        segment = f'{form}_segment' if form in ('policy', 'nested') else 'segment'
        segments = '\n| '.join(f'block<"b{i}">({segment}<{65 + i}>)' for i in range(count))
    penalty = ' + sum(square(grad(entropy, x)))' if form == 'grad' else ''
    plain = 'detail::compiled_of<loss, true>'
    plan = f'detail::compiled_of<loss, true, fit<detail::memory_in<{plain}>.peak_bytes / 3>>' if placed else plain
    return NET.format(segments=segments, penalty=penalty, plan=plan, least=1 if placed else count)


def longest_symbol(path):
    names = subprocess.run(['nm', '--format=posix', path], capture_output=True, text=True, check=True).stdout
    return max((len(line.split()[0]) for line in names.splitlines()), default=0)


def measure(compiler, flags, folder):
    """Returns seconds, megabytes, object kilobytes and the longest symbol; or the first error."""
    target = folder / 'out.o'
    target.unlink(missing_ok=True)
    command = [compiler, '-std=c++20', '-I', str(TOP / 'include'), *flags, '-c', str(folder / 'net.cpp'), '-o', str(target)]
    with open(folder / 'log', 'w') as log:
        child = subprocess.Popen(command, stdout=log, stderr=log)
        _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        lines = (folder / 'log').read_text().splitlines()
        return next((line for line in lines if 'error' in line), 'failed').removeprefix(f'{TOP}/')[:100]
    return usage.ru_utime, usage.ru_maxrss / 1024, target.stat().st_size / 1024, longest_symbol(target)


def main():
    wanted = sys.argv[1:] or list(FORMS)
    for form in wanted:
        if form not in FORMS:
            sys.exit(f'{form} is not a form; the forms are {" ".join(FORMS)}')
    print(f'{"form":11}{"segments":>9}  {"compiler":11}{"seconds":>8}{"MB":>6}{"object KB":>11}{"longest symbol":>16}', flush=True)
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for form in wanted:
            counts, flags = FORMS[form]
            for count in counts:
                (folder / 'net.cpp').write_text(source(form, count))
                for compiler in COMPILERS:
                    found = measure(compiler, flags, folder)
                    failed |= isinstance(found, str)
                    row = found if isinstance(found, str) else '{:8.1f}{:6.0f}{:11.0f}{:16}'.format(*found)
                    print(f'{form:11}{count:9}  {compiler:11}{row}', flush=True)
    sys.exit(failed)


if __name__ == '__main__':
    main()
