#!/usr/bin/env -S python3 -B
"""Checks that nothing of compile time is left in a binary. A model of two hundred iterations leaves only kernels, and
tables of leaves and of plan steps.

Graphs, gradient rules and passes are constants of the compiler. A single pointer to one of them that is read at run
time would bring all of them into the binary.
"""

import re
import subprocess
import tempfile
from pathlib import Path

from compilers import compile_file, compilers, finish, for_each

model = """#include <cairn/cairn.hpp>
using namespace cairn;
constexpr auto layers = nn::linear<"a", 64> | nn::gelu | nn::linear<"b", 32>;
constexpr auto net = input<"x", 64, 32> | repeat<30, "block">([](auto) { return ckpt<"s">(layers); });
constexpr auto loss = mean<>(square(net));
int main() {
  program<loss> step;
  const float x[64][32]{};
  return step.value_and_grad(bind<"x">(x)) > 1;
}
"""
compile_time = re.compile(r"(?:\w+ )?cairn::(?:graph|plan)::(?:search::)?\w+")
run_time = re.compile(r"cairn::detail::executable<")


def look(compiler):
    """Returns the names of compile time that are in the binary, and whether the names of run time are there."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "model.cpp", Path(folder) / "model.o"
        source.write_text(model)
        accepted, printed = compile_file(compiler, source, "-O1", "-c", "-o", str(target), syntax_only=False)
        if not accepted:
            return [printed[:500]], False
        listed = subprocess.run(["nm", "-C", str(target)], capture_output=True, text=True, check=True).stdout
    names = [line[19:] for line in listed.splitlines()]
    return sorted({found[0] for found in map(compile_time.match, names) if found}), any(map(run_time.match, names))


def main():
    passed = failed = 0
    for compiler, (found, alive) in zip(compilers, for_each(look, compilers)):
        good = not found and alive
        print("ok  " if good else "FAIL", compiler, *found, "" if alive else "no tables of run time")
        passed += good
        failed += not good
    finish(passed, failed)


if __name__ == "__main__":
    main()
