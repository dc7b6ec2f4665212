"""The ``biowarp`` command: becomes the program that lies in the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "bin" / "biowarp"


def main() -> None:
    os.execv(PROGRAM, ["biowarp", *sys.argv[1:]])
