"""The example programs run and say what their text promises."""

import subprocess
import sys


def run(script, *arguments):
    done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nearest_neighbours(examples):
    out = run(examples / "python" / "nearest_neighbours.py")
    neighbours = dict(line.split()[:2] for line in out.splitlines())
    assert len(neighbours) == 24
    for one, other in [
        ("sp|P01315|INS_PIG", "sp|P01317|INS_BOVIN"),
        ("sp|P02768|ALBU_HUMAN", "sp|P02769|ALBU_BOVIN"),
        ("sp|P00918|CAH2_HUMAN", "sp|P00917|CAH1_HORSE"),
        ("sp|P01942|HBA_MOUSE", "sp|P02088|HBB1_MOUSE"),
    ]:
        assert neighbours[one] == other, out


def test_per_residue(examples):
    out = run(examples / "python" / "per_residue.py")
    assert "238 residues, 320 numbers each" in out
    assert "no contact head" in out


def test_contacts_of_a_random_model(examples):
    out = run(examples / "python" / "per_residue.py", examples / "data" / "proteins.fasta", "random:8M")
    assert "most probable contacts" in out
