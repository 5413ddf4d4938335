#!/usr/bin/env -S python3 -B
"""Builds the site in build/site: collects the pages, calls MkDocs, and checks the links and the list of pages.

README, the changes, the list of examples and the notes of the benchmarks become pages next to those of docs/. A link to another
file of the repository leads to a copy of the file. The script fails if a link leads nowhere, if a heading that a link
names does not exist, or if mkdocs.yml does not list a page.
"""

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

top = Path(__file__).resolve().parents[1]
staged, built = top / "build/pages", top / "build/site"
own_style = """
[role=main] table { display: block; overflow-x: auto; }
"""
renamed = {"README.md": "index.md", "CHANGELOG.md": "changes.md", "bench/NOTES.md": "notes.md",
           "examples/README.md": "examples.md"}


def place(path):
    """Returns where a file of the repository is in the site. A source file has the ending .txt, so that browsers show
    it."""
    path = path.relative_to(top)
    if str(path) in renamed:
        return renamed[str(path)]
    return str(path.relative_to("docs")) if path.parts[0] == "docs" else f"source/{path}.txt"


def collected(page):
    """Returns the text of a page with the links that it has in the site. Copies the files to which it leads."""
    def link(found):
        target, _, heading = found[1].partition("#")
        path = (page.parent / target).resolve()
        if "://" in target or not target or not path.is_file():
            return found[0]
        to = staged / place(path)
        if place(path).startswith("source/"):
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)
        return f"]({place(path)}{'#' if heading else ''}{heading})"

    parts = re.split(r"(^```.*?^```$|`[^`\n]*`)", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("`") else re.sub(r"\]\(([^)\s]+)\)", link, part) for part in parts)


class html(HTMLParser):
    """The links of a page, and the names to which links can lead."""

    def __init__(self, path):
        super().__init__()
        self.links, self.names = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key in ("href", "src") and value:
                self.links.append(value)
            if key in ("id", "name"):
                self.names.add(value)


def broken_links():
    pages = {path: html(path) for path in built.rglob("*.html")}
    del pages[built / "404.html"]  # its links begin at the root of a server
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if parts.scheme in ("http", "https", "data"):
                continue
            if not target.is_file():
                yield f"{path.name}: no file {link}"
            elif parts.fragment and target in pages and parts.fragment not in pages[target].names:
                yield f"{path.name}: no heading {link}"


def main():
    for folder in (staged, built):
        shutil.rmtree(folder, ignore_errors=True)
    staged.mkdir(parents=True)
    pages = [*(top / name for name in renamed), *sorted((top / "docs").glob("*.md"))]
    for page in pages:
        (staged / place(page)).write_text(collected(page))
    for picture in (top / "docs").glob("*.svg"):
        shutil.copy(picture, staged)
    colors = subprocess.run(["pygmentize", "-S", "default", "-f", "html", "-a", ".codehilite"], text=True,
                            capture_output=True, check=True).stdout
    (staged / "site.css").write_text(colors + own_style)
    subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--config-file", top / "mkdocs.yml"], check=True)
    listed = re.findall(r"(\S+\.md)$", (top / "mkdocs.yml").read_text(), re.MULTILINE)
    faults = [f"mkdocs.yml does not list {place(page)}" for page in pages if place(page) not in listed]
    faults += broken_links()
    print(*faults, f"{len(pages)} pages: {built / 'index.html'}", sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
