#!/usr/bin/env python3
"""Compile time, memory, object size and longest symbol of residual nets with gradient and plan, by depth.

Two forms of the same net: by `repeat`, and chained one by one with a width of its own for each segment, so that no two
bodies agree. About 20 operations a segment. Default limits of the compilers, with -g. The last row is the program of
the README with its kernels, at -O2.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
COMPILERS = ['g++', 'clang++-19']

NET = '''#include <cairn/check/model.hpp>
#include <cairn/expr/checkpoint.hpp>
#include <cairn/expr/loss.hpp>
#include <cairn/nn/activation.hpp>
#include <cairn/nn/linear.hpp>
using namespace cairn;
constexpr auto norm = layer([](auto x) {{
  const auto c = x - mean<-1>(x, keepdim);
  return c / sqrt(mean<-1>(square(c), keepdim) + 1e-5_c) * param<"scale", 64> + param<"shift", 64>;
}});
template <int Width>
constexpr auto segment = ckpt<"s">(
    nn::residual(norm | nn::linear<"fc1", Width> | nn::gelu | nn::linear<"fc2", 64> | nn::tanh | nn::sigmoid));
constexpr auto net = nn::linear<"in", 64>
{segments} | nn::linear<"out", 10>;
constexpr auto loss = cross_entropy(input<"x", 32, 64> | net, labels<"y", 10, 32>);
using plan = detail::compiled_of<loss, true>;
constexpr memory_plan figures = detail::memory_in<plan>;
constexpr auto segments = detail::segments_in<plan>;
int main() {{ return figures.peak_bytes > 0 && segments.size() == {count} ? 0 : 1; }}
'''


def net(form, count):
    if form == 'repeat':
        segments = f' | repeat<{count}, "b">([](auto) {{ return segment<128>; }})'
    else:
        segments = '\n'.join(f' | block<"b{i}">(segment<{65 + i}>)' for i in range(count))
    return NET.format(segments=segments, count=count)


def longest_symbol(path):
    names = subprocess.run(['nm', '--format=posix', path], capture_output=True, text=True, check=True).stdout
    return max((len(line.split()[0]) for line in names.splitlines()), default=0)


def measure(compiler, source, flags, folder):
    """Seconds, megabytes, object kilobytes, longest symbol; or the first error."""
    target = folder / 'out.o'
    target.unlink(missing_ok=True)
    command = [compiler, '-std=c++20', '-I', str(TOP / 'include'), *flags, '-c', str(source), '-o', str(target)]
    begin = time.monotonic()
    with open(folder / 'log', 'w') as log:
        child = subprocess.Popen(command, stdout=log, stderr=log)
        _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - begin
    if status != 0:
        lines = (folder / 'log').read_text().splitlines()
        return next((line for line in lines if 'error' in line), 'failed')[:100]
    return seconds, usage.ru_maxrss / 1024, target.stat().st_size / 1024, longest_symbol(target)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument('--depths', type=int, nargs='+', default=[2, 12, 48, 192])
    depths = arguments.parse_args().depths
    print(f'{"form":9}{"segments":>9}  {"compiler":11}{"seconds":>8}{"MB":>6}{"object KB":>11}{"longest symbol":>16}', flush=True)
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = [(form, n, ['-g']) for form in ('repeat', 'chained') for n in depths]
        for form, count, flags in [*rows, ('README', 8, ['-O2', '-march=native'])]:
            source = TOP / 'examples' / 'quickstart.cpp'
            if form != 'README':
                source = folder / 'net.cpp'
                source.write_text(net(form, count))
            for compiler in COMPILERS:
                found = measure(compiler, source, flags, folder)
                failed |= isinstance(found, str)
                row = found if isinstance(found, str) else '{:8.1f}{:6.0f}{:11.0f}{:16}'.format(*found)
                print(f'{form:9}{count:9}  {compiler:11}{row}', flush=True)
    sys.exit(failed)


if __name__ == '__main__':
    main()
