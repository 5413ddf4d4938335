#!/usr/bin/env -S python3 -B
"""Tests of the tests. Scripts that check by compiling, by reading or by adding up must be able to fail."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

import accepts
import cases
import commands
import declarations
import import_kept
import layering
import misuse
import operations
import prose
import readme
import rejects
import small
import start
import tally
from compilers import compilers, finish, top

sys.path.append(str(top / "bench"))
import scenario  # noqa: E402

good = """// case: good
// shows: 3 is not 4
static_assert(true);
static_assert(false, "3 is not 4");  // wrong
"""


class in_a_folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name


class small_changes(unittest.TestCase):
    def test_sizes(self):
        text = "constexpr int batch = 8, width = 256, depth = width / 2;\n  constexpr int steps = 20;\nint width = 7;\n"
        self.assertEqual(small.resized(text, {"width": "4", "steps": "3"}),
                         text.replace("256", "4").replace("20", "3"))

    def test_what_is_no_size(self):
        for name in ("depth", "height"):
            with self.assertRaisesRegex(SystemExit, name):
                small.resized("constexpr int width = 8, depth = width / 2;\n", {name: "4"})


class cases_are_read(in_a_folder):
    text = """// Reported here.
//
// It is wrong.

#include "a.hpp"
using namespace cairn;

// shared: a function
#include <b>
void f() {
  // here
}

// case: first
// says: one
// shows: two
// shows: three
  int x = f;  // wrong
  int x = 0;  // right

// case: second
// then: four
// options: -O1 -O2
// options: -O3
#include "c.hpp"  // right
  int y;

// shared: nothing
// case: third
int z;
"""

    def read(self, text):
        return cases.cases_of(self.write("id.cpp", text))

    def test_what_they_are_told(self):
        first, second, third = self.read(self.text)
        self.assertEqual([each.name for each in (first, second, third)], ["first", "second", "third"])
        self.assertEqual([each.id() for each in (first, second, third)], ["id"] * 3)
        self.assertEqual(first.expected(), [r"cairn \[id\]: one", "two", "three"])
        self.assertEqual((second.expected(), second.told["then"]), ([], ["four"]))
        self.assertEqual((first.options(), second.options()), ([], [["-O1", "-O2"], ["-O3"]]))
        self.assertEqual(cases.opening(self.text), ["Reported here.", "", "It is wrong."])

    def test_their_programs(self):
        def lines(each, rejected):
            return [line for line in each.program(rejected)[1] if line and not line.startswith("#line")]

        first, second, third = self.read(self.text)
        function = ["using namespace cairn;", "void f() {"]
        self.assertEqual(lines(first, True), [*function, "  int x = f;  // wrong", "}"])
        self.assertEqual(lines(first, False), [*function, "  int x = 0;  // right", "}"])
        self.assertEqual(lines(third, True), [function[0], "int z;"])
        included = ['#include "a.hpp"', "#include <b>"]
        self.assertEqual(second.program(True)[0], included)
        self.assertEqual(second.program(False)[0], [*included, '#include "c.hpp"'])

    def test_where_their_lines_are(self):
        first = self.read(self.text)[0]
        included, lines = first.program(True, "case_0/")
        at, found = 0, {}
        for line in lines:
            place = re.fullmatch(r'#line (\d+) "(.*)"', line)
            found, at = (found, int(place[1])) if place else (found | {at: line}, at + 1)
            self.assertTrue(not place or place[2] == f"case_0/{self.folder}/id.cpp")
        numbered = dict(enumerate(self.text.splitlines(), 1))
        taken = {number: line for number, line in found.items() if line}
        self.assertEqual(taken, {number: numbered[number] for number in taken})
        self.assertEqual(len(taken), 4)

    def test_what_begins_nothing(self):
        told_of_nothing = self.text.replace("// shared: nothing\n", "// shared: nothing\n// says: a\n")
        for wrong in (self.text.replace("shows: two", "show: two"), self.text.replace("// shared: a", "// says: a"),
                      told_of_nothing):
            with self.assertRaisesRegex(SystemExit, "id.cpp:[0-9]+: nothing begins with // (show: two|says: a)"):
                self.read(wrong)

    def test_mistyped_marks(self):
        for mark in ("rigth", "wrong, too", "so"):
            with self.assertRaisesRegex(SystemExit, f"id.cpp:19: neither `// wrong` nor `// right` ends .*// {mark}"):
                self.read(self.text.replace("int x = 0;  // right", f"int x = 0;  // {mark}"))

    def test_their_own_lines(self):
        first, second, _ = self.read(self.text)
        self.assertEqual(first.own(("wrong", "")), ["  int x = f;", ""])
        self.assertEqual(first.own(("right",)), ["  int x = 0;"])
        self.assertEqual(second.own(("right",)), ['#include "c.hpp"'])


class rejects_finds(in_a_folder):
    def case(self, text, name="case"):
        return cases.cases_of(self.write(f"{name}.cpp", text))[0]

    def faults(self, text):
        """Returns the faults of a case. They must be the same with each compiler, and in a batch with another case."""
        case, other = self.case(text), self.case(good, "other")
        found = [rejects.judged(batch, each, rejects.without_quotes[each])[case].faults
                 for each in compilers for batch in ([case], [other, case])]
        alone, batched, alone_in_clang, batched_in_clang = found
        self.assertEqual((alone, alone_in_clang), (batched, batched_in_clang))
        self.assertEqual(alone, [seen for seen in alone_in_clang if "twin" not in seen])
        return alone_in_clang

    def faults_alone(self, text):
        """Returns the faults of a case with each compiler."""
        case = self.case(text)
        return [rejects.judged([case], each, rejects.without_quotes[each])[case].faults for each in compilers]

    def test_nothing_wrong(self):
        self.assertEqual(self.faults(good), [])

    def test_options(self):
        case = ("// case: with options\n// shows: 3 is not 4\n// options: -DOPTION\n#ifdef OPTION\n"
                'static_assert(false, "3 is not 4");\n#endif\n')
        another = case.replace("-DOPTION", "-DANOTHER")
        both = [case.replace("#ifdef", f"// options: {option}\n#ifdef") for option in ("-DOPTION", "-DANOTHER")]
        alone = [self.faults_alone(text) for text in (case, another, *both)]
        none = ["0 errors"]
        self.assertEqual(alone, [[[], []], [none, none], [[], []], [none, none]])

    def test_an_error_of_the_compiler_behind_ours(self):
        ours, then = "// case: two errors\n// shows: 3 is not 4\n", "// then: deleted\n"
        code = 'void f() = delete;\nstatic_assert(false, "3 is not 4");  // wrong\nvoid g() { f(); }  // wrong\n'
        first = self.faults(ours + code)
        self.assertEqual([first, self.faults(ours + then + code)], [["2 errors"], []])
        self.assertEqual(self.faults(ours.replace("3", "4") + then + code), ["no match for 4 is not 4"])
        self.assertEqual(self.faults(ours + "// then: no such words\n" + code), ["no match for no such words"])

    def test_a_twin_that_does_not_compile(self):
        self.assertEqual(self.faults(good + "int x = nonsense;  // right\n"), ["the twin is not accepted"])

    def test_a_twin_with_a_warning(self):
        self.assertIn("the twin is not accepted", self.faults(good + "char narrow(int i) { return i; }\n"))

    def test_which_of_some_twins_is_wrong(self):
        for wrong in ("int x = nonsense;", "char narrow(int i) { return i; }"):
            some = [self.case(good + line + "\n", f"{i}") for i, line in enumerate(["int x;", wrong, "int x;"])]
            for compiler in compilers:
                self.assertEqual(list(rejects.complaints(some, compiler)), some[1:2])

    narrow = 'template <class T> struct narrow { static_assert(sizeof(T) == 1, "too wide"); };\nnarrow<char> fine;\n'

    def test_what_a_compiler_says_once(self):
        self.write("narrow.hpp", "#pragma once\n" + self.narrow.splitlines()[0] + "\n")
        text = (f'// case: narrow\n// shows: too wide\n#include "{self.folder}/narrow.hpp"\n'
                "narrow<char> fine;\nnarrow<int> wrong;  // wrong\n")
        some = [self.case(text, f"{i}") for i in range(3)]
        for compiler in compilers:
            _, found = rejects.said(some, compiler, True)
            self.assertEqual([len(found[case]) for case in some], [1, 0, 0])
            seen = rejects.judged(some, compiler, rejects.without_quotes[compiler])
            self.assertEqual([seen[case].faults for case in some], [[], [], []])

    def test_an_error_in_shared_lines(self):
        text = (f"// shared: a check of a type\n{self.narrow}// here\nstatic_assert(sizeof(narrow<type>) == 1);\n"
                "// case: first\n// shows: too wide\nusing type = int;  // wrong\nusing type = char;  // right\n"
                "// case: second\n// shows: too wide\nusing type = long;  // wrong\nusing type = char;  // right\n")
        some = cases.cases_of(self.write("shared.cpp", text))
        for compiler in compilers:
            _, found = rejects.said(some, compiler, True)
            self.assertEqual([len(found[case]) for case in some], [1, 1])
            said = "\n".join(found[some[1]][0])
            self.assertIn(f"{self.folder}/shared.cpp:5:", said)
            self.assertNotIn("case_", said)

    def test_misuse_that_is_accepted(self):
        self.assertEqual(self.faults(good.replace("false", "true")), ["0 errors"])

    def test_another_message(self):
        self.assertEqual(self.faults(good.replace("shows: 3", "shows: 5")), ["no match for 5 is not 4"])

    def test_one_of_two_messages(self):
        two = good.replace("static", "// shows: is never\nstatic", 1)
        self.assertEqual(self.faults(two), ["no match for is never"])

    def test_a_message_of_another_id(self):
        says = good.replace("shows: 3 is not 4", "says: 3 is not 4")
        self.assertEqual(self.faults(says.replace('"3', '"cairn [case]: 3')), [])
        self.assertEqual(self.faults(says.replace('"3', '"cairn [other-case]: 3')),
                         [r"no match for cairn \[case\]: 3 is not 4"])

    def test_a_message_that_only_the_quoted_source_has(self):
        quoted = good.replace("static_assert(false", "/* line 4 */ static_assert(false")
        self.assertEqual(self.faults(quoted.replace("shows: 3 is not 4", "shows: line 4")), ["no match for line 4"])

    def test_no_message(self):
        self.assertEqual(self.faults(good.replace("// shows: 3 is not 4\n", "")), ["no line `// says: REGEX`"])

    def test_two_errors(self):
        self.assertEqual(self.faults(good + 'static_assert(false, "again");  // wrong\n'), ["2 errors"])

    def test_too_many_lines(self):
        nest = "".join(f"template <class T> struct a{k} : a{k - 1}<T> {{}};\n" for k in range(1, 9))
        text = f"""// case: nest
// shows: too deep
template <class T> struct a0 {{ static_assert(sizeof(T) == 1, "too deep"); }};
{nest}a8<char> fine;
a8<int> wrong;  // wrong
"""
        self.assertEqual(self.faults(text), ["too many lines"])

    def test_too_long_a_line(self):
        self.assertEqual(self.faults(good.replace('not 4"', f'not 4 {"o" * 400}"')),
                         ["too wide a line"])

    def test_a_width_without_places(self):
        case, seen = self.case(good), []
        for place in (":1:1", ":12345:678"):
            seen.append(rejects.judge(case, "g++", [[f"a.hpp{place}: error: 3 is not 4 in a lambda at b.cpp{place}"]]))
        self.assertEqual(seen[0].columns, seen[1].columns)
        self.assertEqual([one.faults for one in seen], [[], []])


class misuse_finds(in_a_folder):
    file = """// The program reports this mistake.
//
// The loss is no scalar.
//
// Reduce it.

#include "a.hpp"

// case: a-case
// shows: scalar
#include "b.hpp"
loss = squares;       // wrong
loss = sum(squares);  // right
static_assert(an_expression<decltype(loss)>);
static_assert(detail::checked<loss>());
"""
    printed = """a.hpp:1:2:   required from here
a.hpp:3:4: error: static assertion failed: cairn [an-id]: the loss is no scalar; reduce it by mean or sum, or give it a
a.hpp:3:4: note: 'cairn::well_formed<f::<lambda(auto:123)> >' evaluates to false
a.hpp:55:66: note: something else"""
    section = """## an-id

The program reports this mistake.

```cpp
loss = squares;
static_assert(detail::checked<loss>());
```
```text
error: static assertion failed: cairn [an-id]: the loss is no scalar; reduce it by mean or sum, or give it a
note: 'cairn::well_formed<f::<lambda(auto)> >' evaluates to false
```

The loss is no scalar.

Reduce it.

Right:

```cpp
loss = sum(squares);
```
"""

    def setUp(self):
        super().setUp()
        paths = lambda: sorted(self.folder.glob("*.cpp"))  # noqa: E731
        changed = {"folder": self.folder, "known_ids": lambda: {"an-id"}, "without_id": {"others"},
                   "all_cases": lambda: [case for path in paths() for case in cases.cases_of(path)]}
        for name, value in changed.items():
            self.addCleanup(setattr, misuse, name, getattr(misuse, name))
            setattr(misuse, name, value)
        self.write("an-id.cpp", self.file)
        self.write("others.cpp", good)

    def page(self, text=""):
        """Returns the page that begins with a text, and a verdict for each case and compiler."""
        verdicts = {(case, compiler): rejects.verdict(1, 8 if compiler == "g++" else 3, 99, printed=self.printed)
                    for case in misuse.all_cases() for compiler in compilers}
        return misuse.written(f"{text}\n{misuse.marker}", verdicts), verdicts

    def faults(self, change=lambda page: page, text=""):
        page, verdicts = self.page(text)
        return "\n".join(misuse.faults(change(page), verdicts))

    def test_nothing_wrong(self):
        self.assertEqual(self.faults(), "")

    def test_what_is_written(self):
        page, _ = self.page("# Misuse")
        self.assertTrue(page.startswith("# Misuse\n<!--"))
        self.assertIn(self.section, page)
        self.assertIn("| [an-id](#an-id) | 1 | 1 | 8 | 1 | 3 |\n", page)
        self.assertNotIn("good", page)
        self.assertNotIn("others", page)

    def test_a_stale_page(self):
        for old, new in [("= squares", "= cubes"), ("the loss is", "the loss was"), ("Reduce", "Reduces"),
                         ("| 8 |", "| 9 |"), ("sum(squares);", "sum(cubes);"), ("## an-id", "## another-id")]:
            self.assertIn(new, self.faults(lambda page: page.replace(old, new)))

    def test_a_message_in_the_text_before(self):
        quoted = f"```text\nerror: {self.printed.partition('error: ')[2].partition(' by')[0]}\n  by mean\nnote: something else\n```\n"
        self.assertEqual(self.faults(text=quoted), "")
        for wrong in (quoted.replace("mean", "means"), quoted.replace("else", "more")):
            self.assertIn("g++ says of no case: error: static", self.faults(text=wrong))

    def test_an_id_without_cases_and_cases_without_an_id(self):
        self.write("no-such-misuse.cpp", self.file)
        misuse.known_ids = lambda: {"an-id", "another-id"}
        found = self.faults()
        self.assertIn("no file of another-id", found)
        self.assertIn("no-such-misuse is no misuse", found)


class the_importer_s_page(in_a_folder):
    def setUp(self):
        super().setUp()
        self.write("my_model.py", "model = 1\n")
        self.write("model.hpp", "int model;\n")
        rule = lambda r, a: None  # noqa: E731
        rule.__doc__ = "`x | f`\nThe second line."
        self.tables = {"add": rule, "plus": rule}, {import_kept.Stub("torch.nn.LSTM"): rule}
        fence = "```"
        begun = f"{fence}python\n{fence}\n{fence}cpp\n{fence}\n{import_kept.marker}"
        self.page = import_kept.written(begun, self.folder, *self.tables)

    def faults(self, page):
        return "\n".join(import_kept.page_faults(page, self.folder, *self.tables))

    def test_nothing_wrong(self):
        self.assertEqual(self.faults(self.page), "")
        self.assertIn("| `add`, `plus` | `x \\| f` |\n", self.page)
        self.assertIn("| `nn.LSTM` | `x \\| f` |\n", self.page)

    def test_a_stale_page(self):
        for old, new in [("model = 1", "model = 2"), ("int model", "int models"), ("`plus`", "`minus`"), ("nn.LSTM", "nn.GRU"),
                         ("x \\| f", "x")]:
            self.assertIn(old, self.faults(self.page.replace(old, new)))

    def test_a_rule_without_a_docstring(self):
        self.tables[0]["minus"] = lambda r, a: None
        self.assertIn("no docstring: | `minus` |", self.faults(self.page))

    def test_a_rule_with_a_name_that_cairn_lacks(self):
        for said, name in (("`nn::nonsense`", "nn::nonsense"), ("`nonsense<2>(x)`, `relu(x)`", "nonsense")):
            self.tables[0]["add"].__doc__ = said
            self.assertIn(f"{name} is not in docs/operations.md", self.faults(self.page))
            self.assertNotIn("relu is not", self.faults(self.page))


class readme_finds(in_a_folder):
    good = """A [page](case.cpp).

| | shown by |
|---|---|
| C1 | [case](case.cpp) `first`, `a<b>` |
| C2 | none |
"""

    def faults(self, page):
        self.write("case.cpp", "first a<b> firstly\n")
        self.write("other.cpp", "second\n")
        return list(readme.stale_references(page, self.folder))

    def test_nothing_wrong(self):
        self.assertEqual(self.faults(self.good), [])
        self.assertEqual(self.faults(self.good.replace("`first`", "`second`; [other](other.cpp)")), [])

    def test_a_link_to_nothing(self):
        for link in ("[page](", "[case]("):
            self.assertEqual(self.faults(self.good.replace(link, f"{link}nowhere/")), ["no file nowhere/case.cpp"])

    def test_a_name_that_is_not_there(self):
        for name in ("second", "firs", "irst"):
            self.assertEqual(self.faults(self.good.replace("`first`", f"`{name}`")),
                             [f"no {name} in [case](case.cpp) `{name}`, `a<b>`"])

    def test_a_row_that_shows_nothing(self):
        for cell in ("", "[case](case.cpp)", "`first`"):
            self.assertIn(f"nothing shows | C2 | {cell} |", self.faults(self.good.replace("none", cell)))
        self.assertEqual(self.faults("A page.\n"), ["no table"])


class operations_finds(in_a_folder):
    header = """#include <type_traits>
namespace cairn {
struct shape {
  int rank, extent;
  bool operator==(const shape&) const = default;
};
template <int Size>
struct vector {
  static constexpr cairn::shape shape{1, Size};
};
vector<8> detach(int);
struct { void init(); void zero_grad(); } step, trainer;
namespace parts { void helper(); }
}
using namespace cairn;
"""
    page = """
| call | shape |
|---|---|
| `detach(1)` | `{1, 8}` |

| call | type |
|---|---|
| `detach(1)` | `vector<8>` |
| `step.init()` | `void` |
| `trainer.zero_grad()` | `void` |

| type | members |
|---|---|
| `shape` | `rank`, `extent` |

| namespace | holds |
|---|---|
| `cairn::parts` | parts |
"""

    def found(self, page):
        """Names that the page lacks or that do not exist, and the number of wrong rows."""
        clang = operations.editor(self.folder, self.header)
        declared = patch.object(operations, "all_headers", lambda: "namespace cairn::parts {\n")
        with declared, patch.object(operations, "documented", ("parts",)):
            names = list(operations.wrong_names(page, clang))
        errors = clang.compiled("".join(operations.statements(page))).stderr
        return names, len(re.findall("error: static assertion failed", errors))

    def test_nothing_wrong(self):
        self.assertEqual(self.found(self.page.replace("`shape` |", "`shape`, `parts::helper` |")), ([], 0))

    def test_names_of_namespaces(self):
        self.assertEqual(self.found(self.page)[0], ["parts: not on the page: helper"])
        moved = self.page.replace("cairn::parts", "cairn::other")
        self.assertEqual(self.found(moved)[0][:3], ["cairn: not on the page: parts", "namespaces: not on the page: parts",
                                                   "namespaces: only on the page: other"])

    def test_names_and_rows_that_are_wrong(self):
        wrong = {"detach(1)": "vector<8>{}", "{1, 8}": "{1, 7}", "trainer.zero_grad()` | `void": "trainer.init()` | `int",
                 "`extent`": "`size`"}
        page = self.page
        for right, other in wrong.items():
            self.assertIn(right, page)
            page = page.replace(right, other)
        names = ["cairn: not on the page: detach", "parts: not on the page: helper", "step: not on the page: zero_grad", "trainer: not on the page: zero_grad",
                 "shape: not on the page: extent", "shape: only on the page: size"]
        self.assertEqual(self.found(page), (names, 2))


class commands_finds(in_a_folder):
    good = """Draw it: `build/examples/plan tree`, or `tests/draw.py
all`. Time it: `./dev bench scenario gemm`; `-O3` alone is no command.

```sh
./dev test      # or ./dev test run laws
```

| suite | |
|---|---|
| `run`, `laws` | programs |
"""

    def setUp(self):
        super().setUp()
        for name in ("docs", "tests/tools", "examples", "bench/scenario/gemm"):
            (self.folder / name).mkdir(parents=True)
        shutil.copy(top / "dev", self.folder)
        for name in commands.called((top / "dev").read_text()):
            self.script(name)
        self.script("tests/draw.py")
        self.write("examples/plan.cpp", "")
        self.write("examples/meson.build", "executable('plan', 'plan.cpp')\n")
        subprocess.run(["git", "init", "-q"], cwd=self.folder, check=True)

    def script(self, name, mode=0o755):
        self.write(name, "#!/bin/sh\n").chmod(mode)

    def faults(self, page=good):
        """Returns what is wrong with the commands and executable bits in a repository with this README and this page of
        docs."""
        self.write("README.md", page)
        self.write("docs/contributing.md", page)
        subprocess.run(["git", "add", "."], cwd=self.folder, check=True)
        found = dict(commands.faults(self.folder))
        found.pop("smallest arguments")
        return {what: wrong for what, wrong in found.items() if wrong}

    def test_nothing_wrong(self):
        self.assertEqual(self.faults(), {})
        for line in ("build/examples/plan tree", "tests/draw.py all", "./dev test run laws", "./dev help"):
            self.assertIn(line, commands.collected(self.folder))

    def test_commands_that_are_none(self):
        for right, wrong in [("plan tree", "plane tree"), ("draw.py", "drawn.py"), ("scenario gemm", "scenario gem"),
                             ("./dev bench scenario gemm", "./dev bench memories"), ("./dev test  ", "./dev tests  "),
                             ("./dev test run laws", "./dev test run lawn"), ("`run`, `laws`", "`run`, `lawn`")]:
            self.assertEqual(len(self.faults(self.good.replace(right, wrong))), 1, wrong)

    def test_run_bits(self):
        self.script("tests/draw.py", 0o644)
        self.assertEqual(self.faults(), {"run bits": "tests/draw.py has mode 100644"})
        self.script("tests/draw.py")
        self.write("tests/plain.py", "").chmod(0o755)
        self.assertEqual(self.faults(), {"run bits": "tests/plain.py has mode 100755"})

    def test_smallest_arguments_of_what_nobody_names(self):
        self.write("README.md", self.good)
        self.write("docs/contributing.md", self.good)
        self.assertIn("nobody names meson setup", dict(commands.faults(self.folder))["smallest arguments"])

    def test_what_is_run(self):
        lines = ["./dev test", "./dev test layering", "build/examples/plan tree", "tests/draw.py all"]
        built = "./dev test layering && ninja -C build examples/plan && build/examples/plan tree"
        self.assertEqual(list(commands.runs(lines)), ["./dev test layering", built, "tests/draw.py all"])
        self.assertEqual(list(commands.runs(["./dev help", "./dev test"], "help")), ["./dev help"])


class defaults_find(unittest.TestCase):
    good = (operations.top / operations.page_name).read_text()

    def faults(self, right, wrong):
        self.assertIn(right, self.good)
        return len(list(operations.wrong_defaults(self.good.replace(right, wrong))))

    def test_what_is_wrong(self):
        row = "| `nn::recurrent_options` | `num_layers ="
        for right, wrong, count in [(row, row, 0), (row, "| `epoch_plan` | `num_layers =", 2),
                                    ("`alpha = 0.99`", "`alpha = 0.95`", 1), ("`padding = 0`, `dilation", "`dilation", 1)]:
            self.assertEqual(self.faults(right, wrong), count, wrong)


    def test_a_wrong_header(self):
        for right, wrong, count in [("`data::draw_options`, `data::logit_error` |", "`data::logit_error` |", 1),
                                    ("| `cairn/named.hpp` | `named_gradients`", "| `cairn/names.hpp` | `named_gradients`", 2)]:
            self.assertIn(right, self.good)
            self.assertEqual(len(list(operations.wrong_headers(self.good.replace(right, wrong)))), count, wrong)


class start_finds(unittest.TestCase):
    good = """```cpp
// one.cpp
#include <cstdio>
int main() { std::puts("first\\nsecond\\nthird"); }
```
```cpp
// model.hpp
```
```text
$ ./one
first
...
```
```cpp
// one.cpp: instead of: first
1st
```
```text
$ ./one
1st
...
third
```
```cpp
// one.cpp: instead of: std::puts
std::put
```
```text
error: 'put' is not a member of 'std'
```
"""

    def faults(self, page):
        with tempfile.TemporaryDirectory() as folder:
            return [what for what, wrong in start.reader(folder).faults(page) if wrong]

    def test_nothing_wrong(self):
        self.assertEqual(self.faults(self.good), [])

    def test_what_is_wrong(self):
        for right, wrong, found in [("1st\n...\nthird", "1st\n...\nfourth", "./one"), ("...\nthird", "third", "./one"),
                                    ("of: std::puts", "of: std::print", "// one.cpp: instead of: std::print"),
                                    ("'put' is not", "'put' is", "the mistake in one.cpp")]:
            self.assertEqual(self.faults(self.good.replace(right, wrong))[:1], [found], wrong)


class accepts_finds(unittest.TestCase):
    def test_nothing_wrong(self):
        for compiler in compilers:
            self.assertTrue(accepts.accepted((compiler, "good", "static_assert(true);\n"))[0])

    def test_a_false_assertion_and_a_warning(self):
        for compiler in compilers:
            self.assertFalse(accepts.accepted((compiler, "bad", "static_assert(1 == 2);\n"))[0])
            self.assertFalse(accepts.accepted((compiler, "bad", "char narrow(int i) { return i; }\n"))[0])


    def test_headers_in_chains(self):
        included = {"a": [], "b": ["a"], "c": ["b"], "d": ["a"], "e": []}
        self.assertEqual(list(accepts.chains(list(included), included.get)), [["a", "b", "c"], ["e"], ["d"]])
        self.assertEqual(sorted(" ".join(accepts.headers()).split()),
                         sorted(str(file.relative_to(top / "include")) for file in (top / "include").rglob("*.hpp")
                                if file.name != "mpi.hpp"))


class a_body_that_cairn_leaves_to_the_compiler(unittest.TestCase):
    program = """#include "cairn/lang/checkpoint.hpp"
#include "cairn/op/reduce.hpp"
using namespace cairn;
struct body { auto operator()(auto x) const BODY };
inline constexpr auto loss = mean(input<"x", 8, 4> | layer(body{}));
"""

    def accepted(self, body):
        return [accepts.accepted((each, "body", self.program.replace("BODY", body)))[0] for each in compilers]

    def test_is_refused(self):
        self.assertEqual(self.accepted("{ return square(x); };"), [True, True])
        self.assertEqual(self.accepted("{ return x.square(); };"), [False, False])
        self.assertEqual(self.accepted("= delete;"), [False, False])


class an_operation_without_a_gradient(unittest.TestCase):
    program = """#include "cairn/check/model.hpp"
using namespace cairn;
struct rounded_op : elementwise_op {
  static constexpr fixed_string name = "rounded";
  static constexpr bool DECLARED = true;
  static constexpr auto vjp(auto, auto, auto) { return gradients(no_gradient{}); }
};
constexpr auto w = param<"w", 8>;
static_assert(detail::compiled_of<mean(w * make<rounded_op>(w)), true>::layout.peak_bytes > 0);
"""

    def test_says_so(self):
        for compiler in compilers:
            for declared in ("detaches", "piecewise_constant"):
                self.assertTrue(accepts.accepted((compiler, "op", self.program.replace("DECLARED", declared)))[0])
            accepted, printed = accepts.accepted((compiler, "op", self.program.replace("DECLARED", "undeclared")))
            self.assertFalse(accepted)
            self.assertIn("gives no gradient to an argument of real numbers; say that the operation detaches", printed)


class layering_finds(unittest.TestCase):
    def faults(self, header, text):
        return len(list(layering.faults(header, text, re.compile(r"\bsum_op\b"))))

    def test_nothing_wrong(self):
        self.assertEqual(self.faults("nn/a.hpp", "#include <vector>\n#include <cairn/op/b.hpp>\n"), 0)
        self.assertEqual(self.faults("kernel/simd.hpp", "#include <xsimd/xsimd.hpp>\n"), 0)
        self.assertEqual(self.faults("report.hpp", "#include <cairn/data/idx.hpp>\n"), 0)
        self.assertEqual(self.faults("plan/a.hpp", "std::string_view s;  // not std::string\n"), 0)

    def test_a_folder_below(self):
        self.assertEqual(self.faults("base/a.hpp", "#include <cairn/op/b.hpp>\n"), 1)
        self.assertEqual(self.faults("plan/a.hpp", "# include <cairn/kernel/gemm.hpp>\n"), 1)
        self.assertEqual(self.faults("data/a.hpp", "#include <cairn/cairn.hpp>\n"), 1)

    def test_an_unknown_folder_and_a_relative_path(self):
        self.assertEqual(self.faults("misc/a.hpp", ""), 1)
        self.assertEqual(self.faults("op/a.hpp", '#include "../plan/b.hpp"\n'), 1)

    def test_the_files_of_a_folder(self):
        rows = """x = 'b'
programs = {
  'a': {'folder': 'run', 'files': ['b'] + (more ? ['c'] : [])},
  'd': {
    'folder': 'laws',
    'files': ['e']},
}
y = 'f'
"""
        for folder, named in {"run": "bc", "laws": "e"}.items():
            files = layering.files_of_rows(rows, folder)
            self.assertEqual([name for name in "abcdef" if f"'{name}'" in files], list(named))

    def test_what_is_included_first(self):
        ours, other = '#include "cairn/base/compiler.hpp"\n', "#include <vector>\n"
        self.assertTrue(layering.begins_with_ours(f"// {other}{ours}{other}"))
        for text in ("", other, other + ours, f"// {ours}"):
            self.assertFalse(layering.begins_with_ours(text))

    def test_a_processor(self):
        for text in ("_mm512_mul_epu32(a, b);\n", "__m128i word;\n", "#if XSIMD_WITH_AVX\n", "#ifdef __AVX__\n",
                     "_tile_zero(0);\n"):
            self.assertEqual(self.faults("kernel/gemm.hpp", text), 1)
            self.assertEqual(self.faults("kernel/simd.hpp", text), 0)

    def test_an_exception_that_is_thrown(self):
        self.assertEqual(self.faults("run/a.hpp", "if (few) throw extent_error(name);\n"), 1)
        self.assertEqual(self.faults("run/a.hpp", "if (few) refuse(extent_error(name));  // throws\n"), 0)
        self.assertEqual(self.faults("base/refuse.hpp", "throw error;\n"), 0)

    def test_a_library_out_of_place(self):
        self.assertEqual(self.faults("kernel/gemm.hpp", "#include <xsimd/xsimd.hpp>\n"), 1)
        self.assertEqual(self.faults("kernel/gemm.hpp", "#include <immintrin.h>\n"), 1)
        for text in ("#include <xtensor/xadapt.hpp>\n", "#include <Eigen/Core>\n", "#include <eigen3/Eigen/Core>\n"):
            self.assertEqual(self.faults("run/machine.hpp", text), 1)
        self.assertEqual(self.faults("xtensor.hpp", "#include <xtensor/xadapt.hpp>\n"), 0)
        self.assertEqual(self.faults("eigen.hpp", "#include <eigen3/Eigen/Core>\n"), 0)

    def test_an_operation_that_is_named(self):
        self.assertEqual(self.faults("plan/a.hpp", "sum_op of;  // and what sum_op means\n"), 1)
        self.assertEqual(self.faults("kernel/reduce.hpp", "sum_op of;\n"), 0)

    def test_slow_constant_evaluation(self):
        self.assertEqual(self.faults("graph/a.hpp", "std::vector<int> v;\nstd::string s;\n"), 2)


class glossary_checks(unittest.TestCase):
    def found(self, page, *texts):
        return list(readme.glossary_faults(page, texts))

    def test_right_terms(self):
        page = "**arena**: One block. Its size is\na constant.\n\n**slot**: A piece of `it`. It moves.\n"
        self.assertEqual(self.found(page, "the arena and", "its slots"), [])

    def test_wrong_terms(self):
        self.assertEqual(self.found("nothing"), ["0 terms, not up to 40"])
        self.assertEqual(self.found("# A\n\n## B\n\n**slot**: A piece.\n\n## C\n", "slot"), ["0 terms, not up to 40"])
        page = "**slot**: A piece. It moves.\n\n**arena**: One block\n"
        self.assertEqual(self.found(page, "slot"), ["slot is out of order", "arena is out of order",
                                                    "arena is not explained in one or two sentences", "no text uses arena"])


class prose_counts(in_a_folder):
    def doubts(self, sentence, in_code=True):
        return list(prose.doubts(sentence, in_code))

    def test_what_may_be_hard(self):
        self.assertEqual(self.doubts("The sum of a row is kept."), [])
        self.assertEqual(self.doubts("Of each row the sum."), ["no subject"])
        self.assertEqual(self.doubts("What is read is copied."), [])
        self.assertEqual(self.doubts("The loop reads those rows."), ["vague: those"])
        self.assertEqual(self.doubts("The loop reads those rows.", in_code=False), [])
        self.assertEqual(self.doubts("The " + "very " * 35 + "end."), ["more than 35 words"])
        self.assertEqual(self.doubts("| " + "word " * 13), ["a cell of more than 12 words"])

    def test_what_is_read(self):
        code = self.write("a.hpp", "// One sentence here. Another\n// one follows.\nint a;  ///< A field's own comment.\n")
        self.assertEqual(prose.counted(code), (3, []))
        page = self.write("a.md", "# Of a title\n\nText of `CODE` here.\n\n```cpp\nOf no text at all\n```\n- An item of a list\n")
        self.assertEqual(prose.counted(page), (2, []))


class declarations_tell(unittest.TestCase):
    def found(self, **texts):
        headers = {f"{name}/a.hpp": text for name, text in texts.items()}
        return list(declarations.defined_below(headers, lambda header: layering.order.index(header.split("/")[0])))

    def test_what_a_folder_below_defines(self):
        function = "namespace cairn {\ntemplate <class T>\nconstexpr int f(T x)"
        self.assertEqual(self.found(graph=f"{function};\n}}", plan=f"{function} {{ return 1; }}\n}}"),
                         [("graph/a.hpp", "cairn::f")])
        self.assertEqual(self.found(plan=f"{function};\n}}", graph=f"{function} {{ return 1; }}\n}}"), [])
        self.assertEqual(self.found(run="struct kept;", file="template <>\nstruct kept<1> {};"), [("run/a.hpp", "::kept")])
        self.assertEqual(self.found(run="struct kept {};", file="template <>\nstruct kept<1> {};"), [])

    def test_a_member_that_a_folder_below_defines(self):
        hooks = "template <class L>\nstruct hooks {\n  static int all();\n};\n"
        member = "template <class L>\nint hooks<L>::all() {\n  return 1;\n}\n"
        self.assertEqual(self.found(graph=hooks, plan=member), [("graph/a.hpp", "::hooks")])
        self.assertEqual(self.found(graph=hooks + member), [])

    def test_what_is_no_declaration(self):
        text = 'struct a {};  // struct b;\nconstexpr int one = two(1);\nusing three = decltype(two(1));\nstatic_assert(two(1), "{");'
        self.assertEqual(list(declarations.names(text)), [("::a", "defined")])


class tally_counts(in_a_folder):
    def totals(self, *tests):
        log = self.write("log.json", "".join(json.dumps(test) + "\n" for test in tests))
        return tally.totals(log, ["run", "laws"])

    def total(self, *tests):
        return self.totals(*({"name": "cairn:run / kernels"} | test for test in tests))["run"]

    def test_suites_by_themselves(self):
        some = [{"name": f"cairn:{suite} / some", "result": result}
                for suite, result in [("run", "OK"), ("laws", "OK"), ("run", "FAIL")]]
        self.assertEqual(self.totals(*some), {"run": (1, 1), "laws": (1, 0)})
        self.assertEqual(self.totals(*some[:1]), {"run": (1, 0), "laws": (0, 1)})

    def test_its_own_line(self):
        self.assertEqual(self.total({"result": "FAIL", "stdout": "1 passed, 1 failed\n5 passed, 2 failed\n"}), (5, 2))

    def test_reports_of_boost(self):
        some = "  2 test cases out of 4 passed\n  1 test case out of 4 failed\n  1 test case out of 4 skipped\n"
        self.assertEqual(self.total({"result": "FAIL", "stderr": some}), (2, 2))
        self.assertEqual(self.total({"result": "FAIL", "stderr": "  1 test case out of 1 failed\n"}), (0, 1))

    def test_programs_that_say_nothing(self):
        self.assertEqual(self.total({"result": "OK"}, {"result": "OK"}, {"result": "TIMEOUT"}), (2, 1))

    def test_a_report_that_never_came(self):
        self.assertEqual(self.total({"result": "OK", "stdout": "Running 7 test cases...\n"}), (0, 1))

    def test_a_crash_after_the_last_case(self):
        self.assertEqual(self.total({"result": "FAIL", "stdout": "5 passed, 0 failed\n"}), (5, 1))

    def test_a_suite_that_was_not_built(self):
        self.assertEqual(tally.totals(self.folder / "none.json", ["run", "laws"]), {"run": (0, 1), "laws": (0, 1)})


class scenario_finds(in_a_folder):
    """Tests contests between programs. No time is measured here. The contestants are shell scripts that print what the
    case needs."""

    speaks = """echo 'ready {"first": 1, "later": %s, "memory": 0, "flops": 0, "bytes": 0}'; """

    def rows(self, **scripts):
        """Returns the rows of a contest between scripts. The contestant `none` is not installed."""
        def command_of(who, *_):
            if who not in scripts:
                raise scenario.failure("missing: nobody installed it")
            return ["sh", "-c", scripts[who]], None

        changed = {"command_of": command_of, "build": self.folder, "budget": 0, "patience": 10,
                   "contestants": [(who, "plain") for who in [*scripts, "none"]]}
        (self.folder / "case").mkdir()
        for name, value in changed.items():
            self.addCleanup(setattr, scenario, name, getattr(scenario, name))
            setattr(scenario, name, value)
        rows = scenario.compare(scenario.contest("case", 1), {"flops": 1, "bandwidth": 1})
        return {row["who"]: row for row in rows}, scenario.table(rows)

    def test_quartiles_and_ratios(self):
        self.assertEqual(scenario.spread([5, 1, 4, 2, 3]), [2, 3, 4])
        self.assertEqual(scenario.spread([7]), [7, 7, 7])
        self.assertEqual(scenario.ratio([2, 40, 2], [1, 20, 1]), 2)

    def test_rounds(self):
        self.assertEqual([scenario.rounds_for(seconds, {}) for seconds in (100, 6, 1)], [5, 10, 15])
        of_few = {"budget": 8, "least": 3}
        self.assertEqual([scenario.rounds_for(seconds, of_few) for seconds in (100, 2, 0.1)], [3, 4, 15])

    def test_losses(self):
        reference = {"first": 2.0, "later": 1.0}
        self.assertEqual(scenario.judge({"first": 2.0001, "later": 1.0005}, reference), "")
        self.assertIn("FAIL: the first loss", scenario.judge({"first": 2.001, "later": 1.0}, reference))
        self.assertIn("FAIL: the later loss", scenario.judge({"first": 2.0, "later": 1.01}, reference))
        self.assertIn("FAIL", scenario.judge({"first": float("nan"), "later": 1.0}, reference))

    def test_a_contest(self):
        steps = "while read run; do echo 0.5; done"
        rows, text = self.rows(cairn=self.speaks % "1" + steps, same=self.speaks % "1.0001" + steps,
                               other=self.speaks % "2" + steps)
        self.assertEqual(rows["same"]["ratio"], 1)
        self.assertEqual(rows["same"]["fault"], "")
        self.assertIn("FAIL", rows["other"]["fault"])
        self.assertNotIn("ratio", rows["other"])
        self.assertEqual(rows["none"]["fault"], "missing: nobody installed it")
        for fault in ("FAIL: the later loss is 2", "missing: nobody installed it"):
            self.assertIn(fault, text)

    def test_as_much_memory(self):
        cairn = [{"form": form, "memory": memory, "fault": ""} for form, memory in (("plain", 8), ("75", 6), ("50", 4))]
        within = lambda memory: scenario.in_as_much_memory({"memory": memory}, cairn).get("form")  # noqa: E731
        self.assertEqual([within(memory) for memory in (9, 8, 7, 4, 3)], ["plain", "plain", "75", "50", None])
        self.assertEqual(scenario.in_as_much_memory(cairn[2], cairn)["form"], "plain")

    def test_contestants_that_end(self):
        rows, text = self.rows(cairn=self.speaks % "1" + "read run; echo 0.5; echo tired >&2; exit 3",
                               early="echo hello; echo 'no such module' >&2; exit 1",
                               quiet=self.speaks % "1" + "read run")
        self.assertEqual(rows["cairn"]["fault"], "exit 3: tired")
        self.assertEqual(rows["early"]["fault"], "exit 1: no such module")
        self.assertRegex(rows["quiet"]["fault"], "^exit 0")
        self.assertIn("exit 1: no such module", text)

    def test_a_program_that_does_not_compile(self):
        with self.assertRaisesRegex(scenario.failure, "error: .*nonsense"):
            scenario.compile_program(self.write("case.cpp", "int x = nonsense;\n"), self.folder / "case")


if __name__ == "__main__":
    ran = unittest.main(exit=False).result
    wrong = len(ran.failures) + len(ran.errors)
    finish(ran.testsRun - wrong, wrong)
