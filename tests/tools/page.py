#!/usr/bin/env -S python3 -B
"""Opens pages in a browser without a screen: page.py PROGRAM [FOLDER FOR PICTURES]

PROGRAM is examples/reports, which prints the page of a profile for the argument `page`. The page is opened in several
widths, with light and dark colors. It must show all of its data, print nothing on the console, load nothing, be no wider
than its window, and each of its buttons must work.

Three pages of the site in build/site are opened, too. They must load nothing from elsewhere, show their pictures, and
be no wider than the window. A search must find pages.
"""

import functools
import http.server
import json
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from compilers import finish, top

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

site_pages = ["index", "start", "language"]
# These scripts look at a page of the site, and search until something is found. The browser does not wait for the
# worker of the search, but it waits for a script that the server holds back until the page has reported.
visit_site = """<script>
document.getElementById('mkdocs-search-query').value = 'checkpoint';
const searching = setInterval(() => {
  document.getElementById('mkdocs-search-query').dispatchEvent(new KeyboardEvent('keyup'));
  const found = document.querySelectorAll('#mkdocs-search-results article').length;
  if (found === 0) return;
  clearInterval(searching);
  fetch('/report', {method: 'POST', body: JSON.stringify({
    overflow: document.documentElement.scrollWidth - innerWidth,
    elsewhere: performance.getEntriesByType('resource').filter(r => !r.name.startsWith(location.origin)).length,
    pictures: [...document.images].every(picture => picture.naturalWidth > 0),
    found})});
}, 300);
</script><script async src="/held_back.js"></script>
"""


def load(page, width, scheme, *what):
    """Returns what the browser prints, and the lines that it writes to the console."""
    size = f"--window-size={width},1000"
    done = subprocess.run([*browser, size, f"--blink-settings=preferredColorScheme={scheme}", *what, page],
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


def site_faults(seen, said):
    wrong = [line for line in said if "search/worker.js" not in line]  # which tells how far it is
    if wrong:
        yield f"the console: {wrong[0]}"
    for what, good in {
        "it is wider than the window": seen["overflow"] <= 0,
        "it loads something from elsewhere": seen["elsewhere"] == 0,
        "a picture is missing": seen["pictures"],
        "the search finds too little": seen["found"] >= 5,
    }.items():
        if not good:
            yield f"{what}: {seen}"


class site_handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site, and puts the report of a page in a queue."""

    def __init__(self, *arguments, reports, **more):
        self.reports = reports
        super().__init__(*arguments, **more)

    def do_GET(self):
        until = time.monotonic() + 20
        while self.path == "/held_back.js" and self.reports.empty() and time.monotonic() < until:
            time.sleep(0.1)
        super().do_GET()

    def do_POST(self):
        self.reports.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def opened_site(folder, pictures):
    """Yields each page of the site that is opened, and what is wrong with it."""
    shutil.copytree(top / "build/site", folder)
    (folder / "held_back.js").write_text("")
    for name in site_pages:
        text = (folder / f"{name}.html").read_text()
        (folder / f"visited_{name}.html").write_text(text.replace("</body>", visit_site + "</body>"))
    reports = queue.Queue()
    handler = functools.partial(site_handler, directory=folder, reports=reports)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    for name in site_pages:
        for window, width in windows.items():
            _, said = load(f"{address}/visited_{name}.html", width, 1, "--dump-dom")
            wrong = ["the search finds nothing", *said] if reports.empty() else list(site_faults(reports.get(), said))
            yield f"{name} {window}", wrong
            if pictures:
                picture = Path(pictures, f"{name}-{window}.png").resolve()
                load(f"{address}/{name}.html", width, 1, f"--screenshot={picture}")


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
                dom, said = load(visited.as_uri(), width, number, "--dump-dom")
                found = re.search(r'<pre id="seen">(.*?)</pre>', dom)
                wrong = list(faults(json.loads(found[1]), said, data)) if found else ["its script stops", *said]
                print("FAIL" if wrong else "ok  ", window, scheme, *wrong, flush=True)
                passed += not wrong
                failed += bool(wrong)
                if len(sys.argv) > 2:
                    load(plain.as_uri(), width, number, f"--screenshot={Path(sys.argv[2], f'{window}-{scheme}.png').resolve()}")
        for what, wrong in opened_site(Path(name, "site"), sys.argv[2] if len(sys.argv) > 2 else ""):
            print("FAIL" if wrong else "ok  ", what, *wrong, flush=True)
            passed += not wrong
            failed += bool(wrong)
    finish(passed, failed)


if __name__ == "__main__":
    main()
