#!/usr/bin/env python3
"""Runs the command lines of *.tst tables and compares exit code, standard output and standard error.

usage: run_tables.py BIOWARP TABLE.tst... [--only REGEX] [--verbose]

A table is a list of cases:

    # a comment
    case: unknown command
    file: one.fa            the indented lines below become a file in the case's folder (\\t, \\r, \\xHH are escapes)
        >a
        MKTAYIAK
    run: biowarp embbed one.fa
    exit: 2
    err: did you mean 'embed'
    no-err: Traceback       must not match
    out: ^$                 regular expression, searched with ^ and $ at line ends; several lines must all match
    exists: out.tsv         a file that must be there afterwards; `absent:` the opposite
    content: out.tsv REGEX  searched in that file

`run:` goes through bash in an empty folder, so pipes and redirections work; several `run:` lines run in order, up to
the first that fails, and the checks see the last one that ran. {source} is the source folder. Every case needs an
`exit:` line and a case whose table line is not understood is an error, so that no check is lost by a typing mistake.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CHECKS = {"exit", "out", "err", "no-out", "no-err", "exists", "absent", "content"}
TIMEOUT = 120  # seconds for one command line


class Case:
    def __init__(self, name, place):
        self.name, self.place = name, place
        self.files, self.runs, self.checks = {}, [], []


def unescape(line):
    return line.encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1")


def read_table(path):
    cases, open_file = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        place = f"{path.name}:{number}"
        if open_file is not None and line.startswith("    "):
            cases[-1].files[open_file] += unescape(line[4:]) + b"\n"
            continue
        open_file = None
        if not line.strip() or line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        value = value.strip()
        if not colon or (key != "case" and not cases):
            raise SystemExit(f"{place}: expected 'case: NAME' or a check, got {line!r}")
        if key == "case":
            cases.append(Case(value, place))
        elif key == "file":
            open_file = value
            cases[-1].files[value] = b""
        elif key == "run":
            cases[-1].runs.append(value)
        elif key in CHECKS:
            cases[-1].checks.append((key, value, place))
        else:
            raise SystemExit(f"{place}: unknown key {key!r}")
    for case in cases:
        if not case.runs or not any(key == "exit" for key, _, _ in case.checks):
            raise SystemExit(f"{case.place}: case {case.name!r} needs 'run:' and 'exit:'")
    return cases


def problem(check, value, result, folder):
    """None, or what is wrong."""
    streams = {"out": result.stdout, "err": result.stderr}
    if check == "exit":
        return None if result.returncode == int(value) else f"exit code {result.returncode}, expected {value}"
    if check in ("exists", "absent"):
        there = (folder / value).exists()
        return None if there == (check == "exists") else f"{value} {'exists' if there else 'does not exist'}"
    if check == "content":
        name, _, pattern = value.partition(" ")
        if not (folder / name).exists():
            return f"{name} does not exist"
        text = (folder / name).read_text(errors="replace")
        return None if re.search(pattern, text, re.M) else f"{name} does not match {pattern!r}:\n{text[:500]}"
    wanted = not check.startswith("no-")
    found = re.search(value, streams[check.removeprefix("no-")], re.M) is not None
    return None if found == wanted else f"'{check}: {value}' {'does not match' if wanted else 'matches'}"


def run_case(case, program, source):
    with tempfile.TemporaryDirectory(prefix="biowarp-cli-") as name:
        folder = pathlib.Path(name)
        for file, content in case.files.items():
            (folder / file).write_bytes(content)
        environment = dict(os.environ, PATH=f"{program.parent}:{os.environ['PATH']}", LC_ALL="C")
        for command in case.runs:
            command = command.replace("{source}", str(source))
            try:
                result = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, env=environment,
                                        capture_output=True, text=True, errors="replace", timeout=TIMEOUT)
            except subprocess.TimeoutExpired:
                return [f"{case.place}: no end within {TIMEOUT} s\n$ {command}"]
            if result.returncode != 0:
                break
        problems = []
        for check, value, place in case.checks:
            what = problem(check, value, result, folder)
            if what:
                problems.append(f"{place}: {what}")
        if problems:
            problems.append(f"$ {command}\n--- stdout\n{result.stdout[-2000:]}--- stderr\n{result.stderr[-2000:]}")
        return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("tables", type=pathlib.Path, nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    source = pathlib.Path(__file__).resolve().parents[2]
    ran = failed = 0
    for table in arguments.tables:
        for case in read_table(table):
            if not re.search(arguments.only, case.name):
                continue
            problems = run_case(case, program, source)
            ran += 1
            failed += bool(problems)
            if problems or arguments.verbose:
                print(f"{'FAILED' if problems else 'ok'}  {table.name}: {case.name}")
            for text in problems:
                print("    " + text.replace("\n", "\n    "))
    print(f"{ran} command lines, {failed} failed")
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
