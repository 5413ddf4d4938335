#!/usr/bin/env -S python3 -B
"""Adds up the cases that `meson test --logbase` has logged, by suite: tally.py LOG.json:SUITE,SUITE...

A program reports its number of cases in Boost.Test's short report, or in a line "N passed, N failed". A program that
reports nothing counts as one case. A suite that is missing in the log was not built, and counts as one failure.
"""

import json
import re
import sys
from pathlib import Path

from compilers import finish

own_line = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)
boost_start = re.compile(r"^Running \d+ test cases?", re.MULTILINE)
boost_total = re.compile(r"^ *\d+ test cases? out of (\d+) ", re.MULTILINE)
boost_passed = re.compile(r"^ *(\d+) test cases? out of \d+ passed", re.MULTILINE)


def count(test):
    """Returns the passed and failed cases of one entry of the log."""
    printed = test.get("stdout", "") + test.get("stderr", "")
    if lines := own_line.findall(printed):
        passed, failed = map(int, lines[-1])
    elif totals := boost_total.findall(printed):
        passed = sum(map(int, boost_passed.findall(printed)))
        failed = int(totals[-1]) - passed
    else:
        ended = test["result"] == "OK" and not boost_start.search(printed)
        passed, failed = (1, 0) if ended else (0, 1)
    return passed, failed if test["result"] == "OK" else max(failed, 1)


def totals(log: Path, suites):
    """Returns the passed and failed cases of each suite."""
    found = dict.fromkeys(suites, (0, 0))
    for test in map(json.loads, log.read_text().splitlines() if log.exists() else []):
        suite = test["name"].split(" / ")[0].removeprefix("cairn:")
        found[suite] = tuple(map(sum, zip(found[suite], count(test))))
    return {suite: (passed, failed if passed + failed > 0 else 1) for suite, (passed, failed) in found.items()}


def main(*logs):
    passed = failed = 0
    for log, suites in (argument.rsplit(":", 1) for argument in logs):
        for suite, (good, bad) in totals(Path(log), suites.split(",")).items():
            print(f"{suite:10} {Path(log).parents[1].name:10} {good:5} passed {bad:3} failed")
            passed, failed = passed + good, failed + bad
    finish(passed, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
