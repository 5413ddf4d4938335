"""Finds what headers declare and define outside of functions and classes. The text is read without a compiler, because
no compiler reports this."""

import re

literal = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'')
blank = re.compile(r"//.*|^\s*#(?:.*\\\n)*.*|\[\[.*?\]\]", re.MULTILINE)
a_type = re.compile(r"(?:struct|class|enum class|enum) (\w+)")
a_function = re.compile(r"(?<![\w:])(?:(\w+)(?:<[^()]*>)?::)?(\w+) ?\(")
no_function = re.compile(r"using|static_assert|friend|typedef|concept|extern|asm")


def statements(text):
    """Yields each statement outside of functions and classes: its namespace, its text up to the first brace or to its
    end, and the character `{` or `;` that ended it."""
    namespaces, current, depth = [], "", 0
    for character in literal.sub("0", blank.sub("", text)):
        if depth:
            depth += (character == "{") - (character == "}")
        elif character == "{":
            opened = re.match(r"(?:inline )?namespace ?([\w:]*)$", current.strip())
            if opened:
                namespaces.append(opened[1])
            else:
                yield "::".join(namespaces), current.strip(), "{"
                depth = 1
            current = ""
        elif character == "}":
            namespaces.pop()
        elif character == ";":
            yield "::".join(namespaces), current.strip(), ";"
            current = ""
        else:
            current += character


def without_template(statement):
    """Returns the statement without a leading `template <...>`, and without a `requires (...)` behind it."""
    for word, opens, closes in [("template", "<", ">"), ("requires", "(", ")")]:
        while re.match(rf"{word} ?\{opens}", statement):
            depth = 0
            for end, character in enumerate(statement):
                depth += (character == opens) - (character == closes and statement[end - 1] != "-")
                if character == closes and depth == 0:
                    break
            statement = statement[end + 1:].strip()
    return statement


def names(text):
    """Yields each type and function with its namespace, and whether it is "declared" or "defined" here. A class is
    "completed" if one of its members is defined here, outside of the class."""
    for scope, statement, end in statements(text):
        said = without_template(statement)
        found = a_type.match(said)
        if found:
            yield f"{scope}::{found[1]}", "defined" if end == "{" else "declared"
        elif not no_function.match(said):
            found = a_function.search(said)
            if found and "=" not in said[:found.start()]:
                how = "completed" if found[1] else "defined" if end == "{" else "declared"
                yield f"{scope}::{found[1] or found[2]}", how


def defined_below(texts, rank):
    """Yields each header with each name that it declares, or declares members of, if a folder below defines the
    name."""
    seen = {}
    for header, text in texts.items():
        for name, how in names(text):
            seen.setdefault(name, {}).setdefault(how, set()).add(header)
    for name, headers in seen.items():
        for header in headers.get("declared", ()):
            if "defined" in headers and min(map(rank, headers["defined"])) > rank(header):
                yield header, name
        for header in headers.get("defined", ()):
            if any(rank(below) > rank(header) for below in headers.get("completed", ())):
                yield header, name
