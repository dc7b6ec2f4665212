#!/usr/bin/env python3
"""Checks every #include of the tree against the two tables of docs/architecture.md.

usage: check_includes.py [ROOT]

Prints one line for each include that the tables forbid, file:line: what and why, and exits with 1 if there is any.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
SUFFIXES = {".h", ".hpp", ".cpp", ".cc", ".cu", ".cuh"}
SYSTEM = re.compile(
    r"^(sys/.+|linux/.+|arpa/.+|netinet/.+|(unistd|fcntl|sched|signal|poll|dlfcn|pthread|netdb|dirent|termios|errno|time)\.h)$")
TEST_LIBRARIES = ("gtest/", "gmock/")


class Tables:
    """Who may include whom, as docs/architecture.md says."""

    def __init__(self, text):
        self.allowed = {}  # "src/io" -> {"base", "mem", "seq"}
        self.homes = []    # (header prefix, [folders], library)
        for cells in self._rows(text, "folder", "may include"):
            folder = cells[0].strip("`")
            self.allowed[folder] = {name.strip() for name in cells[1].split(",") if name.strip()}
        for library, headers, homes in self._rows(text, "library", "headers", "at home in"):
            folders = [home.strip() for home in homes.split(",")]
            for header in headers.split(","):
                self.homes.append((header.strip().strip("`"), folders, library))
        if not self.allowed or not self.homes:
            raise SystemExit("check_includes: docs/architecture.md lacks the include tables")

    @staticmethod
    def _rows(text, *heading):
        lines = iter(text.splitlines())
        for line in lines:
            if [cell.strip() for cell in line.strip().strip("|").split("|")] == list(heading):
                break
        next(lines, None)
        for line in lines:
            if not line.startswith("|"):
                return
            yield [cell.strip() for cell in line.strip()[1:-1].split("|")]

    def reachable(self, folder):
        """Folders of src that `folder` is allowed to reach directly or through others."""
        seen, todo = set(), list(self.allowed.get(folder, ()))
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo += self.allowed.get(f"src/{name}", ())
        return seen

    def home_of(self, header):
        for prefix, folders, library in self.homes:
            if header == prefix or (prefix.endswith("/") and header.startswith(prefix)):
                return folders, library
        return None


def folder_of(path):
    """Row of the table that a file belongs to: src/io/file.h -> src/io, cli/main.cpp -> cli."""
    parts = path.parts
    return "/".join(parts[:2]) if parts[0] == "src" else parts[0]


def is_standard(header):
    return re.fullmatch(r"[a-z_0-9]+", header) is not None or re.fullmatch(r"c[a-z]+", header) is not None


def op_of(parts):
    """The op a path below src/ops or an include of ops/ belongs to; None for files of ops itself."""
    return parts[1] if len(parts) > 2 else None


class Checker:
    def __init__(self, root):
        self.root = root
        self.tables = Tables((root / "docs/architecture.md").read_text())

    def problem(self, path, header):
        """None, or why the file at `path` (relative to the root) must not include `header`."""
        folder = folder_of(path)
        test = path.stem.endswith("_test") or "testing" in path.parts
        home = self.tables.home_of(header)
        if home:
            homes, library = home
            inside = any(folder == place or folder.startswith(place + "/") for place in homes)
            return None if inside else f"{library} is at home in {', '.join(homes)}"
        if header.startswith(TEST_LIBRARIES):
            return None if test else "GoogleTest belongs into *_test.cpp and testing/"
        if header.startswith("biowarp/"):
            return None if (self.root / "include" / header).exists() else "no such public header"
        if is_standard(header):
            return None
        if folder == "include":
            return "public headers include the standard library and biowarp/ only"
        if SYSTEM.match(header):
            return None if folder != "python" else "system headers belong into src and cli"
        return self.own_header_problem(path, folder, test, header)

    def own_header_problem(self, path, folder, test, header):
        if (self.root / path.parent / header).exists():
            return None if folder in ("cli", "python") else "includes are written from src: \"folder/name.h\""
        target = header.split("/")[0]
        if not (self.root / "src" / header).exists():
            return "unknown header: neither of this tree nor in the third-party table of docs/architecture.md"
        if folder in ("cli", "python"):
            return f"{folder} sees only include/biowarp/"
        if "testing" in header.split("/") and not test:
            return "a helper of tests"
        if folder == f"src/{target}":
            return self.op_problem(path, header) if target == "ops" else None
        allowed = self.tables.reachable(folder) if test else self.tables.allowed.get(folder, set())
        return None if target in allowed else f"{folder} may include {', '.join(sorted(allowed)) or 'nothing else'}"

    @staticmethod
    def op_problem(path, header):
        mine, other = op_of(path.parts[1:]), op_of(header.split("/"))
        if mine is None or other in (None, mine, "common"):
            return None
        return f"op {mine} must not include op {other}; what both need belongs into ops/common"

    def files(self):
        for top in ("include", "src", "cli", "python"):
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in SUFFIXES:
                    yield path.relative_to(self.root)

    def include_problems(self):
        for path in self.files():
            if folder_of(path) not in self.tables.allowed:
                yield f"{path}:1: {folder_of(path)} has no row in docs/architecture.md"
                continue
            for number, line in enumerate((self.root / path).read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if match and (why := self.problem(path, match[1] or match[2])):
                    yield f"{path}:{number}: includes {match[1] or match[2]}: {why}"

    def link_problems(self):
        """DEPENDS of src/CMakeLists.txt beyond the table."""
        text = (self.root / "src/CMakeLists.txt").read_text()
        text = re.sub(r"#.*", "", text)
        for name, arguments in re.findall(r"biowarp_folder\((\w+)([^)]*)\)", text):
            depends = re.search(r"\bDEPENDS\s+((?:[a-z_]+\s*)+)", arguments)
            for other in depends[1].split() if depends else ():
                if other not in self.tables.allowed.get(f"src/{name}", ()):
                    yield f"src/CMakeLists.txt:1: {name} DEPENDS {other}: not in the table of docs/architecture.md"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    checker = Checker(root)
    problems = [*checker.include_problems(), *checker.link_problems()]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
