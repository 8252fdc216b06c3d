"""Knobs: live is batch, the unit of costs, refusals, snapshots, late and lost costs."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated.errors import (
    BadFeatures,
    BadFeedback,
    SnapshotError,
    SpecError,
    UnknownTicket,
)
from belated.models.knobs import Knobs
from conftest import Python, examples
from sealing import forged, header_of, rewritten

ONE = {"x": (-1.0, 1.0)}
THREE = {"price": (10, 200), "timeout": bl.ranges.Log(0.1, 5.0), "retries": bl.ranges.Int(0, 6)}


def life(rounds: int, seed: int = 0, lost: float = 0.1, most: int = 12) -> list[int]:
    """Return events of random delays: t for a prediction, ~t for a cost."""
    rng = np.random.default_rng(seed)
    due: dict[int, list[int]] = {}
    events = []
    for t in range(rounds):
        events.append(t)
        if rng.random() >= lost:
            due.setdefault(t + int(rng.integers(0, most)), []).append(t)
        events += [~each for each in due.pop(t, [])]
    return events


def costs_of(rounds: int, seed: int = 0) -> list[float]:
    """Return costs in eighths, which add up exactly."""
    return [float(each) / 8.0 for each in np.random.default_rng(seed).integers(-40, 40, rounds)]


def follow(knobs: Knobs, events: list[int], costs: list[float], **more: Any) -> list[Any]:
    """Live through events; return the settings."""
    found = []
    for event in events:
        if event >= 0:
            found.append(knobs.predict(**more).setting)
        else:
            knobs.observe(~event, costs[~event])
    return found


def bowl(knobs: Knobs, rounds: int, best: float = 0.4, noise: float = 0.1, seed: int = 0) -> float:
    """Play (x - best)^2 with one knob and costs three rounds late; return the mean regret."""
    rng = np.random.default_rng(seed)
    lost, waiting = 0.0, []
    for _ in range(rounds):
        ticket, setting = knobs.predict()
        excess = (setting["x"] - best) ** 2
        lost += excess
        waiting.append((ticket, excess + noise * rng.normal()))
        if len(waiting) > 3:
            knobs.observe(*waiting.pop(0))
    return lost / rounds


# --- It learns -----------------------------------------------------------------------------------


def test_the_best_is_where_the_expected_cost_is_least() -> None:
    """Of many settings none is thought to be better than the best."""
    for ranges in (ONE, {"x": (-1, 1), "y": (-1, 1)}):
        knobs = Knobs(ranges)
        rng = np.random.default_rng(3)
        for _ in range(25):
            ticket, setting = knobs.predict()
            knobs.observe(ticket, math.sin(3 * setting["x"]) + 0.1 * rng.normal())
        best = knobs.expect(knobs.best()).cost
        others = rng.uniform(-1, 1, (60, len(ranges)))
        found = [knobs.expect(dict(zip(ranges, each.tolist(), strict=True))) for each in others]
        assert best <= min(each.cost for each in found) + 0.02


def test_a_context_moves_the_best() -> None:
    """One country wants a high setting, the other a low one."""
    knobs = Knobs(ONE, context={"country": ["PT", "NO"], "hour": (0, 24)})
    rng = np.random.default_rng(0)
    for t in range(90):
        country = "PT" if t % 2 else "NO"
        ticket, setting = knobs.predict({"country": country, "hour": t % 24})
        goal = 0.5 if country == "PT" else -0.5
        knobs.observe(ticket, (setting["x"] - goal) ** 2 + 0.05 * rng.normal())
    assert knobs.best({"country": "PT"})["x"] > 0.25
    assert knobs.best({"country": "NO"})["x"] < -0.25
    outside = "^predict: hour of the context must be .* 0 to 24, got 25; nothing has changed$"
    with pytest.raises(BadFeatures, match=outside):
        knobs.predict({"hour": 25})
    with pytest.raises(BadFeatures, match="country"):
        knobs.predict({"country": "SE"})
    with pytest.raises(BadFeatures, match="names among"):
        knobs.predict({"day": 1})
    assert knobs.rounds == 90


@pytest.mark.parametrize(("first", "noise"), [(0.0, 0.0), (1.0, 3e-16), (1e20, 0.0)])
def test_rounding_is_no_unit(first: float, noise: float) -> None:
    """Costs that are equal, but for the last digits or for what was said of the first, are equal.

    Then the first real difference is the unit.
    """
    knobs = Knobs(ONE)
    for _ in range(18):
        knobs.predict()
    knobs.revise(0, first)
    if first == 0.0:
        knobs.revise(1, 1.0)
    for t in range(10):
        knobs.observe(t, 1.0 + noise * (t % 3))
    knobs._commit()
    assert knobs._tuner.answers.unit == 0.0
    assert knobs._tuner.answers.equal == 4
    for t in range(10, 18):
        knobs.observe(t, 1.0 + t % 2)
    knobs._commit()
    assert 0.1 < knobs._tuner.answers.unit < 1.0
    assert 0.5 < knobs.expect({"x": 0.0}).cost < 2.5


def test_one_large_cost_among_the_first_is_no_unit() -> None:
    """It is clipped as later ones are; rare sales among zeros are no exceptions."""
    for at, huge in ((0, 1e6), (3, -1e6), (0, 1e20)):
        knobs = Knobs(ONE, seed=1)
        rng = np.random.default_rng(0)
        for t in range(60):
            ticket, setting = knobs.predict()
            cost = 1.0 + (setting["x"] - 0.4) ** 2 + 0.1 * rng.normal()
            knobs.observe(ticket, huge if t == at else cost)
        assert 0.01 < knobs._tuner.answers.unit < 1.0
        assert knobs.best()["x"] == pytest.approx(0.4, abs=0.25)
        assert knobs.report().clipped >= 1
    knobs = Knobs(ONE)
    for t in range(7):
        knobs.observe(knobs.predict().ticket, 100.0 if t == 2 else 0.0)
    knobs._commit()
    assert 30.0 < knobs._tuner.answers.unit < 40.0


# --- Laws ----------------------------------------------------------------------------------------


DIGESTS = """
import hashlib, json, sys
sys.path.insert(0, "tests")
import test_knobs as here
from belated.models.knobs import Knobs
found = []
more = {"holdout": 0.2, "context": {"a": (0, 1)}, "constraints": [{"price": 1, "at_most": 120}]}
for ranges, more in ((here.ONE, {}), (here.THREE, more)):
    knobs = Knobs(ranges, seed=3, **more)
    here.follow(knobs, here.life(60), here.costs_of(60))
    if not more:
        run = Knobs(ranges, seed=3)
        run.replay(None, here.costs_of(60), here.life(60))
        assert run.snapshot() == knobs.snapshot()
    report = repr(knobs.report().to_dict())
    found.append(hashlib.sha256(knobs.snapshot() + report.encode()).hexdigest())
timed, log = Knobs(here.ONE, deadline="9s", silence=1.0), here.life(60)
timed.replay(None, here.costs_of(60), log, at=[float(i) for i in range(len(log))])
assert timed.report().settled > 0
timed.tick(1e9)
found.append(hashlib.sha256(timed.snapshot()).hexdigest())
print(json.dumps(found))
"""


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_compiled_is_interpreted_bit_for_bit(python: Python) -> None:
    """The same snapshots and reports with and without a compiler."""
    compiled = json.loads(python("-c", DIGESTS))
    assert json.loads(python("-c", DIGESTS, BELATED_INTERPRETED="1")) == compiled


@settings(max_examples=3, deadline=None)
@given(st.integers(-30, 30), st.integers(-1000, 1000), st.integers(0, 99))
def test_nothing_depends_on_the_unit_of_costs(power: int, shift: int, seed: int) -> None:
    """Costs times a power of two, plus any number of eighths: the same bits of plays."""
    events, costs = life(18, seed, 0.0, 6), costs_of(18, seed)
    plain, other, upside = Knobs(ONE), Knobs(ONE), Knobs(ONE, goal="max")
    told = [(cost + shift / 8.0) * 2.0**power for cost in costs]
    played = follow(plain, events, costs)
    assert follow(other, events, told) == played
    assert follow(upside, events, [-cost for cost in costs]) == played


# --- Tickets -------------------------------------------------------------------------------------


def test_a_cost_that_is_revised_ends_where_the_last_word_is() -> None:
    """Sums after revisions are those of the last cost, at once or with others in between."""
    plain, revised = Knobs(ONE), Knobs(ONE)
    for t in range(40):
        for knobs in (plain, revised):
            ticket, _ = knobs.predict()
            knobs.played(ticket, {"x": math.sin(t)})
        if t % 3 == 0 and t > 12:
            revised.revise(t, t % 5 + 0.25)
        elif t > 3:
            revised.observe(t, t % 5)
    for t in range(40):
        if t <= 3 or (t % 3 == 0 and t > 12):
            revised.observe(t, t % 5)
    for answers in (range(4, 40), range(4)):
        for t in answers:
            plain.observe(t, t % 5)
        plain._commit()
    revised._commit()
    mine, theirs = revised._tuner.models, plain._tuner.models
    assert np.allclose(mine.sums, theirs.sums, atol=1e-9)
    assert revised.report().corrected == 9


def test_nothing_now_and_the_sale_later() -> None:
    """A reward of 0 is told at once, the last word 30 rounds later: noise and best are found."""
    knobs = Knobs({"price": (10, 200)}, start={"price": 120}, goal="max", seed=4)
    rng = np.random.default_rng(0)
    waiting: list[tuple[int, float]] = []
    for _ in range(170):
        ticket, setting = knobs.predict()
        knobs.revise(ticket, 0.0)
        price = setting["price"]
        waiting.append((ticket, price * float(rng.random() < 1.0 - price / 160.0)))
        if len(waiting) > 30:
            knobs.observe(*waiting.pop(0))
    report = knobs.report()
    assert report.noise is not None
    assert 25.0 < report.noise < 70.0
    assert 50.0 < report.best["price"] < 110.0
    assert knobs._tuner.models.provisional == 30


def test_what_was_really_played_is_what_is_learned() -> None:
    """A system that clamps: the model learns the clamped setting."""
    told = Knobs(ONE)
    rng = np.random.default_rng(0)
    for _ in range(60):
        ticket, setting = told.predict()
        actual = {"x": min(setting["x"], 0.2)}
        told.played(ticket, actual)
        told.observe(ticket, -actual["x"] + 0.01 * rng.normal())
    assert told.expect({"x": 0.2}).cost == pytest.approx(-0.2, abs=0.05)
    ticket, _ = told.predict()
    told.revise(ticket, 1.0)
    with pytest.raises(BadFeedback, match="heard before"):
        told.played(ticket, {"x": 0.0})
    before = told.snapshot()
    words = "^played: x must be inside of the range .* to .*, got 7; nothing has changed$"
    with pytest.raises(SpecError, match=words):
        told.played(ticket, {"x": 7})
    assert told.snapshot() == before


# --- Snapshots -----------------------------------------------------------------------------------


WRONG: dict[str, tuple[Any, ...]] = {
    "answers.waiting": (3,),
    "answers.unit": (-1.0,),
    "answers.equal": (99,),
    "answers.rows": (1.0, (0, 1)),
    "mode": (4,),
    "arm": (-1,),
    "may_change": (2,),
    "models.count": (10**6,),
    "models.squares": (-1.0,),
    "models.latest": (31,),
    "models.provisional": (99,),
    "models.origin": (99,),
    "models.weights": (2.0, 0),
    "models.noise": (0.0, 0),
    "models.factors": (0.0, (0, 0)),
    "models.sums": (math.nan, (0, 0)),
    "models.numbers": (5, 0),
    "models.blocks": (-1.0, (0, 0)),
    "sampler.last": (2.0, 0),
    "history.length": (17,),
    "history.answers": (1, (60, 0)),
    "comparison.compared": (7,),
    "comparison.alarmed": (1,),
    "comparison.first": (31,),
    "tickets.held": (1,),
    "settled": (1.5,),
}


@pytest.mark.parametrize("name", WRONG)
def test_snapshots_that_nothing_can_have_come_to_are_refused(name: str) -> None:
    check_forged({"deadline": 50}, name, *WRONG[name])


def check_forged(settings: dict[str, Any], *change: Any) -> None:
    """Demand that snapshots after a life are refused if they have another number somewhere."""
    knobs = Knobs(ONE, **settings)
    follow(knobs, life(30), costs_of(30))
    Knobs.restore(knobs.snapshot())
    with pytest.raises(SnapshotError):
        Knobs.restore(forged(knobs.snapshot(), *change))


def test_seeds_that_none_can_have_are_refused() -> None:
    blob = Knobs(ONE).snapshot()
    settings = header_of(blob)["about"]["settings"]
    wrong: tuple[Any, ...] = ({}, None, "1", -1, 1.5, 1 << 64)
    for seed in wrong:
        with pytest.raises(SnapshotError):
            Knobs.restore(rewritten(blob, {"settings": {**settings, "seed": seed}}))


@pytest.mark.parametrize(
    ("column", "value"),
    [(0, 0.5), (1, 3.0), (2, 1.0), (3, -1.5), (3, 1e-9), (3, math.nan), (4, 5.0), (4, 0.5)],
)
def test_records_that_no_ticket_can_have_are_refused(column: int, value: float) -> None:
    """Costs without one, places that settings cannot have, arms that there are not."""
    check_forged({"holdout": 0.3}, "tickets.records", value, (0, column))


# --- Settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"knobs": {}}, "dict of 1 to"),
        ({"knobs": {"x": 3}}, "must have a range"),
        ({"knobs": {"x": (1, 1)}}, "low must be below high"),
        ({"knobs": {"x": bl.ranges.Int(0, 3)}, "start": {"x": 9}}, "inside"),
        ({"start": {"y": 0}}, "start must have"),
        ({"goal": "best"}, "goal"),
        ({"goal": np.zeros(2)}, "goal"),
        ({"start": {"x": np.zeros(2)}}, "number"),
        ({"knobs": {"x": bl.ranges.Categories([1, 2])}, "start": {"x": np.zeros(2)}}, "one of"),
        ({"knobs": {"\ud800": (0, 1)}}, "names of knobs"),
        ({"hold": 0}, "hold"),
        ({"max_step": 2}, "max_step"),
        ({"max_step": {"y": 0.1}}, "no knobs"),
        ({"holdout": 0.9}, "holdout"),
        ({"holdout": 1e-300}, "holdout"),
        ({"max_step": 1e-9}, "max_step"),
        ({"knobs": {"x": bl.ranges.Int(0, 3)}, "start": {"x": 1.5}}, "whole"),
        ({"deadline": -1}, "deadline"),
        ({"seed": "x"}, "seed"),
        ({"context": [1]}, "context"),
        ({"context": {"a": [1]}}, "at least two"),
    ],
)
def test_wrong_settings_are_named(arguments: dict[str, Any], words: str) -> None:
    """An error says what is wrong."""
    told = {"knobs": ONE, **arguments}
    with pytest.raises(SpecError, match=words):
        Knobs(told.pop("knobs"), **told)


def test_a_closed_ticket_is_corrected_by_what_was_learned_of_it() -> None:
    """Not by what is kept of the ticket that happens to be first in the table."""
    knobs = Knobs(ONE)
    for t in range(22):
        knobs.predict()
        knobs.played(t, {"x": (t - 10.0) / 15.0})
    for t in range(1, 12):
        knobs.revise(t, 1.0)
    knobs.revise(1, 1.0 + 3e-16)  # which waits, as there is no unit yet
    knobs.cancel(1)
    for t in range(2, 22):
        knobs.observe(t, 1.0 + t % 2)
    knobs._commit()
    assert knobs._tuner.answers.unit > 0.0
    assert 0.5 < knobs.expect({"x": 0.5}).cost < 2.5


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_sales_that_are_rare_are_believed() -> None:
    """One visit in fifty buys, at most: revenue is 0 nearly always, and its best price is 80."""
    knobs = bl.Knobs({"price": (10, 150)}, goal="max", seed=1)
    rng = np.random.default_rng(1)
    earned = 0.0
    for _ in range(8_000):
        ticket, setting = knobs.predict()
        chance = 0.04 * (1.0 - setting["price"] / 160.0)
        earned += chance * setting["price"] / 8_000
        knobs.observe(ticket, setting["price"] if rng.random() < chance else 0.0)
    assert earned > 0.85 * 0.04 * 40.0
    assert knobs.expect({"price": 80.0}).cost == pytest.approx(0.04 * 40.0, rel=0.3)


def test_everything_that_is_drawn_belongs_to_seed_and_ticket() -> None:
    """Other seeds play otherwise, the same seed the same."""
    events, costs = life(20), costs_of(20)
    first = follow(Knobs(ONE, seed=1), events, costs)
    assert follow(Knobs(ONE, seed=1), events, costs) == first
    assert follow(Knobs(ONE, seed=2), events, costs) != first
    assert follow(Knobs(ONE, seed=9).fresh(seed=1), events, costs) == first


def test_contexts_of_whole_numbers_and_of_pairs_of_texts() -> None:
    """A whole number is one feature, every text one; errors name who was called, and whole logs
    need one context for every cost."""
    knobs = Knobs(ONE, context={"hour": bl.ranges.Int(0, 23), "country": ("PT", "NO")})
    assert knobs.settings.width == 3
    assert knobs.settings.features({"hour": 23, "country": "NO"}).tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(BadFeatures, match=r"predict: hour of the context must be a whole"):
        knobs.predict({"hour": 1.5})
    with pytest.raises(BadFeatures, match="best: country of the context must be one of"):
        knobs.best({"country": "SE"})
    with pytest.raises(BadFeatures, match="expect: a context is"):
        knobs.expect({"x": 0.0}, {"day": 1})
    wrong: list[list[dict[str, Any]]] = [[], [{}], [{}] * 3]
    for contexts in wrong:
        with pytest.raises(BadFeatures, match="one entry for every answer"):
            knobs.replay(contexts, [1.0, 1.0], [0, 1])
    assert len(knobs.replay([{"hour": 3}, {}], [1.0, 1.0], [0, 1])) == 2


def test_a_context_that_is_a_vector_is_refused_in_words() -> None:
    with pytest.raises(BadFeatures, match="a context is a dict"):
        bl.Knobs({"p": (0, 1)}).predict(np.zeros(2))  # type: ignore[arg-type]


# --- The clock of knobs: deadlines as lengths of time, live, in logs, in snapshots and in stor ---


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
            Knobs.restore(forged(knobs.snapshot(), *wrong))
