#!/usr/bin/env -S python3 -B
"""Compiles what must compile without a warning: accepts.py static|slow|headers|benchmarks [PART OF A NAME]

static   Each file of tests/static. The files consist of static_assert, so that a file that compiles has passed.
         The headers that most files include are read once. A file that takes the compiler over ten seconds is slow.
slow     The slow files of tests/static.
headers  Each header by itself, included twice, without the warnings that users ask for. A chain of headers is compiled
         at once if each of them includes the one before. In a chain, only the headers that a header includes itself
         stand before it. In addition, a program is compiled for some rare processors that have code of their own. The
         chain with mdspan.hpp, and what mdspan.hpp promises, is compiled with the only standard library that has
         std::mdspan. mpi.hpp is left out: ranks.py compiles it and installs MPI.
benchmarks
         Each program of bench/ that needs neither cairn's peers nor MPI, with OpenMP. Nothing else compiles all of them.
         The nets of bench/compile/ are left out, because they take long and use only what the examples use.

Only one compiler is used. A missing include is missing for all compilers, and matrix.py compiles the suite `static`
with the other compiler.
"""

import re
import sys
import tempfile
from functools import cache
from pathlib import Path

from compilers import compile_text, compilers, finish, for_each, precompiled, top


slow_files = {"gpt2", "microbatch", "placement", "recompute", "tiled", "update"}


def static():
    return {str(file.relative_to(top)): f'#include "{file}"\n' for file in (top / "tests/static").glob("*.cpp")}


def in_suite(name, suite):
    return (Path(name).stem in slow_files) == (suite == "slow")


def headers():
    root = top / "include"
    names = sorted(str(file.relative_to(root)) for file in root.rglob("*.hpp") if file.name != "mpi.hpp")
    included = re.compile(r'^ *# *include [<"](cairn/[^">]+)', re.MULTILINE)
    return {" ".join(chain): "".join(f"#include <{name}>\n" for name in chain * 2)
            for chain in chains(names, lambda name: included.findall((root / name).read_text()))}


def benchmarks():
    """The programs that find their own headers. The program of the scenario `budget` is compiled with other scenarios."""
    files = [path for pattern in ("*.cpp", "scenario/*/cairn.cpp") for path in (top / "bench").glob(pattern)]
    found = {}
    for file in sorted(files):
        text = file.read_text()
        own = re.findall(r'#include "([^"]+)"', text)
        folders = [file.parent, top / "bench", top / "bench/scenario/readme"]
        if "budget" not in file.parts and "cairn/mpi.hpp" not in text and all(any((each / name).exists() for each in folders) for name in own):
            found[str(file.relative_to(top))] = f'#include "{file}"\n'
    return found


# the first has only the registers of AVX, and the second has the tiles of AMX
processors = ["sandybridge", "sapphirerapids"]
program = """#include <cairn/cairn.hpp>
using namespace cairn;
constexpr auto loss = sum(input<"x", 8, 64> | nn::linear<"fc", 64> | nn::gelu);
int main() { program<loss, mixed<bf16, stochastic_rounding>, update<adamw_options{}>>().init(seed{1}); }
"""

with_mdspan = ["-std=c++23", "-stdlib=libc++"]
of_mdspan = """#include <cairn/cairn.hpp>
#include <cairn/mdspan.hpp>
using namespace cairn;
using step = program<sum(input<"x", 2, 3> * param<"w", 2, 3>) * param<"scale">>;
static_assert(std::is_same_v<decltype(as_mdspan(std::declval<step&>().param<"w">())),
                             std::mdspan<float, std::extents<std::size_t, 2, 3>>>);
static_assert(std::is_same_v<decltype(as_mdspan(std::declval<const step&>().grad<"scale">())),
                             std::mdspan<const float, std::extents<std::size_t>>>);
constexpr float numbers[] = {0, 1, 2, 3, 4, 5};
constexpr auto view = as_mdspan(static_view<const float, shape{2, 3}>(numbers));
static_assert(&view[0, 0] == numbers && &view[1, 0] == numbers + 3 && view[1, 2] == 5);
constexpr bool writes() {
  int number = 0;
  as_mdspan(static_view<int, shape{1, 1, 1}>(&number))[0, 0, 0] = 7;
  return number == 7;
}
static_assert(writes());
"""


def chains(names, included):
    """Returns all names in chains, the longest chain first. In a chain, each name stands behind all names that it
    includes, directly or not."""
    @cache
    def within(name):
        return {name}.union(*map(within, included(name)))

    while names:
        longest = {}
        for name in sorted(names, key=lambda name: len(within(name))):
            longest[name] = [*max((longest[one] for one in within(name) if one in longest), key=len, default=[]), name]
        chain = max(longest.values(), key=len)
        yield chain
        names = [name for name in names if name not in chain]


def accepted(job):
    compiler, _, text, *options = job
    ok, printed = compile_text(compiler, text, *options)
    return ok and not printed, printed


def jobs_of(suite, folder):
    if suite in ("static", "slow"):
        texts = {name: text for name, text in static().items() if in_suite(name, suite)}
        options = precompiled(compilers[0], folder)
    elif suite == "benchmarks":
        texts, options = benchmarks(), ["-fopenmp", "-Ibench", "-Ibench/scenario/readme"]
    else:
        texts, options = headers(), ["-Wshadow", "-Wpedantic"]
    jobs = [(compilers[0], name, texts[name], *options) for name in sorted(texts)]
    if suite == "headers":
        jobs = [("clang++-19", *job[1:], *with_mdspan) if "cairn/mdspan.hpp" in job[1] else job for job in jobs]
        jobs.append(("clang++-19", "std::mdspan", of_mdspan, *with_mdspan))
        jobs += [(compiler, f"{compiler} for {processor}", program, f"-march={processor}")
                 for compiler in compilers for processor in processors]
    return jobs


def main(suite, part=""):
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        jobs = [job for job in jobs_of(suite, folder) if part in job[1]]
        for (_, name, *_), (ok, printed) in zip(jobs, for_each(accepted, jobs)):
            print("ok  " if ok else "FAIL", name, flush=True)
            print("" if ok else f"{printed}\n", end="")
            passed += ok
            failed += not ok
    finish(passed, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
