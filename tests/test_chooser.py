"""Choosing among actions with rewards that come late."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.core.decisions import Offer
from belated.errors import (
    BadFeatures,
    BusyError,
    ClockError,
    SnapshotError,
    SpecError,
    UnknownTicket,
)
from belated.models.chooser.settings import rule_of
from belated.models.linear.features import Hasher
from conftest import examples
from naive_decisions import NaiveChooser, row_of, weighed
from sealing import arrays_of, header_of, rewritten, with_arrays

BITS = 8
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def probabilities(
    scores: list[float], spread: float, rounds: int, rule: Any = None
) -> np.ndarray[Any, Any]:
    """Return what a rule makes of predicted rewards."""
    found: np.ndarray[Any, Any] = rule_of(rule or bl.explore.GapWeighted()).probabilities(
        scores, spread, rounds
    )
    return found


def lived(seed: int = 0, rounds: int = 60, **arguments: Any) -> bl.Chooser:
    """Return a chooser that has seen some rounds, with rewards out."""
    chooser = bl.Chooser(["a", "b", "c"], bits=BITS, **arguments)
    rng = np.random.default_rng(seed)
    for t in range(rounds):
        choice = chooser.choose({"x": float(rng.normal()), "day": str(t % 3)}, key=f"visit {t}")
        if rng.random() < 0.7:
            chooser.observe(f"visit {t}", float(choice.action == "b"))
    return chooser


# --- Probabilities -------------------------------------------------------------------------------

scores = st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=12)


@given(scores, st.floats(0.01, 10.0), st.integers(0, 10**6))
def test_inverse_gap_weighting_is_that_of_the_slow_version(
    given: list[float], spread: float, rounds: int
) -> None:
    found = probabilities(given, spread, rounds)
    assert found == pytest.approx(weighed(given, spread, rounds), rel=1e-12)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found > 0.0).all()
    assert found.argmax() == np.argmax(given) or max(given) == min(given)


@given(
    st.integers(1, 8).flatmap(
        lambda k: st.tuples(
            st.lists(st.floats(-2.0, 2.0), min_size=k, max_size=k),
            st.lists(st.floats(-2.0, 2.0), min_size=k, max_size=k),
        )
    ),
    st.floats(0.05, 5.0),
    st.integers(0, 10**5),
)
def test_a_round_costs_at_most_what_the_lemma_says(
    both: tuple[list[float], list[float]], spread: float, rounds: int
) -> None:
    """In units of S: E[f* - f_a] <= 2 (K - 1) / gamma + gamma / 4 E[(r_a - f_a)^2]."""
    predicted, truth = both
    p = probabilities(predicted, spread, rounds)
    r, f = np.array(predicted) / spread, np.array(truth) / spread
    gamma = 40.0 * math.sqrt(rounds + 1.0)
    regret = f.max() - p @ f
    assert regret <= 2.0 * (len(truth) - 1) / gamma + gamma / 4.0 * (p @ (r - f) ** 2) + 1e-9


@given(scores, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_floor_is_kept_and_shares_are_right(
    given: list[float], share: float, floor: float
) -> None:
    count = len(given)
    rules = [
        bl.explore.GapWeighted(floor=floor),
        bl.explore.Uniform(share, floor=floor),
        bl.explore.Greedy(floor=floor),
    ]
    for rule in rules:
        found = probabilities(given, 1.0, 100, rule)
        assert found.sum() == pytest.approx(1.0, abs=1e-12)
        assert (found >= min(floor, 1.0 / count) - 1e-15).all()
    if max(given) > min(given):
        plain = probabilities(given, 1.0, 100, bl.explore.Uniform(share))
        others = np.delete(plain, int(np.argmax(given)))
        assert others == pytest.approx(np.full(count - 1, share / count))
        assert probabilities(given, 1.0, 100, bl.explore.Greedy()).max() == 1.0


def test_picks_follow_the_probabilities_and_depend_on_seed_and_ticket_alone() -> None:
    p, offer = np.array([0.5, 0.0, 0.2, 0.3]), Offer()
    offer.take(p)
    picked = [offer.draw(ticket, 5) for ticket in range(20_000)]
    counts = Counter(picked)
    assert counts[1] == 0
    for action, share in enumerate(p):
        assert abs(counts[action] / 20_000 - share) < 4.0 * math.sqrt(0.25 / 20_000)
    assert picked[:100] == [offer.draw(ticket, 5) for ticket in range(100)]
    assert picked[:100] != [offer.draw(ticket, 6) for ticket in range(100)]


# --- The slow version ----------------------------------------------------------------------------


@examples(8)
@given(
    st.sampled_from(["squared", "logistic"]),
    st.sampled_from([None, 0.0]),
    st.booleans(),
    st.sampled_from([3, BITS]),
    st.integers(0, 2**32 - 1),
)
def test_choices_are_those_of_the_slow_version(
    loss: Any, silence: float | None, featured: bool, bits: int, seed: int
) -> None:
    """Also where coordinates occur twice in a row, which they nearly always do with three bits."""
    rng = np.random.default_rng(seed)
    chooser = bl.Chooser(bits=bits, loss=loss, silence=silence, seed=seed)
    naive = NaiveChooser(bits, loss, silence)
    hasher = Hasher(bits)
    waiting: list[tuple[int, float]] = []
    for _ in range(25):
        context = {"x": float(rng.normal()), "day": "mo" if rng.random() < 0.5 else "tu"}
        actions: dict[str, Any] = {
            name: {"z": float(rng.normal())} if featured else None for name in ("a", "b", "c")
        }
        rows = [_row(hasher, {"action": n, **(f or {})}) for n, f in actions.items()]
        expected = naive.probabilities(_row(hasher, context), dict(zip(actions, rows, strict=True)))
        options = {o.action: o.probability for o in chooser.peek(context, actions)}
        # Stored numbers have 21 bits. Where the last one falls the other way in the slow version, a
        # choice of three moves by some units of 5e-7; until then both agree to 1e-14.
        assert [options[n] for n in actions] == pytest.approx(expected, rel=4e-6, abs=1e-9)
        choice = chooser.choose(context, actions)
        assert choice.probability == options[choice.action]
        row = rows[list(actions).index(choice.action)]
        ticket = naive.take(_row(hasher, context), choice.action, row)
        assert ticket == choice.ticket
        waiting.append((ticket, float(rng.random() < 0.5)))
        while waiting and rng.random() < 0.6:
            late, reward = waiting.pop(int(rng.integers(len(waiting))))
            chooser.observe(late, reward)
            naive.observe(late, reward)


def _row(hasher: Hasher, features: dict[str, Any]) -> list[tuple[int, float]]:
    indices, values = hasher.row(features)
    return list(zip(indices.tolist(), values.tolist(), strict=True))


@pytest.mark.compiled
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("bits", [18, 20])
def test_what_is_peeked_is_what_the_model_says_of_each_row(loss: Any, bits: int) -> None:
    """Where no coordinate occurs twice in a row, which the model standardises in turn."""
    rng = np.random.default_rng(bits)
    chooser, hasher = bl.Chooser(loss=loss, bits=bits), Hasher(bits)
    for t in range(12):
        context, actions = offer(rng, t)
        values = {o.action: o.value for o in chooser.peek(context, actions)}
        for name, features in actions.items():
            action = _row(hasher, {"action": name, **(features or {})})
            row = row_of(_row(hasher, context), action, bits)
            assert values[name] == chooser.model.peek(tuple(zip(*row, strict=True)))
        chooser.observe(chooser.choose(context, actions).ticket, float(t % 2))


def offer(rng: np.random.Generator, t: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a context and 1 to 9 actions: with the same features, with others, with none."""
    context: dict[str, Any] = {f"x{i}": float(rng.normal()) for i in range(t % 4)}
    actions: dict[str, Any] = {}
    for a in range(1 + int(rng.integers(9))):
        width = (3, int(rng.integers(4)), 0)[t % 3]
        actions[f"a{a}"] = {f"z{j}": float(rng.normal()) for j in range(width)} or None
    if t % 5 == 4:
        context["day"] = actions["a0"] = None
        actions["a1"] = {"z0": "text", "z1": 2, "z2": True}
    return context, actions


# --- Laws ----------------------------------------------------------------------------------------


def test_settings_that_cannot_be_are_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"actions": []},
        {"actions": ["a", "a"]},
        {"actions": ["a"], "baseline": "b"},
        {"loss": "absolute"},
        {"explore": "greedy"},
        {"mode": "expert"},
        {"interactions": "some"},
        {"decide": 3},
        {"seed": -1},
    ]
    for arguments in wrong:
        with pytest.raises(SpecError):
            bl.Chooser(**arguments)
    with pytest.raises(SpecError):
        bl.Chooser().choose({})
    for make in (
        lambda: bl.explore.GapWeighted(0),
        lambda: bl.explore.GapWeighted(floor=2),
        lambda: bl.explore.Uniform(-0.1),
    ):
        with pytest.raises(SpecError):
            make()


def test_counts_that_do_not_add_up_are_refused() -> None:
    chooser = lived(silence=0.0, baseline="a")
    chooser.choose({"x": 1.0}, shown=False)
    chooser.cancel(chooser.choose({"x": 1.0}, shown=False).ticket)
    blob = chooser.snapshot()
    state = header_of(blob)["about"]["state"]
    forged: list[dict[str, Any]] = [{"rounds": n} for n in (61, 1 << 62, 1 << 63, -1, 62.0, "62")]
    for name in ("own", "compared", "withdrawn", "explored", "agreed", "gain"):
        for value in (-1e121, 10**400, math.nan, None, True, "1"):
            forged.append({name: value})
    for changes in [*forged, {"withdrawn": 2}]:
        with pytest.raises(SnapshotError):
            bl.Chooser.restore(rewritten(blob, inside={"state": {**state, **changes}}))
    for name in ("chosen", "answered", "totals"):
        for value in (-1e121, math.nan, 1e121) if name == "totals" else (-1, 1 << 62, 1000):
            changed = arrays_of(blob)[name].copy()
            changed[0] = value
            with pytest.raises(SnapshotError):
                bl.Chooser.restore(with_arrays(blob, {name: changed}))
    more = arrays_of(blob)["chosen"] + 1
    for names in (None, [], ["a", "a", "b"], [1, 2, 3]):
        with pytest.raises(SnapshotError):
            bl.Chooser.restore(rewritten(blob, inside={"actions": names}))
    with pytest.raises(SnapshotError):
        bl.Chooser.restore(with_arrays(blob, {"chosen": more}))
    assert bl.Chooser.restore(rewritten(blob)).snapshot() == blob


# --- Verbs ---------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_it_learns_which_action_is_best_where() -> None:
    chooser = bl.Chooser(["a", "b", "c"], bits=10)
    best = {"mo": "a", "tu": "b", "we": "c"}
    rng = np.random.default_rng(1)
    right = 0
    waiting: list[tuple[int, float]] = []
    for t in range(900):
        day = ["mo", "tu", "we"][t % 3]
        choice = chooser.choose({"day": day})
        right += t >= 600 and choice.action == best[day]
        waiting.append((choice.ticket, float(choice.action == best[day]) + 0.3 * rng.normal()))
        if len(waiting) > 20:
            chooser.observe(*waiting.pop(0))
    assert right > 270
    assert chooser.report().explored < 0.5


def test_what_nobody_was_shown_teaches_nothing() -> None:
    chooser, other = lived(silence=0.0), lived(silence=0.0)
    assert chooser.report().hidden == 0
    chooser.choose({"x": 1.0}, key="hidden", shown=False)
    assert chooser.model.snapshot() == other.model.snapshot()
    assert (chooser.report().hidden, chooser.report().withdrawn) == (1, 0)
    assert "(1 not shown yet)" in str(chooser.report())
    chooser.cancel("hidden")
    assert chooser.model.snapshot() == other.model.snapshot()
    assert (chooser.report().hidden, chooser.report().withdrawn) == (0, 1)
    assert ", withdrawn 1" in str(chooser.report())
    with pytest.raises(UnknownTicket):
        chooser.shown("hidden")


def test_deadlines_count_from_when_it_was_shown() -> None:
    chooser = bl.Chooser(["a"], silence=0.0, deadline=timedelta(hours=1), bits=BITS)
    with pytest.raises(ClockError):
        chooser.choose({})
    chooser.choose({}, key="now", at=NOON)
    chooser.choose({}, key="later", at=NOON, shown=False)
    chooser.shown("later", at=NOON + timedelta(hours=2))
    assert not chooser.observe("now", 1.0, at=NOON + timedelta(hours=2))
    assert chooser.observe("later", 1.0, at=NOON + timedelta(hours=2.5))


def test_an_apprentice_plays_the_baseline_and_says_what_it_would_gain() -> None:
    chooser = bl.Chooser(["a", "b"], baseline="a", mode="apprentice", bits=BITS)
    for t in range(50):
        name = "b" if t % 5 == 0 else "a"
        choice = chooser.choose({}, baseline=name)
        assert choice[1:] == (name, 1.0)
        chooser.observe(choice.ticket, float(name == "b"))
    report = chooser.report()
    assert report.agreement is not None
    assert report.agreement < 0.5
    assert report.gain is not None
    assert report.gain > 0.3
    chooser.mode = "learn"
    assert [chooser.choose({}).action for _ in range(20)].count("b") > 15
    with pytest.raises(SpecError):
        bl.Chooser(["a"], mode="apprentice").choose({})
    with pytest.raises(SpecError):
        chooser.mode = "teach"  # type: ignore[assignment]


def test_a_rule_cannot_change_the_mode_while_it_decides() -> None:
    refused: list[BusyError] = []

    def decide(*_: Any) -> list[float]:
        try:
            chooser.mode = "apprentice"
        except BusyError as error:
            refused.append(error)
        return [0.5, 0.5]

    chooser = bl.Chooser(["a", "b"], decide=decide, bits=BITS)
    assert chooser.choose({"x": 1.0}).probability == 0.5
    assert len(refused) == 1
    assert chooser.mode == "learn"


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA, pd.NaT])
def test_names_are_crossed_wherever_others_are_missing(missing: Any) -> None:
    given = bl.Chooser(["a", "b"], interactions=["b"], bits=BITS)
    without = bl.Chooser(["a", "b"], interactions=["b"], bits=BITS)
    for t in range(10):
        row = {"b": float(t % 3), "c": 5.0}
        assert given.choose({"a": missing, **row}) == without.choose(row)
        given.observe(t, float(t % 2))
        without.observe(t, float(t % 2))
    assert given.snapshot() == without.snapshot()


def test_a_number_too_large_is_named_among_dates_and_missing_values() -> None:
    row = {"day": date(2026, 3, 1), "gone": math.nan, "size": math.inf}
    with pytest.raises(BadFeatures, match="'size'"):
        bl.Chooser(["a", "b"], bits=BITS).choose(row)


def test_the_unit_of_every_time_is_checked_before_the_first_of_many() -> None:
    late = [1.0, 3e11]  # the second in milliseconds
    chooser = bl.Chooser(["a", "b"], deadline=math.inf, bits=BITS)
    with pytest.raises(ClockError, match="choose_many: row 1"):
        chooser.choose_many([{}, {}], at=late, deadline="30d")
    assert chooser.rounds == 0
    for model in (linear := bl.LinearModel(deadline=math.inf), bl.Intervals(linear.fresh())):
        with pytest.raises(ClockError):
            model.predict_many([{}, {}], at=late, deadline="30d")
        assert model.rounds == 0


def test_an_action_that_is_new_is_tried_though_silence_speaks_against_it() -> None:
    chooser = bl.Chooser(["a", "b"], silence=0.0, bits=BITS)
    for t in range(300):
        choice = chooser.choose({})
        if t % 2:
            chooser.observe(choice.ticket, 1.0)
    new = {o.action: o.probability for o in chooser.peek({}, ["a", "b", "c", "d"])}
    assert min(new["c"], new["d"]) >= 0.05
    for t in range(2000):
        choice = chooser.choose({}, ["a", "b", "c"])
        if t % 2 and choice.action != "c":
            chooser.observe(choice.ticket, 1.0)
    tried = chooser.report().actions["c"].chosen
    assert 100 <= tried < 1000
    options = {o.action: o.probability for o in chooser.peek({}, ["a", "b", "c"])}
    assert options["c"] < 0.1


def test_a_rule_of_ones_own_decides() -> None:
    def second(values: dict[str, float], ticket: int) -> dict[str, float]:
        return {name: float(i == 1) for i, name in enumerate(values)}

    chooser = bl.Chooser(["a", "b", "c"], decide=second, bits=BITS)
    assert chooser.choose({})[1:] == ("b", 1.0)
    twin = bl.Chooser.restore(chooser.snapshot(), second)
    assert twin.choose({}) == chooser.choose({})
    for wrong in ([0.5, 0.5], [0.5, 0.6, 0.0], [1.5, -0.5, 0.0], None, {"a": 1.0}):
        bad = bl.Chooser(["a", "b", "c"], decide=lambda values, ticket, w=wrong: w, bits=BITS)  # type: ignore[misc]
        before = bad.snapshot()
        with pytest.raises(SpecError):
            bad.choose({})
        assert bad.snapshot() == before


@pytest.mark.parametrize("crossing", ["all", "none", ("x",), ()])
def test_interactions_are_those_that_were_asked_for(crossing: Any) -> None:
    chooser = bl.Chooser(["a", "b"], interactions=crossing, bits=16)
    for t in range(400):
        context = {"x": "one" if t % 2 else "two", "noise": None if t % 3 else 1.0}
        choice = chooser.choose(context)
        chooser.observe(choice.ticket, float((choice.action == "a") == (context["x"] == "one")))
    best = [chooser.peek({"x": x})[0].action for x in ("one", "two")]
    assert (best == ["a", "b"]) == (crossing in ("all", ("x",)))
    twin = bl.Chooser.restore(chooser.snapshot())
    assert twin.snapshot() == chooser.snapshot()


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_memory_is_bounded_by_max_open() -> None:
    chooser = bl.Chooser(["a", "b"], max_open=10, bits=BITS)
    for t in range(6000):
        chooser.choose({}, key=f"k{t}", shown=t % 2 == 0)
    assert chooser.open == 20
    assert (
        len(chooser._choices.open) < 2200
    )  # with those that were given up on and may still answer
    assert len(chooser.snapshot()) < 200_000
    assert chooser.report().withdrawn == 2990


# --- Games ---------------------------------------------------------------------------------------


def test_which_airport_to_leave_from() -> None:
    """Against a slow search for the nearest flight, for some of the wishes."""
    log = bl.datasets.flights()
    world = bl.datasets.departures()
    drawn = world.drawn(0)
    assert drawn.names == ["EWR", "JFK", "LGA"]
    assert (drawn.present.sum(axis=1) >= 2).all()
    assert set(np.unique(drawn.rewards)) == {0.0, 1.0}
    origin, dest = log.features["origin"], log.features["dest"]
    wishes = []
    for i in range(0, len(log), 997):
        near = np.abs(log.predicted_at - log.predicted_at[i]) <= np.timedelta64(3, "h")
        options = [np.flatnonzero(near & (origin == a) & (dest == dest[i])) for a in drawn.names]
        chosen = [_closest(log, i, each) for each in options]
        if sum(each is not None for each in chosen) > 1:
            on_time = [None if c is None else _on_time(log, c) for c in chosen]
            wishes.append((dest[i], log.features["hour"][i], on_time))
    known = [
        (c["dest"], c["hour"], [r if p else None for r, p in zip(row, there, strict=True)])
        for c, row, there in zip(drawn.contexts, drawn.rewards, drawn.present, strict=True)
    ]
    assert len(wishes) > 8
    assert all(wish in known for wish in wishes)
    heard = drawn.delays < 1 << 40
    assert 0.9 < heard.mean() < 0.95
    assert 50 < np.median(drawn.delays[heard]) < 500


def _closest(log: Any, wish: int, options: Any) -> int | None:
    gaps = np.abs(log.predicted_at[options] - log.predicted_at[wish])
    return int(options[np.argmin(gaps)]) if options.size else None


def _on_time(log: Any, flight: int) -> float:
    return float(log.answered[flight] and log.target[flight] < 15.0)


def test_a_number_that_cannot_be_used_is_named() -> None:
    chooser: Any = bl.Chooser(bits=BITS)
    bad: list[tuple[Any, Any, str]] = [
        ({"x": math.inf}, ["a"], "the context: 'x' is inf"),
        ({"x": 1e31}, ["a"], "the context: 'x' is 1e\\+31, which is too large"),
        ({}, {"a": {"z": 1.0}, "b": {"z": math.inf}}, "action 'b': 'z' is inf"),
        ({}, {"a": {"z": 1.0}, "b": {"z": -1e31}}, "action 'b': 'z' is -1e\\+31, which is too"),
        ({"x": 1e20}, {"a": {"z": 1e15}}, "action 'a' times the context: 'z'"),
    ]
    for context, actions, words in bad:
        for _ in range(2):  # the second time names are known
            with pytest.raises(BadFeatures, match=words):
                chooser.choose(context, actions)
    with pytest.raises(BadFeatures, match="action 'a': 'z' is 1e"):
        bl.Chooser({"a": {"z": 1e31}})
    fixed = bl.Chooser({"a": {"z": 1e15}}, bits=BITS)
    with pytest.raises(BadFeatures, match="action 'a' times the context"):
        fixed.choose({"x": 1e20})
    assert chooser.rounds == fixed.rounds == 0
    assert chooser.choose({"x": 1e20}, {"a": {"z": 1e5}}).ticket == 0


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_many_choices_that_a_rule_refuses_change_nothing(error: type[BaseException]) -> None:
    calls = []

    def decide(values: Any, ticket: int) -> Any:
        calls.append(ticket)
        if len(calls) == 6:
            raise error
        return [0.5, 0.5]

    chooser = bl.Chooser(["a", "b"], decide=decide, bits=BITS, silence=0.0)
    chooser.choose_many([{"x": 1.0}, {"x": 2.0}], keys=["first", None])
    chooser.observe("first", 1.0)
    before = chooser.snapshot()
    with pytest.raises(error):
        chooser.choose_many([{"x": 3.0}] * 5, keys=["new", None, "newer", None, None])
    assert chooser.snapshot() == before
    chooser.choose_many([{"x": 3.0}] * 2, keys=["new", "newer"])
    assert chooser.observe("newer", 1.0)
    assert chooser.open == 2


@pytest.mark.parametrize("silence", [None, 0.5])
def test_mean_rewards_have_the_standard_error_of_the_rewards_that_count(
    silence: float | None,
) -> None:
    rng = np.random.default_rng(0)
    chooser = bl.Chooser(["a", "b"], silence=silence)
    rewards: dict[str, list[float]] = {"a": [], "b": []}
    for _ in range(60):
        ticket, action, _ = chooser.choose({})
        if rng.random() < 0.3:  # no answer
            rewards[action] += [] if silence is None else [silence]
            continue
        if rng.random() < 0.5:
            chooser.revise(ticket, rng.normal())
        rewards[action].append(rng.normal())
        chooser.observe(ticket, rewards[action][-1])
    for name, about in chooser.report().actions.items():
        error = np.std(rewards[name], ddof=1) / math.sqrt(len(rewards[name]))
        assert about.mean_reward == pytest.approx(np.mean(rewards[name]))
        assert about.standard_error == pytest.approx(error)


def test_the_standard_error_of_large_rewards_is_exact() -> None:
    rng = np.random.default_rng(1)
    chooser, rewards = bl.Chooser(["a"]), 1.7e9 + rng.normal(size=200)
    for reward in rewards.tolist():
        chooser.observe(chooser.choose({}).ticket, reward)
    error = chooser.report().actions["a"].standard_error
    assert error == pytest.approx(np.std(rewards, ddof=1) / math.sqrt(200), rel=1e-3)
