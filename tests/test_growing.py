"""Linear models that are interrupted while they grow, or find no memory: all of it, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

import belated as bl

_WIDE = {f"f{i}": float(i) for i in range(150)}  # has no room in a new model


def _lived() -> bl.LinearModel:
    """Return a model that is about to grow in all of its arrays."""
    model = bl.LinearModel("squared", bits=8, wait=None)
    for turn in range(8):
        model.predict({"a": float(turn)})
    model.observe(3, 1.0)
    return model


@contextmanager
def _raising(error: BaseException, place: int) -> Iterator[Callable[[], bool]]:
    """Raise at the place-th moment in which a signal may be handled; tell whether that came.

    That is when a function of Python begins, and after one of C.
    """
    left = [place]

    def watch(frame: FrameType, kind: str, _: Any) -> None:
        here = frame.f_globals.get("__name__", "").startswith("belated.models")
        if here and left[0] >= 0 and kind in ("call", "c_return"):
            left[0] -= 1
            if left[0] < 0:
                raise error

    sys.setprofile(watch)
    try:
        yield lambda: left[0] < 0
    finally:
        sys.setprofile(None)


def _goes_on(model: bl.LinearModel) -> bytes:
    """Answer all, predict and answer again; return what the model is then."""
    for ticket in sorted(model.answerable()):
        model.observe(ticket, float(ticket))
        assert not model.is_open(ticket)
    for turn in range(40):
        model.observe(model.predict(_WIDE | {"turn": float(turn)}).ticket, 2.0)
    return model.snapshot()


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_an_interrupt_while_a_model_grows_changes_nothing_or_all() -> None:
    untouched, grown = _lived(), _lived()
    grown.predict(_WIDE)
    ends = {8: _goes_on(untouched), 9: _goes_on(grown)}
    place, was_raised = 0, True
    while was_raised:
        model = _lived()
        with _raising(KeyboardInterrupt(), place) as raised:
            try:
                model.predict(_WIDE)
            except KeyboardInterrupt:
                pass
            finally:
                was_raised = raised()
        assert _goes_on(model) == ends[model.rounds - 40 if model.rounds > 40 else model.rounds]
        place += 1
    assert place == 1  # growth is part of one call of the core: there is no moment for a signal


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_a_model_that_finds_no_memory_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, failed = np.zeros, 0
    for place in range(20):
        model, left = _lived(), [place]

        def no_memory(*given: Any, left: list[int] = left, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == -1:
                raise MemoryError
            return usual(*given, **named)

        before = model.snapshot()
        with monkeypatch.context() as patched:
            patched.setattr(np, "zeros", no_memory)
            try:
                model.predict(_WIDE)
            except MemoryError:
                failed += 1
                assert model.snapshot() == before
        _goes_on(bl.LinearModel.restore(model.snapshot()))
        _goes_on(model)
    assert failed > 1


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
@pytest.mark.parametrize("is_answered", [False, True])
def test_a_restored_model_goes_on_also_where_the_newest_is_answered(
    loss: Any, is_answered: bool
) -> None:
    rng = np.random.default_rng(5)
    model = bl.LinearModel(loss, bits=8)
    for turn in range(120):
        model.predict({"x": float(rng.normal())})
        if turn % 3 == 2:
            model.observe(turn - 2, float(turn % 2))
    if is_answered:
        model.observe(119, 1.0)
    other = bl.LinearModel.restore(model.snapshot())
    for ticket in sorted(model.answerable()):
        for each in (model, other):
            each.observe(ticket, float(ticket % 2))
        assert model.peek({"x": 1.0}) == other.peek({"x": 1.0})
    assert model.snapshot() == other.snapshot()


def test_every_prediction_gets_one_ticket_also_where_room_is_made_for_it() -> None:
    """What is refused for want of room may have dropped what was due, and would be taken then."""
    for width in (1, 3, 8):
        model = bl.LinearModel("squared", bits=6, deadline=30.0, wait=None)
        twin = bl.LinearModel("squared", bits=6, deadline=30.0, wait=None)
        rng = np.random.default_rng(width)
        for turn in range(300):
            row = {f"x{i}": float(rng.normal()) for i in range(int(rng.integers(1, width + 1)))}
            assert model.predict(row, key=f"k{turn}", at=float(turn)).ticket == turn
            assert twin.predict_many([row], at=float(turn))[0].tolist() == [turn]
            ticket = int(rng.integers(turn + 1))
            if model.is_open(ticket):
                assert model.observe(f"k{ticket}", 1.0) == twin.observe(ticket, 1.0)
        assert model.peek({"x0": 1.0}) == twin.peek({"x0": 1.0})
