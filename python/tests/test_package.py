"""What the installed package holds: documentation, types, program, model."""

import ast
import importlib.metadata
import inspect
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import biowarp

PACKAGE = Path(biowarp.__file__).parent


def program() -> str:
    beside = Path(sysconfig.get_path("scripts")) / "biowarp"
    found = str(beside) if beside.exists() else shutil.which("biowarp")
    assert found, "the console script is not installed"
    return found


def public_callables():
    for name in biowarp.__all__:
        thing = getattr(biowarp, name)
        if callable(thing):
            yield name, thing
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, (property, classmethod))):
                    yield f"{name}.{member}", value


@pytest.mark.parametrize("name, thing", list(public_callables()))
def test_docstrings(name, thing):
    assert inspect.getdoc(thing), f"{name} has no docstring"


@pytest.mark.parametrize("method", ["encode", "logits", "contacts", "perplexity"])
def test_docstrings_tell_shapes_types_and_errors(method):
    text = inspect.getdoc(getattr(biowarp.Model, method))
    for part in ("Args:", "Returns:", "Raises:", "float"):
        assert part in text, f"{method}: {part}"


def test_version():
    assert biowarp.__version__ == importlib.metadata.version("biowarp")


def test_types_are_shipped():
    assert (PACKAGE / "py.typed").exists()
    stub = ast.parse((PACKAGE / "_core.pyi").read_text())
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    assert {"Model", "RecordReader"} <= set(classes)
    methods = {node.name for node in classes["Model"].body if isinstance(node, ast.FunctionDef)}
    from biowarp import _core

    assert {name for name in vars(_core.Model) if not name.startswith("_")} <= methods


def test_the_model_is_inside(model):
    assert Path(model.info.path).resolve().is_relative_to(PACKAGE.resolve())


@pytest.mark.parametrize("command", [[program], [lambda: sys.executable, "-m", "biowarp"]])
def test_the_command_comes_with_the_package(command):
    line = [part() if callable(part) else part for part in command]
    done = subprocess.run([*line, "--version"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert biowarp.__version__ in done.stdout


def test_the_command_passes_its_exit_code():
    done = subprocess.run([program(), "embed"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2


def test_the_command_finds_the_packaged_model(tmp_path, examples):
    out = tmp_path / "out.npy"
    fasta = tmp_path / "one.fasta"
    fasta.write_text(">a\nMKTAYIAK\n")
    done = subprocess.run([program(), "embed", fasta, "-o", out], capture_output=True, text=True, cwd="/", timeout=60)
    assert done.returncode == 0, done.stderr
    import numpy as np

    assert np.array_equal(np.load(out)[0], biowarp.Model.from_pretrained().encode("MKTAYIAK"))
