"""Whole games against slow ones, against loops by hand, and against the theorems."""

from __future__ import annotations

import functools
import itertools
import json
import math
import random
import signal
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated.core import COMPILED
from belated.domains import Domain
from belated.problem import BaseName, Feedback
from belated.reductions import LearnerSpec
from belated.research.core import game as core_game
from belated.research.game import single
from belated.research.game.allowed import bound_of
from belated.research.game.run import Run
from belated.research.losses import Loss
from belated.research.rivals import (
    BOLD,
    SOLID,
    AdaHedgeD,
    DelayedDualAveraging,
    DOGDSCManyPoint,
    LangfordSmolaZinkevich,
    QuanrudKhashabi,
)
from compositions import ALL, COMPOSITIONS, KINDS, Composition
from conftest import INTERPRETED, shortened
from interrupts import without_collector
from naive_game import (
    FAMILIES,
    SOURCES,
    Array,
    SlowGame,
    SlowLosses,
    SourceName,
    Told,
    fast_losses,
    play_by_hand,
    play_slowly,
)
from naive_losses import Family

ROUNDS = 60
SEED = 5
# Without types, as some of what follows is wrong on purpose.
wrong: Any = bl


def delays_of(rounds: int = ROUNDS, seed: int = 0) -> list[int]:
    """Short and long delays, out of order, and some that never end."""
    draw = random.Random(seed)
    return [draw.choice([0, 0, 1, 2, 3, 5, 9, 20, 35, rounds]) for _ in range(rounds)]


# --- Every kind of game --------------------------------------------------------------------------


class Case(NamedTuple):
    """A learner in a game."""

    composition: Composition
    family: Family
    source: SourceName

    @property
    def name(self) -> str:
        return f"{self.composition.name}-{self.family}-{self.source}"

    @property
    def dim(self) -> int:
        return self.composition.row.dim

    def game(self) -> bl.Game:
        """The game, with more given rounds than are played."""
        losses = fast_losses(self.family, self.source, self.dim, ROUNDS + 3)
        return bl.Game(losses, bl.Timeline.from_delays(delays_of()))

    def play(self, **words: Any) -> Run:
        return bl.play(self.composition.spec(), self.game(), SEED, **words)

    def slowly(self) -> SlowGame:
        """The game played by the slow learner."""
        losses = SlowLosses(self.family, self.source, self.dim, ROUNDS + 3)
        learner = self.composition.reference(SEED)
        return play_slowly(learner, self.composition.answer, losses, delays_of())

    def parts(self) -> dict[str, str]:
        row = self.composition.row
        return {
            "family": self.family,
            "source": self.source,
            "reduction": row.reduction,
            "base": row.base,
            "set": KINDS.get(row.set, "user"),
            "wrapper": row.wrapper or ("skip" if row.skip else ""),
        }


def is_playable(composition: Composition, family: str, source: str) -> bool:
    """Tell whether a learner can meet such losses."""
    if source == "adaptive":
        return family == "linear" and composition.answer != "function"
    return True


def pairs_of(case: Case) -> set[Any]:
    """The pairs of parts that a case brings together."""
    return set(itertools.combinations(case.parts().items(), 2))


def parts_of(case: Case) -> set[Any]:
    """The parts of a case themselves."""
    return set(case.parts().items())


def options_of(*compositions: Composition) -> list[Case]:
    """All games that these learners can play."""
    everything = itertools.product(compositions, SOURCES, FAMILIES)
    return [
        Case(composition, family, source)
        for composition, source, family in everything
        if is_playable(composition, family, source)
    ]


def cover(groups: Iterable[list[Case]], news_of: Callable[[Case], set[Any]]) -> list[Case]:
    """Choose a game from every group, the one with most news, as long as there are any."""
    cases: list[Case] = []
    known: set[Any] = set()
    for options in groups:
        case = max(options, key=lambda case: len(news_of(case) - known))
        cases += [case] if news_of(case) - known else []
        known |= news_of(case)
    return cases


OURS = [composition for composition in ALL if not composition.has_user_code]
THEIRS = [composition for composition in ALL if composition.has_user_code]
FEW = cover([options_of(*(c for c in OURS if c.row.dim > 1))] * 9, parts_of)
"""Every part once; compiling is slow."""
MANY = cover([*map(options_of, OURS), *[options_of(*OURS)] * 40], pairs_of)
"""Every pair of parts once."""


# --- Slow games and games by hand ----------------------------------------------------------------


def test_the_cases_bring_all_parts_and_pairs_together() -> None:
    options = options_of(*OURS)
    assert set().union(*map(parts_of, FEW)) == set().union(*map(parts_of, options))
    assert set().union(*map(pairs_of, MANY)) == set().union(*map(pairs_of, options))


@pytest.fixture
def learners(monkeypatch: pytest.MonkeyPatch) -> list[bl.Learner]:
    """A list to which every game adds its learner."""
    seen: list[bl.Learner] = []

    def spy(*arguments: Any) -> bl.Learner:
        seen.append(bl.Learner(*arguments))
        return seen[-1]

    monkeypatch.setattr(single, "Learner", spy)
    return seen


def state_of(learner: bl.Learner, columns: int) -> dict[str, Any]:
    """What a learner knows, with so many numbers per ticket: a game keeps answers behind them."""
    state = learner._player.state()
    state["tickets.records"] = state["tickets.records"][:, :columns]
    return {
        name: value.tobytes() if isinstance(value, np.ndarray) else value
        for name, value in state.items()
    }


def bits(recorded: Array | None) -> bytes:
    """All bits of an array that was recorded."""
    assert recorded is not None
    return recorded.tobytes()


def assert_played_by_hand(
    run: Run, spec: LearnerSpec, told: Any, learners: list[bl.Learner]
) -> None:
    """Check that plays, losses and the learner at the end are those of a loop by hand."""
    hand = play_by_hand(spec, told, run.game.losses, run.timeline, run.seed)
    assert bits(run.plays) == bits(np.array(hand.plays))
    assert bits(run.losses) == bits(np.array(hand.met))
    assert run.report == hand.learner.report()
    columns = hand.learner._player.tickets.width
    for learner in learners:
        assert state_of(learner, columns) == state_of(hand.learner, columns)


def close(terms: Iterable[Any]) -> Any:
    """The sum of terms, up to rounding."""
    values = np.array(list(terms))
    return pytest.approx(math.fsum(values), rel=0.0, abs=1e-9 * float(np.abs(values).sum()) + 1e-12)


def assert_sums_of(run: Run, slow: SlowGame) -> None:
    """Check all sums against those of complete lists."""
    assert run.plays is not None
    size = 1.0 + float(np.abs(slow.plays).max())
    shape = (ROUNDS, -1, slow.losses.dim)
    np.testing.assert_allclose(run.plays.reshape(shape), slow.plays, rtol=0.0, atol=1e-8 * size)
    assert run.loss == close(slow.met)
    for mark, loss in zip(run.checkpoints, run.loss_curve, strict=True):
        assert loss == close(slow.met[:mark])
    if run.linear is not None:
        assert run.linear.played == close(slow.linear_terms())
        np.testing.assert_allclose(run.linear.gradients, np.sum(slow.gradients, axis=0), rtol=1e-8)
    if run.base is not None:
        assert run.base.played == close(slow.stale_terms())
        assert run.undelayed_loss == close(slow.prompt_terms())
        largest = float(np.abs([arrival.cost for arrival in slow.arrivals]).sum())
        np.testing.assert_allclose(run.base.gradients, slow.costs(), rtol=0.0, atol=1e-9 * largest)
    if run.vectors is not None:
        wanted = [slow.vectors(mark) for mark in [*run.checkpoints, ROUNDS]]
        np.testing.assert_allclose(run.vectors, wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("case", MANY if INTERPRETED else FEW, ids=lambda case: case.name)
def test_a_game_is_the_slow_game(case: Case) -> None:
    run = case.play(record="plays", checkpoints=7)
    assert_sums_of(run, case.slowly())
    assert (run.linear is None) == (case.composition.answer == "pair")
    assert (run.base is None) == (case.composition.answer == "function")
    assert (run.vectors is None) == (case.source != "adaptive")


@pytest.mark.parametrize("case", FEW[:3], ids=lambda case: case.name)
@given(st.lists(st.none() | st.integers(0, 80), min_size=1, max_size=ROUNDS), st.booleans())
@settings(max_examples=15)
def test_any_log_is_a_loop_by_hand(case: Case, waits: list[int | None], ties: bool) -> None:
    """Clock times: several events at once, answers after the last prediction, lost ones."""
    predicted = [t // 3 for t in range(len(waits))]
    observed = [None if wait is None else t // 3 + wait / 4 for t, wait in enumerate(waits)]
    timeline = bl.Timeline.from_intervals(
        predicted, observed, "observe-first" if ties else "predict-first"
    )
    spec = case.composition.spec()
    run = bl.play(spec, bl.Game(case.game().losses, timeline), SEED, record="plays")
    assert_played_by_hand(run, spec, case.composition.answer, [])


@pytest.mark.parametrize(
    "case",
    cover(map(options_of, THEIRS if INTERPRETED else THEIRS[:1]), pairs_of),
    ids=lambda case: case.name,
)
def test_a_game_with_a_users_base_or_set_is_the_slow_game(
    case: Case, learners: list[bl.Learner]
) -> None:
    run = case.play(record="plays", checkpoints=7)
    assert_sums_of(run, case.slowly())
    assert_played_by_hand(run, case.composition.spec(), case.composition.answer, learners)
    whole_losses, own_base = case.composition.answer == "function", not case.composition.row.rate
    assert (run.base is None) == (whole_losses or own_base)


class RivalGame(NamedTuple):
    """A published method in a game."""

    spec: LearnerSpec
    told: Told
    family: Family = "quadratic"
    delays: tuple[int, ...] = tuple(delays_of())

    def game(self) -> bl.Game:
        dim = cast(Any, self.spec).domain.dim
        rounds = len(self.delays)
        losses = fast_losses(self.family, "random", dim, rounds)
        return bl.Game(losses, bl.Timeline.from_delays(self.delays))


BALL = bl.Ball(3, 1.5)
RIVALS = {
    "sums per round": RivalGame(QuanrudKhashabi(BALL, 2.0, ROUNDS, 200), "gradient"),
    "best so far": RivalGame(DelayedDualAveraging(bl.Box([1, -2], [9, 0]), 2.0), "gradient"),
    "whole losses": RivalGame(SOLID(BALL, 2.0, ROUNDS, 200, "function"), "function"),
    "many values": RivalGame(DOGDSCManyPoint(BALL, 0.7, 2.0, ROUNDS), "values"),
    "copies": RivalGame(
        BOLD(bl.TwoPoint(bl.PFTRL(BALL, bl.rates.DelayAdaptive(2.0)))), "pair", "absolute"
    ),
    "answers held back": RivalGame(AdaHedgeD(4), "gradient", "linear", (149, *[0] * 149)),
}


@pytest.mark.parametrize("name", RIVALS if INTERPRETED else ["many values"])
def test_a_rivals_game_is_a_loop_by_hand(
    name: str, learners: list[bl.Learner], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single, "_most_open", lambda *arguments: 0)
    rival = RIVALS[name]
    run = bl.play(rival.spec, rival.game(), SEED, record="plays")
    assert_played_by_hand(run, rival.spec, rival.told, learners)
    assert run.base is None
    with pytest.raises(bl.errors.SpecError, match="our own"):
        _ = run.drift


@pytest.mark.skipif(not INTERPRETED, reason="compiling is slow, and refusals are in Python")
def test_a_rival_refuses_what_it_cannot_use() -> None:
    spec = LangfordSmolaZinkevich(bl.Ball(2), 2.0, delay=1)
    losses = bl.losses.Linear(bl.losses.Random(2))
    with pytest.raises(
        bl.errors.BadFeedback, match=r"play: rivals.LangfordSmola.*; ticket 1 is not"
    ):
        bl.play(spec, bl.Game(losses, bl.Timeline.from_delays([2, 0, 0, 0])))
    late = bl.rivals.WeinbergerOrdentlich(
        bl.FirstOrder(bl.OMD(bl.Ball(2), bl.rates.Constant(0.1))), delay=1
    )
    with pytest.raises(
        bl.errors.BadFeedback, match=r"play: rivals.Weinberger.* cannot predict before"
    ):
        bl.play(late, bl.Game(losses, bl.delays.constant(9, 3)))
    rule = bl.delays.ByRule(lambda t, x: int(20 * (1 - x[0])), 60)
    with pytest.raises(bl.errors.BadFeedback, match=r"told; ticket \d is not the one"):
        bl.play(spec, bl.Game(losses, rule))


def late_by(t: int, x: Array) -> int:
    """From 2 to 40 rounds, later along one direction."""
    return 2 + int(38 * (1.0 + x @ LEAN / np.linalg.norm(LEAN)) / 2.0)


def wandering(rounds: int = 400, **words: Any) -> Run:
    """A game whose delays depend on the plays."""
    rule = bl.delays.ByRule(late_by, rounds)
    game = bl.Game(bl.losses.Linear(bl.losses.Random(3, seed=2)), rule)
    return bl.play(game.problem(bl.Ball(3)).learner("gradient"), game, **words)


LEAN = np.array([1.0, 2.0, -1.0])


# --- The theorems --------------------------------------------------------------------------------


class Setting(NamedTuple):
    """Losses on a set, and a learner that a corollary covers."""

    losses: Loss
    domain: Domain
    choice: dict[str, Any]
    convex: bool = False

    def play(self, timeline: bl.Timeline, **words: Any) -> Run:
        """Play with the learner that fits."""
        game = bl.Game(self.losses, timeline)
        problem = game.problem(self.domain, convex=self.convex)
        return bl.play(problem.learner(**self.choice), game, SEED, **words)


UNEVEN = bl.Box([-3.0, 4.0], [-1.0, 5.0])
SETTINGS = {
    "linear": Setting(
        bl.losses.Linear(bl.losses.Random(3, seed=2)), bl.Ball(3), {"feedback": "gradient"}
    ),
    "adaptive": Setting(
        bl.losses.Linear(bl.losses.Adaptive(2)),
        bl.Ball(2, 0.75, (1.0, 4.0)),
        {"feedback": "gradient", "rate": "gradient"},
    ),
    "curved": Setting(
        bl.losses.Quadratic(bl.losses.Random(2, 5.0, seed=4), 0.5),
        UNEVEN,
        {"feedback": "gradient", "base": "pftrl"},
    ),
    "led": Setting(
        bl.losses.Quadratic(bl.losses.Random(2, 5.0, seed=4), 0.5),
        UNEVEN,
        {"feedback": "gradient"},
    ),
    "whole losses, skipping": Setting(
        bl.losses.Quadratic(bl.losses.Random(2, 5.0, seed=4), 0.5),
        UNEVEN,
        {"feedback": "function", "skip": True, "rate": "tight"},
        convex=True,
    ),
}
HORIZON = shortened(300)
every_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
every_pattern = pytest.mark.parametrize("pattern", bl.delays.PATTERNS)


@every_setting
@every_pattern
def test_regret_is_what_the_theorems_allow(setting: Setting, pattern: str) -> None:
    run = setting.play(bl.delays.PATTERNS[pattern](HORIZON, 1))
    assert run.bound is not None
    assert run.report.excess == 0
    assert run.regret <= run.bound.total
    assert run.regret <= run.linear_regret + 1e-9 * HORIZON
    assert run.regret == pytest.approx(run.regret_against(run.best.x), abs=1e-9 * HORIZON)


def gradients(run: Run) -> Array:
    """The gradients at the plays, one row per round."""
    assert run.plays is not None
    losses = run.game.losses
    if losses.is_adaptive:
        return np.asarray(run.plays / np.linalg.norm(run.plays, axis=1, keepdims=True))
    rows = losses.rows(0, run.rounds)[0]
    return rows if isinstance(losses, bl.losses.Linear) else 0.5 * (run.plays - rows)


@pytest.mark.parametrize("name", ["linear", "adaptive", "curved"])
@every_pattern
def test_regret_without_delay_and_drift_make_up_the_linear_regret(name: str, pattern: str) -> None:
    timeline = bl.delays.PATTERNS[pattern](HORIZON, 1)
    run = SETTINGS[name].play(timeline, record="plays")
    assert run.plays is not None
    paid = (gradients(run) * (run.plays - run.best.x)).sum(axis=1)
    assert run.linear_regret == close(paid)
    assert run.undelayed_regret + run.drift == close(paid[timeline.observed])
    if timeline.total_delay == 0:
        assert run.drift == 0.0


@pytest.mark.parametrize("name", ["linear", "adaptive", "curved"])
def test_drift_is_below_the_sum_of_theorem_4_1(name: str) -> None:
    found = 0
    for pattern in bl.delays.PATTERNS.values():
        run = SETTINGS[name].play(pattern(HORIZON, 1))
        certificate = run.report.certificate
        if certificate is not None:
            found += 1
            assert run.drift <= certificate.delay + 1e-9
            assert run.regret <= certificate.total
    assert found >= 3


# --- Curves and records --------------------------------------------------------------------------


def steady(rounds: int = 1000, dim: int = 3, **words: Any) -> Run:
    game = bl.Game(
        bl.losses.Linear(bl.losses.Random(dim, seed=2)),
        bl.delays.geometric(rounds, mean=10.0, seed=1),
        name="steady",
    )
    return bl.play(game.problem(bl.Ball(dim)).learner("gradient"), game, **words)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (0, []),
        (4, [25, 50, 75, 100]),
        (10**9, range(1, 101)),
        (np.zeros(0), []),
        ([3, 1, 2, 2], [1, 2, 3]),
        (range(98, 101), [98, 99, 100]),
        (np.array([7, 9], dtype=np.uint8), [7, 9]),
    ],
)
def test_checkpoints(given: Any, wanted: Iterable[int]) -> None:
    run = steady(100, checkpoints=given)
    assert run.checkpoints.tolist() == list(wanted)
    assert run.loss_curve.shape == run.checkpoints.shape


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("record", ["totals", pytest.param("detail", marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_rounds_times_dimension(record: str) -> None:
    rounds, dim = 60_000, 50
    game = bl.Game(bl.losses.Linear(bl.losses.Random(dim)), bl.delays.constant(rounds, 20))
    spec = game.problem(bl.Ball(dim)).learner("gradient")
    _ = game.timeline.events  # type: ignore[union-attr]  # the timeline's own
    steady(record=record)  # compiled before
    tracemalloc.start()
    try:
        run = bl.play(spec, game, record=cast(Any, record))
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert run.rounds == rounds
    assert kept < 1_000_000
    assert peak < 8 * rounds * dim / 3


# --- Delays that depend on the plays -------------------------------------------------------------


def test_delays_by_play() -> None:
    run = wandering(record="plays")
    assert run.plays is not None
    wanted = np.array([late_by(t, x) for t, x in enumerate(run.plays)])
    came = run.timeline.observed
    np.testing.assert_array_equal(run.timeline.delay[came], wanted[came])
    np.testing.assert_array_equal(came, np.arange(400) + wanted < 400)
    assert len(set(wanted)) > 5
    assert run.delays_depend_on_plays
    assert run.bound is not None
    assert run.bound == bound_of(run.spec, run.timeline)
    assert run.to_dict()["bound"] == run.bound.total
    assert f"{run.bound.name} allows" in str(run)
    assert run.bound_note == ""


def test_the_timeline_that_came_about_replays_the_game() -> None:
    run = wandering(record="plays")
    game = bl.Game(run.game.losses, run.timeline)
    again = bl.play(run.spec, game, run.seed, record="plays")
    assert bits(again.plays) == bits(run.plays)
    assert again.report == run.report
    assert again.bound == run.bound
    assert not again.delays_depend_on_plays


def chased(domain: bl.domains.Domain, curvature: float, rounds: int, seed: int) -> bl.Game:
    """Answers take longer, the more a play helps: whoever delays them knows the losses."""
    rng = np.random.default_rng(seed)
    vectors = rng.uniform(-1.0, 1.0, (rounds, domain.dim))
    losses = bl.losses.Quadratic(vectors, curvature) if curvature else bl.losses.Linear(vectors)

    def rule(t: int, x: Array) -> int | None:
        gain = float(vectors[min(t + 1, rounds - 1)] @ np.atleast_2d(x)[0])
        return None if gain < -1.2 else int(30 * max(0.0, 0.5 - gain))

    return bl.Game(losses, bl.delays.ByRule(rule, rounds))


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("curvature", [0.0, 0.5])
@pytest.mark.parametrize("base", [None, "pftrl", "omd"])
def test_bounds_hold_where_plays_choose_the_delays(
    base: BaseName | None, curvature: float, skip: bool
) -> None:
    for domain, seed in ((bl.Ball(2), 1), (bl.Box(-1.0, 1.0, dim=2), 2), (bl.Simplex(2), 3)):
        game = chased(domain, curvature, 150, seed)
        run = bl.play(game.problem(domain).learner("gradient", base, skip), game)
        assert run.delays_depend_on_plays
        assert len(set(run.timeline.delay.tolist())) > 5
        assert run.bound is not None
        assert run.regret <= run.bound.total
        assert run.bound_note == ""


@pytest.mark.parametrize("feedback", ["value", "two-values"])
@pytest.mark.parametrize("skip", [False, True])
def test_no_bound_on_values_where_plays_choose_the_delays(feedback: Feedback, skip: bool) -> None:
    ball = bl.Ball(2)
    game = chased(ball, 0.0, 60, 4)
    run = bl.play(game.problem(ball).learner(feedback, skip=skip), game)
    assert run.bound is None
    assert run.to_dict()["bound"] is None
    assert run.bound_note.startswith("no theorem: for values the guarantee is a mean over")
    assert run.bound_note in str(run)


def test_no_published_bound_where_plays_choose_the_delays() -> None:
    ball = bl.Ball(2)
    spec = DelayedDualAveraging(ball, lipschitz=2.0)
    run = bl.play(spec, chased(ball, 0.0, 60, 5))
    assert run.bound is None
    assert "for delays that are fixed before the game" in run.bound_note
    fixed = bl.Game(run.game.losses, run.timeline)
    assert bl.play(run.spec, fixed).bound is not None


# --- Paths ---------------------------------------------------------------------------------------


def test_dynamic_regret_is_against_a_path() -> None:
    game = bl.Game(bl.losses.Absolute(bl.losses.Drifting(3, 40)), bl.delays.constant(60, 3))
    run = bl.play(game.problem(bl.Ball(3)).learner("gradient"), game, record="plays")
    path = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 3))
    paid = math.fsum(game.losses.value(t, u) for t, u in enumerate(path))
    assert run.dynamic_regret(path) == pytest.approx(run.loss - paid, rel=1e-12)
    assert run.dynamic_regret(np.tile(path[0], (60, 1))) == run.regret_against(path[0])
    custom = bl.losses.Custom(3, game.losses.value, game.losses.gradient)
    assert custom.along(path) == game.losses.along(path)
    for wrong_path in (path[:50], path[:, :2], path.tolist()[0]):
        with pytest.raises(bl.errors.SpecError, match="a path has shape"):
            run.dynamic_regret(wrong_path)
    with pytest.raises(bl.errors.SpecError, match=r"a path has a row of 3 finite numbers"):
        game.losses.along(path + np.inf)
    with pytest.raises(bl.errors.SpecError, match="adaptive"):
        bl.losses.Linear(bl.losses.Adaptive(3)).along(path)
    with pytest.raises(bl.errors.SpecError, match="has 2 rounds, got a path of=3"):
        bl.losses.Linear([[1.0], [2.0]]).along([[0.0]] * 3)


@pytest.mark.parametrize("feedback", ["gradient", "two-values"])
def test_movement_is_the_length_of_the_path_of_plays(feedback: Any) -> None:
    game = bl.Game(bl.losses.Linear(bl.losses.Random(2)), bl.delays.constant(50, 3))
    spec = game.problem(bl.Ball(2)).learner(feedback)
    run = bl.play(spec, game, record="plays")
    assert run.plays is not None
    points = run.plays.reshape(50, -1, 2)
    moved = [
        math.dist(points[t, j], points[t - 1, j])
        for t in range(1, 50)
        for j in range(len(points[0]))
    ]
    assert run.movement == pytest.approx(math.fsum(moved) / len(points[0]), rel=1e-12)
    with pytest.raises(bl.errors.SpecError, match="record='plays'"):
        _ = bl.play(spec, game).movement


# --- Signals and threads -------------------------------------------------------------------------


def test_a_game_refuses_calls_while_it_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    tables: list[Any] = []
    make: Any = core_game.Game

    def spy(*arguments: Any) -> Any:
        tables.append(make(*arguments))
        return tables[-1]

    def meddle(t: int, x: Array) -> int:
        if t == 3:
            for call in (lambda: tables[0].play_timeline(np.zeros(1, dtype=np.int64)), again):
                with pytest.raises(bl.errors.BusyError, match="play: another call is at work here"):
                    call()
        return 1

    def again() -> None:
        tables[0].play_by_rule(core_game.ByRule(5, meddle, (2,)))

    monkeypatch.setattr(core_game, "Game", spy)
    run = bl.play(PLAIN, bl.Game(SMALL.losses, bl.delays.ByRule(meddle, 10)))
    assert run.loss == bl.play(PLAIN, SMALL).loss
    assert not tables[0].is_running


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms")
@without_collector()
def test_a_long_game_can_be_interrupted() -> None:
    rounds = 2_000_000 if COMPILED else 20_000
    timeline = bl.delays.constant(rounds, 1)
    game = bl.Game(SMALL.losses, timeline)
    assert timeline.events.size == 2 * rounds

    def ring(*arguments: Any) -> None:
        raise InterruptedError("enough")

    def play() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        bl.play(PLAIN, game, record="totals")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(InterruptedError, match="enough"):
            play()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


# --- Errors --------------------------------------------------------------------------------------

PLAIN = bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.DelayAdaptive(1.0)))
SMALL = bl.Game(bl.losses.Linear(bl.losses.Random(2)), bl.delays.constant(10, 1))
ADVERSE = bl.Game(bl.losses.Linear(bl.losses.Adaptive(2)), SMALL.timeline)


def of_two(value: Any = 0.0, gradient: Any = (0.0, 0.0)) -> bl.Game:
    """A game of a user's losses that always give the same."""
    losses = bl.losses.Custom(2, lambda t, x: value, lambda t, x: gradient)
    return bl.Game(losses, bl.delays.constant(10, 1))


def by_rule(delay: Any) -> bl.Game:
    """A game with a rule that always gives the same."""
    return bl.Game(SMALL.losses, bl.delays.ByRule(lambda t, x: delay, 10))


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: wrong.play(PLAIN, SMALL.timeline), "play: game must be a Game, got Timeline"),
    (lambda: wrong.play(PLAIN.base, SMALL), "Learner: needs FirstOrder"),
    (
        lambda: bl.play(SETTINGS["linear"].play(bl.delays.constant(3, 0)).spec, SMALL),
        "play: FirstOrder plays 3 coordinates, the losses have 2",
    ),
    (
        lambda: wrong.play(PLAIN, SMALL, record="all"),
        "play: record is one of 'totals', 'detail', 'plays', got 'all'",
    ),
    (lambda: wrong.play(PLAIN, SMALL, 1.5), "play: seed must be a whole number or None, got 1.5"),
    (lambda: wrong.play(PLAIN, SMALL, -1), "play: seed must be from 0 to"),
    (lambda: bl.play(PLAIN, SMALL, checkpoints=1.5), "play: checkpoints are a whole number"),
    (lambda: bl.play(PLAIN, SMALL, checkpoints=-1), "play: checkpoints must not be negative"),
    (lambda: bl.play(PLAIN, SMALL, checkpoints=[0, 1]), "checkpoints lie from 1 to .*, 10"),
    (
        lambda: bl.play(bl.FullInformation(PLAIN.base), ADVERSE),
        "play: FullInformation is shown whole losses, which .*Adaptive.* has not",
    ),
    (
        lambda: bl.play(QuanrudKhashabi(bl.Ball(2), 1.0), SMALL),
        r"rivals.QuanrudKhashabi: must be told rounds \(T.*\) and total_delay",
    ),
    (lambda: wrong.Game(SMALL.timeline, SMALL.timeline), "Game: losses must come from"),
    (lambda: wrong.Game(SMALL.losses, [1, 2]), "Game: timeline must be a Timeline or delays"),
    (
        lambda: bl.Game(bl.losses.Linear(np.ones((9, 2))), SMALL.timeline),
        "Game: 10 rounds, but losses for 9 only",
    ),
    (lambda: of_two().problem(bl.Ball(2)), "losses.Custom did not say its lipschitz"),
    (lambda: bl.play(PLAIN, SMALL).regret_against([1.0]), "a comparator has 2 numbers"),
    (lambda: bl.play(PLAIN, SMALL).regret_curve_against(0.0), r"2 numbers, got shape \(\)"),
    (
        lambda: bl.play(PLAIN, of_two(math.nan)),
        r"losses.Custom: value\(0, x\) must be finite, got nan",
    ),
    (lambda: bl.play(PLAIN, of_two("a")), r"losses.Custom: value\(0, x\) must be a number"),
    (
        lambda: bl.play(PLAIN, of_two(gradient=[1.0])),
        r"losses.Custom: gradient\(0, x\) must return a vector of 2 numbers, got shape \(1,\)",
    ),
    (
        lambda: bl.play(PLAIN, of_two(gradient=[1.0, math.inf])),
        r"losses.Custom: gradient\(0, x\) must return finite numbers",
    ),
    *(
        (
            functools.partial(lambda delay: bl.play(PLAIN, by_rule(delay)), delay),
            f"ByRule: the delay of round 0 must be a whole number .* got {delay!r}",
        )
        for delay in (-1, 1.5, True, "3")
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refusals(make: Callable[[], object], message: str) -> None:
    with pytest.raises((bl.errors.SpecError, bl.errors.TimelineError), match=message):
        make()


# --- Small things --------------------------------------------------------------------------------


def test_a_run_in_words_and_as_a_row() -> None:
    run = steady()
    assert run.bound is not None
    text = str(run)
    assert f"Portfolio's guarantee allows {run.bound.total:,.6g}" in text
    assert "without delay" in text
    row = json.loads(json.dumps(run.to_dict()))
    assert row["learner"] == repr(run.spec)
    assert (row["game"], row["seed"], row["rounds"]) == ("steady", 0, 1000)
    assert row["regret"] == run.regret
    assert row["bound"] == run.bound.total
    assert row["undelayed_regret"] + row["drift"] == pytest.approx(row["linear_regret"], abs=1.0)
    short = steady(20)
    assert "which is vacuous" in str(short)
    patient = SETTINGS["whole losses, skipping"].play(bl.delays.constant(20, 1))
    assert "Corollary 6.2 over Corollary 5.3 with the tight rate" in str(patient)
    assert run != steady()
    assert run == run


def test_bounds_belong_to_the_very_learner() -> None:
    game = SMALL
    problem = game.problem(bl.Ball(2))
    for words in (
        {"feedback": "gradient"},
        {"feedback": "gradient", "base": "omd"},
        {"feedback": "gradient", "rate": "tight", "skip": True},
        {"feedback": "function", "rate": "gradient"},
        {"feedback": "value"},
        {"feedback": "two-values", "skip": True},
        {"feedback": "gradient", "base": "pftrl", "deadline": 3, "forget": 2},
        {"feedback": "gradient", "deadline": 3},
        {"feedback": "value", "deadline": 0},
    ):
        found = bound_of(problem.learner(**cast(Any, words)), cast(Any, game.timeline))
        assert found == problem.bound(cast(Any, game.timeline), **cast(Any, words))
    ball = bl.Ball(2)
    simplex = bl.Simplex(2, floor=0.1)
    for spec in (
        bl.FirstOrder(bl.PFTRL(ball, bl.rates.Constant(0.1, 1.0))),
        bl.FirstOrder(bl.PFTRL(ball, bl.rates.GradientAdaptive())),
        bl.FirstOrder(bl.OMD(simplex, bl.rates.DelayAdaptive(1.0), "entropy")),
        bl.Skip(bl.TwoPoint(bl.PFTRL(ball, bl.rates.StronglyConvex(0.5, 1.0)))),
        bl.Deadline(bl.FirstOrder(bl.PFTRL(ball, bl.rates.Constant(0.1, 1.0))), 3),
        bl.TwoPoint(bl.OMD(ball, bl.rates.DelayAdaptive(1.0))),
        bl.OnePoint(bl.PFTRL(ball, bl.rates.DelayAdaptive(1.0)), 1.0, bl.smoothing.InverseRoot()),
        COMPOSITIONS["first-adagrad-3"].spec(),
    ):
        assert bound_of(spec, cast(Any, game.timeline)) is None
    told = QuanrudKhashabi(ball, 1.0).told(cast(Any, SMALL.timeline))
    assert bound_of(told, cast(Any, SMALL.timeline)) == told.bound(cast(Any, SMALL.timeline))
