"""Errors of biowarp. Their text says what was expected, what was given, and where."""

from __future__ import annotations

__all__ = ["BiowarpError", "DeviceError", "Error", "InputError", "InternalError", "UsageError"]


class BiowarpError(Exception):
    """Base of every error that biowarp raises itself.

    Attributes:
        kind: ``"usage"``, ``"input"``, ``"device"`` or ``"internal"``.
        exit_code: what the command line program exits with for this kind (2, 3, 4 or 1).
    """

    kind: str = "internal"
    exit_code: int = 1


class UsageError(BiowarpError, ValueError):
    """An argument, or a combination of arguments, that cannot work."""

    kind = "usage"
    exit_code = 2


class InputError(BiowarpError, ValueError):
    """A file, a sequence or a model that cannot be read as what it should be."""

    kind = "input"
    exit_code = 3


class DeviceError(BiowarpError, RuntimeError):
    """Memory, an instruction set or a device that the request needs and the machine lacks."""

    kind = "device"
    exit_code = 4


class InternalError(BiowarpError, RuntimeError):
    """A defect of biowarp. Please report it."""


Error = BiowarpError
