"""Whole games against loops by hand, rivals, other libraries, two cores, and a budget of memory.

Losses are |x - a_t|^2 / 2 on the unit ball, in dimension 10 unless said otherwise, a_t being given
unit vectors, and for methods that play probabilities <a_t, x> with entries in [0, 1]. A figure
without a target is there to be known.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

import belated as bl
from belated.reductions import LearnerSpec
from belated.research.rivals.base import FACTS, Rival
from belated.research.rivals.choice import methods
from benchmarks import floors, game_floors, peers
from benchmarks.timing import Result, compared, interleaved, summarised

Floats = NDArray[np.float64]
Work = Callable[[], object]
Record = Literal["totals", "detail"]

NO_TARGET = math.inf

DIM = 10
BALL = bl.Ball(DIM)
LIPSCHITZ = MAGNITUDE = 2.0  # of |x - a|^2 / 2 for x and a in the unit ball
CURVATURE = 1.0
RATE = bl.rates.DelayAdaptive(LIPSCHITZ)
FIRST_ORDER = bl.FirstOrder(bl.PFTRL(BALL, RATE))
FULL_INFORMATION = bl.FullInformation(bl.PFTRL(BALL, RATE))
ONE_POINT = bl.OnePoint(bl.PFTRL(BALL, RATE), magnitude=MAGNITUDE)
TWO_POINT = bl.TwoPoint(bl.PFTRL(BALL, RATE))
ENTROPY = bl.FirstOrder(
    bl.OMD(bl.Simplex(DIM, floor=1e-4), bl.rates.DelayAdaptive(1.0), mirror="entropy")
)


def main() -> Iterator[Result]:
    """Yield all figures as they are found."""
    for part in (
        by_hand,
        partial(floors.of_this_machine, __name__),
        over_members,
        over_rivals,
        in_parallel,
        over_poold,
        over_numpy,
        in_memory,
    ):
        yield from part()


def quadratic(timeline: bl.Timeline, dim: int = DIM) -> bl.Game:
    """Return a game in the ball."""
    vectors = np.random.default_rng(0).normal(size=(timeline.rounds, dim))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    return bl.Game(bl.losses.Quadratic(vectors, CURVATURE), timeline)


def linear(timeline: bl.Timeline) -> bl.Game:
    """Return a game for probabilities."""
    costs = np.random.default_rng(0).random((timeline.rounds, DIM))
    return bl.Game(bl.losses.Linear(costs), timeline)


# --- By hand -------------------------------------------------------------------------------------

ROUNDS = 200_000
LONG_VECTORS = 100
LARGEST_DELAY = 40
RING = 64
"""A power of 2 above the largest delay."""


def by_hand() -> Iterator[Result]:
    """Yield our games against loops written for exactly these games."""
    game = quadratic(bl.delays.uniform(ROUNDS, low=0, high=LARGEST_DELAY))
    records: tuple[Record, ...] = ("totals", "detail")
    for record in records:
        detail = record == "detail"
        first_order = game_floors.first_order(detail, LIPSCHITZ, CURVATURE)
        one_point = game_floors.one_point(detail, LIPSCHITZ, CURVATURE, MAGNITUDE)
        yield _against_hand(FIRST_ORDER, game, record, first_order, 1.35)
        yield _against_hand(ONE_POINT, game, record, one_point, 1.5)
    long = quadratic(bl.delays.uniform(ROUNDS // 10, low=0, high=LARGEST_DELAY), LONG_VECTORS)
    first_order = game_floors.first_order(False, LIPSCHITZ, CURVATURE)
    spec = bl.FirstOrder(bl.PFTRL(bl.Ball(LONG_VECTORS), RATE))
    yield _against_hand(spec, long, "totals", first_order, 1.15)


def _against_hand(
    spec: bl.FirstOrder | bl.OnePoint,
    game: bl.Game,
    record: Record,
    play_by_hand: game_floors.Play,
    target: float,
) -> Result:
    ours = partial(bl.play, spec, game, record=record)
    run = ours()
    events, curve = answered(run.timeline), np.empty_like(run.loss_curve)
    vectors = game.losses.rows(0, game.rounds)[0]
    floor = partial(play_by_hand, events, vectors, run.checkpoints, curve, RING)
    check_same(run, game_floors.Sums(*floor()), curve)
    return compared(
        f"game, {spec.kind}(PFTRL(Ball)), dim {vectors.shape[1]}, {record}",
        ours,
        floor,
        target=target,
        per=events.size / 1e9,
        unit="ns/event",
    )


def answered(timeline: bl.Timeline) -> NDArray[np.int64]:
    """Return the events without the observations that never came, which are the last ones."""
    return timeline.events[: timeline.rounds + int(timeline.observed.sum())].copy()


def check_same(run: bl.reports.Run, sums: game_floors.Sums, curve: Floats) -> None:
    """Check that a game by hand came to the same results."""
    report = run.report
    pairs: list[tuple[Any, Any]] = [
        (run.loss, sums.loss),
        (run.loss_curve, curve),
        (report.rate, sums.rate),
        (report.max_delay, sums.most_delay),
        (report.max_dual_delay, sums.most_lag),
        (report.excess, sums.excess),
    ]
    if run.linear is not None and run.base is not None:
        pairs += [
            (run.linear.played, sums.linear),
            (run.linear.gradients, sums.gradients),
            (run.base.played, sums.stale),
            (run.base.gradients, sums.costs),
            (run.undelayed_loss, sums.prompt),
        ]
    for ours, theirs in pairs:
        scale = float(np.max(np.abs(theirs)))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * scale)


# --- Rivals --------------------------------------------------------------------------------------

RIVAL_ROUNDS = 25_000
CONSTANT_DELAY = 20

ARGUMENTS: dict[str, Any] = {
    "domain": BALL,
    "arms": DIM,
    "base": FIRST_ORDER,
    "lipschitz": LIPSCHITZ,
    "magnitude": MAGNITUDE,
    "curvature": CURVATURE,
    "exp_concavity": 0.25,
    "smoothness": 1.0,
    "scale": 1.0,
    "threshold": CONSTANT_DELAY,
    "step": 0.01,
    "strength": 1000.0,
    "workers": CONSTANT_DELAY,
}
"""What methods are given where they have no default."""

OURS: dict[str, LearnerSpec] = {
    "gradient": FIRST_ORDER,
    "function": FULL_INFORMATION,
    "value": ONE_POINT,
    "two values": TWO_POINT,
    "k + 1 values": TWO_POINT,
}
"""Our learner by what an answer is."""

HEAVY = {
    "BOLD": "many copies",
    "DOGDSCManyPoint": "eleven points per round",
    "DelayedONS": "a matrix",
    "MildOGD": "many experts",
    "WeinbergerOrdentlich": "many copies",
    "ZimmertSeldin": "solves an equation every round",
}
"""Methods that do more by nature, and are measured without a target."""


def over_rivals() -> Iterator[Result]:
    """Yield what the published methods take over what ours takes in the same game."""
    late = bl.delays.uniform(RIVAL_ROUNDS, low=0, high=2 * CONSTANT_DELAY)
    fixed = bl.delays.constant(RIVAL_ROUNDS, CONSTANT_DELAY)
    games = {
        (make, timeline): make(timeline)
        for make in (quadratic, linear)
        for timeline in (late, fixed)
    }
    for kind in methods():
        name = kind.__name__
        timeline = fixed if "delay" in kind.facts() else late
        rival = made(kind).told(timeline)
        on_arms = hasattr(rival, "arms")
        game = games[linear if on_arms else quadratic, timeline]
        spec = ENTROPY if on_arms else OURS[rival.feedback]
        yield compared(
            f"rival, {name}",
            partial(bl.play, rival, game, record="totals"),
            partial(bl.play, spec, game, record="totals"),
            target=NO_TARGET if name in HEAVY else 3.0,
            per=2 * RIVAL_ROUNDS / 1e9,
            unit="ns/event",
            repeats=15,
            note=HEAVY.get(name, ""),
        )


def made(kind: type[Rival]) -> Rival:
    """Return a method with the arguments that it needs; facts are told later."""
    needed = [
        field.name
        for field in dataclasses.fields(kind)  # type: ignore[arg-type]
        if field.default is dataclasses.MISSING and field.name not in FACTS
    ]
    return kind(**{name: ARGUMENTS[name] for name in needed})


# --- Our own defaults ----------------------------------------------------------------------------


def over_members() -> Iterator[Result]:
    """Yield a portfolio against its members one after another, and the leader against P-FTRL."""
    game = quadratic(bl.delays.uniform(RIVAL_ROUNDS, low=0, high=2 * CONSTANT_DELAY))
    for convex in (True, False):
        problem = game.problem(BALL, convex=convex)
        base: Any = problem.learner().base  # type: ignore[union-attr]  # no Skip was asked for
        alone = base.members if isinstance(base, bl.Portfolio) else (FIRST_ORDER.base,)
        yield compared(
            f"game, FirstOrder({base.kind}), over {len(alone)} alone",
            partial(bl.play, bl.FirstOrder(base), game, record="totals"),
            partial(_one_by_one, alone, game),
            target=1.4 if convex else 1.5,
            per=2 * RIVAL_ROUNDS / 1e9,
            unit="ns/event",
            repeats=15,
        )


def _one_by_one(bases: Sequence[Any], game: bl.Game) -> None:
    for base in bases:
        bl.play(bl.FirstOrder(base), game, record="totals")


# --- Two cores -----------------------------------------------------------------------------------

SEEDS = 32
LONG = 1_000_000


def in_parallel() -> Iterator[Result]:
    """Yield core-seconds of two workers over seconds of one: 1 / efficiency."""
    game = quadratic(bl.delays.uniform(LONG, low=0, high=LARGEST_DELAY))
    works: dict[str, Work] = {
        engine: partial(
            bl.play_many, ONE_POINT, game, SEEDS, workers=2, engine=engine, progress=False
        )
        for engine in ("serial", "processes", "threads")
    }
    times = interleaved(works, repeats=3)
    for engine in ("processes", "threads"):
        yield summarised(
            f"play_many, {SEEDS} seeds, 2 {engine}",
            [2.0 * seconds for seconds in times[engine]],
            times["serial"],
            target=1.0 / 0.85,
            unit="core-s",
        )


# --- Other libraries -----------------------------------------------------------------------------

POOLD_ROUNDS = 2000
POOLD_DELAYS = (10, 1000)


def over_poold() -> Iterator[Result]:
    """Yield DORM of ours and of its authors, and how ours depends on the delay."""
    spec = bl.rivals.DORM(DIM)
    if peers.has_poold():
        for delay in POOLD_DELAYS:
            game = linear(bl.delays.constant(POOLD_ROUNDS, delay))
            costs = game.losses.rows(0, POOLD_ROUNDS)[0]
            ours = partial(bl.play, spec, game, record="totals")
            theirs = partial(peers.poold_loss, costs, delay)
            np.testing.assert_allclose(ours().loss, theirs(), rtol=1e-9)
            yield compared(
                f"DORM, delay {delay}, over poold",
                ours,
                theirs,
                target=1.0,
                per=POOLD_ROUNDS / 1e6,
                unit="us/round",
                repeats=5,
            )
    else:
        print("poold is not installed, so it is left out", file=sys.stderr)
    short, long = (
        partial(bl.play, spec, linear(bl.delays.constant(ROUNDS, delay)), record="totals")
        for delay in POOLD_DELAYS
    )
    yield compared(
        "DORM, ours, delay 1000 over delay 10",
        long,
        short,
        target=1.1,
        per=ROUNDS / 1e9,
        unit="ns/round",
    )


NUMPY_ROUNDS = 1000


def over_numpy() -> Iterator[Result]:
    """Yield one-point rounds without delay, live and in a game, over NumPy written by hand."""
    game = quadratic(bl.delays.constant(20 * NUMPY_ROUNDS, 0))
    vectors = game.losses.rows(0, NUMPY_ROUNDS)[0]
    works: dict[str, Work] = {
        "numpy": partial(_numpy_rounds, vectors),
        "live learner": partial(_live_rounds, vectors),
        "game": partial(bl.play, ONE_POINT, game, record="totals"),
    }
    times = interleaved(works, repeats=15)
    rounds = {"numpy": NUMPY_ROUNDS, "live learner": NUMPY_ROUNDS, "game": game.rounds}
    each = {name: [1e9 * s / rounds[name] for s in times[name]] for name in works}
    for name in ("live learner", "game"):
        yield summarised(
            f"one-point round, {name} over NumPy",
            each[name],
            each["numpy"],
            target=NO_TARGET,
            unit="ns/round",
        )


def _numpy_rounds(vectors: Floats) -> None:
    learner = peers.NumpyOnePoint(DIM, LIPSCHITZ, MAGNITUDE)
    for vector in vectors:
        learner.observe(_half_square(learner.predict() - vector))


def _live_rounds(vectors: Floats) -> None:
    learner = bl.Learner(ONE_POINT)
    for vector in vectors:
        ticket, x = learner.predict()
        learner.observe(ticket, _half_square(x - vector))


def _half_square(v: Floats) -> float:
    return 0.5 * float(v @ v)


# --- Memory --------------------------------------------------------------------------------------

MEMORY_ROUNDS = 10_000_000
MEMORY_DELAY = 1_000_000


class Peak(NamedTuple):
    """Memory of one game beyond its timeline, and how many tickets were open at once."""

    size: int
    open: int


def in_memory() -> Iterator[Result]:
    """Yield the memory of a long game with sums only, over two ways to count what it must keep."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        peak = pool.submit(peak_of_play).result()
    floors = {
        "all gradients": (MEMORY_ROUNDS * DIM * 8, 1.0),
        "open tickets": (peak.open * (DIM * 8 + 16), NO_TARGET),  # a gradient, two counts
    }
    for name, (size, target) in floors.items():
        yield Result(
            name=f"memory, 10^7 rounds, over {name}",
            ratio=peak.size / size,
            target=target,
            ours=peak.size / 1e6,
            floor=size / 1e6,
            unit="MB",
            spread=0.0,
        )


def peak_of_play() -> Peak:
    """Play, and return the peak of this process over what it held before (Linux)."""
    losses = bl.losses.Quadratic(bl.losses.Random(DIM))
    bl.play(FIRST_ORDER, bl.Game(losses, bl.delays.constant(100, 1)), record="totals")
    timeline = bl.delays.uniform(MEMORY_ROUNDS, low=0, high=MEMORY_DELAY)
    assert timeline.events.size == 2 * MEMORY_ROUNDS
    most = timeline.max_backlog + 1
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of building the timeline
    before = _status("VmRSS")
    bl.play(FIRST_ORDER, bl.Game(losses, timeline), record="totals")
    return Peak(_status("VmHWM") - before, most)


def _status(name: str) -> int:
    """Return a size that the kernel knows of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {name} in /proc/self/status")
