#!/usr/bin/env -S python3 -B
"""What must compile without a warning: accepts.py static|headers [PART OF A NAME]

static   each file of tests/static, which are rows of static_assert: to compile is to pass. Headers are read once for all
headers  each header alone, included twice, without the warnings that users ask for. Headers of which each includes the
         one before are compiled at once, in that order: before each comes nothing but what it includes itself; and a
         program for each of some processors that have code of their own, which few are built for

With one compiler: an include that is missing is so for both, and matrix.py has what is static with the other.
"""

import re
import sys
import tempfile
from functools import cache

from compilers import compile_text, compilers, finish, for_each, precompiled, top


def static():
    return {str(file.relative_to(top)): f'#include "{file}"\n' for file in (top / "tests/static").glob("*.cpp")}


def headers():
    root = top / "include"
    names = sorted(str(file.relative_to(root)) for file in root.rglob("*.hpp"))
    included = re.compile(r'^ *# *include [<"](cairn/[^">]+)', re.MULTILINE)
    return {" ".join(chain): "".join(f"#include <{name}>\n" for name in chain * 2)
            for chain in chains(names, lambda name: included.findall((root / name).read_text()))}


processors = ["sandybridge", "sapphirerapids"]  # registers of AVX alone, and tiles of AMX
program = """#include <cairn/cairn.hpp>
using namespace cairn;
constexpr auto loss = sum(input<"x", 8, 64> | nn::linear<"fc", 64> | nn::gelu);
int main() { program<loss, mixed<bf16, stochastic_rounding>, update<adamw_options{}>>().init(seed{1}); }
"""


def chains(names, included):
    """All names in chains, the longest first: what a name includes, through others or not, comes before it."""
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
    if suite == "static":
        texts, options = static(), precompiled(compilers[0], folder)
    else:
        texts, options = headers(), ["-Wshadow", "-Wpedantic"]
    jobs = [(compilers[0], name, texts[name], *options) for name in sorted(texts)]
    if suite == "headers":
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
