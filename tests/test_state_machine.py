"""Random lives of a learner, event by event, beside the slow reference."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import belated as bl
from compositions import COMPOSITIONS, Array, Composition, Slope
from conftest import examples
from naive import NaiveLearner

whole = st.integers(0, 10**6)


class Life(RuleBasedStateMachine):
    """Predict, observe, cancel, misbehave, save and restore, in any order."""

    composition: ClassVar[Composition]

    def __init__(self) -> None:
        super().__init__()
        self.fast = self.composition.learner()
        self.slow = self.composition.reference()
        self.answers = self.composition.answers(200)

    def known(self) -> list[int]:
        """Tickets whose answer is accepted: open ones, and skipped ones once."""
        known = [ticket for ticket in self.slow.status if ticket not in self.slow.closed]
        return [ticket for ticket in known if ticket > self.newest_forgotten()]

    def newest_forgotten(self) -> int:
        return max(self.slow.forgotten, default=-1)

    def pick(self, number: int) -> int:
        known = self.known()
        return known[number % len(known)]

    def answer(self, ticket: int, learner: bl.Learner | NaiveLearner) -> Any:
        answer = self.composition.feedback(self.answers[ticket % 200])
        if isinstance(answer, Slope) and isinstance(learner, NaiveLearner):
            center = learner.config.center
            offset = np.zeros(learner.config.dim) if center is None else center
            return answer(offset + self.composition.scale() * learner.z)
        return answer

    @rule(times=st.integers(1, 4))
    def predict(self, times: int) -> None:
        for _ in range(times):
            ticket, x = self.fast.predict()
            expected, y = self.slow.predict()
            assert ticket == expected
            scale = max(1.0, float(np.abs(y).max()))
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9 * scale)

    @precondition(lambda self: self.known())
    @rule(number=whole)
    def observe(self, number: int) -> None:
        ticket = self.pick(number)
        used = self.fast.observe(ticket, self.answer(ticket, self.fast))
        assert used == self.slow.observe(ticket, self.answer(ticket, self.slow))

    @precondition(lambda self: self.known())
    @rule(number=whole)
    def cancel(self, number: int) -> None:
        ticket = self.pick(number)
        self.fast.cancel(ticket)
        self.slow.cancel(ticket)

    @precondition(lambda self: self.slow.closed or self.slow.forgotten)
    @rule(number=whole)
    def repeat(self, number: int) -> None:
        closed = sorted(self.slow.closed | self.slow.forgotten)
        ticket = closed[number % len(closed)]
        before = self.fast.snapshot()
        is_gone = ticket <= self.newest_forgotten()
        refusal = bl.UnknownTicket if is_gone else bl.AlreadyObserved
        with pytest.raises(refusal):
            self.fast.observe(ticket, self.answer(ticket, self.fast))
        with pytest.raises(refusal):
            self.fast.cancel(ticket)
        assert self.fast.snapshot() == before

    @rule(distance=st.integers(0, 2**62))
    def unknown(self, distance: int) -> None:
        before = self.fast.snapshot()
        for ticket in (self.fast.rounds + distance, -1 - distance):
            with pytest.raises(bl.UnknownTicket):
                self.fast.observe(ticket, self.answer(0, self.fast))
        assert self.fast.snapshot() == before

    @precondition(lambda self: self.known())
    @rule(number=whole, value=st.sampled_from([math.nan, math.inf, -math.inf, 1e150]))
    def nonsense(self, number: int, value: float) -> None:
        ticket = self.pick(number)
        if self.composition.answer == "function" and ticket not in self.slow.open_tickets():
            return  # the function of a skipped ticket is not called
        row = self.answers[0].copy()
        row[-1] = value
        bad: Any = self.composition.feedback(row)
        before = self.fast.snapshot()
        with pytest.raises(bl.BadFeedback):
            self.fast.observe(ticket, bad)
        assert self.fast.snapshot() == before

    @rule()
    def move_house(self) -> None:
        blob = self.fast.snapshot()
        spec = self.composition.spec() if self.composition.has_user_code else None
        self.fast = bl.Learner.restore(blob, spec)
        assert self.fast.snapshot() == blob

    @precondition(lambda self: self.composition.answer != "function")
    @rule(count=st.integers(1, 5))
    def run(self, count: int) -> None:
        """A short run: predictions, then the answers that can be given, newest first."""
        start = self.fast.rounds
        fresh = list(range(start, start + count))
        plays = self.fast.run([*fresh, *(~t for t in reversed(fresh))], self._rows(start + count))
        for t in fresh:
            _, y = self.slow.predict()
            np.testing.assert_allclose(plays[t - start], y, rtol=1e-9, atol=1e-9 * self._size(y))
        for t in reversed(fresh):
            with self.composition.forgiving():
                self.slow.observe(t, self.answer(t, self.slow))

    def _rows(self, count: int) -> Array:
        return self.answers[np.arange(count) % 200]

    def _size(self, y: Array) -> float:
        return max(1.0, float(np.abs(y).max()))

    @invariant()
    def counts_agree(self) -> None:
        report, counters = self.fast.report(), self.slow.counters()
        for name in ("rounds", "observed", "skipped", "cancelled", "open", "late"):
            assert getattr(report, name) == getattr(counters, name), name
        for name in ("total_delay", "max_backlog", "max_dual_delay"):
            assert getattr(report, name) == getattr(counters, name), name
        assert self.fast.open == counters.open
        if self.composition.row.base != "adagrad":
            assert (report.rate or 0.0) == pytest.approx(self.slow.rate or 0.0, rel=1e-9)


NAMES = [
    "first-pftrl-l1-gradient-3",
    "first-entropy-floored-table-skip-7",
    "full-pftrl-box-tight-skip-2",
    "one-pftrl-l1-delay-root-7",
    "mean-omd-l1-curved-fixed-skip-7",
    "two-omd-shifted-delay-fixed-skip-7",
    "first-omd-user-tight-skip-1",
    "mean-adagrad-fixed-skip-2",
    "first-portfolio-floored-tight-3",
    "first-dual-simplex-tight-skip-3",
    "first-leader-floored-curved-skip-3",
    "first-pftrl-ball-tight-deadline-2",
    "full-pftrl-shifted-tight-forgetful_deadline-2",
    "mean-pftrl-l1-delay-root-forgetful_deadline-3",
    "first-entropy-floored-table-forgetful_skip-3",
    "first-omd-user-tight-forgetful_skip-1",
    "first-adagrad-forgetful_deadline-2",
    "first-pftrl-ball-delay-hasty_deadline-3",
]


@pytest.mark.parametrize("name", NAMES)
def test_lives(name: str) -> None:
    kind = type("Life", (Life,), {"composition": COMPOSITIONS[name]})
    run_state_machine_as_test(kind, settings=settings(examples(4), stateful_step_count=40))
