#!/usr/bin/env -S python3 -B
"""Opens the page of a profile in a browser without a screen: page.py PROGRAM [FOLDER FOR PICTURES]

PROGRAM is examples/reports, which prints the page for the argument `page`. The page is opened in several widths, with
light and dark colors. It must show all of its data, print nothing on the console, load nothing, be no wider than its
window, and each of its buttons must work.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from compilers import finish

browser = ["chromium-headless-shell", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
           "--enable-logging=stderr", "--virtual-time-budget=10000"]
windows = {"wide": 1280, "narrow": 420}
schemes = {"dark": 0, "light": 1}

# This script presses each button, points at each shape, and records the results in the page itself.
visit = """<script>
const seen = {tips: 0, shapes: 0, sorted: 0, loaded: performance.getEntriesByType('resource').length};
const press = button => button.dispatchEvent(new MouseEvent('click', {bubbles: true}));
const point = shape => {
  const box = shape.getBoundingClientRect();
  document.getElementById('tip').textContent = '';
  shape.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: box.x + box.width / 2, clientY: box.y}));
  seen.shapes += 1;
  seen.tips += document.getElementById('tip').textContent.length > 0;
};
const drawn = () => [...document.querySelectorAll('[data-held]')].map(shape => shape.getAttribute('d')).join();
const shapes = () => document.querySelectorAll('[data-held], [data-step], [data-segment]');
for (const shape of shapes()) point(shape);
const column = (table, i) => [...table.tBodies[0].rows].map(row => row.cells[i].textContent);
const first = drawn();
seen.charts = new Set([...document.querySelectorAll('[data-choice]')].reverse().map(b => (press(b), drawn()))).size;
seen.restored = drawn() === first;
for (const table of document.querySelectorAll('table')) {
  for (const head of table.querySelectorAll('th')) {
    press(head.firstChild);
    const cells = column(table, head.cellIndex);
    press(head.firstChild);
    seen.sorted += new Set(cells).size === 1 || column(table, head.cellIndex).join() !== cells.join();
  }
}
seen.heads = document.querySelectorAll('th').length;
seen.rows = [...document.querySelectorAll('table')].map(table => table.tBodies[0].rows.length);
seen.overflow = document.documentElement.scrollWidth - innerWidth;
const noted = document.createElement('pre');
noted.id = 'seen';
noted.textContent = JSON.stringify(seen);
document.body.append(noted);
</script>
"""


def load(page, width, scheme, *what):
    """Returns what the browser prints, and the lines that it writes to the console."""
    size = f"--window-size={width},1000"
    done = subprocess.run([*browser, size, f"--blink-settings=preferredColorScheme={scheme}", *what, page.as_uri()],
                          text=True, capture_output=True, timeout=120)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def faults(seen, said, data):
    if said:
        yield f"the console: {said[0]}"
    tables = [len(data[name]) for name in ("parts", "segments", "operations", "steps")]
    shapes = len(data["held"]) + len(data["steps"])
    for what, good in {
        "a table lacks rows": seen["rows"] == tables,
        "shapes are missing": seen["shapes"] >= shapes,
        "a shape has no tip": seen["tips"] == seen["shapes"],
        "a column does not sort": seen["sorted"] == seen["heads"],
        "a choice changes nothing": seen["charts"] == 3 and seen["restored"],
        "it is wider than the window": seen["overflow"] <= 0,
        "it loads something": seen["loaded"] == 0,
    }.items():
        if not good:
            yield f"{what}: {seen}"


def main():
    text = subprocess.run([sys.argv[1], "page"], text=True, capture_output=True, check=True).stdout
    data = json.loads(re.search(r'<script type="application/json" id="profile">(.*?)</script>', text, re.DOTALL)[1])
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        plain, visited = Path(name, "plain.html"), Path(name, "visited.html")
        plain.write_text(text)
        visited.write_text(text.replace("</body>", visit + "</body>"))
        for window, width in windows.items():
            for scheme, number in schemes.items():
                dom, said = load(visited, width, number, "--dump-dom")
                found = re.search(r'<pre id="seen">(.*?)</pre>', dom)
                wrong = list(faults(json.loads(found[1]), said, data)) if found else ["its script stops", *said]
                print("FAIL" if wrong else "ok  ", window, scheme, *wrong, flush=True)
                passed += not wrong
                failed += bool(wrong)
                if len(sys.argv) > 2:
                    load(plain, width, number, f"--screenshot={Path(sys.argv[2], f'{window}-{scheme}.png').resolve()}")
    finish(passed, failed)


if __name__ == "__main__":
    main()
