"""Laws that every published method obeys; ``rival_laws`` has the cases and the lives."""

from __future__ import annotations

import dataclasses
import zlib
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated import delays
from belated.errors import AlreadyObserved, BadFeedback, SpecError
from belated.research.rivals import Rival
from belated.research.rivals.base import FACTS
from compositions import bad_answers, codes, constantly
from conftest import everything
from rival_games import adversaries, arena_of, regret, timelines
from rival_laws import (
    CASES,
    CHOSEN,
    COMPILED,
    ONE_OF_EACH,
    Event,
    answers,
    chart_of,
    follow,
    from_ancestor,
    from_slow,
    learner,
    life,
    rival,
    width_of,
)
from rivals_convex import RivalCase
from rivals_table import methods

every = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
chosen = pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)
one_of_each = pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[pytest.mark.slow] * (case not in ONE_OF_EACH))
        for case in CHOSEN
    ],
)
"""For laws of how a learner is handled: one case of every method and kind of answer."""
told = pytest.mark.parametrize(
    "case", [case for case in CASES if rival(case).needs], ids=lambda case: case.name
)
exploring = ("value", "pair", "arm")


def also_compiled(cases: list[RivalCase], compiled: list[RivalCase]) -> pytest.MarkDecorator:
    """Run a test for these cases; for some of them it is part of the compiled pass."""
    rows = [
        pytest.param(case, id=case.name, marks=[pytest.mark.compiled] * (case in compiled))
        for case in cases
    ]
    return pytest.mark.parametrize("case", rows)


# --- The cases -----------------------------------------------------------------------------------


def test_every_method_has_a_case() -> None:
    assert {type(case.spec) for case in CASES} == set(methods())
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_method_is_exported() -> None:
    assert set(bl.rivals.__all__) - {"Rival", "Suited", "suited"} == {
        method.__name__ for method in methods()
    }
    for method in methods():
        assert getattr(bl.rivals, method.__name__) is method
        assert method.kind == f"rivals.{method.__name__}"


# --- One method, many ways to run it -------------------------------------------------------------


@every
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_agrees_with_the_slow_version(case: RivalCase, seed: int) -> None:
    assert from_slow(case, seed) <= 1.0


@every
def test_without_delay_it_is_its_ancestor(case: RivalCase) -> None:
    assert from_ancestor(case) <= 1.0


@chosen
def test_batch_is_live_bit_for_bit(case: RivalCase) -> None:
    events, given = life(case, cancel=False), answers(case)
    live, batch = learner(case), learner(case)
    plays = follow(live, events, given.fast).plays
    if case.answer == "function":
        with pytest.raises(BadFeedback, match="gradient function"):
            batch.replay(codes(events), given.rows)
        return
    assert batch.replay(codes(events), given.rows).tobytes() == np.array(plays).tobytes()
    assert batch.snapshot() == live.snapshot()
    assert batch.report() == live.report()
    again = [event for event in codes(events).tolist() if event < 0][:1]
    with pytest.raises(AlreadyObserved, match="replay: event 0"):
        batch.replay(again, given.rows)
    assert batch.snapshot() == live.snapshot()


# --- Refusals ------------------------------------------------------------------------------------


def waiting(case: RivalCase) -> tuple[bl.Learner, int]:
    """Return a learner in the middle of its life, and the ticket that it takes next."""
    events = life(case, cancel=False)
    place = next(i for i, event in enumerate(events) if i > 50 and event[0] == "observe")
    return with_events(case, events[:place]), events[place][1]


def with_events(case: RivalCase, events: list[Event]) -> bl.Learner:
    """Return a learner that has lived through these events."""
    fast = learner(case)
    follow(fast, events, answers(case).fast)
    return fast


@one_of_each
def test_a_refused_answer_changes_nothing(case: RivalCase) -> None:
    fast, ticket = waiting(case)
    before = fast.snapshot()
    for name, answer in bad_answers(width_of(case), case.answer == "function").items():
        with pytest.raises(BadFeedback, match="observe: "):
            fast.observe(ticket, answer)
        assert fast.snapshot() == before, name
    assert fast.observe(ticket, answers(case).fast(ticket))


@one_of_each
def test_strict_refuses_what_is_otherwise_counted(case: RivalCase) -> None:
    size = getattr(case.spec, "magnitude" if case.answer == "value" else "lipschitz", 0.0)
    if case.answer not in ("gradient", "function", "value") or not size:
        pytest.skip("nothing was assumed of the size of answers")
    large = np.zeros(width_of(case))
    large[0] = 3.0 * size / (chart_of(rival(case).domain).scale[0] if large.size > 1 else 1.0)
    answer = constantly(large) if case.answer == "function" else large
    lax, strict = learner(case), learner(case, strict=True)
    for fast in (lax, strict):
        fast.predict()
    before = strict.snapshot()
    with pytest.raises(BadFeedback, match="exceeds the assumed bound"):
        strict.observe(0, answer)
    assert strict.snapshot() == before
    assert lax.observe(0, answer)
    assert (lax.report().excess, strict.report().excess) == (1, 0)


# --- Plays ---------------------------------------------------------------------------------------


@chosen
def test_plays_stay_in_the_set(case: RivalCase) -> None:
    domain = rival(case).domain
    given = answers(case)
    factor = 1.0 if case.answer == "arm" else 20.0
    wild = dataclasses.replace(given, rows=factor * given.rows)
    size = float(np.abs(np.array(domain.center)).max()) + domain.diameter
    for play in follow(learner(case), life(case), wild.fast).plays:
        for x in np.atleast_2d(play):
            assert float(np.abs(domain.project(x) - x).max()) <= 1e-12 * size  # type: ignore[attr-defined]


# --- Specs ---------------------------------------------------------------------------------------


def without(spec: Rival, *facts: str) -> Rival:
    """Return the same method, not told these facts."""
    changed: Rival = dataclasses.replace(spec, **dict.fromkeys(facts))  # type: ignore[type-var]
    return changed


def complaint(spec: Rival) -> str:
    """Return why a method does not run, or nothing if it does."""
    try:
        bl.Learner(spec)
    except SpecError as error:
        return str(error)
    return ""


@told
def test_does_not_run_without_its_facts(case: RivalCase) -> None:
    spec = rival(case)
    for fact in spec.needs:
        text = f"{fact} ({FACTS[fact]})"
        alone = complaint(without(spec, fact))
        assert alone.startswith(f"{spec.kind}: must be told {text} in advance")
        assert text in complaint(without(spec, *spec.facts()))


@told
def test_told_fills_the_facts_in(case: RivalCase) -> None:
    spec = rival(case)
    timeline = delays.constant(50, 3)
    knowing = without(spec, *spec.facts()).told(timeline)
    known = {"rounds": 50, "total_delay": timeline.total_delay, "max_delay": 3, "delay": 3}
    assert {name: getattr(knowing, name) for name in spec.facts()} == {
        name: known[name] if name in spec.needs else None for name in spec.facts()
    }
    assert bl.Learner(knowing).spec == knowing
    assert spec.told(timeline) == knowing
    with pytest.raises(SpecError, match="whole number"):
        dataclasses.replace(spec, **{spec.needs[0]: 1.5})  # type: ignore[type-var]


@pytest.mark.parametrize(
    "feedback", ["gradient", "function", "value", "two values", "k + 1 values"]
)
@pytest.mark.parametrize("domain", [bl.Ball(3), bl.Simplex(3)], ids=repr)
def test_suited_methods_play_and_know_no_more_than_was_allowed(feedback: Any, domain: Any) -> None:
    problem = bl.Problem(domain, lipschitz=1.0, curvature=0.5, magnitude=1.0, exp_concavity=0.1)
    for timeline in (delays.constant(30, 4), delays.uniform(30, low=0, high=9)):
        everything_told = bl.rivals.suited(problem, timeline, feedback=feedback)
        for facts in ((), ("rounds",), ("rounds", "total_delay")):
            found = bl.rivals.suited(problem, timeline, facts, feedback=feedback)
            allowed = [each for each in everything_told if set(each.must_know) <= set(facts)]
            assert found == allowed
        assert bool(everything_told) == (domain.kind == "Ball" or feedback in _ON_SIMPLEX)
        for _, known, spec in everything_told:
            assert (spec.needs, spec.feedback) == (known, feedback)
            assert spec.told(timeline) == spec
            learner = bl.Learner(spec)
            answer: Any = constantly(np.full(3, 0.1)) if feedback == "function" else None
            for event in timeline.events.tolist():
                if event >= 0:
                    play = learner.predict().x
                elif answer is None:
                    size = {"gradient": 3, "value": 1}.get(feedback, len(np.atleast_2d(play)))
                    learner.observe(~event, np.full(size, 0.1))
                else:
                    learner.observe(~event, answer)


_ON_SIMPLEX = ("gradient", "function", "value")


def test_suited_methods_have_the_constants_they_need() -> None:
    timeline = delays.constant(50, 3)
    plain, curved = bl.Problem(bl.Ball(2), 1.0), bl.Problem(bl.Ball(2), 1.0, 0.5)
    names = {each.name for each in bl.rivals.suited(curved, timeline)}
    added = names - {each.name for each in bl.rivals.suited(plain, timeline)}
    assert {"DOGD-SC", "Qiu-Esposito-Zhang", "Hazan-Agarwal-Kale"} <= added
    assert not bl.rivals.suited(plain, timeline, feedback="value")
    disordered = bl.Timeline.from_delays([2, 0, 0, 0])
    late = {each.name for each in bl.rivals.suited(plain, disordered)}
    assert "Langford-Smola-Zinkevich" not in late
    wrong: Any = bl.rivals.suited
    with pytest.raises(SpecError, match=r"facts are rounds, .*, got 'speed'"):
        wrong(plain, timeline, ("speed",))
    with pytest.raises(SpecError, match="takes a Problem and a Timeline"):
        wrong(bl.Ball(2), timeline)


# --- Memory --------------------------------------------------------------------------------------


@every
def test_memory_is_what_the_table_says(case: RivalCase) -> None:
    """Where nothing is kept, an open ticket costs a few numbers, whatever the dimension."""
    state = learner(case)._player.state()
    if rival(case).memory == "none":
        assert state.pop("tickets.records").shape[1] <= 2
        size = sum(np.size(value) for name, value in state.items() if "tickets." not in name)
        assert size <= 6 * rival(case).domain.dim + 16


# --- Guarantees ----------------------------------------------------------------------------------

GAME = 90
SEEDS = 6


def guaranteed(case: RivalCase) -> dict[str, tuple[Rival, bl.Timeline, float]]:
    """Return by pattern: the method told the facts, the delays, and its published bound.

    Where there are many patterns and not all is asked for, every method has a third of them.
    """
    found = {}
    patterns = timelines(case, GAME)
    few = len(patterns) > 3 and not everything()
    for place, (name, timeline) in enumerate(patterns.items(), zlib.crc32(case.name.encode())):
        if few and place % 3:
            continue
        spec = rival(case).told(timeline)
        bound = spec.bound(timeline)
        if bound is not None:
            assert bound.total >= 0.0
            assert bound.name.startswith(spec.title)
            found[name] = spec, timeline, bound.total
    return found


@pytest.mark.needs_compiler
@also_compiled(CHOSEN, COMPILED)
def test_the_published_guarantee_holds(case: RivalCase) -> None:
    """Against the best fixed play in hindsight; in expectation where the method draws."""
    bounds = guaranteed(case)
    if not bounds:
        pytest.skip("no constants are known")
    for pattern, (spec, timeline, total) in bounds.items():
        for game in adversaries(arena_of(case), case):
            lost = [
                regret(spec, case, timeline, adversaries(arena_of(case), case)[game], seed)
                for seed in range(SEEDS if case.answer in exploring else 1)
            ]
            spread = 3.0 * float(np.std(lost, ddof=1)) / len(lost) ** 0.5 if len(lost) > 1 else 0.0
            assert float(np.mean(lost)) + spread <= total * (1.0 + 1e-9), (pattern, game)
