"""Models go on after a restore with open rows of any length, and logs may change while they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.errors import SpecError

pytestmark = pytest.mark.compiled
MODELS: dict[str, tuple[Callable[[], Any], str]] = {
    "linear": (lambda: bl.LinearModel("squared", bits=10), "predict"),
    "intervals": (lambda: bl.Intervals(bl.LinearModel("squared", bits=10)), "predict"),
    "chooser": (lambda: bl.Chooser(["a", "b"], bits=10), "choose"),
}


@pytest.mark.parametrize("size", [0, 63, 64, 65, 300])
@pytest.mark.parametrize("name", MODELS)
def test_a_restored_model_learns_of_open_rows_of_any_length(name: str, size: int) -> None:
    make, verb = MODELS[name]
    row = {f"f{i}": float(i % 7) for i in range(size)}
    model = make()
    for i in range(8):
        model.observe(getattr(model, verb)(row).ticket, float(i % 2))
    tickets = [getattr(model, verb)(row).ticket for _ in range(3)]
    other = type(model).restore(model.snapshot())
    for each in (model, other):
        for ticket in tickets:
            each.observe(ticket, 1.0)
        each.peek({})
    assert other.snapshot() == model.snapshot()


def test_a_chooser_refuses_no_actions() -> None:
    for act in (bl.Chooser().choose, bl.Chooser().peek):
        with pytest.raises(SpecError, match="at least one action"):
            act({}, {})


def test_actions_that_change_while_they_are_read_are_refused() -> None:
    class Fleeting(Mapping[str, Any]):
        times = 0

        def __iter__(self) -> Iterator[str]:
            self.times += 1
            return iter(["a", "b"] if self.times == 1 else [])

        def __len__(self) -> int:
            return 2

        def __getitem__(self, name: str) -> Any:
            return {}

    with pytest.raises(RuntimeError, match="the actions have changed"):
        bl.Chooser().choose({}, Fleeting())


CHUNK = 100_000  # events between two calls of ``progress``


@pytest.mark.needs_compiler  # as the log is long
@pytest.mark.parametrize("name", ["events", "starts", "labels"])
def test_a_log_that_changes_while_it_is_replayed_is_read_as_it_was(name: str) -> None:
    rounds = 3 * CHUNK // 4

    def replayed(spoils: bool) -> Any:
        events = np.empty(2 * rounds, np.int64)
        events[0::2], events[1::2] = np.arange(rounds), ~np.arange(rounds)
        starts, labels = np.arange(rounds + 1), np.ones(rounds)
        rows = starts, np.zeros(rounds, np.int64), np.ones(rounds)

        def spoil(done: int) -> None:
            if spoils and name == "events":
                events[:] *= 1000
            elif spoils and name == "starts":
                starts[:] = 10**9
            elif spoils:
                labels[:] = np.nan

        model = bl.LinearModel("squared", bits=6)
        return model.replay(rows, labels, events, progress=spoil)

    assert np.array_equal(replayed(True), replayed(False))


@pytest.mark.needs_compiler
@pytest.mark.parametrize("name", ["indices", "values"])
def test_a_log_whose_rows_become_wrong_while_it_is_replayed_is_refused(name: str) -> None:
    rounds = 3 * CHUNK // 4
    events = np.empty(2 * rounds, np.int64)
    events[0::2], events[1::2] = np.arange(rounds), ~np.arange(rounds)
    indices, values = np.zeros(rounds, np.int64), np.ones(rounds)

    def spoil(done: int) -> None:
        if name == "indices":
            indices[:] = 10**9
        else:
            values[:] = np.nan

    model = bl.LinearModel("squared", bits=6)
    with pytest.raises(RuntimeError, match="the rows have changed"):
        model.replay(
            (np.arange(rounds + 1), indices, values), np.ones(rounds), events, progress=spoil
        )


def test_events_that_a_rule_changes_in_a_run_are_read_as_they_were() -> None:
    rounds = 200
    events = np.empty(2 * rounds, np.int64)
    events[0::2], events[1::2] = np.arange(rounds), ~np.arange(rounds)

    class Rule:
        calls = 0

        def step_size(self, counters: Any, norm: float) -> float:
            Rule.calls += 1
            if Rule.calls == 20:
                events[40:] = np.arange(20, 20 + 2 * rounds - 40)
            return float(0.1 / (1 + counters.arrivals) ** 0.5)

    rate = bl.rates.Custom(Rule(), lipschitz=1.0)
    learner = bl.Learner(bl.FirstOrder(bl.PFTRL(bl.Ball(64), rate)))
    learner.replay(events, np.full((rounds, 64), 0.01))
    assert (learner.rounds, learner.open) == (rounds, 0)
