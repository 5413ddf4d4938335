"""Writes docs/misuse.md. The text up to `marker` is kept. The rest has a section for each id and a table of figures. It
is made of the files of tests/rejects and of what compilers print."""

import re
import textwrap
from difflib import unified_diff

from cases import all_cases, folder, opening
from compilers import compilers, top
from readme import blocks, parts, words

page = top / "docs/misuse.md"
headers = sorted(file for room in ("base", "misuse") for file in (top / "include/cairn" / room).glob("*.hpp"))
marker = "<!-- `tests/tools/rejects.py write` writes the rest of this page. -->\n"
without_id = {"others"}  # the file of cases whose message has no id


def known_ids():
    """Returns the ids of all messages of the library."""
    return set(re.findall(r"cairn \[([a-z-]+)\]", "".join(header.read_text() for header in headers)))


def quoted(printed):
    """Yields the error and its facts, wrapped for the page. Places in files are left out. So are the numbers that g++
    gives to lambdas, because these depend on the includes."""
    kept = re.compile(r"(?:(?:\S+: )?((?:fatal )?error: )|\S+: (note: (?='cairn::well_formed<)))(.*)")
    for line in printed.splitlines():
        said = kept.match(line)
        if said:
            text = re.sub(r"auto:\d+", "auto", f"{said[1] or said[2]}{said[3]}")
            yield textwrap.fill(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def code(lines):
    """Returns the text of a block, without lines that only a test needs."""
    shown = [line for line in lines if not re.match(r"#include|static_assert\(an_expression<", line)]
    return textwrap.dedent("\n".join(shown)).strip("\n") + "\n"


def section(case, text, printed):
    """Returns the section of an id. `case` is the first case of the id's file, and `text` is the file."""
    by, _, why = "\n".join(opening(text)).partition("\n\n")
    right = textwrap.dedent("\n".join(case.own(("right",)))) + "\n"
    fence = "```"
    return f"""## {case.id()}

{by}

{fence}cpp
{code(case.own(("wrong", "")))}{fence}
{fence}text
{chr(10).join(quoted(printed))}
{fence}

{why}

Right:

{fence}cpp
{right}{fence}
"""


def table(verdicts):
    """Returns a table with a row for each id. A figure is the largest one of the id's cases."""
    rows = {}
    for (case, compiler), seen in verdicts.items():
        row = rows.setdefault(case.id(), {"cases": set()})
        row["cases"].add(case)
        figures = row.setdefault(compiler, [0, 0])
        row[compiler] = [max(pair) for pair in zip(figures, (seen.errors, seen.lines))]
    lines = ["| id | cases | g++: errors | lines | clang: errors | lines |", "|---|---:|---:|---:|---:|---:|"]
    for name in sorted(rows.keys() - without_id):
        figures = [str(figure) for compiler in compilers for figure in rows[name][compiler]]
        lines.append(f"| [{name}](#{name}) | {len(rows[name]['cases'])} | " + " | ".join(figures) + " |")
    return "\n".join(lines) + "\n"


def written(text, verdicts):
    """Returns the page that should be in place of `text`."""
    first = {}
    for each in all_cases():
        first.setdefault(each.id(), each)
    printed = {case.name: seen.printed for (case, compiler), seen in verdicts.items() if compiler == "g++"}
    sections = [section(case, (folder / f"{name}.cpp").read_text(), printed[case.name])
                for name, case in first.items() if name not in without_id]
    end = "## The cases\n\nEach figure is the largest one of all cases of the id.\n\n" + table(verdicts)
    return "\n".join([text.partition(marker)[0] + marker, *sections, end])


def faults(text, verdicts):
    """Yields what is wrong with the page. `verdicts` has all cases and compilers."""
    known, files = known_ids(), {file.stem for file in folder.glob("*.cpp")} - without_id
    yield from (f"no file of {name}" for name in sorted(known - files))
    yield from (f"{name} is no misuse" for name in sorted(files - known))
    printed = [words(seen.printed) for (_, compiler), seen in verdicts.items() if compiler == "g++"]
    for quote in blocks(text.partition(marker)[0], "text"):
        if not any(all(part in said for part in parts(quote)) for said in printed):
            yield f"g++ says of no case: {words(quote)}"
    if not known ^ files:
        right = written(text, verdicts)
        yield from unified_diff(text.splitlines(), right.splitlines(), "as it is", "as it should be", lineterm="")
