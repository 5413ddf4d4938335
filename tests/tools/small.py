#!/usr/bin/env -S python3 -B
"""Prints a program with other sizes: small.py FILE NAME=NUMBER... A test can then run an example in a very short time.

Each name occurs once in a definition `constexpr int ...;`, with its number.
"""

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
