#!/usr/bin/env -S python3 -B
"""Writes cairn as one header, for compilers in a browser: single.py FOLDER

cairn.hpp      The headers that <cairn/cairn.hpp> includes. This file needs xsimd.
cairn_all.hpp  All headers, except for those for Boost, Google Benchmark, xtensor, Eigen, MPI and std::mdspan. This file
               needs xsimd, zlib and nlohmann's JSON.

Each of cairn's headers stands where it is included first, without the lines that are comments. The macros of other
libraries are set aside once, around everything. A #line changes the places of all errors below it. Therefore the part
of a header with a #line stands at the end of the file.
"""

import re
import sys
from functools import cache
from pathlib import Path

top = Path(__file__).resolve().parents[1]
root = top / "include"
aside, back = "cairn/base/macros_aside.hpp", "cairn/base/macros_back.hpp"
# cairn/cairn.hpp says why these warnings are off.
quiet = ["#pragma GCC diagnostic push", '#pragma GCC diagnostic ignored "-Wshadow"',
         '#pragma GCC diagnostic ignored "-Wsign-conversion"']

own = re.compile(r'#include "(cairn/.+)"')
other = re.compile(r"#include <(.+)>")
opens_raw_text = re.compile(r'R"(\w*)\((?!.*\)\1")')  # in a line whose raw text goes on in the next line


def lines_of(header):
    return (root / header).read_text().splitlines()


@cache
def others(header):
    """Returns the headers of other libraries that a header includes, directly or not."""
    names = list(map(own.match, lines_of(header)))
    found = {match[1] for match in map(other.match, lines_of(header)) if match}
    return found.union(*(others(match[1]) for match in names if match))


class single_header:
    def __init__(self, headers):
        self.headers, self.included, self.lines, self.last = {aside, back}, set(), [], []
        for header in headers:
            if header not in self.headers:
                self.add(header)

    def add(self, header):
        """Adds the lines of a header, after those of the headers that it includes. `depth` counts the conditions
        (#if) around a line, and `first` is the first line of the outermost condition."""
        self.headers.add(header)
        self.lines.append(f"// {header}")
        depth, end_of_raw_text = 0, None
        for line in lines_of(header):
            if end_of_raw_text:
                self.lines.append(line)
                if end_of_raw_text in line:
                    end_of_raw_text = None
                continue
            if match := own.match(line):
                if depth:
                    sys.exit(f"{header} includes {match[1]} under a condition")
                if match[1] not in self.headers:
                    self.add(match[1])
                    self.lines.append(f"// {header}")
                continue
            if match := other.match(line):
                if match[1] in self.included:
                    continue
                if depth == 0:
                    self.included.add(match[1])
            if line.startswith("#if"):
                first = first if depth else len(self.lines)
                depth += 1
            if line.strip() and line != "#pragma once" and not line.lstrip().startswith("//"):
                self.lines.append(line)
            if match := opens_raw_text.search(line):
                end_of_raw_text = f'){match[1]}"'
            if line.startswith("#endif"):
                depth -= 1
                if depth == 0 and any(part.startswith("#line") for part in self.lines[first:]):
                    self.last += self.lines[first:]
                    del self.lines[first:]

    def text(self):
        place = "// cairn/"  # of two such lines in a row, only the second one says something
        lines = [line for line, after in zip(self.lines, [*self.lines[1:], ""])
                 if not (line.startswith(place) and after.startswith(place))]
        before, behind = ([line for line in lines_of(header) if line.startswith(("#pragma", "#undef"))]
                          for header in (aside, back))
        licence = [f"// {line}".rstrip() for line in (top / "LICENSE").read_text().splitlines()]
        return "\n".join(["// cairn: activation checkpointing for statically typed models, in one header.", "//", *licence,
                          "#pragma once", *before, *quiet, *lines, "#pragma GCC diagnostic pop", *behind, *self.last, ""])


def main(folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    every = sorted(str(path.relative_to(root)) for path in root.rglob("*.hpp"))
    others_own = ("boost/", "benchmark/", "xtensor", "Eigen/", "mdspan", "mpi.h")
    most = [header for header in every if not any(name.startswith(others_own) for name in others(header))]
    for name, further in {"cairn.hpp": [], "cairn_all.hpp": most}.items():
        made = single_header(["cairn/cairn.hpp", *further])
        text = made.text()
        (folder / name).write_text(text)
        print(f"{folder / name}: {len(made.headers)} headers, {len(text.encode()) / 1000:.0f} KB")


if __name__ == "__main__":
    main(*sys.argv[1:])
