"""What cannot be imported, with the places in the user's source."""

import os
import re

FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
LIBRARY = os.sep + 'torch' + os.sep


class Problems:
    """All that was found. They are reported together, and nothing is written if there is one."""

    def __init__(self):
        self.found = {}

    def add(self, node, text):
        self.found.setdefault((place(node), text), None)

    def lines(self):
        return [f'{where}: {text}' if where else text for where, text in self.found]


def place(node):
    """The file and line of the innermost frame outside of PyTorch that led to this node of the graph."""
    if node is None:
        return ''
    trace = node if isinstance(node, str) else node.meta.get('stack_trace') or ''
    frames = [(match['file'], match['line']) for match in FRAME.finditer(trace)]
    own = [frame for frame in frames if LIBRARY not in frame[0]] or frames
    return ':'.join(own[-1]) if own else ''


def source_line(node):
    """The user's line of source that made this node, for the names of variables."""
    lines = (node.meta.get('stack_trace') or '').split('\n')
    frames = [(FRAME.search(line), text.strip()) for line, text in zip(lines, lines[1:])]
    own = [text for match, text in frames if match and LIBRARY not in match['file']]
    return own[-1] if own else ''
