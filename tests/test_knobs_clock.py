"""The clock of knobs: deadlines as lengths of time, live, in logs, in snapshots and in stores."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.errors import ClockError, SnapshotError, SpecError, UnknownTicket
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
    except (UnknownTicket, bl.AlreadyObserved):
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


def test_whole_logs_take_times_bit_for_bit() -> None:
    """Live is batch, also where a batch begins in the middle, and where times are dates."""
    events = [e for e in lives(60, 3) if e[0] in ("predict", "observe")]
    told: set[int] = set()
    log: list[int] = []
    times: list[float] = []
    live = Knobs(ONE, deadline=5, silence=0.5)
    costs = np.zeros(60)
    for what, ticket, cost, at in events:
        if what == "observe" and ticket in told:
            continue
        if happen(live, what, ticket, cost, at) is KeyError:
            continue
        if what == "observe":
            told.add(ticket)
            costs[ticket] = cost
        log.append(ticket if what == "predict" else ~ticket)
        times.append(at)
    assert live.report().settled > 0
    batch = Knobs(ONE, deadline=5, silence=0.5)
    batch.replay(None, costs, log[:20], at=times[:20])
    batch.replay(None, costs, log[20:], at=times[20:])
    assert batch.snapshot() == live.snapshot()
    dated = Knobs(ONE, deadline="5s", silence=0.5)
    begin = datetime(2026, 1, 1)
    dated.replay(None, costs, log, at=np.array([begin + timedelta(seconds=at) for at in times]))
    assert dated.report().to_dict() == live.report().to_dict()
    before = batch.snapshot()
    with pytest.raises(UnknownTicket):
        batch.replay(None, np.zeros(1000), [batch.rounds, ~999], at=[1e3, 2e3])
    assert batch.snapshot() == before


def test_lengths_of_time_need_times_and_dates_are_seconds() -> None:
    """A unit needs ``at``; the first time says what all others are; the clock never goes back."""
    knobs = Knobs(ONE, deadline=timedelta(days=1), silence=0.0)
    assert (knobs.settings.deadline, knobs.settings.needs_times) == (86400.0, True)
    with pytest.raises(ClockError, match="at= is needed"):
        knobs.predict()
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    first = knobs.predict(at=noon).ticket
    second = knobs.predict(at=noon.timestamp() + 3600.0).ticket
    knobs.tick(noon - timedelta(days=9))
    assert knobs.observe(first, 1.0, at=noon + timedelta(days=1)) is True
    assert knobs.observe(second, 1.0, at=noon + timedelta(days=1, seconds=3601)) is False
    third = knobs.predict().ticket  # the clock stands still
    assert knobs.observe(third, 2.0) is True
    for at in (7.0, 1.7e12, math.inf, "noon"):
        with pytest.raises(ClockError):
            knobs.predict(at=at)
    assert knobs.rounds == 3
    assert knobs.report().late == 1


def test_numbers_count_rounds_unless_times_come_from_the_first_round_on() -> None:
    """One number, two meanings: what comes first decides, and the other is refused."""
    rounds, timed = Knobs(ONE, deadline=2.5), Knobs(ONE, deadline=2.5)
    for t in range(4):
        rounds.predict()
        timed.predict(at=10.0 * t)
    assert (rounds.open, timed.open) == (3, 1)
    for call in (lambda: rounds.predict(at=1.0), lambda: rounds.tick(1.0)):
        with pytest.raises(ClockError, match="from the first prediction on"):
            call()
    timed.tick(40.0)
    assert timed.open == 0
    free = Knobs(ONE)
    free.predict(at=3.0)
    free.tick(9e9)
    free.observe(0, 1.0, at=4.0)
    assert free.open == 0
    assert Knobs.restore(free.snapshot()).snapshot() == free.snapshot()
    again = timed.fresh()
    assert again.predict().ticket == 0
    for wrong in (math.inf, -1, "soon", True, "7"):
        with pytest.raises(SpecError, match="deadline"):
            Knobs(ONE, deadline=wrong)


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


def test_a_store_logs_times_so_that_deadlines_come_true_again(tmp_path: Path) -> None:
    """Times are part of the log: recovery is bit for bit, and other knobs can take them."""
    path = tmp_path / "store.db"
    memory = Knobs(ONE, deadline="6s", silence=0.25, seed=3)
    with bl.open(path) as store:
        stored = store.model("m", Knobs(ONE, deadline="6s", silence=0.25, seed=3))
        for event in lives(40, 11):
            assert happen(stored, *event) == happen(memory, *event)
        assert stored.snapshot() == memory.snapshot()
        now = stored.predict(key="now")  # without a time: that of the system
        assert stored.open == 1
        assert stored.observe("now", 1.0) is True
        expected = stored.snapshot()
    with bl.open(path) as store:
        stored = store.model("m")
        assert stored.snapshot() == expected
        assert now.ticket == stored.rounds - 1
        other = store.rebuild("m", Knobs(ONE, deadline="2s", silence=0.25))
        assert other.report().settled > memory.report().settled
        at = [line.at for line in store.log("m") if line.verb == "predict"]
        assert None not in at


@pytest.mark.parametrize(
    "model",
    [
        bl.LinearModel("squared", deadline=3),
        bl.Knobs({"p": (10, 200)}, deadline=3, silence=1.0),
        bl.Knobs({"p": (10, 200)}),
    ],
)
def test_a_clock_is_told_a_time(model: Any) -> None:
    first = {"row": [1.0]} if isinstance(model, bl.LinearModel) else {}
    for _ in range(2):
        before = model.snapshot()
        with pytest.raises(ClockError, match="a time is wanted"):
            model.tick(None)
        assert model.snapshot() == before
        model.predict(**first)
