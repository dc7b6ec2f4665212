"""The example programs run and say what their text promises."""

import subprocess
import sys


def run(script, *arguments):
    done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nearest_neighbours(examples):
    out = run(examples / "python" / "nearest_neighbours.py")
    neighbours = dict(line.split()[:2] for line in out.splitlines() if "|" in line)
    for one, other in [("INS_PIG", "INS_BOVIN"), ("ALBU_HUMAN", "ALBU_BOVIN"), ("HBA_MOUSE", "HBAZ_HUMAN")]:
        assert neighbours[one] == other, out


def test_per_residue(examples):
    out = run(examples / "python" / "per_residue.py")
    assert "238 residues" in out
