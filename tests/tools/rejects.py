#!/usr/bin/env -S python3 -B
"""Misuse that must not compile: rejects.py [PART OF A NAME]

Each file of tests/rejects opens with one or more lines `// rejects: REGEX`. Compiled as it is, the twin, it must be
accepted without a warning; by clang, which is faster at that. With -DCAIRN_REJECT it must be rejected with exactly one error, whose message every REGEX
matches, in few enough lines to read: without the source lines that it quotes, and which header includes which. Files are named from the project's root, for clang spells a
lambda as its file's path: how wide a message is must not depend on where the checkout lies. A case that is rejected
because of the compiler's options has lines `// options: ...` after these, and is compiled with each. One that a compiler cannot help to reject in
words of its own, too, has a line `// then: REGEX`: its second error matches that, in as many lines again. The case is compiled in full, and its twin
without the options.

Many cases are compiled at once, each in a namespace, for most of the time goes into reading headers; so one may lack an
include that another has. A compiler says once what two of them have in common: what is not in order there is compiled
again alone, which is what counts.
"""

import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import misuse
from compilers import compile_file, compile_text, compilers, finish, for_each, precompiled, top

most_lines, most_columns = {"g++": 9, "clang++-19": 4}, 400
# Of a mistake within an operation, in a condition, or in the body of a loop, which is looked at where the graph is made:
# compilers tell that at length.
most_lines_within, most_columns_within = {"g++": 20, "clang++-19": 12}, 700
at_once = 20
without_quotes = {"g++": "-fno-diagnostics-show-caret", "clang++-19": "-fno-caret-diagnostics"}

# A sentence of cairn's can be in place of the file's name: base/compiler.hpp.
error_line = re.compile(r"(\S+|cairn \[.+): (fatal )?error: ")
head = re.compile(r"(\S+|cairn \[.+): (fatal )?(error|warning): ")
tail = re.compile(r"\S+: note: ")
includes = re.compile(r"In file included from \S+[:,]$| +from \S+[:,]$")


@dataclass
class verdict:
    errors: int
    lines: int
    columns: int
    faults: list = field(default_factory=list)
    printed: str = ""


def expected(source):
    """The regexes of the first lines."""
    found = []
    for line in (top / source).read_text().splitlines():
        if not line.startswith("// rejects: "):
            break
        found.append(re.compile(line.removeprefix("// rejects: ").strip()))
    return found


def own_options(source):
    """The options of a case that the compiler rejects because of any of these lists."""
    return [line.split() for line in re.findall(r"^// options: (.+)$", (top / source).read_text(), re.MULTILINE)]


def second_error(source):
    """The regex of the compiler's own error behind ours, or nothing."""
    found = re.search(r"^// then: (.+)$", (top / source).read_text(), re.MULTILINE)
    return found and found[1]


def with_kernels(source):
    """Whether a case runs: kernels that another case of its batch includes are looked for in its own operations, too."""
    return bool(re.search(r"#include .cairn/(cairn|run|gradcheck|file)", (top / source).read_text()))


def diagnostics(printed):
    """The lines of each error or warning: what leads to it, itself, and its notes."""
    found, leading = [], []
    for line in printed.splitlines():
        leading.append(line)
        if head.match(line):
            found.append([])
        if found and (head.match(line) or tail.match(line)):
            found[-1] += leading
            leading = []
    return [[line for line in lines if not includes.match(line)] for lines in found]


def said(sources, compiler, *options, syntax_only=True):
    """Whether all are accepted in silence, and what a compiler says of each source: a list of diagnostics."""
    if len(sources) == 1:
        accepted, printed = compile_file(compiler, sources[0], *options, syntax_only=syntax_only)
        return accepted and not printed, {sources[0]: diagnostics(printed)}
    texts = {source: (top / source).read_text() for source in sources}
    lines = sorted({line for text in texts.values() for line in text.splitlines() if line.startswith("#include")})
    lines += [f'namespace case_{i} {{\n#line 1 "{source}"\n{text}}}' for i, (source, text) in enumerate(texts.items())]
    accepted, printed = compile_text(compiler, "\n".join(lines) + "\n", *options)
    found = {source: [] for source in sources}
    for lines in diagnostics(printed):
        for i, source in enumerate(sources):
            if any(f"{source}:" in line or f"case_{i}::" in line for line in lines):
                found[source].append([re.sub(r"\bcase_\d+::", "", line) for line in lines])
    return accepted and not printed, found


def judge(source, compiler, diagnostics):
    """Whether what a compiler says of a case is what it should."""
    lines = [line for group in diagnostics for line in group]
    errors = sum(bool(error_line.match(line)) for line in lines)
    result = verdict(errors, len(lines), max(map(len, lines), default=0), printed="\n".join(lines))
    fault = result.faults.append
    if not expected(source):
        fault("no line `// rejects: REGEX`")
    second = second_error(source)
    wanted = 2 if second else 1
    if errors != wanted:
        fault(f"{errors} errors")
    else:
        ours = result.printed if not second else "\n".join(diagnostics[0])
        for regex in expected(source):
            if not regex.search(ours):
                fault(f"no match for {regex.pattern}")
        if second and not re.search(second, "\n".join(diagnostics[1])):
            fault(f"no match for {second}")
    within = source.stem.startswith("own-operation-") or source.stem.endswith(("-in-loop", "-in-condition"))
    if result.lines > wanted * (most_lines_within if within else most_lines)[compiler]:
        fault("too many lines")
    if result.columns > (most_columns_within if within else most_columns):
        fault("too wide a line")
    return result


def complaints(sources, compiler, *options):
    """What a compiler says of the twins that it does not accept in silence, by source."""
    silent, found = said(sources, compiler, *options)
    if silent or len(sources) == 1:
        return {} if silent else found
    named = [source for source in sources if found[source]] or sources
    rest = [source for source in sources if source not in named]
    batches = [[source] for source in named] + [rest] * bool(rest)
    return {source: lines for batch in batches for source, lines in complaints(batch, compiler, *options).items()}


def judged(sources, compiler, *options):
    """The verdict of each source, and its twin where the compiler is clang."""
    said_of_twins = complaints(sources, compiler, *options) if compiler == compilers[-1] else {}
    found = {}
    lists = own_options(sources[0]) if len(sources) == 1 else []  # which do not fit what is precompiled
    for own in lists or [[]]:
        rejecting = [without_quotes[compiler], "-S", "-o", "/dev/null", *own] if own else options
        _, rejected = said(sources, compiler, "-DCAIRN_REJECT", *rejecting, syntax_only=not own)
        for source in sources:
            if source not in found or not found[source].faults:
                found[source] = judge(source, compiler, rejected[source])
    for source, seen in found.items():
        if seen.faults and len(sources) > 1:
            alone = said([source], compiler, "-DCAIRN_REJECT", *options)[1]
            found[source] = seen = judge(source, compiler, alone[source])
        if source in said_of_twins:
            seen.faults.append("the twin is not accepted")
            seen.printed = "\n".join(line for group in said_of_twins[source] for line in group)
    return found


def main(part=""):
    files = sorted((top / "tests/rejects").glob("*.cpp"))
    sources = sorted((file.relative_to(top) for file in files if part in file.stem), key=with_kernels)
    alone = [source for source in sources if own_options(source)]
    others = [source for source in sources if source not in alone]
    together = [others[i:i + at_once] for i in range(0, len(others), at_once)] + [[source] for source in alone]
    batches = [(batch, compiler) for batch in together for compiler in compilers]
    print(f"{'':4} {'compiler':10} errors lines columns  case")
    failed, verdicts = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        options = {compiler: [without_quotes[compiler], *precompiled(compiler, folder)] for compiler in compilers}
        for (_, compiler), found in zip(batches, for_each(lambda batch: judged(*batch, *options[batch[1]]), batches)):
            for source, seen in found.items():
                verdicts[source, compiler] = seen
                mark = "FAIL" if seen.faults else "ok"
                print(f"{mark:4} {compiler:10} {seen.errors:6} {seen.lines:5} {seen.columns:7}  {source.stem}",
                      flush=True)
                if seen.faults:
                    failed += 1
                    print(f"     {'; '.join(seen.faults)}\n{seen.printed}")
    if not part:  # the page is about all of them
        wrong = list(misuse.faults(misuse.page.read_text(), verdicts))
        print("FAIL" if wrong else "ok  ", misuse.page.name, *wrong, sep="\n     ")
        failed += bool(wrong)
    finish(len(verdicts) + (not part) - failed, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
