#!/usr/bin/env -S python3 -B
"""Follows docs/start.md, as a reader would, and compares what the programs print. Runs the programs of README and
docs/adjoint.md, too.

A block of C++ that begins with `// NAME` is the file NAME. If the line goes on with `: instead of: OLD`, the rest of the
block takes the place of OLD in that file. In a block of text, `$ ./NAME ARGUMENTS` compiles NAME.cpp and runs it. The
lines behind it are what the program prints, where `...` stands for any lines. A block that begins with `error:` is the
only error that g++ prints for the file that was changed last.
"""

import re
import subprocess
import tempfile
from itertools import chain
from pathlib import Path

import readme
from compilers import report, top

# The options fix the bits of the numbers, and the workspace of kernels.
compiler = ["g++", "-std=c++20", "-O1", "-march=x86-64-v3", "-I."]


def fenced(page):
    """Yields the language and the text of each block."""
    return re.findall(r"^```(cpp|text)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def transcript(text):
    """Yields each command of a block of text, and the lines behind it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def pattern(shown):
    """Returns a regex for what a program prints."""
    return "".join("(.*\n)*?" if line == "...\n" else re.escape(line) for line in shown.splitlines(keepends=True))


class reader:
    """A folder in which the page is followed."""

    def __init__(self, folder):
        self.folder, self.changed, self.built = Path(folder), "", {}
        (self.folder / "cairn").symlink_to(top / "include/cairn")

    def write(self, block):
        """Writes or changes a file, and returns what is wrong with the block."""
        head, _, text = block.partition("\n")
        name, _, old = head.removeprefix("// ").partition(": instead of: ")
        file, self.changed = self.folder / name, name
        if not old:
            file.write_text(block)
            return "" if head == f"// {name}" else "no name"
        before = file.read_text() if file.exists() else ""
        file.write_text(before.replace(old, text.strip()))
        return "" if old in before else f"{name} has no {old}"

    def compile(self, name, *options):
        return subprocess.run([*compiler, f"{name}.cpp", "-o", name, *options, "-lz"], cwd=self.folder, text=True,
                              capture_output=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})

    def run(self, command, shown):
        """Compiles a program if its text is new, and runs it. Returns what is wrong with what it prints."""
        program, *arguments = command.split()
        name = program.removeprefix("./")
        text = "".join((self.folder / file).read_text() for file in ("model.hpp", f"{name}.cpp"))
        if self.built.get(name) != text:
            done = self.compile(name)
            if done.returncode != 0:
                return done.stderr
            self.built[name] = text
        done = subprocess.run([program, *arguments], cwd=self.folder, text=True, capture_output=True)
        fits = done.returncode == 0 and re.fullmatch(pattern(shown), done.stdout)
        return "" if fits else f"it prints\n{done.stdout}{done.stderr}"

    def refused(self, shown):
        """Returns what is wrong with a message, whose indented lines belong to the lines before."""
        printed = self.compile(self.changed.removesuffix(".cpp"), "-fsyntax-only").stderr
        missing = [part for part in readme.parts(shown) if part not in readme.words(printed)]
        return "" if printed.count("error: ") == 1 and not missing else "\n".join([*missing, printed])

    def faults(self, page):
        """Yields each block or command of the page, and what is wrong with it or an empty text."""
        for language, text in fenced(page):
            if language == "cpp":
                yield text.partition("\n")[0], self.write(text)
            elif text.startswith("error:"):
                yield f"the mistake in {self.changed}", self.refused(text)
            else:
                yield from ((command, self.run(command, shown)) for command, shown in transcript(text))


def main():
    first = (top / "README.md").read_text()
    printed = readme.output(readme.blocks(first, "cpp")[0])
    shown = readme.blocks(first, "text")[0]
    others = [("README.md", "" if printed == shown else f"it prints\n{printed}"),
              ("docs/adjoint.md", readme.printed_faults("docs/adjoint.md"))]
    with tempfile.TemporaryDirectory() as folder:
        report(chain(others, reader(folder).faults((top / "docs/start.md").read_text())))


if __name__ == "__main__":
    main()
