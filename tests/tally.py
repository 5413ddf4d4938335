#!/usr/bin/env -S python3 -B
"""Adds up the cases of suites that `meson test --logbase` has logged: tally.py SUITE.json...

A suite's program says how many cases it has, in Boost.Test's short report or as a line "N passed, N failed";
one that says nothing is one case. A suite without a log was not built: one failure.
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
    """Passed and failed cases of one entry of the log."""
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


def total(log: Path):
    if not log.exists():
        return 0, 1
    counts = [count(json.loads(line)) for line in log.read_text().splitlines()]
    return sum(passed for passed, _ in counts), sum(failed for _, failed in counts)


def main(logs):
    totals = [total(log) for log in logs]
    for log, (passed, failed) in zip(logs, totals):
        note = "" if log.exists() else "  (not built)"
        print(f"{log.stem:10} {log.parents[1].name:10} {passed:5} passed {failed:3} failed{note}")
    finish(sum(passed for passed, _ in totals), sum(failed for _, failed in totals))


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
