"""``play``: one learner in one game."""

from __future__ import annotations

from time import perf_counter
from typing import Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from belated.arrays import Ints
from belated.bases import Base
from belated.errors import SpecError
from belated.models.chooser.chooser import Chooser
from belated.models.learner.learner import Learner
from belated.reductions import (
    FirstOrder,
    LearnerSpec,
    Method,
    Reduction,
    Wrapper,
    inner_of,
    takes_functions,
)
from belated.research.core import game as core_game
from belated.research.game.decisions import DecisionRun, play_decisions
from belated.research.game.game import Game
from belated.research.game.run import LinearSums, Run
from belated.research.worlds import World
from belated.timeline import Timeline
from belated.validation import checked_seed

Record = Literal["totals", "detail", "plays"]
Told = Literal["gradient", "values", "function"]

_POINTS = 200  # checkpoints unless given


@overload
def play(
    spec: LearnerSpec,
    game: Game,
    seed: int | None = 0,
    *,
    record: Record = "detail",
    checkpoints: int | ArrayLike = _POINTS,
) -> Run: ...


@overload
def play(spec: Chooser, game: World, seed: int | None = 0) -> DecisionRun: ...


def play(
    spec: LearnerSpec | Chooser,
    game: Game | World,
    seed: int | None = 0,
    *,
    record: Record = "detail",
    checkpoints: int | ArrayLike = _POINTS,
) -> Run | DecisionRun:
    """Play a game and return what came out.

    A ``Chooser`` that has made no choices plays a world of ``bl.worlds``; then ``record`` and
    ``checkpoints`` have no use.

    ``record="totals"`` keeps losses and regret; ``"detail"`` also linear regret, drift and the
    decomposition into regret without delay and drift; ``"plays"`` also the loss and the play of
    every round. The first two need memory for the open tickets only. ``checkpoints`` is how many
    points the curves have (evenly spread over the rounds), or the rounds themselves. ``seed=None``
    draws one, which the run shows.

    A user's Python loss, base, set or rule of delays runs in the same loop as what is built in, but
    more slowly.

    >>> import belated as bl
    >>> losses = bl.losses.Quadratic(bl.losses.Random(2, seed=1))
    >>> game = bl.Game(losses, bl.delays.constant(500, 3))
    >>> run = play(game.problem(bl.Ball(2)).learner("gradient"), game)
    >>> 0 < run.regret < run.linear_regret
    True
    """
    if isinstance(game, World):
        return play_decisions(spec, game, checked_seed(seed, "play"))
    if not isinstance(game, Game):
        raise SpecError(f"play: game must be a Game, got {game!r}")
    if isinstance(spec, Chooser):
        raise SpecError("play: a Chooser plays a world, such as worlds.Linear()")
    if record not in get_args(Record):
        words = ", ".join(map(repr, get_args(Record)))
        raise SpecError(f"play: record is one of {words}, got {record!r}")
    learner = Learner(spec, checked_seed(seed, "play"))
    told = _told(spec)
    _check(spec, learner._player.dim, told, game)
    detail, points = record != "totals", learner._player.play_size // learner._player.dim
    shape = (game.losses.dim,) if points == 1 else (points, game.losses.dim)
    sees_base = detail and told != "function" and _has_own_base(spec)
    table = core_game.Game(
        learner._player,
        game.losses.in_core(),
        told,
        _marks(checkpoints, game.rounds),
        game.rounds,
        spec.kind,
        detail,
        sees_base,
        record == "plays",
        _most_open(spec, game),
    )
    began = perf_counter()
    timeline = _play_game(table, game, shape)
    seconds = perf_counter() - began
    return Run(
        spec=learner.spec,
        game=game,
        seed=learner.seed,
        timeline=timeline,
        loss=table.met,
        report=learner.report(),
        checkpoints=table.marks,
        loss_curve=table.curve[:, 0].copy(),
        seconds=seconds,
        losses=table.losses if record == "plays" else None,
        plays=table.plays.reshape(-1, *shape) if record == "plays" else None,
        linear=LinearSums(table.linear, table.gradients) if detail and points == 1 else None,
        base=LinearSums(table.stale, table.costs) if sees_base else None,
        undelayed_loss=table.prompt if sees_base else None,
        vectors=np.vstack([table.curve[:, 1:], table.vectors]) if game.losses.is_adaptive else None,
    )


def _told(spec: LearnerSpec) -> Told:
    """Return what a learner is told of a loss."""
    if takes_functions(spec):
        return "function"
    if isinstance(spec, Method):
        return "gradient" if getattr(spec, "feedback", "") == "gradient" else "values"
    return "gradient" if isinstance(inner_of(spec), FirstOrder) else "values"


def _has_own_base(spec: LearnerSpec) -> bool:
    """Tell whether a learner has one of our bases, whose points can be seen."""
    return isinstance(spec, Reduction | Wrapper) and isinstance(inner_of(spec).base, Base)


def _most_open(spec: LearnerSpec, game: Game) -> int:
    """Return how many tickets can be open at once, 0 where plays or a wrapper decide that."""
    if not isinstance(game.timeline, Timeline) or isinstance(spec, Wrapper):
        return 0
    return game.timeline.max_backlog + 1


def _check(spec: LearnerSpec, dim: int, told: Told, game: Game) -> None:
    """Refuse a learner that cannot play this game."""
    if dim != game.losses.dim:
        raise SpecError(
            f"play: {spec.kind} plays {dim} coordinates, the losses have {game.losses.dim}"
        )
    if game.losses.is_adaptive and told == "function":
        raise SpecError(f"play: {spec.kind} is shown whole losses, which {game.losses!r} has not")


def _play_game(table: core_game.Game, game: Game, shape: tuple[int, ...]) -> Timeline:
    """Play the whole game and return the timeline that came about."""
    delays = game.timeline
    if isinstance(delays, Timeline):
        answered = delays.rounds + int(np.count_nonzero(delays.observed))
        table.play_timeline(delays.events[:answered])  # answers that never came stand last
        return delays
    rule = core_game.ByRule(delays.rounds, delays.rule, shape)
    return Timeline.from_delays(table.play_by_rule(rule))


def _marks(checkpoints: int | ArrayLike, rounds: int) -> Ints:
    """Return the rounds after which checkpoints are taken, ascending and without repeats."""
    given = np.asarray(checkpoints)
    if given.size == 0:
        return np.empty(0, dtype=np.int64)
    if given.dtype.kind not in "iu" or given.ndim > 1:
        raise SpecError(
            f"play: checkpoints are a whole number or a list of them, got {checkpoints!r}"
        )
    if given.ndim == 0:
        count = min(int(given), rounds)
        if count < 0:
            raise SpecError(f"play: checkpoints must not be negative, got {checkpoints!r}")
        given = np.arange(1, count + 1) * rounds // max(count, 1)
    marks = np.unique(given).astype(np.int64)
    if marks.size and not 1 <= marks[0] <= marks[-1] <= rounds:
        raise SpecError(f"play: checkpoints lie from 1 to the number of rounds, {rounds}")
    return marks
