"""Labels between two predictions are a set: neither their order counts, nor looking at a model."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.errors import AlreadyObserved, BadFeatures, BadFeedback, UnknownTicket
from belated.models.linear import LinearModel
from conftest import examples

LOSSES = ("squared", "absolute", "quantile", "huber", "logistic", "hinge", "poisson")
LINEAR = ("squared", "logistic", "poisson")
NOT_FINITE = [float("nan")]


def label_of(loss: str, rng: random.Random) -> float:
    """Return a label, now and then one that is far from all others."""
    if loss in ("logistic", "hinge"):
        return float(rng.random() < 0.4) * (1.0 if loss == "logistic" else 2.0) - (loss == "hinge")
    return abs(rng.gauss(0.0, 1.0)) * 10.0 ** rng.choice([0, 0, 0, 4])


class Life:
    """A life of a model: the same events for all, and between them whatever ``other`` draws.

    Without it nobody looks, and labels that come together are told in one call now and then.
    """

    def __init__(self, seed: int, other: random.Random | None) -> None:
        self.rng, self.other = random.Random(seed), other
        self.loss = self.rng.choice(LOSSES)
        is_linear = self.loss in LINEAR
        self.can_revise = is_linear and self.rng.random() < 0.5
        deadline = self.rng.choice([None, None, 5.0, 20.0])
        settings: dict[str, Any] = {"max_open": self.rng.choice([None, None, 6]), "bits": 5}
        if is_linear:
            settings["silence"] = self.rng.choice([None, 0.0])
        if deadline is not None:
            settings |= {"deadline": deadline, "late": self.rng.choice(["drop", "learn"])}
        self.model = LinearModel(self.loss, **settings)  # type: ignore[arg-type]
        self.is_timed = deadline is not None and self.rng.random() < 0.7
        self.now = 0.0
        self.open: list[int] = []
        self.said: list[Any] = []

    def play(self, steps: int) -> tuple[list[Any], bytes]:
        """Return all that the model says, and what it is in the end."""
        for _ in range(steps):
            verb = self.rng.choices(
                [self.predict, self.tell, self.cancel, self.tick], [7, 10, 2, 1]
            )
            verb[0]()
            self.said.append(self.model.open)
            if self.other is not None:
                self.look(self.other)
        return self.said, self.model.snapshot()

    def predict(self) -> None:
        row = [self.rng.gauss(0.0, 1.0) for _ in range(self.rng.randint(0, 6))]
        self.now += self.rng.random()
        ticket, value = self.model.predict(row, at=self.now if self.is_timed else None)
        self.open.append(ticket)
        self.said.append(value)

    def tell(self) -> None:
        """Tell some labels that come together."""
        count = min(self.rng.choice([1, 1, 3, 8]), len(self.open))
        tickets = [self.open.pop(self.rng.randrange(len(self.open))) for _ in range(count)]
        labels = [label_of(self.loss, self.rng) for _ in tickets]
        is_last = not self.can_revise or self.rng.random() < 0.7
        at = None
        if self.is_timed and self.rng.random() < 0.6:
            at = self.now = self.now + self.rng.random()
        many = self.rng.random() < 0.5 and is_last
        pairs = list(zip(tickets, labels, strict=True))
        if self.other is not None:
            self.other.shuffle(pairs)
            many = self.other.random() < 0.5 and is_last
        if many:
            tickets, labels = [ticket for ticket, _ in pairs], [label for _, label in pairs]
            used = self.model.observe_many(tickets, labels, at=at).tolist()
            found = dict(zip(tickets, used, strict=True))
        else:
            verb = self.model.observe if is_last else self.model.revise
            found = {ticket: verb(ticket, label, at=at) for ticket, label in pairs}
        self.said.append(sorted(found.items()))
        if not is_last:
            self.open = sorted([*self.open, *(ticket for ticket in found if found[ticket])])

    def cancel(self) -> None:
        if self.open:
            with suppress(AlreadyObserved):
                self.model.cancel(self.open.pop(0))

    def tick(self) -> None:
        if self.is_timed:
            self.now += self.rng.random()
            self.model.tick(self.now)

    def look(self, rng: random.Random) -> None:
        """Do something that changes nothing."""
        model, width = self.model, rng.randint(0, 80)
        match rng.randrange(9):
            case 0:
                model.peek((np.arange(width) % 30, np.full(width, rng.gauss(0.0, 1.0))))
            case 1:
                model.report()
            case 2:
                self.model = LinearModel.restore(model.snapshot())
            case 3:
                model.snapshot()
            case 4:
                model.peek_many(np.ones((2, 3)))
            case 5:
                with pytest.raises(BadFeatures):
                    model.predict(NOT_FINITE)
                with pytest.raises(UnknownTicket):
                    model.cancel(10**6)
            case 6:
                with pytest.raises(UnknownTicket):
                    model.observe(10**6, 1.0)
                with pytest.raises((AlreadyObserved, BadFeedback, UnknownTicket)):
                    model.observe(0, float("nan"))
            case 7:
                model.explain({"a": 1.0}), model.weights(["a"]), model.spread, model.answerable()
            case _:
                pass


@given(seed=st.integers(0, 2**32 - 1), look=st.integers(0, 2**32 - 1))
@examples(10)
def test_neither_order_nor_looking_counts(seed: int, look: int) -> None:
    expected = Life(seed, None).play(60)
    assert Life(seed, random.Random(look)).play(60) == expected


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
                    model.observe(~event, self.y[~event], self.weights[~event], at=at)
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


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(4))
def test_live_and_stored_agree(seed: int, tmp_path: Path) -> None:
    log = Log(seed)
    one = log.fresh()
    values = log.live(one)
    with bl.open(tmp_path / "a.store") as store:
        model = store.model("m", log.fresh())
        assert log.live(model) == values
        assert model.snapshot() == one.snapshot()
        assert store.rebuild("m", log.fresh()).snapshot() == one.snapshot()
        store.compact("m")
    with bl.open(tmp_path / "a.store") as store:
        assert store.model("m").snapshot() == one.snapshot()


def told(*labels: tuple[int, float], **settings: Any) -> LinearModel:
    """Return a model that is told labels of five tickets, one by one."""
    model = LinearModel("squared", bits=3, **settings)
    for t in range(5):
        model.predict([float(t % 3), 1.0])
    for ticket, label in labels:
        assert model.observe(ticket, label)
    return model


def test_what_is_wrong_with_a_label_is_said_at_once() -> None:
    model = told((3, 1.0), (1, 2.0))
    before = model.snapshot()
    with pytest.raises(AlreadyObserved, match="ticket 1 was answered"):
        model.observe(1, 2.0)
    with pytest.raises(AlreadyObserved, match="position 1: ticket 3"):
        model.observe_many([0, 3], [1.0, 2.0])
    with pytest.raises(BadFeedback, match="must be a finite number"):
        model.observe(0, float("inf"))
    with pytest.raises(AlreadyObserved, match="cancel: ticket 3"):
        model.cancel(3)
    assert model.snapshot() == before
    assert (model.open, model.is_open(1), model.is_open(2)) == (3, False, True)
    assert model.answerable() == {0, 2, 4}


@pytest.mark.compiled
def test_looking_shows_all_labels_and_closes_no_set() -> None:
    one, other = told((3, 1.0)), told((3, 1.0))
    values = [one.peek([1.0, 1.0])]
    for ticket, label in ((4, 7.0), (0, -2.0)):
        one.observe(ticket, label)
        other.observe(ticket, label)
        values.append(one.peek([1.0, 1.0]))
        assert one.peek_many([[1.0, 1.0]]).tolist() == values[-1:]
        assert one.report().observed == len(values)
    assert len(set(values)) == 3
    assert one.predict([1.0, 1.0]).value == other.predict([1.0, 1.0]).value == values[-1]
    assert one.snapshot() == other.snapshot()


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
