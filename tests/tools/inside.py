#!/usr/bin/env -S python3 -B
"""Checks that the pages for contributors agree with the code: inside.py PROGRAM

The excerpts of the pages are lines that examples/plan prints, in the same order. The operations of tests/own.hpp, where
they are tested, stand on the page about operations. The files that the pages name exist.
"""

import re
import subprocess
import sys

from compilers import finish, top


pages = ["inside", "add-an-operation", "add-a-layer", "add-a-pass", "read-a-plan"]


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def first_missing(excerpt, printed):
    """Returns the first line of an excerpt that does not follow the lines before. Only a line "..." may stand for
    omitted lines."""
    at, gap = 0, True
    for line in excerpt.splitlines():
        if line == "...":
            gap = True
            continue
        found = next((i for i in range(at, len(printed)) if printed[i] == line), None)
        if found is None or (found != at and not gap):
            return line
        at, gap = found + 1, False
    return ""


def faults(page, printed, tested):
    for excerpt in blocks(page, "text"):
        yield f"excerpt: {excerpt.splitlines()[0]}", first_missing(excerpt, printed)
    for operation in tested.split("// [")[1::2]:
        name, code = operation.split("]\n", 1)
        code = code.rstrip(" ")  # the code before the mark that ends it
        yield f"operation: {name}", "" if code in blocks(page, "cpp") else "not as in tests/own.hpp"
    for path in sorted(set(re.findall(r"`([\w/]+\.[chp]{3}|[\w/]+/)`", page))):
        known = any((top / folder / path).exists() for folder in ("", "include/cairn"))
        yield f"file: {path}", "" if known else "does not exist"


def main(program):
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    page = "\n".join((top / f"docs/{name}.md").read_text() for name in pages)
    tested = (top / "tests/own.hpp").read_text()
    passed = failed = 0
    for what, wrong in faults(page, printed, tested):
        print("FAIL" if wrong else "ok  ", what, wrong)
        passed += not wrong
        failed += bool(wrong)
    finish(passed, failed)


if __name__ == "__main__":
    main(sys.argv[1])
