#!/usr/bin/env -S python3 -B
"""Counts sentences that are probably hard to read, in comments and on pages: prose.py [PATH...]

With paths, the script lists these sentences. Without paths, it compares their share in each folder with `limits`, in
percent. A limit may only fall. A sentence is counted for one of three reasons: it begins without a subject, it is
longer than 35 words, or it contains a word that sends the reader back to look for its meaning. The count only finds
places to look at. A sentence can be clear and counted, or hard and not counted.
"""

import re
import sys
from pathlib import Path

from compilers import finish, top

limits = {"include/cairn": 3, "docs": 3, "README.md": 4, "CHANGELOG.md": 3, "examples": 3, "bench": 2, "tests": 2}
most_words = 35
most_words_of_a_cell = 12

no_subject = re.compile(r"(Of|What|Whether|Likewise|So many|So often|The same|But|And|Or|Not)\b(?! (is|are|was|were)\b)")
vague = re.compile(r"\b(who|whom|whose|nobody|somebody|those|these(?= (are|is|have|has|can|may|must|do)\b)|such(?! an?\b)|the one|the "
                   r"others?(?! \w)|likewise|so many|so often|beside|thereof|but for|none of)\b", re.IGNORECASE)


def paragraphs_of_code(text):
    """Yields the runs of // comments. Each run is one paragraph with the number of its first line."""
    run, first = [], 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        found = re.search(r"(?:^|\s)//[/!]?<?\s?(.*)", line)
        if found and not line.lstrip().startswith("//"):
            yield number, found[1]
            found = None
        if found:
            first = first if run else number
            run.append(found[1])
        elif run:
            yield first, " ".join(run)
            run = []


def paragraphs_of_page(text):
    """Yields the paragraphs, list items and long table cells of a page, without its code and headings."""
    run, first, code = [], 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence, item = line.startswith("```"), re.match(r"\s*[-*] +", line)
        code ^= fence
        if line.startswith("|") and not code:
            yield from ((number, f"| {cell.strip()}") for cell in re.split(r"(?<!\\)\|", line.strip("|"))
                        if len(cell.split()) > most_words_of_a_cell)
        prose = line.strip() and not (code or fence or line.startswith(("|", "#")))
        if run and (item or not prose):
            yield first, " ".join(run)
            run = []
        if prose:
            first = first if run else number
            run.append(line[item.end() if item else 0:].strip())


def sentences(paragraph):
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "CODE", paragraph))
    return [said for said in re.split(r"(?<=[.!?:;])\s+(?=[A-Z])", plain) if len(said.split()) > 2]


def doubts(sentence, in_code):
    """Yields what may be hard about a sentence."""
    if sentence.startswith("| "):
        yield f"a cell of more than {most_words_of_a_cell} words"
    if in_code and no_subject.match(sentence):
        yield "no subject"
    if len(sentence.split()) > most_words:
        yield f"more than {most_words} words"
    found = [word[0] for word in vague.findall(sentence)]
    if len(found) > (0 if in_code else 1):
        yield f"vague: {', '.join(found)}"


def files_of(path):
    return sorted(file for file in path.rglob("*") if file.suffix in (".hpp", ".cpp", ".md")) if path.is_dir() else [path]


def counted(path):
    """Returns how many sentences a file or a folder has, and a line for each sentence that may be hard."""
    count, listed = 0, []
    for file in files_of(path):
        in_code = file.suffix != ".md"
        for number, paragraph in (paragraphs_of_code if in_code else paragraphs_of_page)(file.read_text()):
            for sentence in sentences(paragraph):
                count += 1
                found = list(doubts(sentence, in_code))
                listed += [f"{file}:{number}: {'; '.join(found)}: {sentence[:100]}"] if found else []
    return count, listed


def main(*paths):
    for path in paths:
        count, listed = counted(Path(path))
        print(*listed, f"{len(listed)} of {count} sentences", sep="\n")
    if paths:
        return
    failed = 0
    for path, limit in limits.items():
        count, listed = counted(top / path)
        share = 100 * len(listed) / count
        print("FAIL" if share > limit else "ok  ", f"{path}: {share:.1f} % of {count} sentences, at most {limit} %")
        failed += share > limit
    finish(len(limits) - failed, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
