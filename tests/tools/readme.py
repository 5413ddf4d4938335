#!/usr/bin/env -S python3 -B
"""Checks that the README agrees with the code: its program and the message of its mistake. Other checks:

- The page of memory has the tables that the demo prints.
- The links on the page of conformance lead to files that contain the names quoted next to them.
- The glossary is sorted and used.
- Every command that a page names exists (commands.py), and so does every operation (operations.py).

`readme.py pages` compiles the pages instead. The code blocks of each page in `programs` are one program. clang compiles
it, because clang takes less time. In matrix.py, g++ compiles it.
"""

import re
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path

import commands
import operations
from compilers import compile_text, compilers, report, top

opening = [f"docs/{name}.md" for name in ("compile", "design", "does-not-fit", "glossary", "memory")]  # the first code block of each is a program
programs = [f"docs/{name}.md" for name in ("arrays", "language", "recipes", "questions", "running", "mixed", "add-a-layer")]
reports = """#include <cairn/report/tables.hpp>
#include <iostream>
#include <vector>
template <class Step>
std::int64_t touched() {
  Step step;
  step.init(seed{1});
  return report::touched_bytes(step, bind<"images">(std::vector<float>(128 * 784, 0.5F)),
                               bind<"classes">(std::vector<std::int32_t>(128, 3)));
}
int main() {
  using in_step = program<loss, update<adamw_options{}>>;
  using plain_step = program<loss, update<adamw_options{}>, plain>;
  report::segment_table<in_step>(std::cout);
  report::step_table<in_step, plain_step>(std::cout, report::touched{touched<in_step>(), touched<plain_step>()});
}
"""


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def words(text):
    return " ".join(text.split())


def parts(message):
    """Returns the parts of a quoted message. An indented line belongs to the line before."""
    return [words(part) for part in re.split(r"\n(?! )", message.strip())]


def output(source):
    """Returns what a program prints, or its errors if it does not compile or fails. The program is compiled for AVX2,
    because the workspace of kernels depends on the width of registers."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        command = ["g++", "-std=c++20", "-O1", "-march=x86-64-v3", "-Iinclude", "-x", "c++", "-", "-o", program, "-lz"]
        done = subprocess.run(command, cwd=top, input=source, text=True, capture_output=True)
        if done.returncode == 0:
            done = subprocess.run([program], text=True, capture_output=True)
        return done.stdout if done.returncode == 0 else f"failed\n{done.stderr}"


def faults(readme, quickstart):
    """Yields each thing that is checked, and what is wrong with it or an empty text."""
    program, mistake = blocks(readme, "cpp")
    _, message = blocks(readme, "text")  # start.py runs the program
    model = program[:program.index("int main")]

    yield "the program is examples/quickstart.cpp", "" if program == quickstart else "it is not"
    yield "at most 110 lines", "" if readme.count("\n") <= 110 else f"{readme.count(chr(10))}"

    sentence = parts(message)[0].split("static assertion failed: ")[-1]
    for compiler in compilers:
        accepted, printed = compile_text(compiler, model + mistake)
        wanted = parts(message) if compiler == "g++" else [sentence]
        missing = [part for part in wanted if part not in words(printed)]
        count = len(re.findall(r"error: ", printed))
        wrong = "accepted" if accepted else f"{count} errors" if count != 1 else "\n".join(missing)
        yield f"the mistake with {compiler}", f"{wrong}\n{printed}" if wrong else ""

    table = next(text for text in blocks((top / "docs/memory.md").read_text(), "text") if "predicted" in text)
    quoted = [words(line) for line in table.splitlines()]
    printed = [words(line) for line in output(model + reports).splitlines() if line.strip("-")]
    stale = [line for line in printed if line not in quoted]
    yield "the demo's table", "not in it: " + "\n".join(stale) if stale else "" if printed else "nothing printed"


def program_faults(name, compiler):
    """Checks a page with code blocks that form one program. The messages on the page must be all errors of the
    program."""
    page = (top / name).read_text()
    program = "".join(blocks(page, "cpp"))
    sentences = [words(message).split("static assertion failed: ")[-1] for message in blocks(page, "text")]
    accepted, printed = compile_text(compiler, program)
    good = "main" in program and accepted == (not sentences)
    good = good and len(re.findall("error: ", printed)) == len(sentences)
    good = good and all(sentence in words(printed) for sentence in sentences)
    return "" if good else f"its errors are not those that it quotes\n{printed}"


def opening_faults(name, compiler):
    """Checks a page whose first code block is a program."""
    accepted, printed = compile_text(compiler, blocks((top / name).read_text(), "cpp")[0])
    return "" if accepted else printed


def printed_faults(name):
    """Checks a page with code blocks that form one program. The text blocks on the page must be the output of the
    program."""
    page = (top / name).read_text()
    printed, shown = output("".join(blocks(page, "cpp"))), "".join(blocks(page, "text"))
    return "" if printed == shown else f"it prints\n{printed}"


def stale_references(page, folder):
    """Checks a page with tables. Yields links to missing files, and names in the last cell of a row that no file linked
    there contains. Each last cell must have both links and names, or say `none`."""
    for line in page.splitlines():
        cell = line.rstrip(" |").split(" | ")[-1]
        linked, quoted = re.findall(r"\]\(([^)#]+)", line), re.findall(r"`([^`]+)`", cell)
        missing = [to for to in linked if not (folder / to).is_file()]
        yield from (f"no file {to}" for to in missing)
        if not line.startswith("| ") or cell == "shown by" or missing:
            continue
        texts = [(folder / to).read_text() for to in re.findall(r"\]\(([^)#]+)", cell)]
        if cell != "none" and not (texts and quoted):
            yield f"nothing shows {line}"
        for name in quoted:
            if not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for text in texts):
                yield f"no {name} in {cell}"
    if "\n| " not in page:
        yield "no table"


def glossary_faults(page, texts):
    """Yields what is wrong with the glossary: a section without terms or with more than forty, a term that is not
    explained in one or two sentences or is out of order, and a term that no other text uses."""
    for section in page.split("\n## ")[1:] or [page]:
        terms = re.findall(r"^\*\*([A-Za-z ]+)\*\*: (.*(?:\n.+)*)", section, re.MULTILINE)
        if not 0 < len(terms) <= 40:
            yield f"{len(terms)} terms, not up to 40"
        names = [name for name, _ in terms]
        rightful = sorted(names, key=str.lower)
        yield from (f"{name} is out of order" for name, wanted in zip(names, rightful) if name != wanted)
        for name, explained in terms:
            if len(re.findall(r"[a-z`0-9][.](?=\s|$)", explained)) not in (1, 2):
                yield f"{name} is not explained in one or two sentences"
            if not any(re.search(rf"\b{name}(s|es)?\b", text, re.IGNORECASE) for text in texts):
                yield f"no text uses {name}"


def pages():
    for name in programs:
        yield f"{name} with {compilers[-1]}", program_faults(name, compilers[-1])
    for name in opening:
        yield f"the first program of {name}", opening_faults(name, compilers[-1])
    yield "docs/numbers.md", printed_faults("docs/numbers.md")


def checks():
    read = [(top / name).read_text() for name in ("README.md", "examples/quickstart.cpp")]
    stale = "\n".join(stale_references((top / "docs/conformance.md").read_text(), top / "docs"))
    others = [*(top / "include").rglob("*.hpp"), *(file for file in (top / "docs").glob("*.md") if file.stem != "glossary")]
    glossary = glossary_faults((top / "docs/glossary.md").read_text(), [file.read_text() for file in others])
    return chain([("docs/glossary.md", "\n".join(glossary))], commands.faults(), operations.faults(),
                 [("docs/conformance.md", stale)], faults(*read))


if __name__ == "__main__":
    report(pages() if sys.argv[1:] == ["pages"] else checks())
