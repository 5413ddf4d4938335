#!/usr/bin/env -S python3 -B
"""A program with other sizes: small.py FILE NAME=NUMBER... prints it. So a test can run what an example does in a blink.

Each name stands once in `constexpr int ...;`, with its number."""

import re
import sys
from pathlib import Path


def resized(text, sizes):
    for name, number in sizes.items():
        text, found = re.subn(rf"^( *constexpr int (?:.*, )?{name} = )\d+(?=[,;])", rf"\g<1>{number}", text, flags=re.M)
        if found != 1:
            sys.exit(f"{name} has a size in {found} places")
    return text


if __name__ == "__main__":
    print(resized(Path(sys.argv[1]).read_text(), dict(each.split("=") for each in sys.argv[2:])), end="")
