"""The tolerance rule: our error against an exact result may be twice that of another program in the same precision.

Two norms are held to it, the root mean square of the error and its largest element. A rounding floor keeps the rule
fair where the other program is exact by luck: half a unit in the last place for the mean, four for the largest error,
which hangs on a few large elements. Comparisons are written so that NaN fails.
"""

from __future__ import annotations

import numpy as np

EPSILON = {"f32": 2.0**-23, "bf16": 2.0**-8}
FACTOR = 2.0
FLOOR_IN_EPSILONS = {"rms": 0.5, "largest": 4.0}


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values)))


def assert_as_exact(ours, theirs, exact, precision: str, what: str) -> None:
    """Fails unless `ours` is at most FACTOR times as far from `exact` as `theirs`, plus a rounding floor."""
    ours, theirs, exact = (np.asarray(a, dtype=np.float64) for a in (ours, theirs, exact))
    assert ours.size > 0, f"{what}: nothing to compare"
    assert ours.shape == exact.shape and theirs.shape == exact.shape, (
        f"{what}: shapes {ours.shape}, {theirs.shape}, {exact.shape}"
    )
    for name, norm in (("rms", rms), ("largest", largest)):
        floor = FLOOR_IN_EPSILONS[name] * EPSILON[precision] * norm(exact)
        with np.errstate(invalid="ignore"):  # inf - inf is NaN, which fails below
            error, allowed = norm(ours - exact), FACTOR * norm(theirs - exact) + floor
        assert error <= allowed, f"{what}: {name} error {error:.3g}, allowed {allowed:.3g}"


def assert_cosine(ours, exact, at_least: float, what: str) -> None:
    """Fails unless every row of `ours` points where the same row of `exact` does."""
    ours, exact = (np.asarray(a, dtype=np.float64) for a in (ours, exact))
    assert ours.size > 0, f"{what}: nothing to compare"
    assert ours.shape == exact.shape, f"{what}: shapes {ours.shape}, {exact.shape}"
    with np.errstate(invalid="ignore"):  # a row of zeros has no direction: NaN, which fails below
        cosine = (ours * exact).sum(-1) / (np.linalg.norm(ours, axis=-1) * np.linalg.norm(exact, axis=-1))
    worst = cosine.min()  # NaN if any is
    assert worst >= at_least, f"{what}: cosine {worst:.6f}, expected at least {at_least}"
