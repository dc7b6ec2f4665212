#!/usr/bin/env python3
"""Checks the text of the tree's own sources.

usage: check_sources.py [ROOT]

- no call of exit, abort or their kin under src/ (tests aside): errors are thrown
- no file longer than 600 lines
- no marks of unfinished work, none of an unfinished merge
- a header opens with a comment and has #pragma once
- functions and classes of public headers are marked BIOWARP_API, or defined right there
- no tabs, no trailing blanks, a line break at the end

Prints one line for each finding, file:line: what, and exits with 1 if there is any.
"""
import pathlib
import re
import sys

LONGEST_FILE = 600
SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".cmake", ".txt"}
CODE = {".h", ".cpp", ".cu", ".cuh"}
TOPS = ("include", "src", "cli", "python", "tests", "bench", "scripts", "cmake")
EXITS = re.compile(r"(?<![\w.>:])(?:std::|::)?(exit|abort|_exit|_Exit|quick_exit|terminate)\s*\(")
NOTES = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME")) + r")\b")
# At the start of a line, so at namespace scope: a function's declaration, a class with a body.
UNMARKED = re.compile(
    r"^(?!(?:inline|using|struct|class|enum|template|namespace|static|BIOWARP_API)\b)[A-Za-z_][\w:<>,&* ]*\("
    r"|^class (?!BIOWARP_API\b)\w+[^;{]*\{")
STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.S)


def blanked(text):
    """The text with strings and comments emptied, line breaks kept."""
    return STRING_OR_COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)


def code_problems(path, text):
    if path.parts[0] == "src" and not path.stem.endswith("_test"):
        for number, line in enumerate(blanked(text).splitlines(), 1):
            if match := EXITS.search(line):
                yield number, f"calls {match[1]}: errors are thrown (base/fail.h), nobody exits below cli/"
    if path.parts[0] == "include" and path.name != "export.h":
        for number, line in enumerate(blanked(text).splitlines(), 1):
            if UNMARKED.match(line):
                yield number, "public, but not marked BIOWARP_API (biowarp/export.h)"
    # Highway compiles its -inl.h headers once for each instruction set; a guard of its own kind lets it.
    guarded = "#pragma once" in text or (path.name.endswith("-inl.h") and "HWY_TARGET_TOGGLE" in text)
    if path.suffix == ".h" and not guarded:
        yield 1, "header without #pragma once"
    if path.suffix == ".h" and not text.startswith("//"):
        yield 1, "a header opens with a comment that states its contract"


def text_problems(path, text):
    lines = text.split("\n")
    if len(lines) > LONGEST_FILE + 1:
        yield LONGEST_FILE + 1, f"{len(lines) - 1} lines; the most is {LONGEST_FILE}"
    if text and not text.endswith("\n"):
        yield len(lines), "no line break at the end"
    for number, line in enumerate(lines, 1):
        if match := NOTES.search(line):
            yield number, f"{match[1]}: finish it or file an issue"
        if line.startswith(("<" * 7 + " ", ">" * 7 + " ")):
            yield number, "mark of a merge conflict"
        if "\t" in line:
            yield number, "tab"
        if line != line.rstrip():
            yield number, "blanks at the end of the line"


def sources(root):
    for top in TOPS:
        for path in sorted((root / top).rglob("*")):
            relative = path.relative_to(root)
            if path.suffix not in SUFFIXES or not path.is_file() or "fixtures" in relative.parts:
                continue
            if path.suffix == ".txt" and path.name != "CMakeLists.txt":
                continue
            yield relative


def problems(root):
    for path in sources(root):
        text = (root / path).read_text()
        found = [*text_problems(path, text), *(code_problems(path, text) if path.suffix in CODE else ())]
        for number, what in sorted(found):
            yield f"{path}:{number}: {what}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    found = list(problems(root))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
