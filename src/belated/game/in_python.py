"""Games with a user's Python parts: the same sums, one event at a time."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Any

import numpy as np

from belated.arrays import Floats, Ints
from belated.delays import ByPlay, ByRule
from belated.errors import SpecError, TimelineError, UnknownTicket
from belated.game.game import Game
from belated.game.run import LinearSums, Run
from belated.kernels.slots import code as C
from belated.kernels.slots import kinds as K
from belated.learner.given import events_of
from belated.learner.learner import Learner
from belated.learner.program import Playable, checked_point
from belated.losses import Linear, Loss
from belated.spec import number
from belated.timeline import Timeline


def play_in_python(spec: Playable, game: Game, seed: int, record: str, marks: Ints) -> Run:
    """Play a game through ``Learner`` events and return what came out."""
    if isinstance(game.timeline, ByPlay):
        raise SpecError(
            "play: delays.ByPlay runs with built-in losses and learners; use delays.ByRule here"
        )
    table = _PythonTable(spec, game, seed, record, marks)
    began = perf_counter()
    if isinstance(game.timeline, Timeline):
        timeline = game.timeline
        for event in events_of(timeline, "play").tolist():
            table.play_round(event) if event >= 0 else table.give_answer(~event)
    else:
        timeline = table.follow_rule(game.timeline)
    return table.run(timeline, perf_counter() - began)


class _PythonTable:
    """A game in progress."""

    def __init__(self, spec: Playable, game: Game, seed: int, record: str, marks: Ints) -> None:
        self._learner = Learner(spec, seed)
        self._game, self._seed, self._record = game, seed, record
        self._marks = marks
        program = self._learner._program
        self._detail = record != "totals"
        is_told = program.code[C.REDUCTION] == K.FIRST_ORDER and not program.wants_function
        self._needs_gradient = self._detail or is_told or game.losses.is_adaptive
        # As in compiled games: where the base is ours and an answer says what its cost is.
        ours = program.code[C.METHOD] == K.OURS and program.code[C.BASE] != K.USER_BASE
        self._sees_base = self._detail and ours and not program.wants_function
        self._answers: dict[int, Any] = {}
        self._starts: dict[int, Floats] = {}
        self._curve: list[float] = []
        self._losses: list[float] = []
        self._plays: list[Floats] = []
        self._loss = self._linear = self._stale = self._prompt = 0.0
        self._gradients = np.zeros(game.losses.dim)
        self._costs = np.zeros(game.losses.dim)
        self._vectors: list[Floats] = []
        self._vector = np.zeros(game.losses.dim)

    def play_round(self, t: int) -> Floats:
        """Predict, meet the loss, and put the answer aside."""
        x = self._learner.predict().x
        points = np.atleast_2d(x)
        gradient = self._gradient(t, points[0]) if self._needs_gradient else None
        values = self._values(t, points, gradient)
        self._answers[t] = self._answer(t, values, gradient)
        if self._sees_base:
            self._starts[t] = self._base_point()
        self._count(t, float(values.mean()), points[0], gradient)
        if self._record == "plays":
            self._plays.append(x)
        return x

    def _gradient(self, t: int, x: Floats) -> Floats:
        """Return the gradient as an array of its own: a user's function may use its one again."""
        losses = self._game.losses
        who = f"{losses.kind}: gradient({t}, x)"
        return checked_point(losses.gradient(t, x.copy()), losses.dim, who)

    def _values(self, t: int, points: Floats, gradient: Floats | None) -> Floats:
        """Return the loss of every point; an adaptive one is chosen at the first, for all."""
        losses: Loss = self._game.losses
        if losses.is_adaptive:
            assert gradient is not None
            losses, t = Linear(gradient[None]), 0
        name = f"value({t}, x)"
        return np.array([number(losses.kind, name, losses.value(t, p.copy())) for p in points])

    def _answer(self, t: int, values: Floats, gradient: Floats | None) -> Any:
        """Return what the learner will be told."""
        program = self._learner._program
        if program.wants_function:
            return lambda point: self._game.losses.gradient(t, point)
        if program.code[C.REDUCTION] == K.FIRST_ORDER:
            return gradient
        if program.code[C.REDUCTION] == K.COEFFICIENTS:
            return np.append(*self._game.losses.coefficients(t))
        return values

    def _count(self, t: int, met: float, x: Floats, gradient: Floats | None) -> None:
        """Add a round to the sums."""
        self._loss += met
        if self._record == "plays":
            self._losses.append(met)
        if gradient is not None:
            self._linear += float(gradient @ x)
            self._gradients += gradient
        if gradient is not None and self._game.losses.is_adaptive:
            self._vector += gradient
        if len(self._curve) < self._marks.size and self._marks[len(self._curve)] == t + 1:
            self._curve.append(self._loss)
            self._vectors.append(self._vector.copy())

    def give_answer(self, ticket: int) -> None:
        """Let the learner observe what was put aside for a ticket."""
        answer = self._answers.pop(ticket)
        point = self._base_point() if self._sees_base else None
        try:
            used = self._learner.observe(ticket, answer)
        except UnknownTicket:  # given up on and forgotten
            used = False
        if point is not None:
            past = self._starts.pop(ticket)
            if used:
                cost = self._cost(answer)
                self._stale += float(cost @ past)
                self._prompt += float(cost @ point)
                self._costs += cost

    def _base_point(self) -> Floats:
        """Return a copy of z, the base's point in the chart."""
        return self._learner._memory.point.copy()

    def _cost(self, answer: Any) -> Floats:
        """Return c_n in the chart: a gradient itself, or what the reduction has left as work."""
        code = self._learner._program.code
        if code[C.REDUCTION] == K.FIRST_ORDER and code[C.CHART] != K.SCALED:
            return np.asarray(answer)
        return self._learner._memory.work.copy()

    def follow_rule(self, rule: ByRule) -> Timeline:
        """Play with the delays of a rule and return the timeline that came about."""
        due: dict[int, list[int]] = {}
        delays = np.zeros(rule.rounds, dtype=np.int64)
        for t in range(rule.rounds):
            delays[t] = _delay(rule, t, self.play_round(t))
            due.setdefault(t + int(delays[t]), []).append(t)
            self._give(due.pop(t, ()))
        return Timeline.from_delays(delays)

    def _give(self, tickets: Iterable[int]) -> None:
        for ticket in tickets:
            self.give_answer(ticket)

    def run(self, timeline: Timeline, seconds: float) -> Run:
        """Return the record of the game."""
        single = len(self._learner._program.shape) == 1
        adaptive = self._game.losses.is_adaptive
        keeps = self._record == "plays"
        return Run(
            spec=self._learner.spec,
            game=self._game,
            seed=self._seed,
            timeline=timeline,
            loss=self._loss,
            report=self._learner.report(),
            checkpoints=self._marks,
            loss_curve=np.array(self._curve),
            seconds=seconds,
            losses=np.array(self._losses) if keeps else None,
            plays=np.array(self._plays) if keeps else None,
            linear=LinearSums(self._linear, self._gradients) if self._detail and single else None,
            base=LinearSums(self._stale, self._costs) if self._sees_base else None,
            undelayed_loss=self._prompt if self._sees_base else None,
            vectors=np.vstack([*self._vectors, self._vector]) if adaptive else None,
        )


def _delay(rule: ByRule, t: int, x: Floats) -> int:
    given = rule.rule(t, x.copy())
    if given is None:
        return rule.rounds
    if isinstance(given, bool) or not hasattr(given, "__index__") or given < 0:
        raise TimelineError(
            f"ByRule: the delay of round {t} must be a whole number from 0 on, or None, got "
            f"{given!r}"
        )
    return min(int(given), rule.rounds)
