"""Checks that docs/operations.md has every public name, and that each row is true. Clang lists the names, as it would
propose them to an editor. Clang also checks what the rows say about shapes, types and members. In matrix.py, g++ checks
the rows."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import declarations
from compilers import compile_text, for_each, top

sys.path.append(str(top / "package"))
import single  # noqa: E402

page_name = "docs/operations.md"
other_page_name = "docs/from-pytorch.md"  # its expressions use the names of the first page
headers = ["boost_test.hpp", "eigen.hpp", "google_benchmark.hpp", "gradcheck.hpp", "named.hpp", "opcheck.hpp",
           "xtensor.hpp", "file/saving.hpp", "train/loop.hpp",
           *(f"data/{name}.hpp" for name in ("ahead", "augment", "bucketed", "cifar", "csv", "draw", "idx", "npy",
                                       "safetensors", "shards", "text", "windows")),
           *(f"report/{name}.hpp" for name in ("tables", "residuals", "summary", "dot", "timeline", "dump"))]

# There are two programs, because each of them has members that the other one cannot have.
shown_by = {"step": {"step", "trainer"}, "trainer": {"step", "trainer"}}
# The names of these namespaces are on the page. The other namespaces of its table are the library's own.
documented = ("nn", "data", "file", "train", "report", "dump", "literals")


def tables(page):
    """Yields the rows of all tables, each with the heading of its second column."""
    kind = ""
    for line in page.splitlines():
        cells = re.split(r"(?<!\\) \| ", line.strip("| ").replace("|---", "")) if line.startswith("|") else []
        if not cells:
            kind = ""
        elif not kind:
            kind = cells[1].strip() if len(cells) > 1 else ""
        elif len(cells) > 1:
            yield kind, code(cells[0]), code(cells[1])


def code(cell):
    return [span.replace(r"\|", "|") for span in re.findall(r"`([^`]+)`", cell)]


def statements(page, function="rows"):
    """Yields the claims of the rows, as parts of a function that compiles."""
    yield f"void {function}() {{\n"
    for kind, first, second in tables(page):
        for span in second if kind == "in cairn" else first:
            if kind == "in cairn":
                yield f"  static_cast<void>(decltype({span})::shape);\n"
            elif kind in ("defaults", "defines"):
                continue  # the headers are compared
            elif kind == "shape":
                yield f"  static_assert(decltype({span})::shape == shape{second[0]});\n"
            elif kind == "holds":
                yield f"  namespace {span.replace('::', '_')} = {span};\n"
            elif kind == "type":
                yield f"  static_assert(std::is_same_v<decltype({span}), {second[0]}>);\n"
            else:
                yield f"  static_cast<void>(std::type_identity<{span}>{{}});\n"
    yield "}\n"


class editor:
    """Clang, for programs that begin with a given text."""

    def __init__(self, folder, text):
        self.header, self.file = folder / "page.hpp", folder / "asked.cpp"
        self.header.write_text(text)
        self.printed = self.call("-x", "c++-header", self.header, "-o", f"{self.header}.pch").stderr

    def call(self, *arguments):
        return subprocess.run(["clang++-19", "-std=c++20", "-Iinclude", *arguments], cwd=top, text=True,
                              capture_output=True)

    def compiled(self, text, *arguments):
        self.file.write_text(text)
        return self.call("-include-pch", f"{self.header}.pch", "-fsyntax-only", *arguments, self.file)

    def names(self, scope):
        """Returns the names that clang proposes after `scope`, without the names of classes inside themselves."""
        line = f"auto asked = {scope}"
        done = self.compiled(f"{line}\n;\n", "-Xclang", f"-code-completion-at={self.file}:1:{len(line) + 1}")
        inherited = r"(?: \(InBase\))?" if scope.endswith(".") else ""
        return set(re.findall(rf"^COMPLETION: (\w+){inherited} : (?!\1::)", done.stdout, re.MULTILINE))


def compared(where, there, said):
    """Yields the names that exist and are not on the page, and the names on the page that do not exist."""
    for what, names in (("not on the page", there - said), ("only on the page", said - there)):
        if names:
            yield f"{where}: {what}: {' '.join(sorted(names))}"


def wrong_names(page, clang):
    """Yields names and members that are missing on the page, or that the page has and that do not exist."""
    rows = list(tables(page))
    spans = [span for kind, *cells in rows for cell in cells[:2 if kind == "type" else 1] for span in cell]
    text = "\n".join([*spans, *blocks(page)])

    spaces = {span.removeprefix("cairn::") for kind, first, _ in rows if kind == "holds" for span in first}
    there = clang.names("cairn::") - spaces
    yield from compared("cairn", there, set(re.findall(r"\w+", text)) & there)
    declared = set(re.findall(r"^(?:inline )?namespace cairn::(?:inline )?(\w+)", all_headers(), re.MULTILINE))
    yield from compared("namespaces", declared, spaces)
    for scope in documented:
        said = set(re.findall(rf"\b{scope}::(\w+)", text))
        yield from compared(scope, clang.names(f"cairn::{scope}::") - {"detail"}, said)
    for variable in sorted(set(re.findall(r"^([a-z]\w*)\.", text, re.MULTILINE))):
        shown = "|".join(sorted(shown_by.get(variable, {variable})))
        yield from compared(variable, clang.names(f"{variable}."),
                            set(re.findall(rf"^(?:{shown})\.(\w+)", text, re.MULTILINE)))
    for kind, first, second in rows:
        if kind == "members":
            own = re.match(r"(\w+::)*(\w+)", first[0])[2]
            yield from compared(first[0], clang.names(f"{first[0]}::") - {own},
                                {re.match(r"\w+", span)[0] for span in second})


def fields(type_name):
    """Returns the fields of a struct that have defaults, as the headers write them: `lr = 1e-3`. A field that a check
    refuses unless it is given has none."""
    name = type_name.rpartition("::")[2]
    struct = re.search(rf"^struct {name} (?::[^{{]*)?{{\n(.*?)^}};", all_headers(), re.MULTILINE | re.DOTALL)
    return re.findall(r"^  (?! |static |using |friend |constexpr )[\w:<>, ()]+? (\w+ = (?!detail::not_given)[^;]+);",
                      struct[1], re.MULTILINE)


def wrong_defaults(page):
    """Yields the types whose defaults on the page differ from the headers, and options without a row of defaults."""
    rows = list(tables(page))
    shown = {name: second for kind, first, second in rows if kind == "defaults" for name in first}
    for name, values in shown.items():
        if values != fields(name):
            yield f"{name}: the headers have {fields(name)}, the page has {values}"
    for kind, first, _ in rows:
        if kind == "members" and first[0].endswith("_options") and first[0] not in shown:
            yield f"{first[0]}: no row of defaults"


def included(header, found):
    """Adds a header of cairn's and all headers that it includes to a set."""
    path = top / "include" / header
    if header not in found and path.exists():
        found.add(header)
        for name in re.findall(r"^ *# *include [<\"](cairn/[^\">]+)", path.read_text(), re.MULTILINE):
            included(name, found)
    return found


def further_headers(page):
    """Returns the headers that cairn.hpp does not include, with the types and functions of the page that they define. A
    header of testing/ is named as programs include it."""
    public = {"cairn", *(f"cairn::{space}" for space in documented)}
    found = {}
    root = top / "include"
    for path in sorted({str(path.relative_to(root)) for path in root.rglob("*.hpp")} - included("cairn/cairn.hpp", set())):
        names = {name.removeprefix("cairn::") for name, how in declarations.names((root / path).read_text())
                 if how == "defined" and name.rpartition("::")[0] in public}
        names = {name for name in names if re.search(rf"(?<![\w:]){name}\b", page)}
        if names:
            found[path.replace("/testing/", "/")] = sorted(names)
    return found


def wrong_headers(page):
    """Yields the rows of the table of headers that differ from the headers."""
    shown = {first[0]: names for kind, first, names in tables(page) if kind == "defines"}
    right = further_headers(page)
    for header in sorted({*shown, *right}):
        if shown.get(header, []) != right.get(header, []):
            yield f"{header}: defines {right.get(header, [])}, the page has {shown.get(header, [])}"


# Libraries, with a part of the paths of their headers. The standard library includes the system's headers, too, so these
# are found in the headers of cairn that include them under no condition.
libraries = {"xsimd": "/xsimd/", "zlib": "/zlib.h", "JSON": "/nlohmann/", "Boost": "/boost/",
             "Google Benchmark": "/benchmark/", "xtensor": "/xtensor/", "Eigen": "/Eigen/", "std::mdspan": "/mdspan"}
of_system = re.compile(r"(fcntl|signal|unistd|sys/\w+)\.h")


def needs(header):
    """Returns what a header needs in addition to the standard library, as the table of headers says it."""
    options = ["-std=c++23", "-stdlib=libc++"] if header == "cairn/mdspan.hpp" else ["-std=c++20"]
    read = subprocess.run(["clang++-19", *options, "-Iinclude", "-M", "-x", "c++", f"include/{header}"], cwd=top,
                          text=True, capture_output=True, check=True).stdout
    found = [library for library, part in libraries.items() if part in read]
    found += ["POSIX"] * any(map(of_system.fullmatch, single.single_header([header]).included))
    return ", ".join(found) or "nothing"


def wrong_needs(page):
    """Yields the rows of the table of headers whose third column differs from what the compiler reads."""
    shown = dict(re.findall(r"^\| `(cairn/\S+\.hpp)` \|.*\| (.+) \|$", page, re.MULTILINE))
    for header in {"cairn/cairn.hpp", "cairn/embedded.hpp"} - set(shown):
        yield f"{header}: no row"
    for (header, said), right in zip(shown.items(), for_each(needs, shown)):
        if said != right:
            yield f"{header}: needs {right}, the page has {said}"


def all_headers():
    return "".join(path.read_text() for path in sorted((top / "include/cairn").glob("*/*.hpp")))


def blocks(page):
    return re.findall(r"^```cpp\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def beginning(page):
    """Returns the program in which the rows stand."""
    included = [*(f"cairn/{name}" for name in headers), "iostream"]
    return "".join([*(f"#include <{name}>\n" for name in included), *blocks(page)])


def faults():
    """Yields each thing that is checked, and what is wrong with it or an empty text."""
    page = (top / page_name).read_text()
    with tempfile.TemporaryDirectory() as folder:
        clang = editor(Path(folder), beginning(page))
        yield f"{page_name}: its names", clang.printed or "\n".join(wrong_names(page, clang))
        yield f"{page_name}: its headers", "\n".join(wrong_headers(page))
        yield f"{page_name}: what its headers need", "\n".join(wrong_needs(page))
        yield f"{page_name}: its defaults", "\n".join(wrong_defaults(page))
        for name in (page_name, other_page_name):
            rows = "".join(statements((top / name).read_text()))
            yield f"{name} with clang++-19", clang.printed or clang.compiled(rows).stderr


def faults_with(compiler):
    """Returns the errors that another compiler finds in the rows."""
    page, other = ((top / name).read_text() for name in (page_name, other_page_name))
    rows = "".join([*statements(page), *statements(other, "other_rows")])
    accepted, printed = compile_text(compiler, beginning(page) + rows)
    return "" if accepted else f"not accepted\n{printed}"
