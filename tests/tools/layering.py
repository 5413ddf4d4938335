#!/usr/bin/env -S python3 -B
"""Checks the order of the library's folders: layering.py

A folder includes only itself and the folders above it in `order`. A header outside of the folders may include all
folders. A header does not declare what a folder below it defines, except for `defined_below`.
Each header first includes another header of cairn. Thus all headers begin with base/compiler.hpp, which refuses wrong
compilers and options.
xsimd, xtensor and Eigen are used only where `homes` says. Code for constant evaluation uses plain arrays. Passes,
programs and kernels that drive other kernels know operations only by their declarations, and name no operation.
Each program of tests, examples and bench is named in a build file, and each model of tests/models is named in a test of
the laws. Otherwise it would never run. bench/scenario.py finds its programs itself. Lines of headers have at most 120
columns.
"""

import re
from itertools import chain

import declarations
from compilers import finish, top

order = ["base", "cost", "misuse", "lang", "op", "nn", "graph", "plan", "search", "check", "kernel", "run", "file", "data",
         "train", "report", "testing"]
homes = {
    r"xsimd/|.*intrin\.h": r"kernel/simd\.hpp",
    r"xtensor/|xtl/": r"xtensor\.hpp",
    r"(eigen3/)?Eigen/": r"eigen\.hpp",
}
x86 = re.compile(r"\b(_mm\d*_|__m\d|__(AVX|SSE|AMX|x86)|_tile_|XSIMD_WITH)")
knows_x86 = ["kernel/simd.hpp", "kernel/words.hpp", "kernel/float_mode.hpp", "kernel/halves.hpp", "kernel/amx.hpp",
             "cost/target.hpp"]
blind = re.compile(r"(plan|search|check|run|train|report)/.*|"
                   r"kernel/(run|tiles|loop|loop_step|threads|simd|packed|registers|gemm)\.hpp")
slow_in_constexpr = re.compile(r"\bstd::(?:ranges::)?(vector|string|sort|stable_sort|map|set|unordered_\w+|function)\b")
lists = {
    "tests/run": "tests/meson.build",
    "tests/laws": "tests/meson.build",
    "examples": "examples/meson.build",
    "bench": "bench/meson.build",
}
at_run_time = ["heap", "kernels", "oracles", "processor", "ranks", "stored"]  # bench/*.py builds these programs
# Tables of the graph contain pointers to functions that run kernels. A scan is planned while its body is lowered. A
# program can be saved if the header for files is included, and it knows the optimizer that trains it.
defined_below = {
    "graph/operation.hpp": {"cairn::kernels::run", "cairn::kernels::run_lanes"},
    "graph/scan.hpp": {"cairn::graphs::scan_hooks"},
    "run/kept.hpp": {"cairn::detail::kept_files"},
    "run/program.hpp": {"cairn::detail::trained_blocks"},
}

include = re.compile(r'^\s*#\s*include\s*([<"])(.+?)[>"]', re.MULTILINE)
comment = re.compile(r"//.*")
operation = re.compile(r"^struct (\w+_op)\b", re.MULTILINE)
named = re.compile(r'struct \w+_op\b[^{;]*{[^}]*?fixed_string name = "(\w+)"')
model = re.compile(r"^constexpr auto (\w+) =(?!\s*(?:input|labels)<)", re.MULTILINE)


def rank(header):
    """Returns the position of a header's folder in the order. Headers outside of the folders come last."""
    folder = header.split("/")[0] if "/" in header else None
    return order.index(folder) if folder in order else len(order)


def begins_with_ours(text):
    """Returns true if the first header that is included is cairn's."""
    first = include.search(comment.sub("", text))
    return bool(first) and first[2].startswith("cairn/")


def faults(header, text, operations):
    """Yields what is wrong with the header include/cairn/`header`. `operations` is a pattern that matches the name of
    an operation."""
    folder = header.split("/")[0]
    if "/" in header and folder not in order:
        yield f"the folder {folder} has no place in the order"
    code = comment.sub("", text)
    for quote, path in include.findall(code):
        if quote == '"' and not path.startswith("cairn/"):
            yield f'"{path}": write the path from cairn/ on'
        if path.startswith("cairn/") and rank(path.removeprefix("cairn/")) > rank(header):
            yield f"includes {path}, which is below it"
        for library, home in homes.items():
            if re.match(library, path) and not re.fullmatch(home, header):
                yield f"includes {path}, which belongs in {home}"
    if header not in knows_x86 and x86.search(code):
        yield "knows x86, which only simd.hpp, words.hpp, halves.hpp and amx.hpp of kernel/ and cost/target.hpp may"
    if re.search(r"\bthrow\b", code) and header != "base/refuse.hpp":
        yield "throws: call refuse, which programs without exceptions have, too"
    if blind.fullmatch(header):
        for name in sorted(set(operations.findall(code))):
            yield f"names the operation {name}"
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > 120 and header != "misuse/table.hpp":  # messages are read in the output of the compiler
            yield f"line {number} has {len(line)} columns, more than 120"
    if folder in ("graph", "plan", "search"):
        for name in slow_in_constexpr.findall(code):
            yield f"std::{name} is slow in constant evaluation"


def files_of_rows(text, folder):
    """Returns the lists of files in the rows of tests/meson.build whose files are in a folder."""
    rows = re.split(r"\n  '\w+': \{", text.partition("\nprograms = {")[2].partition("\n}\n")[0])[1:]
    return "".join(row.partition("'files': ")[2] for row in rows if f"'folder': '{folder}'" in row)


def main():
    root = top / "include/cairn"
    headers = [str(file.relative_to(root)) for file in sorted(root.rglob("*.hpp"))]
    texts = {header: (root / header).read_text() for header in headers}
    types = set(chain(*(operation.findall(text) for text in texts.values()))) - {"elementwise_op"}
    strings = set(chain(*(named.findall(text) for header, text in texts.items() if header.startswith("op/"))))
    operations = re.compile("|".join([*(rf"\b{name}\b" for name in types), *(f'"{name}"' for name in strings)]))
    found = {f"include/cairn/{header}": list(faults(header, text, operations)) for header, text in texts.items()}
    for header, name in declarations.defined_below(texts, rank):
        if name not in defined_below.get(header, ()):
            found[f"include/cairn/{header}"].append(f"declares {name}, which a folder below it defines")
    for header in texts.keys() - {"base/compiler.hpp"}:
        if not begins_with_ours(texts[header]):
            found[f"include/cairn/{header}"].append("first includes a header that is not cairn's")
    found["operations"] = [] if len(types) > 20 and len(strings) > 20 else ["too few are found to look for"]
    for folder, build_file in lists.items():
        text = (top / build_file).read_text()
        if folder.startswith("tests/"):
            text = files_of_rows(text, folder.removeprefix("tests/"))
        for file in (top / folder).rglob("*.cpp"):
            name = str(file.relative_to(top / folder).with_suffix(""))
            known = name == "main" or f"'{name}'" in text or name in at_run_time or name.startswith(("scenario/", "compile/"))
            found[f"{folder}/{name}.cpp"] = [] if known else [f"not named in {build_file}"]
    laws = "".join(file.read_text() for file in (top / "tests/laws").glob("*.cpp"))
    models = "".join(file.read_text() for file in (top / "tests/models").glob("*.hpp"))
    found["tests/models"] = [] if models else ["no models"]
    for name in model.findall(models):
        tested = re.search(rf"\blaws\w*<models::{name}\b", laws)
        found[f"models::{name}"] = [] if tested else ["not named in tests/laws"]
    for name, wrong in found.items():
        for fault in wrong:
            print(f"FAIL {name}: {fault}")
    failed = sum(map(bool, found.values()))
    finish(len(found) - failed, failed)


if __name__ == "__main__":
    main()
