#!/usr/bin/env -S python3 -B
"""Misuse that must not compile: rejects.py [PART OF A NAME]

Each file of tests/rejects opens with one or more lines `// rejects: REGEX`. Compiled as it is, it must be
accepted without a warning: the twin, of which many are compiled at once, each in a namespace, so that one may
lack an include that another has. With -DCAIRN_REJECT it must be rejected with exactly one error, whose message
every REGEX matches, in few enough lines to read. Only what the compiler says counts as its message, not the source
lines that it quotes. Files are named from the project's root, for clang spells a lambda as its file's path: how wide
a message is must not depend on where the checkout lies.
"""

import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import misuse
from compilers import compile_file, compile_text, compilers, finish, for_each, top

most_lines, most_columns = 12, 400
most_within_an_operation = 40, 700  # for it is looked at where the graph is made, which compilers tell at length
at_once = 20  # twins: to read the headers takes as long as some of them
foreign = """algorithm array bit cmath concepts cstring limits ranges span stdexcept string string_view tuple utility vector
xsimd/xsimd.hpp""".split()

error_line = re.compile(r"^\S+: (?:fatal )?error: ", re.MULTILINE)
quoted_source = re.compile(r"^ *\d* +\|.*\n?", re.MULTILINE)


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


def precompiled(compiler, folder):
    """Options that take what is not ours from a file, for most of a case's time is the standard library's."""
    others = folder / "others.hpp"
    others.write_text("".join(f"#include <{name}>\n" for name in foreign))
    ready = folder / ("others.hpp.gch" if compiler == "g++" else "others.pch")
    accepted, printed = compile_file(compiler, others, "-x", "c++-header", "-o", str(ready), syntax_only=False)
    if not accepted:
        sys.exit(printed)
    return ["-include", str(others)] if compiler == "g++" else ["-include-pch", str(ready)]


def complaints(sources, compiler, *options):
    """What a compiler prints of the twins that it does not accept in silence, by source."""
    if len(sources) == 1:
        accepted, printed = compile_file(compiler, sources[0], *options)
        return {} if accepted and not printed else {sources[0]: printed}
    texts = {source: (top / source).read_text() for source in sources}
    lines = sorted({line for text in texts.values() for line in text.splitlines() if line.startswith("#include")})
    lines += [f'namespace twin_{i} {{\n#line 1 "{source}"\n{text}}}' for i, (source, text) in enumerate(texts.items())]
    accepted, printed = compile_text(compiler, "\n".join(lines) + "\n", *options)
    if accepted and not printed:
        return {}
    return {source: said for each in sources for source, said in complaints([each], compiler, *options).items()}


def judge(source: Path, compiler: str, complaint, *options) -> verdict:
    """What a compiler says of a case, a path from the project's root; and what it said of its twin, if anything."""
    accepted, printed = compile_file(compiler, source, "-DCAIRN_REJECT", *options)
    lines = printed.splitlines()
    errors = list(error_line.finditer(printed))
    result = verdict(len(errors), len(lines), max(map(len, lines), default=0), printed=printed)
    fault = result.faults.append

    if complaint is not None:
        fault("the twin is not accepted")
        result.printed = complaint
    if not expected(source):
        fault("no line `// rejects: REGEX`")
    if accepted:
        fault("accepted")
    elif len(errors) != 1:
        fault(f"{len(errors)} errors")
    else:
        message = quoted_source.sub("", printed[errors[0].start():])
        for regex in expected(source):
            if not regex.search(message):
                fault(f"no match for {regex.pattern}")
    within = source.stem.startswith("own-operation-")
    line_limit, column_limit = most_within_an_operation if within else (most_lines, most_columns)
    if result.lines > line_limit:
        fault(f"more than {line_limit} lines")
    if result.columns > column_limit:
        fault(f"a line of more than {column_limit} characters")
    return result


def main(part=""):
    files = sorted((top / "tests/rejects").glob("*.cpp"))
    sources = [file.relative_to(top) for file in files if part in file.stem]
    batches = [(sources[i:i + at_once], compiler) for i in range(0, len(sources), at_once) for compiler in compilers]
    jobs = [(source, compiler) for source in sources for compiler in compilers]
    print(f"{'':4} {'compiler':10} errors lines columns  case")
    failed, verdicts = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        options = {compiler: precompiled(compiler, Path(folder)) for compiler in compilers}
        said = {}
        complained = for_each(lambda batch: complaints(*batch, *options[batch[1]]), batches)
        for (_, compiler), found in zip(batches, complained):
            said |= {(source, compiler): printed for source, printed in found.items()}
        judged = for_each(lambda job: judge(*job, said.get(job), *options[job[1]]), jobs)
        for (source, compiler), seen in zip(jobs, judged):
            verdicts[source, compiler] = seen
            mark = "FAIL" if seen.faults else "ok"
            print(f"{mark:4} {compiler:10} {seen.errors:6} {seen.lines:5} {seen.columns:7}  {source.stem}", flush=True)
            if seen.faults:
                failed += 1
                print(f"     {'; '.join(seen.faults)}\n{seen.printed}")
    if not part:  # the page is about all of them
        wrong = list(misuse.faults(misuse.page.read_text(), verdicts))
        print("FAIL" if wrong else "ok  ", misuse.page.name, *wrong, sep="\n     ")
        jobs.append(misuse.page)
        failed += bool(wrong)
    finish(len(jobs) - failed, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
