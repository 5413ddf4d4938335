"""docs/misuse.md against the cases of tests/rejects: what it quotes is what they contain and what the compiler says, and
its table is that of the last run."""

import re

from compilers import compilers, top
from readme import blocks, parts, words

page = top / "docs/misuse.md"
headers = sorted(file for room in ("base", "misuse") for file in (top / "include/cairn" / room).glob("*.hpp"))


def ids(text):
    return set(re.findall(r"cairn \\?\[([a-z-]+)\\?\]", text))


def sections(text):
    """The parts of the page that are called like an id."""
    found = re.split(r"^## ([a-z]+(?:-[a-z]+)+)\n", text, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2]))


def taken(source, reject):
    """The lines of a case that a compiler sees with CAIRN_REJECT, or without."""
    lines, seen = [], True
    for line in source.splitlines():
        if line.startswith("#ifdef CAIRN_REJECT"):
            seen = reject
        elif line.startswith("#ifndef CAIRN_REJECT"):
            seen = not reject
        elif line.startswith("#else"):
            seen = not seen
        elif line.startswith("#endif"):
            seen = True
        elif seen:
            lines.append(words(line))
    return lines


def numberless(text):
    """A message without the numbers that g++ gives to lambdas, which depend on what was included."""
    return re.sub(r"auto:\d+", "auto", words(text))


def table(verdicts):
    """A row for each id: the most of each figure that any of its cases has. `verdicts` by case and compiler."""
    rows = {}
    for (case, compiler), seen in verdicts.items():
        for name in ids((top / case).read_text().split("\n#")[0]):
            row = rows.setdefault(name, {"cases": set()})
            row["cases"].add(case)
            figures = row.setdefault(compiler, [0, 0])
            row[compiler] = [max(pair) for pair in zip(figures, (seen.errors, seen.lines))]
    lines = ["| id | cases | g++: errors | lines | clang: errors | lines |", "|---|---:|---:|---:|---:|---:|"]
    for name in sorted(rows):
        figures = [str(figure) for compiler in compilers for figure in rows[name][compiler]]
        lines.append(f"| [{name}](#{name}) | {len(rows[name]['cases'])} | " + " | ".join(figures) + " |")
    return "\n".join(lines) + "\n"


def section_faults(name, section, verdicts):
    """What is wrong with one section."""
    case = re.search(r"^Case: `([a-z0-9-]+)`", section, re.MULTILINE)
    code, quotes = blocks(section, "cpp"), blocks(section, "text")
    source = top / f"tests/rejects/{case[1]}.cpp" if case else None
    if not source or not source.exists() or len(code) != 2 or len(quotes) != 1:
        yield f"{name}: needs `Case: ...` of tests/rejects, the wrong lines, the message and the right lines"
        return
    text = source.read_text()
    wrong, right = taken(text, True), taken(text, False)
    differ = False
    for quoted, seen, unseen in (code[0], wrong, right), (code[1], right, wrong):
        lines = [words(line) for line in quoted.splitlines() if line.strip()]
        yield from (f"{name}: {case[1]} has no line `{line}`" for line in lines if line not in seen)
        differ |= any(line not in unseen for line in lines)
    if not differ:
        yield f"{name}: wrong and right lines are the same"
    printed = numberless(verdicts[source.relative_to(top), "g++"].printed)
    yield from (f"{name}: g++ does not say `{part}`" for part in parts(quotes[0]) if numberless(part) not in printed)


def faults(text, verdicts):
    """What is wrong with the page, after all cases were judged."""
    known = ids("".join(header.read_text() for header in headers))
    written = sections(text)
    yield from (f"no section ## {name}" for name in sorted(known - written.keys()))
    yield from (f"{name} is no misuse" for name in sorted(written.keys() - known))
    yield from (f"no case of {name}" for name in sorted(known - ids(table(verdicts).replace("| [", "cairn ["))))
    for name, section in written.items():
        yield from section_faults(name, section, verdicts)
    if table(verdicts) not in text:
        yield f"the table is\n{table(verdicts)}"
