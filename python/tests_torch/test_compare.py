"""The comparator itself."""

import numpy as np
import pytest

from compare import assert_as_exact, assert_cosine

EXACT = np.linspace(-3, 5, 1000)
NOISE = np.random.default_rng(0).standard_normal(1000) * 1e-5


def check(ours, theirs=EXACT + NOISE, exact=EXACT):
    assert_as_exact(ours, theirs, exact, "f32", "x")


def test_accepts_what_is_as_good():
    check(EXACT)
    check(EXACT + NOISE)
    check(EXACT - 1.9 * NOISE)


def test_the_floor_covers_rounding_only():
    check(EXACT.astype(np.float32), theirs=EXACT)
    with pytest.raises(AssertionError, match="error"):
        check(EXACT + NOISE, theirs=EXACT)


def test_refuses_what_is_worse():
    with pytest.raises(AssertionError, match="rms"):
        check(EXACT + 2.5 * NOISE)


def test_refuses_one_bad_element():
    bad = EXACT.copy()
    bad[500] += 2e-4
    with pytest.raises(AssertionError, match="largest"):
        check(bad)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_refuses_what_is_not_a_number(value):
    bad = EXACT.copy()
    bad[3] = value
    with pytest.raises(AssertionError):
        check(bad)
    with pytest.raises(AssertionError):
        check(bad, exact=bad, theirs=bad)


def test_refuses_other_shapes_and_nothing():
    with pytest.raises(AssertionError, match="shapes"):
        check(EXACT[:-1])
    with pytest.raises(AssertionError, match="nothing"):
        assert_as_exact([], [], [], "f32", "x")


def test_cosine():
    rows = np.random.default_rng(1).standard_normal((5, 64))
    assert_cosine(rows * 3, rows, 0.999, "x")
    other = rows.copy()
    other[2] = -other[2]
    with pytest.raises(AssertionError, match="cosine"):
        assert_cosine(other, rows, 0.999, "x")
    other[2] = np.nan
    with pytest.raises(AssertionError, match="cosine"):
        assert_cosine(other, rows, 0.999, "x")
    with pytest.raises(AssertionError, match="cosine"):
        assert_cosine(rows * 0, rows, 0.999, "x")
