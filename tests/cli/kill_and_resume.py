#!/usr/bin/env python3
"""Kills `biowarp embed` with SIGKILL at random moments and resumes it, until it ends by itself.

usage: kill_and_resume.py BIOWARP [--rounds N] [--seed N]

Output and index must be the bytes of an uninterrupted run, whatever the format and however often and wherever it was
killed, and nothing else may be left in the folder. Standard library only.
"""
import argparse
import pathlib
import random
import subprocess
import tempfile
import time

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
JOBS = [
    ("out.npy", []),
    ("out.h5", ["--per-residue"]),
    ("out.npz", ["--per-residue", "--out-dtype", "f16"]),
    ("out.npy", ["--shard", "50"]),
    ("out.h5", ["--shard", "64"]),
    ("out.tsv", ["--long", "window", "--max-length", "60"]),
    ("out.safetensors", []),
]


def write_input(path, source):
    with open(path, "w", encoding="ascii") as file:
        for number in range(300):
            length = source.choice((0, 5, 20, 60, 150)) if number % 40 == 7 else source.randint(10, 90)
            letters = "MK:L" if number % 97 == 50 else "".join(source.choices(LETTERS, k=length))
            file.write(f">r{number % 290} record {number}\n{letters}\n")


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


class Job:
    def __init__(self, program, fasta, folder, name, options):
        self.folder = folder
        folder.mkdir()
        self.command = [program, "embed", str(fasta), "-o", str(folder / name), "--tokens", "200", "--keep-going",
                        *options]

    def run(self):
        start = time.monotonic()
        subprocess.run(self.command, check=True, capture_output=True)
        return time.monotonic() - start

    def run_killed(self, source, longest):
        """Number of kills until the job ended by itself."""
        for kills in range(1000):
            process = subprocess.Popen([*self.command, "--resume"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                # A little longer each time, so that it ends on a machine that got slower meanwhile.
                process.wait(source.uniform(0.0, longest * (1 + kills / 10)))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                continue
            assert process.returncode == 0, process.stderr.read().decode()
            return kills
        raise AssertionError("the job never ended")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    program, source = str(arguments.program.resolve()), random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        base = pathlib.Path(name)
        write_input(base / "in.fasta", source)
        for number, (output, options) in enumerate(JOBS * arguments.rounds):
            whole = Job(program, base / "in.fasta", base / f"whole{number}", output, options)
            seconds = whole.run()
            killed = Job(program, base / "in.fasta", base / f"killed{number}", output, options)
            kills = killed.run_killed(source, seconds * 0.6)
            expected, found = contents(whole.folder), contents(killed.folder)
            assert list(expected) == list(found), (list(expected), list(found))
            for file in expected:
                assert expected[file] == found[file], f"{file} differs after {kills} kills"
            print(f"{output} {' '.join(options)}: same bytes after {kills} kills")


if __name__ == "__main__":
    main()
