"""Reads the cases of tests/rejects. A file has the cases of one misuse and is named after its id.

A file opens with a comment, which becomes the section of its id in docs/misuse.md, and with lines that all its cases
share. After these, a comment line may begin something:

    // shared: TITLE    The lines that follow are shared by the next cases, up to the next such line.
    // here             A case's own lines stand here among the shared ones. Without this line they stand last.
    // case: NAME       The lines that follow are the case's own. The page shows those of the first case.
    // says: REGEX      The message of a case is "cairn [ID]: " and what REGEX matches; ID is the file's name.
    // shows: REGEX     What the compiler prints has a match of REGEX. A case can have several.
    // then: REGEX      The compiler adds an error of its own. REGEX matches this second error.
    // options: LIST    The case is compiled with these options alone. A case can have several lists, and is compiled with each.

A line that ends with `// wrong` is part of the rejected program alone. A line that ends with `// right` is part of its
twin alone, which is accepted. All other lines are parts of both.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import takewhile

from compilers import top

folder = top / "tests/rejects"
begins = re.compile(r"\s*// (?:(here)|(shared|case|says|shows|then|options): (.*))$")
ends = re.compile(r"\s*// (wrong|right)(: .*)?$")


@dataclass(eq=False)
class case:
    file: str
    name: str
    told: dict  # the texts of says, shows, then and options
    blocks: list  # numbered lines: the file's, the shared ones before the case's, its own, and the shared ones after these

    def expected(self):
        """The regexes that what a compiler prints must match."""
        return [rf"cairn \[{self.id()}\]: {said}" for said in self.told["says"]] + self.told["shows"]

    def id(self):
        return self.file.rpartition("/")[2].removesuffix(".cpp")

    def options(self):
        return [options.split() for options in self.told["options"]]

    def own(self, wanted=("wrong", "right", "")):
        """The case's own lines, without the marks at their ends, of which only those with these marks are taken."""
        lines = [(ends.sub("", line), ends.search(line)) for _, line in self.blocks[2]]
        return [line for line, mark in lines if (mark[1] if mark else "") in wanted]

    def program(self, rejected, prefix=""):
        """The includes of a program, and its other lines, which compilers find in the file `prefix` + `file`."""
        leave_out, includes, lines = "right" if rejected else "wrong", [], []
        for block in self.blocks:
            lines += [f'#line {number} "{prefix}{self.file}"' for number, _ in block[:1]]
            for _, line in block:
                mark = ends.search(line)
                taken = "" if mark and mark[1] == leave_out else line
                included = taken.startswith("#include")
                includes += [ends.sub("", taken)] * included
                lines.append("" if included else taken)
        return includes, lines


def opening(text):
    """The comment that opens a file, without its slashes."""
    return [line[3:] for line in takewhile(lambda line: line.startswith("//") and not begins.match(line), text.splitlines())]


def cases_of(path):
    """The cases of a file, in their order."""
    text = path.read_text()
    everywhere, before, after, found = [], [], [], []
    block = everywhere
    for number, line in list(enumerate(text.splitlines(), 1))[len(opening(text)):]:
        begun = begins.match(line)
        here, key, value = begun.groups() if begun else (None, None, None)
        if key == "shared":
            before, after = [], []
            block = before
        elif here:
            block = after
        elif key == "case":
            name = str(path.relative_to(top) if path.is_relative_to(top) else path)
            found.append(case(name, value, defaultdict(list), [everywhere, before, block := [], after]))
        elif key:
            found[-1].told[key].append(value)
        else:
            block.append((number, line))
    return found


def all_cases():
    return [each for path in sorted(folder.glob("*.cpp")) for each in cases_of(path)]
