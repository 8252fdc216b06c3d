"""The contenders in a replay: methods that predict a log on the same features and events."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from belated.arrays import Array, Floats, Ints
from belated.core.linear import Replay, run_ada_grad
from belated.engine import Progress
from belated.keys import Key
from belated.models.linear import LinearModel, Rows
from belated.models.linear.losses import LOSSES
from belated.models.linear.warming import touch
from belated.replays import others, refits
from belated.replays.measures import mean
from belated.replays.task import Task
from belated.report.plain import counted

OURS = "belated"
AT_ONCE = "told at once"
WAITING = "fixed wait"
BEST_WAIT = "best fixed wait"
FOREVER = "waiting for ever"
BLIND = "AdaGrad, delay-blind"
HINDSIGHT = "AdaGrad, best in hindsight"
MEAN = "running mean"
SCALES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Scales of AdaGrad's steps, in units of the labels."""
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
"""Shares of the labels that the waits let come, of which the best is chosen afterwards."""


@dataclass(frozen=True, eq=False)
class Contender:
    """A method that a log was replayed through: what it predicted, and what that cost."""

    name: str
    about: str
    predictions: Floats
    """By ticket, as they were made."""
    losses: Floats
    """By ticket; NaN where no label ever came."""
    mean_loss: float
    later_loss: float
    """The mean of those made after a tenth of all labels had come; NaN where none counts."""
    used: int
    """Labels that it learned from, silence included where it is one."""
    seconds: float


@dataclass(frozen=True)
class Scale:
    """What AdaGrad loses with steps of one scale."""

    scale: float
    late: float
    """Mean loss with the delays of the log."""
    at_once: float
    """Mean loss if it were told every label at once."""


class Replayer:
    """Runs all contenders on one task."""

    def __init__(
        self, task: Task, wait: int, names: tuple[str, ...], bar: Progress, refit: int = 0
    ) -> None:
        self.task, self.wait, self.names, self.bar, self.refit = task, wait, names, bar, refit
        self.model = task.how.model()
        self.ours = task.how.listening(task.kinds or None)
        """The model that goes on where the log ends."""
        self.scales: tuple[Scale, ...] = ()
        begin = time.perf_counter()
        self.means = _running_means(task)
        """What the running mean says, by ticket."""
        self.seconds = time.perf_counter() - begin

    @staticmethod
    def steps(task: Task, names: tuple[str, ...], refit: int = 0) -> int:
        """Return how many contenders there are."""
        refitted = refits.names(task.how.loss) if refit else ()
        return (6 if task.how.silence is not None else 8) + len(names) + len(refitted)

    def run(self) -> Iterator[Contender]:
        """Yield every contender."""
        for found in self._all():
            self.bar.advance()
            yield found

    def _all(self) -> Iterator[Contender]:
        task, wait, silence = self.task, counted(self.wait, "prediction"), self.task.how.silence
        yield from self.pair()
        model = task.how.model(None if silence is not None else {"predictions": self.wait})
        about = f"the same model, giving up on labels that take more than {wait}"
        if silence is not None:
            about = (
                "the same model, which learns of silence only when the deadline has passed; until "
                f"the first has, it has heard answers only, and says the {MEAN} instead"
            )
        yield self._linear(WAITING, about, model, task.events, starts=True)
        if silence is None:
            yield from self._other_waits()
        yield from self._blind()
        about = "the mean of the labels that have come so far"
        if silence is not None:
            about = (
                "the mean of the labels so far, silence counted at once and corrected when an "
                "answer comes"
            )
        yield self._contender(MEAN, about, self.means, self.seconds)
        for name in refits.names(task.how.loss) if self.refit else ():
            yield self._timed(
                refits.TITLES[name],
                refits.about(name, self.refit),
                partial(refits.play, name, task, self.refit, self.means),
            )
        for name in self.names:
            play = partial(others.play, *others.ready(name, task), task)
            yield self._timed(others.TITLES[name], others.about(name), play)

    def _timed(self, name: str, about: str, play: Callable[[], Floats]) -> Contender:
        """Run another method, which is the running mean before the first silence is heard."""
        begin = time.perf_counter()
        values = play()
        seconds = time.perf_counter() - begin
        return self._contender(name, about, self._started(values), seconds)

    def pair(self) -> Iterator[Contender]:
        """Yield our model, late and told at once."""
        task = self.task
        if task.how.silence is None:
            about = "the default LinearModel, no setting given; it learns from labels as they come"
            yield self._linear(OURS, about, self.ours, task.events, keys=task.keys)
        else:
            about = "the default LinearModel, told what silence means; it learns silence at once"
            yield self._linear(OURS, about, self.ours, task.spoken, task.spoken_at, task.keys)
        about = "the same model, if every label came right after its prediction: not possible"
        yield self._linear(AT_ONCE, about, task.how.model(), task.at_once)

    def _other_waits(self) -> Iterator[Contender]:
        """Run the model at several waits, of which the best is kept, and at no limit."""
        task = self.task
        shares = np.quantile(task.delays, SHARES, method="higher")
        waits: list[int] = np.unique([self.wait, *shares.astype(np.int64)]).tolist()
        models = [task.how.model({"predictions": wait}) for wait in waits]
        limited = [self._linear("", "", model, task.events) for model in models]
        best = min(range(len(limited)), key=lambda place: limited[place].mean_loss)
        about = (
            f"the same with the wait, {counted(waits[best], 'prediction')}, that turns out best of "
            f"{len(limited)}, which is not known before"
        )
        yield replace(limited[best], name=BEST_WAIT, about=about)
        about = "the same model, with no limit on waiting"
        yield self._linear(FOREVER, about, task.how.model(None), task.events)

    def _linear(
        self,
        name: str,
        about: str,
        model: LinearModel,
        events: Ints,
        at: Array | None = None,
        keys: Sequence[Key] | None = None,
        starts: bool = False,
    ) -> Contender:
        task = self.task
        weights = np.where(task.weights > 0.0, task.weights, 1.0)
        touch(model)
        begin = time.perf_counter()
        values = model.replay(task.rows, task.labels, events, weights=weights, at=at, keys=keys)
        seconds = time.perf_counter() - begin
        # With silence every label is learned, by what was heard or what was not.
        used = model.report().observed if task.how.silence is None else None
        values = self._started(values) if starts else values
        return self._contender(name, about, values, seconds, used)

    def _started(self, values: Floats) -> Floats:
        """Return predictions that are the running mean before the first silence is heard.

        Until then a method that hears of silence at the deadline has heard answers only, of which
        nobody would make predictions.
        """
        early = np.arange(self.task.rounds) < self.task.first_silence
        return np.where(early, self.means, values)

    def _blind(self) -> Iterator[Contender]:
        """Run AdaGrad at all scales: as tuned without delays, and the best with them."""
        task = self.task
        rows, unit = in_units(task.rows, self.model.settings.bits), _unit(task)
        found = []
        for scale in SCALES:
            run = partial(ada_grad, self.model, rows, task.labels, task.weights, scale=scale * unit)
            begin = time.perf_counter()
            late = run(task.events)
            seconds = time.perf_counter() - begin
            late, early = self._started(late), run(task.at_once)
            costs = [self._cost(values)[1] for values in (late, early)]
            found.append((Scale(scale, *costs), late, seconds))
        self.scales = tuple(scale for scale, _, _ in found)
        tuned, values, seconds = min(found, key=lambda one: one[0].at_once)
        about = (
            f"late gradients used as if they were fresh, with the scale, {tuned.scale:g}, that is "
            "best for this log without delays"
        )
        yield self._contender(BLIND, about, values, seconds)
        best, values, seconds = min(found, key=lambda one: one[0].late)
        about = (
            f"the same with the scale, {best.scale:g}, that turns out best of {len(SCALES)}, "
            "which is not known before"
        )
        yield self._contender(HINDSIGHT, about, values, seconds)

    def _contender(
        self, name: str, about: str, values: Floats, seconds: float, used: int | None = None
    ) -> Contender:
        losses, cost = self._cost(values)
        used = int(np.count_nonzero(self.task.learned)) if used is None else used
        return Contender(name, about, values, losses, cost, self._later(losses), used, seconds)

    def _later(self, losses: Floats) -> float:
        """Return the mean loss after a tenth of all labels has come."""
        task = self.task
        known = task.known.copy()
        known[: task.begun] = False
        return mean(losses[known], task.weights[known]) if known.any() else math.nan

    def _cost(self, values: Floats) -> tuple[Floats, float]:
        """Return the losses of predictions, and their mean; infinite where numbers overflow."""
        task = self.task
        known = task.known
        losses = np.full(task.rounds, np.nan)
        found = self.model.losses(values[known], task.labels[known])
        found = LOSSES[task.how.loss].per_loss * found
        losses[known] = np.where(np.isnan(found), np.inf, found)
        return losses, mean(losses[known], task.weights[known])


def _running_means(task: Task) -> Floats:
    """Return the mean of the labels so far, by ticket; for yes or no, and rates, from 1/2 on.

    With silence every earlier prediction counts: by what was heard of it, or else by silence.
    """
    silence = task.how.silence
    prior = LOSSES[task.how.loss].prior
    events = task.events if silence is None else task.spoken
    is_label = events < 0
    tickets = np.where(is_label, ~events, events)
    weights = np.where(is_label, task.weights[tickets], 0.0)
    sums = np.cumsum(np.where(is_label, task.labels[tickets] * weights, 0.0)) + prior
    counts = np.cumsum(weights) + 2.0 * prior
    if silence is not None:
        asked = (~is_label).astype(np.float64)
        before = np.cumsum(asked) - asked  # predictions before this event
        sums = sums + silence * (before - np.cumsum(is_label))
        counts = before + 2.0 * prior
    means = sums / np.where(counts > 0.0, counts, 1.0)
    return means[~is_label]


def _unit(task: Task) -> float:
    """Return the spread of the labels where predictions have their unit, else 1."""
    if not LOSSES[task.how.loss].has_unit:
        return 1.0
    return float(np.std(task.labels[task.known])) or 1.0


# ---- AdaGrad that knows nothing of delays --------------------------------------------------------
#
#     w_i -= a g_i / sqrt(sum of g_i^2),    g_i = x_i l'(p_t, y_t)
#
# for every coordinate i of ticket t when its label y_t comes, where p_t is the prediction that was
# made for it, however long ago: the gradient is used as if it were that of the current weights.
# Reference: Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and
# stochastic optimization", JMLR 2011.

CHUNK = 250_000
"""Events between two chances to interrupt."""


def ada_grad(
    model: LinearModel,
    rows: Rows,
    labels: Floats,
    counts: Floats,
    events: Ints,
    scale: float,
) -> Floats:
    """Return what AdaGrad predicts, by ticket; loss and size are those of ``model``."""
    loss = model.settings.loss_of_labels()
    size = (1 << model.settings.bits) + 1
    weights, sums = np.zeros(size), np.zeros(size)
    none = np.zeros(1)
    log = Replay(model._linear, events, rows, labels, counts, 0, none, none)
    margins = np.empty(len(log.predictions))
    for start in range(0, len(events), CHUNK):
        end = min(start + CHUNK, len(events))
        run_ada_grad(loss, scale, log, weights, sums, margins, start, end)
    found: Floats = log.predictions
    return found


def in_units(rows: Rows, bits: int) -> Rows:
    """Return the rows with every coordinate divided by its largest size in the whole log.

    This is more than a method could know when it begins, and in its favour.
    """
    largest = np.zeros(1 << bits)
    np.maximum.at(largest, rows.indices, np.abs(rows.values))
    return rows._replace(values=rows.values / np.maximum(largest[rows.indices], 1e-300))
