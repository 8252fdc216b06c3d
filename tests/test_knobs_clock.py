"""The clock of knobs: deadlines as lengths of time, live, in logs, in snapshots and in stores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.errors import SnapshotError, UnknownTicket
from belated.models.knobs import Knobs
from conftest import examples
from test_knobs import forged

ONE = {"x": (-1.0, 1.0)}
Happening = tuple[str, int, float, float]
"""What, of which ticket, what it cost, when."""


def lives(rounds: int, seed: int) -> list[Happening]:
    """Return rounds, costs, costs so far and ticks, whose times now and then go back a little."""
    rng = np.random.default_rng(seed)
    found: list[Happening] = []
    now, asked = 0.0, 0
    for _ in range(rounds):
        now += float(rng.integers(0, 4))
        at = now - float(rng.integers(0, 2))
        what = ["predict", "observe", "revise", "cancel", "tick"][int(rng.choice(5, p=P))]
        if what == "predict" or asked == 0:
            found.append(("predict", asked, 0.0, at))
            asked += 1
        else:
            ticket = int(rng.integers(max(0, asked - 9), asked))
            found.append((what, ticket, float(rng.integers(-8, 8)) / 4.0, at))
    return found


P = [0.5, 0.25, 0.1, 0.05, 0.1]


class Slow:
    """Which tickets are open, settled or late, by looking at all of them at every event."""

    def __init__(self, deadline: float, silence: float | None) -> None:
        self.deadline, self.silence = deadline, silence
        self.now = -math.inf
        self.due: dict[int, float] = {}
        self.so_far: dict[int, float] = {}
        self.gone: set[int] = set()
        self.settled = self.skipped = self.late = self.cancelled = self.observed = 0

    def happen(self, what: str, ticket: int, cost: float, at: float) -> Any:
        """Return what the verb does, or KeyError for a refusal."""
        if what in ("observe", "revise", "cancel") and ticket not in (*self.due, *self.gone):
            return KeyError
        if what != "cancel":
            self.now = max(self.now, at)
            for each in sorted(self.due):
                if self.due[each] < self.now:
                    del self.due[each]
                    self.gone.add(each)
                    is_known = each in self.so_far or self.silence is not None
                    self.settled += is_known
                    self.skipped += not is_known
        if what == "predict":
            self.due[ticket] = self.now + self.deadline
        elif what == "revise":
            if ticket in self.gone:
                return False
            self.so_far[ticket] = cost
            return True
        elif what in ("observe", "cancel"):
            if ticket in self.gone:
                self.gone.remove(ticket)
                self.late += what == "observe"
                return False if what == "observe" else None
            del self.due[ticket]
            self.cancelled += what == "cancel"
            self.observed += what == "observe"
            return True if what == "observe" else None
        return None


def happen(knobs: Any, what: str, ticket: int, cost: float, at: float) -> Any:
    """Do it to knobs."""
    try:
        if what == "predict":
            assert knobs.predict(at=at).ticket == ticket
        elif what in ("observe", "revise"):
            return getattr(knobs, what)(ticket, cost, at=at)
        elif what == "cancel":
            knobs.cancel(ticket)
        else:
            knobs.tick(at)
    except (UnknownTicket, bl.errors.AlreadyObserved):
        return KeyError
    return None


@examples(5)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 3.0, 7.5]), st.sampled_from([None, 1.5]))
def test_deadlines_are_those_of_the_slow_version(
    seed: int, deadline: float, silence: float | None
) -> None:
    """Whatever happens and whenever: the same tickets are open, settled, left out and late."""
    knobs, slow = Knobs(ONE, deadline=deadline, silence=silence), Slow(deadline, silence)
    for event in lives(40, seed):
        assert happen(knobs, *event) == slow.happen(*event)
        assert knobs._tuner.tickets.answerable() == {*slow.due, *slow.gone}
        assert knobs.open == len(slow.due)
    report = knobs.report()
    assert (report.settled, report.skipped) == (slow.settled, slow.skipped)
    assert (report.late, report.cancelled) == (slow.late, slow.cancelled)
    assert Knobs.restore(knobs.snapshot()).snapshot() == knobs.snapshot()


@pytest.mark.filterwarnings("ignore:observe. these answers are older")
def test_many_tickets_past_their_time_are_forgotten_at_last() -> None:
    """What is remembered of them is bounded, and snapshots with it."""
    knobs = Knobs(ONE, deadline="1s")
    for t in range(1100):
        knobs.predict(at=float(10 * t))
    assert knobs._tuner.tickets.expired == 900
    assert happen(knobs, "observe", 3, 1.0, 0.0) is KeyError
    assert happen(knobs, "observe", 700, 1.0, 0.0) is False
    assert knobs.report().skipped == 1099


def test_forged_clocks_are_refused() -> None:
    """A snapshot whose clock, or whose tickets, cannot be."""
    knobs = Knobs(ONE, deadline="10s")
    for t in range(5):
        knobs.predict(at=float(t))
    Knobs.restore(knobs.snapshot())
    for wrong in (
        ("now", 99.0),
        ("now", math.nan),
        ("kind_of_times", 0),
        ("kind_of_times", 7),
        ("tickets.records", 13.5, (0, -1)),
        ("tickets.records", 99.0, (4, -1)),
    ):
        with pytest.raises(SnapshotError):
            Knobs.restore(forged(knobs, *wrong))
