"""Reads the cases of tests/rejects. A file has the cases of one misuse, and its name is the id of the misuse.

A file opens with a comment, which is the section of the id in docs/misuse.md, and with lines that all its cases share.
Then comments of these forms begin something:

    // shared: TITLE    The next lines are shared by the next cases, in place of what an earlier comment shares.
    // here             Among shared lines: a case's own lines stand here. Otherwise they stand last.
    // case: NAME       The next lines are the case's own. The page shows the own lines of the first case.
    // says: REGEX      The message is "cairn [ID]: " and then a match of REGEX.
    // shows: REGEX     What the compiler prints has a match of REGEX. A case may have several.
    // then: REGEX      The compiler adds an error in its own words, which REGEX matches.
    // options: LIST    The case is compiled with these options. A case may have several lists, each for itself.

A line that ends with `// wrong` is only in the program that is rejected. A line that ends with `// right` is only in
its twin, which is accepted. All other lines are in both. Text after a colon, as in `// wrong: too small`, is a comment.
Other comments have lines of their own, so that a mistyped mark is found.
"""

import re
import sys
from dataclasses import dataclass
from itertools import takewhile

from compilers import top

folder = top / "tests/rejects"
begins = re.compile(r"\s*// (?:(here)|([a-z]+): (.*))$")
keys = ["says", "shows", "then", "options"]
ends = re.compile(r"\s*// (wrong|right)(: .*)?$")
no_mark = re.compile(r"\s*[^\s/].*// (?!namespace )")


@dataclass(eq=False)
class case:
    file: str
    name: str
    told: dict  # what follows says, shows, then and options: lists of texts
    blocks: list  # lists of numbered lines: the file's, shared ones, the case's own, and the shared ones behind these

    def expected(self):
        """Returns the regexes that must match what a compiler prints."""
        return [rf"cairn \[{self.id()}\]: {said}" for said in self.told["says"]] + self.told["shows"]

    def id(self):
        return self.file.rpartition("/")[2].removesuffix(".cpp")

    def options(self):
        return [options.split() for options in self.told["options"]]

    def own(self, wanted):
        """Returns the case's own lines whose mark is in `wanted`, without the marks. The mark of most lines is ""."""
        lines = [(ends.sub("", line), ends.search(line)) for _, line in self.blocks[2]]
        return [line for line, mark in lines if (mark[1] if mark else "") in wanted]

    def program(self, rejected, prefix=""):
        """Returns the includes of a program and its other lines. Messages place these in the file `prefix` + `file`."""
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
    """Returns the lines of the comment that opens a file, without slashes."""
    comments = takewhile(lambda line: re.match("//(?! (shared|case): )", line), text.splitlines())
    return [line[3:] for line in comments]


def cases_of(path):
    """Returns the cases of a file in their order."""
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
            found.append(case(name, value, {key: [] for key in keys}, [everywhere, before, block := [], after]))
        elif key in keys and found and block is found[-1].blocks[2]:
            found[-1].told[key].append(value)
        elif key:
            sys.exit(f"{path}:{number}: nothing begins with {line}")
        elif no_mark.match(line) and not ends.search(line):
            sys.exit(f"{path}:{number}: neither `// wrong` nor `// right` ends {line}")
        else:
            block.append((number, line))
    return found


def all_cases():
    return [each for path in sorted(folder.glob("*.cpp")) for each in cases_of(path)]
