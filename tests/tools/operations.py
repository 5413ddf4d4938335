"""Checks that docs/operations.md has every public name, and that each row is true. Clang lists the names, as it would
propose them to an editor. Clang also checks what the rows say about shapes, types and members. In matrix.py, g++ checks
the rows."""

import re
import subprocess
import tempfile
from pathlib import Path

from compilers import compile_text, top

page_name = "docs/operations.md"
headers = ["boost_test.hpp", "google_benchmark.hpp", "gradcheck.hpp", "named.hpp", "opcheck.hpp", "file/saving.hpp",
           *(f"data/{name}.hpp" for name in ("ahead", "draw", "text", "windows")),
           *(f"report/{name}.hpp" for name in ("tables", "residuals", "summary", "dot", "timeline", "dump"))]

# Names in namespace cairn that are for the library itself: nodes of types, tools of passes and kernels, and mistakes.
suffixes = r"\w+_(op|leaf|mark|layer)"
inner = set("""
    about argument axis_set bound chain_traits chained called call captured comparison derivative expr expression expression_traits
    extremum function_name layer_base layer_result last_stage merged_traits with_computation mixed_scopes output_list outside_world
    owner_of pick pooling renamed scope some_operands stored_as stretched_axes tagged tensor tensor_fact tensor_of
    top_scope rule_number stage_work stage_work_of applied misused mistake nameless pass_on poison rejected report_of sound
    surfaced wrong first_problem max_height max_spelled biased_t keepdim_t refuse same_address
    blocking blocking_of even_blocks product hash_of mix hash64_of least_work range share register_bytes digits
    attending attention_extents attention_tiles masking drawn_keys motion correlation tap_of place_of_tap sweep_axis axis_of_sweep sweep_cut cut_of filter_cut cut_of_filter correlation_workspace
    filter_gradient_workspace sections_of depth_of sum_bytes tile_reading reading_of reading_of_filter band_copy_numbers most_tile_rows most_block_rows most_packed_bytes most_summed_bytes column_panels tile_columns_of
    carried_values each_values scanned reversal scan_figures scan_hooks
    section_terms section_blocks most_block_pixels memory_alignment memory_block kept_run kept_tensor training_position one_step executable step_tables runtime_step runtime_copy run run_lanes run_tiles run_rows compute lanewise
    detail fact rule well_formed graph plan kernel nn data report dump file hana literals
""".split())
# There are two programs, because each of them has members that the other one cannot have.
shown_by = {"step": {"step", "trainer"}, "trainer": {"step", "trainer"}}
inner_of = {
    "data": {"text_of"},
    "report": {"extents_of", "formula_of", "print", "print_column", "segment_entry", "step", "value"},
    "dump": {"bytes", "gradient", "graph", "memory", "path_of", "schedule", "steps"},
    "nn": {"causal_t"},
}


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


def statements(page):
    """Yields the claims of the rows, as parts of a function that compiles."""
    yield "void rows() {\n"
    for kind, first, second in tables(page):
        for span in first:
            if kind == "shape":
                yield f"  static_assert(decltype({span})::shape == shape{second[0]});\n"
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

    misuse = set(re.findall(r"^struct (\w+)", (top / "include/cairn/misuse/table.hpp").read_text(), re.MULTILINE))
    there = {name for name in clang.names("cairn::") if not re.fullmatch(suffixes, name)} - misuse
    yield from compared("what is not public", inner, inner & there)
    yield from compared("cairn", there - inner, set(re.findall(r"\w+", text)) & (there - inner))
    for scope, own in inner_of.items():
        there = {name for name in clang.names(f"cairn::{scope}::") if not re.fullmatch(suffixes, name)} - own
        yield from compared(scope, there - {"detail"}, set(re.findall(rf"\b{scope}::(\w+)", text)))
    for variable in sorted(set(re.findall(r"^([a-z]\w*)\.", text, re.MULTILINE))):
        shown = "|".join(sorted(shown_by.get(variable, {variable})))
        yield from compared(variable, clang.names(f"{variable}."),
                            set(re.findall(rf"^(?:{shown})\.(\w+)", text, re.MULTILINE)))
    for kind, first, second in rows:
        if kind == "members":
            own = re.match(r"(\w+::)*(\w+)", first[0])[2]
            yield from compared(first[0], clang.names(f"{first[0]}::") - {own},
                                {re.match(r"\w+", span)[0] for span in second})


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
        yield f"{page_name} with clang++-19", clang.printed or clang.compiled("".join(statements(page))).stderr


def faults_with(compiler):
    """Returns the errors that another compiler finds in the rows."""
    page = (top / page_name).read_text()
    accepted, printed = compile_text(compiler, beginning(page) + "".join(statements(page)))
    return "" if accepted else f"not accepted\n{printed}"
