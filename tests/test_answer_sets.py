"""Labels between two predictions are a set: neither their order counts, nor looking at a model."""

from __future__ import annotations

import functools
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.errors import AlreadyObserved
from belated.models.linear import LinearModel
from conftest import examples
from naive_linear import learning_order

LOSSES = ("squared", "absolute", "quantile", "huber", "logistic", "hinge", "poisson")
LINEAR = ("squared", "logistic", "poisson")


def label_of(loss: str, rng: random.Random) -> float:
    """Return a label, now and then one that is far from all others."""
    if loss in ("logistic", "hinge"):
        return float(rng.random() < 0.4) * (1.0 if loss == "logistic" else 2.0) - (loss == "hinge")
    return abs(rng.gauss(0.0, 1.0)) * 10.0 ** rng.choice([0, 0, 0, 4])


class Log:
    """A log whose labels come together now and then, with times."""

    def __init__(self, seed: int, count: int = 60) -> None:
        rng, pick = np.random.default_rng(seed), random.Random(seed)
        self.loss = pick.choice(LOSSES)
        self.settings: dict[str, Any] = {"bits": 5, "max_open": pick.choice([None, None, 6])}
        if self.loss in LINEAR:
            self.settings["silence"] = pick.choice([None, 0.0])
        deadline = pick.choice([None, 5.0, 20.0])
        if deadline is not None:
            self.settings |= {"deadline": deadline, "late": pick.choice(["drop", "learn"])}
        asked = np.sort(np.round(60.0 * rng.random(count), pick.choice([0, 3])))
        told = asked + np.round(rng.exponential(6.0, count), pick.choice([0, 3]))
        if pick.random() < 0.4:
            told = np.ceil(told / 15.0) * 15.0
        self.x = rng.normal(size=(count, 4))
        self.y = np.array([label_of(self.loss, pick) for _ in range(count)])
        self.weights = np.where(rng.random(count) < 0.3, 2.0, 1.0)
        if self.settings.get("silence") is not None:
            self.weights[:] = 1.0
        tickets = np.arange(count)
        labelled = tickets[rng.random(count) < 0.8]
        events = np.concatenate([tickets, ~labelled])
        times = np.concatenate([asked, told[labelled]])
        order = np.lexsort((events < 0, times))
        self.events, self.times = events[order], times[order]
        self.is_timed = deadline is not None and pick.random() < 0.7

    def fresh(self) -> LinearModel:
        return LinearModel(self.loss, **self.settings)  # type: ignore[arg-type]

    def live(self, model: Any) -> list[float]:
        """Return the predictions of a model that is told event by event."""
        values = []
        for event, now in zip(self.events.tolist(), self.times.tolist(), strict=True):
            at = now if self.is_timed else None
            if event >= 0:
                values.append(model.predict(self.x[event], at=at).value)
            else:
                with suppress(AlreadyObserved):
                    model.observe(~event, self.y[~event], weight=self.weights[~event], at=at)
        return values

    def replay(self, model: LinearModel, begin: int, end: int) -> list[float]:
        """Return the predictions of a part of the log."""
        asked = int((self.events[:begin] >= 0).sum())
        at = self.times[begin:end] if self.is_timed else None
        events = self.events[begin:end]
        found = model.replay(self.x[asked:], self.y, events, weights=self.weights, at=at)
        return list(map(float, found))


@given(seed=st.integers(0, 2**32 - 1), cut=st.floats(0.0, 1.0))
@examples(10)
def test_live_and_replayed_agree(seed: int, cut: float) -> None:
    log = Log(seed)
    one, whole, two = log.fresh(), log.fresh(), log.fresh()
    values = log.live(one)
    assert log.replay(whole, 0, len(log.events)) == values
    place = int(cut * len(log.events))
    parts = log.replay(two, 0, place) + log.replay(two, place, len(log.events))
    assert parts == values
    assert one.snapshot() == whole.snapshot() == two.snapshot()


def told(*labels: tuple[int, float], **settings: Any) -> LinearModel:
    """Return a model that is told labels of five tickets, one by one."""
    model = LinearModel("squared", bits=3, **settings)
    for t in range(5):
        model.predict([float(t % 3), 1.0])
    for ticket, label in labels:
        assert model.observe(ticket, label)
    return model


@pytest.mark.parametrize("close", [lambda m: m.predict([1.0]), lambda m: m.cancel(2)])
def test_events_that_are_no_labels_close_a_set(close: Any) -> None:
    apart, together = told((3, 1.0)), told((3, 1.0), (0, 9.0))
    close(apart)
    apart.observe(0, 9.0)
    close(together)
    later, sooner = (model.peek([1.0, 1.0]) for model in (apart, together))
    assert later != sooner


def test_a_tick_closes_a_set() -> None:
    """Also a label at a time when an open ticket is due, but none at an earlier time."""

    def told_at(*times: float | None) -> float:
        model = LinearModel("squared", bits=3, deadline=10.0)
        for t in range(5):
            model.predict([float(t % 3), 1.0], at=float(t))
        for ticket, at in zip((3, 4, 2), times, strict=True):
            if at is not None and at < 0.0:
                model.tick(-at)
            assert model.observe(ticket, 5.0 * ticket, at=at if at is None or at > 0.0 else -at)
        return model.peek([1.0, 1.0])

    together = told_at(None, None, None)
    assert told_at(5.0, 6.0, 9.5) == together
    assert told_at(5.0, -6.0, 9.5) != together
    assert told_at(5.0, 10.5, 10.5) != together  # ticket 0 is due


def test_many_labels_are_applied_in_their_call() -> None:
    """The next prediction has nothing left to do; a label before it still belongs to the set."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1500, 3)), rng.normal(size=1500)
    one, other = LinearModel("squared", bits=3), LinearModel("squared", bits=3)
    for model in (one, other):
        model.predict_many(x)
    one.observe_many(range(1499), y[:1499])
    assert one._linear.is_applied
    one.observe(1499, y[1499])
    other.observe_many(range(1499, -1, -1), y[::-1])
    assert one.peek(x[0]) == other.peek(x[0])
    assert one.snapshot() == other.snapshot()


def test_the_order_of_instalments_of_a_ticket_counts() -> None:
    one, other = told(silence=0.0), told(silence=0.0)
    for model in (one, other):
        model.revise(1, 4.0)
        model.observe(3, 2.0)
    one.add(1, 3.0)
    other.revise(1, 7.0)
    assert one.observe_many([1, 2], [7.5, 1.0]).all()
    assert other.observe(2, 1.0)
    assert other.observe(1, 7.5)
    assert one.snapshot() == other.snapshot()
    assert LinearModel.restore(one.snapshot()).predict([1.0]) == other.predict([1.0])


def of_choosers(told_in: list[int], *, looks: bool) -> bytes:
    """Return a chooser that hears rewards in an order."""
    chooser = bl.Chooser(["a", "b"], bits=6, seed=1)
    for t in range(12):
        chooser.choose({"x": float(t % 3)})
    for ticket in told_in:
        chooser.observe(ticket, float(ticket % 2))
        if looks:
            chooser.peek({"x": 1.0})
            chooser.report()
    chooser.choose({"x": 2.0})
    return chooser.model.snapshot()


def of_intervals(told_in: list[int], *, looks: bool) -> tuple[bytes, bytes]:
    """Return the models of intervals that hear labels in an order."""
    intervals = bl.Intervals(LinearModel("squared", bits=6))
    for t in range(12):
        intervals.predict({"x": float(t % 3)})
    for ticket in told_in:
        intervals.observe(ticket, float(ticket % 5))
        if looks:
            intervals.peek({"x": 1.0})
            intervals.report()
            intervals = bl.Intervals.restore(intervals.snapshot())
    intervals.predict({"x": 2.0})
    return intervals.model.snapshot(), intervals._score_model.snapshot()


@pytest.mark.compiled
@pytest.mark.parametrize("play", [of_choosers, of_intervals])
def test_models_inside_of_others_have_sets_too(play: Any) -> None:
    tickets = [7, 2, 9, 4, 11, 0]
    expected = play(tickets, looks=False)
    assert play(sorted(tickets), looks=False) == expected
    assert play(tickets[::-1], looks=True) == expected


# --- Labels of a set are learned in an order that depends on their tickets alone ------------------


TICKETS = st.lists(st.integers(0, 299), unique=True, max_size=60)


@functools.cache
def asked(rounds: int) -> bytes:
    """Return a model that waits for so many labels."""
    model = LinearModel(bits=1, wait=None)
    model.predict_many(np.ones((rounds, 1)))
    return model.snapshot()


def order_of(tickets: Any, rounds: int) -> list[int]:
    """Return tickets in the order in which labels are learned that came for them."""
    model = LinearModel.restore(asked(rounds))
    model.observe_many(tickets, np.zeros(len(tickets)))
    found: list[int] = model._linear.state()["answers.numbers"].tolist()
    return found


@given(tickets=TICKETS)
@examples(100)
def test_fast_and_slow_agree(tickets: list[int]) -> None:
    array = np.array(tickets, dtype=np.int64)
    assert order_of(array, 300) == [tickets[place] for place in learning_order(tickets)]


def test_fast_and_slow_agree_on_many() -> None:
    tickets = np.random.default_rng(0).permutation(3000)[:2500].tolist()
    assert order_of(tickets, 3000) == [tickets[place] for place in learning_order(tickets)]


@given(tickets=TICKETS, seed=st.integers(0, 99))
@examples(100)
def test_the_given_order_says_nothing(tickets: list[int], seed: int) -> None:
    array = np.array(tickets, dtype=np.int64)
    other = np.random.default_rng(seed).permutation(array)
    assert order_of(array, 300) == order_of(other, 300)


def test_few_tickets_are_mixed_and_many_keep_their_age() -> None:
    """Ranks of neighbours have nothing to do with each other; those of far ones have."""
    few, many = (np.argsort(order_of(np.arange(n), n)) for n in (200, 20_000))
    assert abs(np.corrcoef(few, np.arange(200))[0, 1]) < 0.3
    assert abs(np.corrcoef(many[:500], np.arange(500))[0, 1]) < 0.15
    assert 0.65 < np.corrcoef(many, np.arange(20_000))[0, 1] < 0.75
    parts = many.reshape(10, -1).mean(axis=1)
    assert (np.diff(parts) > 0.0).all()
    assert parts[-1] - parts[0] > 8_000


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("silence", [None, 0.0])
def test_a_file_is_learned_the_same_however_it_is_sorted(loss: Any, silence: Any) -> None:
    x, y = _rows(60)
    y = y if loss == "squared" else (y > 0.0).astype(float)
    models = [
        LinearModel(loss, bits=3, silence=silence, wait={"predictions": 40}) for _ in range(4)
    ]
    orders = [np.argsort(y), np.arange(60), np.argsort(-x[:, 0])]
    for model, order in zip(models[1:], orders, strict=True):
        tickets, _ = model.predict_many(x)
        used = model.observe_many(tickets[order], y[order])
        assert used[np.argsort(order)].tolist() == [t >= 19 for t in range(60)]  # wait=40
    one = models[0]
    one.predict_many(x)
    for ticket in learning_order(list(range(60))):
        one.observe(ticket, y[ticket])
    assert len({model.snapshot() for model in models}) == 1


def test_a_store_logs_labels_as_they_are_given(tmp_path: Path) -> None:
    """The log has no order of its own: whoever plays it finds the same."""
    x, y = _rows(40)
    keys = [f"order-{i}" for i in range(40)]
    twin = LinearModel(bits=3)
    twin.predict_many(x, keys=keys)
    twin.observe_many(np.arange(20), y[:20], weights=y[:20] ** 2 + 0.5)
    used = twin.observe_many(keys[:19:-1], y[:19:-1])
    with bl.open(tmp_path / "a.store") as store:
        model = store.model("m", LinearModel(bits=3))
        model.predict_many(x, keys=keys)
        model.observe_many(range(20), y[:20].tolist(), weights=(y[:20] ** 2 + 0.5).tolist())
        assert model.observe_many(keys[:19:-1], y[:19:-1]).tolist() == used.tolist()
        told = [line.ticket for line in store.log("m") if line.verb == "observe"]
        assert told == [*range(20), *range(39, 19, -1)]
        assert model.snapshot() == twin.snapshot()
        assert store.rebuild("m", LinearModel(bits=3)).snapshot() == twin.snapshot()
        store.compact("m")
    with bl.open(tmp_path / "a.store") as store:
        assert store.model("m").snapshot() == twin.snapshot()


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("seed", range(3))
def test_a_sorted_file_costs_nothing(seed: int) -> None:
    """Of five shops with levels of their own, the file of a night is sorted by shop."""
    rng = np.random.default_rng([41, seed])
    shop = np.tile(np.repeat(np.arange(5), 40), 4)
    y = 10.0 * rng.standard_normal(5)[shop] + rng.standard_normal(800)
    rows = [{"shop": f"s{s}"} for s in shop.tolist()]
    errors = {}
    for is_sorted in (True, False):
        model = LinearModel()
        said = []
        for night in range(0, 800, 200):
            tickets, values = model.predict_many(rows[night : night + 200])
            order = np.arange(200) if is_sorted else rng.permutation(200)
            for place in order.tolist():
                model.observe(int(tickets[place]), float(y[night + place]))
            said.append(values)
        errors[is_sorted] = np.mean((np.concatenate(said) - y)[200:] ** 2)
    assert errors[True] == errors[False]
    assert errors[True] < 0.1 * np.var(y)


def _rows(count: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    rng = np.random.default_rng(8)
    x = rng.standard_normal((count, 3))
    return x, x @ [1.0, -2.0, 0.5] + rng.standard_normal(count)
