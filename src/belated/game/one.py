"""``play``: one learner in one game, in compiled code where both are built in."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Literal, cast, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from belated.arrays import Code, Floats, Ints
from belated.decisions.chooser import Chooser
from belated.decisions.playing import DecisionRun, play_decisions
from belated.delays import ByPlay, ByRule
from belated.domains import ConvexSet, Domain
from belated.errors import SpecError
from belated.game.allowed import set_of
from belated.game.game import Game
from belated.game.in_python import play_in_python
from belated.game.run import LinearSums, Run
from belated.game.solver import support
from belated.kernels.games import entries as game_entries
from belated.kernels.games import losses as kernel
from belated.kernels.games import rounds as games
from belated.kernels.slots import code as C
from belated.kernels.slots import kinds as K
from belated.kernels.slots import status as S
from belated.learner import refusals
from belated.learner.given import checked_seed
from belated.learner.program import Playable, Program, compile_spec
from belated.learner.report import report_of
from belated.learner.state import Memory
from belated.losses import Compiled, Custom
from belated.timeline import Timeline
from belated.worlds import World

Record = Literal["totals", "detail", "plays"]

_CHUNK = 1_000_000  # events between two chances to interrupt
_POINTS = 200  # checkpoints unless given


@overload
def play(
    spec: Playable,
    game: Game,
    seed: int | None = 0,
    *,
    record: Record = "detail",
    checkpoints: int | ArrayLike = _POINTS,
) -> Run: ...


@overload
def play(spec: Chooser, game: World, seed: int | None = 0) -> DecisionRun: ...


def play(
    spec: Playable | Chooser,
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

    Losses and learners that are built in run compiled; a user's Python loss, base or set runs too,
    slower, with the same results.

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
    program = compile_spec(spec)
    _check(spec, program, game)
    if record not in get_args(Record):
        words = ", ".join(map(repr, get_args(Record)))
        raise SpecError(f"play: record is one of {words}, got {record!r}")
    marks = _marks(checkpoints, game.rounds)
    if _runs_in_python(program, game):
        return play_in_python(spec, game, checked_seed(seed, "play"), record, marks)
    return _play_compiled(program, game, checked_seed(seed, "play"), record, marks)


def warm(spec: Playable, game: Game, *, record: Record = "detail") -> None:
    """Compile what a game needs, or load it from the cache."""
    program = compile_spec(spec)
    if not _runs_in_python(program, game):
        variant = _variant(game.losses.compiled(), program, record)
        if isinstance(game.timeline, ByPlay):
            game_entries.play_and_delay(program.code, variant)
        else:
            game_entries.play(program.code, variant)


def _variant(losses: Compiled, program: Program, record: Record) -> Code:
    """Return which compiled game it is: family, source, with details, what is revealed."""
    return (*losses.codes, int(record != "totals"), _revealed(program))


def _runs_in_python(program: Program, game: Game) -> bool:
    """Tell whether something of a user's takes part in every round."""
    own_losses, own_delays = isinstance(game.losses, Custom), isinstance(game.timeline, ByRule)
    return program.has_user_parts or own_losses or own_delays


def _check(spec: Playable, program: Program, game: Game) -> None:
    """Refuse a learner that cannot play this game."""
    if program.dim != game.losses.dim:
        raise SpecError(
            f"play: {spec.kind} plays {program.dim} coordinates, the losses have {game.losses.dim}"
        )
    takes_coefficients = program.code[C.REDUCTION] == K.COEFFICIENTS
    if takes_coefficients and game.losses.form not in ("linear", "quadratic"):
        raise SpecError(
            f"play: {spec.kind} is told the coefficients of linear and quadratic losses, got "
            f"{game.losses.kind}"
        )
    if game.losses.is_adaptive and _revealed(program) != games.NOTHING:
        raise SpecError(f"play: {spec.kind} is shown whole losses, which {game.losses!r} has not")


def _revealed(program: Program) -> int:
    """Return what a learner is told of the loss itself."""
    if program.code[C.REDUCTION] == K.COEFFICIENTS:
        return games.ALL
    return games.GRADIENT if program.wants_function else games.NOTHING


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


@dataclass
class _Table:
    """Everything that the compiled loop reads and writes."""

    program: Program
    variant: Code
    memory: Memory
    q: Floats
    rows: Floats
    totals: Floats
    marks: Ints
    curve: Floats
    losses: Floats
    plays: Floats

    @property
    def arguments(self) -> tuple[Floats | Ints, ...]:
        """What every entry takes first."""
        return (
            self.memory.f,
            self.memory.n,
            self.q,
            self.rows,
            self.totals,
            self.marks,
            self.curve,
            self.losses,
            self.plays,
        )


def _lay_out(program: Program, game: Game, seed: int, record: Record, marks: Ints) -> _Table:
    k, rounds = program.dim, game.rounds
    detail = record != "totals"
    reveals = _revealed(program) != games.NOTHING
    losses = game.losses.compiled()
    variant = _variant(losses, program, record)
    more = (0 if reveals else program.answer[0]) + (k if detail else 0)
    memory = program.fresh(seed, False, more)
    if isinstance(game.timeline, Timeline):
        open_at_most = game.timeline.max_backlog + 1
        memory.resize(program.room_for(open_at_most))
    adaptive = variant[kernel.SOURCE] == kernel.ADAPTIVE
    keeps = record == "plays"
    return _Table(
        program,
        variant,
        memory,
        losses.q,
        losses.rows,
        np.zeros(games.size(k)),
        marks,
        np.zeros((marks.size, 1 + k if adaptive else 1)),
        np.empty(rounds if keeps else 0),
        np.empty((rounds if keeps else 1, int(np.prod(program.shape)))),
    )


def _play_compiled(program: Program, game: Game, seed: int, record: Record, marks: Ints) -> Run:
    table = _lay_out(program, game, seed, record, marks)
    if isinstance(game.timeline, ByPlay):
        timeline, seconds = _play_by_play(table, game.timeline, set_of(program.spec))
    else:
        timeline = cast(Timeline, game.timeline)
        seconds = _play_timeline(table, timeline)
    return _run_of(table, game, seed, timeline, seconds)


def _play_timeline(table: _Table, timeline: Timeline) -> float:
    """Play along a timeline and return the seconds spent in the loop."""
    play_events = game_entries.play(table.program.code, table.variant)
    seconds = 0.0
    answered = timeline.rounds + int(np.count_nonzero(timeline.observed))
    events = timeline.events[:answered]  # answers that never came stand last
    for start in range(0, answered, _CHUNK):
        part = events[start : start + _CHUNK]
        done = 0
        while done < part.size:
            began = perf_counter()
            done += play_events(*table.arguments, part[done:])
            seconds += perf_counter() - began
            if done < part.size:
                _recover(table, int(part[done]))
    return seconds


def _recover(table: _Table, event: int) -> None:
    """Make room if that was the trouble, else raise what a learner would have raised."""
    status = int(table.totals[games.REFUSAL])
    if status == S.FULL:
        table.memory.grow()
        return
    kind = table.program.spec.kind
    if event >= 0:
        raise refusals.too_early(kind, "play: ")
    raise refusals.of_answer(status, ~event, kind, "play: ")


def _play_by_play(table: _Table, rule: ByPlay, domain: Domain | None) -> tuple[Timeline, float]:
    """Play with delays that depend on the plays; return the timeline that came about."""
    play_rounds = game_entries.play_and_delay(table.program.code, table.variant)
    rounds = rule.rounds
    delays = np.zeros(rounds, dtype=np.int64)
    due, last, after = (np.full(rounds, -1, dtype=np.int64) for _ in range(3))
    numbers = _delay_numbers(rule, domain)
    seconds, done = 0.0, 0
    while done < rounds:
        stop = min(done + _CHUNK, rounds)
        began = perf_counter()
        done = play_rounds(*table.arguments, delays, due, last, after, numbers, done, stop)
        seconds += perf_counter() - began
        if done < stop:
            _recover(table, ~int(table.totals[games.TICKET]))
    return Timeline.from_delays(delays), seconds


def _delay_numbers(rule: ByPlay, domain: Domain | None) -> Floats:
    """Return direction, low, high, and the least value and the range of <direction, x>."""
    if domain is None or isinstance(domain, ConvexSet):
        raise SpecError("play: delays.ByPlay needs a learner on Ball, Box, Simplex or L1Ball")
    direction = np.array(rule.direction)
    least = support(domain, direction)[1]
    most = -support(domain, -direction)[1]
    return np.concatenate([direction, [rule.low, rule.high, least, most - least or 1.0]])


def _run_of(table: _Table, game: Game, seed: int, timeline: Timeline, seconds: float) -> Run:
    program, totals = table.program, table.totals
    k = program.dim
    detail = bool(table.variant[games.DETAIL])
    sums = totals[games.TOTALS :]
    ours = program.code[C.METHOD] == K.OURS and not table.variant[games.REVEALS]
    adaptive = table.variant[kernel.SOURCE] == kernel.ADAPTIVE
    single = len(program.shape) == 1
    return Run(
        spec=program.spec,
        game=game,
        seed=seed,
        timeline=timeline,
        loss=float(totals[games.LOSS]),
        report=report_of(program, table.memory),
        checkpoints=table.marks,
        loss_curve=table.curve[:, 0].copy(),
        seconds=seconds,
        losses=table.losses if table.losses.size else None,
        plays=table.plays.reshape(-1, *program.shape) if table.losses.size else None,
        linear=LinearSums(float(totals[games.LINEAR]), sums[:k].copy())
        if detail and single
        else None,
        base=LinearSums(float(totals[games.STALE]), sums[k : 2 * k].copy())
        if detail and ours
        else None,
        undelayed_loss=float(totals[games.PROMPT]) if detail and ours else None,
        vectors=np.vstack([table.curve[:, 1:], sums[2 * k : 3 * k]]) if adaptive else None,
    )
