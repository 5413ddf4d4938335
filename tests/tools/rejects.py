#!/usr/bin/env -S python3 -B
"""Checks that misuse does not compile: rejects.py [PART OF A NAME | twins | write]

The files of tests/rejects have the cases; cases.py describes their form. Each case stands for two programs. The twin,
without the wrong lines, must be accepted without a warning. Only clang checks the twins, because clang is faster.
Without arguments the script leaves them out, and `rejects.py twins` checks them alone. With
the wrong lines each compiler must print exactly one error, which each regex of the case must match, in few lines.
Source lines that the compiler quotes do not count, and neither do the lines that tell which header includes which.

There are two exceptions. A case with options is compiled in full with each list of options, and its twin without
options. In some cases the compiler adds an error in its own words. The case then has a regex for this second error, and
may have as many lines again.

The width of a message must not depend on the place of the checkout, nor on the place of the case in its file. Files are
therefore named from the project's root, because clang spells a lambda as its file's path. Numbers of lines and columns
do not count.

Many cases are compiled at once, each in a namespace, because most of the time goes into reading headers. A case may
therefore lack an include that another case has. A compiler reports only once what two cases have in common. Cases with
a fault are therefore compiled again without the others, at last each alone, and the last verdict counts.

`rejects.py write` also writes docs/misuse.md, of these files and of what the compilers print. Without arguments the
script compares the page with what it would write.
"""

import re
import sys
import tempfile
from dataclasses import dataclass, field

import misuse
from cases import all_cases
from compilers import compile_text, compilers, finish, for_each, precompiled

most_lines, most_columns = {"g++": 9, "clang++-19": 4}, 412
# Limits for mistakes within an operation, in a condition, or in the body of a loop. These are found where the graph is
# made, which compilers tell at length.
most_lines_within, most_columns_within = {"g++": 20, "clang++-19": 12}, 710
at_once = 20
without_quotes = {"g++": "-fno-diagnostics-show-caret", "clang++-19": "-fno-caret-diagnostics"}

# The name of a file can be a sentence of cairn's, as in base/compiler.hpp.
error_line = re.compile(r"(\S+|cairn \[.+): (fatal )?error: ")
head = re.compile(r"(\S+|cairn \[.+): (fatal )?(error|warning): ")
tail = re.compile(r"\S+: note: ")
includes = re.compile(r"In file included from \S+[:,]$| +from \S+[:,]$")
place = re.compile(r":\d+:\d+\b")


@dataclass
class verdict:
    errors: int
    lines: int
    columns: int
    faults: list = field(default_factory=list)
    printed: str = ""


def with_kernels(case):
    """Returns true if a case includes kernels. Then the operations of all cases of its batch need kernels, too."""
    return any(re.search(r"#include .cairn/(cairn|run|gradcheck|file)", line) for line in case.program(False)[0])


def diagnostics(printed):
    """Returns the lines of each error or warning: the lines that lead to it, its own line, and its notes."""
    found, leading = [], []
    for line in printed.splitlines():
        leading.append(line)
        if head.match(line):
            found.append([])
        if found and (head.match(line) or tail.match(line)):
            found[-1] += leading
            leading = []
    return [[line for line in lines if not includes.match(line)] for lines in found]


def said(cases, compiler, rejected, *options, syntax_only=True):
    """Returns whether a compiler accepts all cases in silence, and a list of diagnostics for each case."""
    if len(cases) == 1:
        included, lines = cases[0].program(rejected)
        text = "\n".join([*included, *lines, ""])
        accepted, printed = compile_text(compiler, text, *options, syntax_only=syntax_only)
        return accepted and not printed, {cases[0]: diagnostics(printed)}
    programs = [case.program(rejected, f"case_{i}/") for i, case in enumerate(cases)]
    text = sorted({line for included, _ in programs for line in included})
    for i, (_, lines) in enumerate(programs):
        text += [f"namespace case_{i} {{", *lines, "}"]
    accepted, printed = compile_text(compiler, "\n".join([*text, ""]), *options)
    found = {case: [] for case in cases}
    for lines in diagnostics(printed):
        for i, case in enumerate(cases):
            if any(re.search(rf"\bcase_{i}(/|::)", line) for line in lines):
                found[case].append([re.sub(r"\bcase_\d+(/|::)", "", line) for line in lines])
    return accepted and not printed, found


def judge(case, compiler, diagnostics):
    """Compares the diagnostics of a case with what the case expects."""
    lines = [line for group in diagnostics for line in group]
    errors = sum(bool(error_line.match(line)) for line in lines)
    columns = max((len(place.sub("", line)) for line in lines), default=0)
    result = verdict(errors, len(lines), columns, printed="\n".join(lines))
    fault = result.faults.append
    if not case.expected():
        fault("no line `// says: REGEX`")
    second = case.told["then"]
    wanted = 2 if second else 1
    if errors != wanted:
        fault(f"{errors} errors")
    else:
        ours = result.printed if not second else "\n".join(diagnostics[0])
        for regex in case.expected():
            if not re.search(regex, ours):
                fault(f"no match for {regex}")
        for regex in second:
            if not re.search(regex, "\n".join(diagnostics[1])):
                fault(f"no match for {regex}")
    within = case.name.startswith("own-operation-") or case.name.endswith(("-in-loop", "-in-condition"))
    if result.lines > wanted * (most_lines_within if within else most_lines)[compiler]:
        fault("too many lines")
    if result.columns > (most_columns_within if within else most_columns):
        fault("too wide a line")
    return result


def complaints(cases, compiler, *options):
    """Returns the diagnostics of the twins that a compiler does not accept in silence, by case."""
    silent, found = said(cases, compiler, False, *options)
    if silent or len(cases) == 1:
        return {} if silent else found
    named = [case for case in cases if found[case]] or cases
    rest = [case for case in cases if case not in named]
    batches = [[case] for case in named] + [rest] * bool(rest)
    return {case: lines for batch in batches for case, lines in complaints(batch, compiler, *options).items()}


def of_wrong_programs(cases, compiler, *options):
    """Returns the verdict of each case on its program with the wrong lines."""
    found = {}
    lists = cases[0].options() if len(cases) == 1 else []  # these do not fit the precompiled header
    for own in lists or [[]]:
        rejecting = [without_quotes[compiler], "-S", "-o", "/dev/null", *own] if own else options
        _, rejected = said(cases, compiler, True, *rejecting, syntax_only=not own)
        for case in cases:
            if case not in found or not found[case].faults:
                found[case] = judge(case, compiler, rejected[case])
    faulty = [case for case in cases if found[case].faults]
    if len(cases) > 1:
        for again in [faulty] if len(faulty) < len(cases) else [[case] for case in faulty]:
            found |= of_wrong_programs(again, compiler, *options) if again else {}
    return found


def of_twins(cases, compiler, *options):
    """Returns the verdict of each case on its twin."""
    said_of_twins = complaints(cases, compiler, *options)
    return {case: verdict(0, 0, 0, ["the twin is not accepted"] if case in said_of_twins else [],
                          "\n".join(line for group in said_of_twins.get(case, []) for line in group)) for case in cases}


def judged(cases, compiler, *options):
    """Returns the verdict of each case. clang also judges the twins."""
    found = of_wrong_programs(cases, compiler, *options)
    for case, twin in of_twins(cases, compiler, *options).items() if compiler == compilers[-1] else []:
        if twin.faults:
            found[case].faults += twin.faults
            found[case].printed = twin.printed
    return found


def main(part=""):
    write, twins = part == "write", part == "twins"
    judges = {"": of_wrong_programs, "twins": of_twins}.get(part, judged)
    cases = sorted((case for case in all_cases() if write or twins or part in case.name), key=with_kernels)
    alone = [case for case in cases if case.options()]
    others = [case for case in cases if case not in alone]
    together = [others[i:i + at_once] for i in range(0, len(others), at_once)] + [[case] for case in alone]
    batches = [(batch, compiler) for batch in together for compiler in compilers[twins:]]
    print(f"{'':4} {'compiler':10} errors lines columns  case")
    failed, verdicts = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        options = {compiler: [without_quotes[compiler], *precompiled(compiler, folder)] for compiler in compilers}
        for (_, compiler), found in zip(batches, for_each(lambda batch: judges(*batch, *options[batch[1]]), batches)):
            for case, seen in found.items():
                verdicts[case, compiler] = seen
                mark = "FAIL" if seen.faults else "ok"
                print(f"{mark:4} {compiler:10} {seen.errors:6} {seen.lines:5} {seen.columns:7}  {case.name}",
                      flush=True)
                if seen.faults:
                    failed += 1
                    print(f"     {'; '.join(seen.faults)}\n{seen.printed}")
    if write:
        misuse.page.write_text(misuse.written(misuse.page.read_text(), verdicts))
    if write or not part:  # the page is about all of them
        wrong = list(misuse.faults(misuse.page.read_text(), verdicts))
        print("FAIL" if wrong else "ok  ", misuse.page.name, *wrong, sep="\n     ")
        failed += bool(wrong)
    finish(len(verdicts) + (write or not part) - failed, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
