"""Odd arrays and objects at every entry of knobs: the result of plain ones, or an error."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.errors import BelatedError, BusyError
from belated.models.knobs import Knobs

TWO: dict[str, Any] = {"x": (-1, 1), "n": bl.ranges.Int(0, 4)}
CONTEXT: dict[str, Any] = {"hour": (0, 24), "place": ["here", "there", "away"]}
EVENTS = np.array([0, 1, ~0, 2, 3, ~2, ~1, 4, 5, ~5, ~4, 6, 7, ~7, ~3, 8, 9, ~9])
COSTS = np.arange(10.0) % 4.0 + 0.25
TIMES = 1.7e9 + 60.0 * np.arange(float(EVENTS.size))


class Own(np.ndarray[Any, Any]):
    """An array of a class of its own."""


def unaligned(array: Any) -> Any:
    """Return the same numbers, one byte off."""
    room = bytearray(array.nbytes + 1)
    found = np.frombuffer(room, array.dtype, offset=1)
    found[...] = array
    assert not found.flags.aligned
    return found


def read_only(array: Any) -> Any:
    """Return the same numbers, which cannot be written."""
    found = array.copy()
    found.flags.writeable = False
    return found


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "strided": lambda array: np.repeat(array, 3)[::3],
    "backwards": lambda array: array[::-1].copy()[::-1],
    "a column": lambda array: np.stack([array, array], axis=1)[:, 0],
    "unaligned": unaligned,
    "read-only": read_only,
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "a subclass": lambda array: array.view(Own),
    "a list": lambda array: array.tolist(),
    "broadcast": lambda array: np.broadcast_to(array, array.shape),
}


def played(events: Any, costs: Any, times: Any) -> tuple[Any, bytes]:
    """Return the settings of a log, and the state behind it."""
    knobs = Knobs(TWO, deadline="1h", silence=1.0)
    return knobs.run(events, costs, at=times), knobs.snapshot()


@pytest.mark.compiled
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layout_of_arrays_does_not_matter(name: str) -> None:
    layout = LAYOUTS[name]
    expected = played(EVENTS, COSTS, TIMES)
    assert played(layout(EVENTS), COSTS, TIMES) == expected
    assert played(EVENTS, layout(COSTS), TIMES) == expected
    assert played(EVENTS, COSTS, layout(TIMES)) == expected


class Longer(list[Any]):
    """A list that claims to have another length than it has."""

    def __len__(self) -> int:
        """Return the length of ``COSTS``."""
        return COSTS.size


class Growing(Mapping[str, Any]):
    """A context that uses the knobs it is given to."""

    def __init__(self, knobs: Knobs) -> None:
        self._knobs = knobs

    def __getitem__(self, name: str) -> Any:
        """Predict within a prediction."""
        return self._knobs.predict()

    def __iter__(self) -> Any:
        """Return the names."""
        return iter(["hour"])

    def __len__(self) -> int:
        """Return the number of names."""
        return 1


WRONG: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "events that are no whole numbers": ((EVENTS + 0.5, COSTS), {}),
    "events in two dimensions": ((EVENTS.reshape(2, -1), COSTS), {}),
    "events of the last words": (([-(2**63), 2**63 - 1], COSTS), {}),
    "events beyond 64 bits": ((np.array([2**64 - 1], np.uint64), COSTS), {}),
    "too few costs": ((EVENTS, COSTS[:5]), {}),
    "no costs": ((EVENTS, []), {}),
    "costs of text": ((EVENTS, ["a"] * 10), {}),
    "complex costs": ((EVENTS, COSTS * 1j), {}),
    "costs that are not finite": ((EVENTS, COSTS * math.inf), {}),
    "a first ticket beyond the costs": ((EVENTS, COSTS), {"first": 2**62 - 1}),
    "a first ticket below 0": ((EVENTS, COSTS), {"first": -1}),
    "too few contexts": ((EVENTS, COSTS), {"contexts": [{}] * 3}),
    "contexts with another length": ((EVENTS, COSTS), {"contexts": Longer([{}])}),
    "contexts of another kind": ((EVENTS, COSTS), {"contexts": [3] * 10}),
    "too few times": ((EVENTS, COSTS), {"at": TIMES[:3]}),
    "times in two dimensions": ((EVENTS, COSTS), {"at": TIMES.reshape(2, -1)}),
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_refused_and_changes_nothing(name: str) -> None:
    knobs = Knobs(TWO, context=CONTEXT)
    before = knobs.snapshot()
    given, more = WRONG[name]
    with pytest.raises(BelatedError):
        knobs.run(*given, **more)
    assert knobs.snapshot() == before
    knobs.predict(context={"hour": 3, "place": "away"})


@pytest.mark.compiled
def test_numbers_of_any_kind_in_contexts_and_settings() -> None:
    """Features are kept as doubles, whatever numbers they came from."""
    for kind in (int, np.float32, np.float16, np.int8, np.longdouble, Fraction):
        first, second = (Knobs(TWO, context=CONTEXT) for _ in range(2))
        for hour in (3, 12, 24):
            plain, odd = (
                first.predict(context={"hour": hour}),
                second.predict(context={"hour": kind(hour)}),
            )
            assert odd == plain
            first.played(plain.ticket, {"x": 0.5, "n": 3})
            second.played(odd.ticket, {"x": kind(1) * 0.5, "n": kind(3)})
            first.observe(plain.ticket, 2.0)
            second.observe(odd.ticket, kind(2))  # type: ignore[arg-type]
            assert first.expect(plain.setting) == pytest.approx(
                second.expect(plain.setting), nan_ok=True
            )
        assert first.snapshot() == second.snapshot()


@pytest.mark.compiled
def test_calls_from_inside_of_a_call_are_refused() -> None:
    """Of a context, of a cost and of a context that is asked about; nothing has changed."""
    knobs = Knobs(TWO, context=CONTEXT)
    ticket, _ = knobs.predict()

    class Cost:
        """A cost that is given again while it is read."""

        def __float__(self) -> float:
            """Learn another one."""
            knobs.observe(ticket, 1.0)
            return 2.0

    before = knobs.snapshot()
    for call in (
        lambda: knobs.predict(context=Growing(knobs)),
        lambda: knobs.best(Growing(knobs)),
        lambda: knobs.expect({"x": 0.0, "n": 1}, Growing(knobs)),
        lambda: knobs.observe(ticket, Cost()),  # type: ignore[arg-type]
        lambda: knobs.revise(ticket, Cost()),  # type: ignore[arg-type]
    ):
        with pytest.raises(BusyError):
            call()
        assert knobs.snapshot() == before
    assert knobs.observe(ticket, 1.0)


@pytest.mark.compiled
def test_knobs_that_were_never_made_refuse_everything() -> None:
    """An object without ``__init__`` has no state to read."""
    for call in (
        lambda knobs: knobs.predict(),
        lambda knobs: knobs.observe(0, 1.0),
        lambda knobs: knobs.revise(0, 1.0),
        lambda knobs: knobs.cancel(0),
        lambda knobs: knobs.tick(1.0),
        lambda knobs: knobs.played(0, {}),
        lambda knobs: knobs.best(),
        lambda knobs: knobs.expect({}),
        lambda knobs: knobs.pause(),
        lambda knobs: knobs.resume(),
        lambda knobs: knobs.revert(),
        lambda knobs: knobs.run([0], [1.0]),
        lambda knobs: knobs.report(),
        lambda knobs: knobs.snapshot(),
        lambda knobs: knobs.ticket("a"),
        lambda knobs: knobs.is_open(0),
        lambda knobs: (knobs.rounds, knobs.open, knobs.mode, knobs.settings.knobs),
    ):
        with pytest.raises((BusyError, AttributeError)):
            call(Knobs.__new__(Knobs))
