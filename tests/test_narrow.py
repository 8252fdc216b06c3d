"""Numbers in half the room, and the rows of coordinates made of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.kernels import narrow
from belated.kernels.linear import layout as lm
from belated.linear.coordinates import narrowed

LARGE = 1e300
NUMBERS = st.floats(-LARGE, LARGE).filter(lambda x: x == 0.0 or abs(x) > 1.0 / LARGE)


class TestInterpreted:
    """The stand-ins that interpreted kernels use; compiled ones are compared in test_linear."""

    @given(NUMBERS)
    def test_numbers_keep_twenty_bits_after_the_point(self, x: float) -> None:
        row = np.zeros(lm.ROW, dtype=np.int64)
        narrow._put_number(row, 5, x)
        kept = narrow._number(row, 5)
        assert abs(kept - x) <= 2.0**-21 * abs(x)
        narrow._put_number(row, 5, kept)
        assert narrow._number(row, 5) == kept
        assert row.view(np.uint32)[5] == narrowed(np.array([x]))[0]
        assert not np.delete(row.view(np.uint32), 5).any()

    @given(st.integers(0, narrow.MOST))
    def test_counts_are_whole(self, count: int) -> None:
        row = np.full(lm.ROW, -1, dtype=np.int64)
        narrow._put_count(row, 3, count)
        assert narrow._count(row, 3) == count
        assert (np.delete(row.view(np.uint32), 3) == narrow.MOST).all()

    @given(NUMBERS)
    def test_bits(self, x: float) -> None:
        row = np.zeros(lm.ROW, dtype=np.int64)
        narrow._put_bits(row, 1, narrow._bits_of(x))
        assert narrow._float_of(narrow._bits(row, 1)) == x


def test_a_coordinate_is_one_line_of_the_cache() -> None:
    model = bl.LinearModel(bits=6)
    memory = model._memory
    assert memory.rows.shape == (65, lm.ROW)
    assert memory.rows.strides[0] == 64
    assert memory.c.ctypes.data % 64 == 0
    model.predict([1.0, 2.0])
    restored = bl.LinearModel.restore(model.snapshot())
    assert restored._memory.c.ctypes.data % 64 == 0


def test_stakes_are_rounded_up_and_share_their_place_with_means() -> None:
    """One feature that varies about 1000: its mean and the coin's L are written in turns."""
    model = bl.LinearModel(bits=2, intercept=False, wait=None)
    rng = np.random.default_rng(0)
    x, y = 1000.0 + rng.normal(size=300), 50.0 * rng.normal(size=300)
    largest = 0.0
    for t in range(300):
        model.predict([float(x[t])])
        model.observe(t, float(y[t]))
        known = model._memory.coordinates(slice(1))
        assert known.centre[0] == pytest.approx(x[: t + 1].mean(), rel=1e-10)
        assert known.stake[0] >= largest
        largest = known.stake[0]
    assert known.turnover[0] >= largest > 50.0


def test_what_is_open_adds_up_exactly() -> None:
    model = bl.LinearModel(bits=2, wait=None)
    rng = np.random.default_rng(0)
    for _ in range(200):
        model.predict(rng.normal(size=3) * 100.0)
    for ticket in rng.permutation(200).tolist():
        model.cancel(ticket)
    assert not model._memory.coordinates().open.any()


def test_four_at_a_time_is_one_after_the_other() -> None:
    """A row in which coordinates come back close by, or far apart, is what entry by entry gives."""
    rng = np.random.default_rng(1)
    for indices in ([0, 1, 2, 3], [0, 1, 2, 0], [5, 5, 5, 5, 5], [0, 1, 2, 3, 0, 1, 2, 3, 3]):
        together, apart = (bl.LinearModel(bits=3, intercept=False) for _ in range(2))
        for _ in range(20):
            values = rng.normal(size=len(indices))
            together.predict((indices, values))
            for index, value in zip(indices, values, strict=True):
                apart.predict(([index], [value]))
        one, other = together._memory.coordinates(), apart._memory.coordinates()
        for name in ("seen", "centre", "variance", "open"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist()
