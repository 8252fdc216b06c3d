"""The contenders in a replay: methods that predict a log on the same features and events."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from belated.arrays import Array, Floats
from belated.engine import Progress
from belated.errors import BadKey
from belated.logs.log import as_dates
from belated.models.linear import LinearModel, Rows
from belated.models.linear.losses import LOSSES
from belated.models.linear.warming import touch
from belated.models.moments import read_times
from belated.replays import baselines, others
from belated.replays.baselines import Feed, Feeder, Fit, RunningMean
from belated.replays.columns import Column, total
from belated.replays.measures import Difference, blocks, difference
from belated.replays.task import ROWS, Block, DueLabels, Task
from belated.report.durations import humane

CHOOSING = 8
"""Fits by which the best window for refitted models is chosen."""
OURS = "belated"
AT_ONCE = "told at once"
WINDOW = "fixed window"
BEST_WINDOW = "best fixed window"
ON_ARRIVAL = "labels on arrival"
MEAN = "running mean"
RIDGE = "refitted ridge"
REFITTED = {
    RIDGE: "ridge regression, its strength the best on the latest fifth of what is known",
    "refitted trees": "gradient-boosted trees, its defaults",
}
"""Models that are fitted anew, and what they are."""


def refitted(loss: str) -> list[str]:
    """Return which models that are fitted anew there are for a loss."""
    return [name for name in REFITTED if name != RIDGE or loss in baselines.LINEAR]


FIRST = 1 << 15
"""Predictions by which is told whether pairs of features would help."""
SHORT, OPEN = 1 << 19, 1 << 16
"""In a log of more rows than the first number, a row without an answer stays open for so many
predictions as the second one says, or as many as answers take where that is more."""


@dataclass(frozen=True, eq=False)
class Contender:
    """A method that a log was replayed through: what it predicted, and what that cost."""

    name: str
    about: str
    said: Column
    """Predictions by ticket, as they were made."""
    lost: Column | Floats
    """Losses of the predictions that count."""
    known: Column
    """Which predictions count."""
    mean_loss: float
    later_loss: float
    """The mean of all but the first tenth; NaN where none counts."""
    used: int
    """Labels that it learned from, silence included where it is one."""
    seconds: float

    @property
    def predictions(self) -> Floats:
        """All predictions by ticket, in memory."""
        return self.said[:]

    @property
    def losses(self) -> Floats:
        """All losses by ticket, in memory; NaN where no label counts."""
        found = np.full(len(self.known), np.nan)
        found[self.known[:]] = self.lost[:]
        return found


class Replayer:
    """Runs all contenders on one task."""

    def __init__(
        self,
        task: Task,
        names: tuple[str, ...],
        window: float | None = None,
        refit: float | None = None,
    ) -> None:
        """Take other packages by name, and lengths of time in the unit of the log."""
        self.task, self.names, self.refit = task, names, refit
        self.model = task.how.model()
        self.ours = task.how.listening(task.kinds or None)
        """The model that goes on where the log ends."""
        self.is_told = window is not None
        self.windows = task.windows if window is None else [window]

    @property
    def steps(self) -> int:
        """How many blocks all contenders replay, and how many fits there are."""
        task = self.task
        blocks = -(-task.rounds // ROWS)
        count = (2 if task.how.silence is not None else 3) + len(self.windows) + 1
        found = blocks * (count + len(self.names))
        if self.refit is not None:
            count = len(refitted(task.how.loss))
            found += count * (blocks + self._fits(self.refit))
            if len(self.windows) > 1 and task.how.silence is not None:
                found += len(self.windows) * self._fits(self._seldom(self.refit))
        return found

    def _fits(self, every: float) -> int:
        """Return how often a model is fitted anew."""
        asked = self.task.columns["asked"]
        return math.floor(float(asked[-1:][0] - asked[0:1][0]) / every)

    def _seldom(self, every: float) -> float:
        """Return how much time lies between fits that only choose a window."""
        return every * max(1, math.ceil(self._fits(every) / CHOOSING))

    def run(self, bar: Progress) -> Iterator[Contender]:
        """Yield every contender."""
        self.bar = bar
        task, has_silence = self.task, self.task.how.silence is not None
        yield from self.pair()
        window, contender = self._windowed()
        yield contender
        about = f"labels held back until the window of {self._span(window)} is over"
        if not has_silence:
            about = "labels as they come"
            yield self._linear(
                ON_ARRIVAL,
                f"the same model, told {about}, with no limit on waiting",
                self._patient(task.longest),
                Block.heard,
            )
        silent = ", silence counted at once and corrected" if has_silence else ""
        mean = RunningMean()
        values = (mean.predict(task.arrivals(block)) for block in task.blocks())
        yield self._played(MEAN, f"the mean of the labels that have come so far{silent}", values)
        if self.refit is not None:
            yield from self._refits(self.refit)
        for name in self.names:
            yield self._other(name, about, window)

    def pair(self) -> Iterator[Contender]:
        """Yield our model, late and told at once."""
        has_silence = self.task.how.silence is not None
        settings = ["told what silence means"] * has_silence
        settings += ['interactions="auto"'] * (self.task.how.interactions == "auto")
        learns = "silence once an answer would have come" if has_silence else "labels as they come"
        learns = f"it learns {'from ' * (not has_silence)}{learns}"
        about = f"the default LinearModel, {', '.join(settings) or 'no setting given'}; {learns}"
        told = Block.spoken if has_silence else Block.heard
        yield self._linear(OURS, about, self.ours, told, has_times=has_silence)
        self._name_open_rows()
        about = "the same model, if every label came right after its prediction: not possible"
        yield self._linear(AT_ONCE, about, self.task.how.model(), Block.at_once)

    def _name_open_rows(self) -> None:
        """Give the rows that are still open their keys."""
        named: dict[str, int] = {}
        tickets = np.array(sorted(self.ours.answerable()), dtype=np.int64)
        for first in range(0, self.task.rounds, ROWS):
            mine = tickets[slice(*np.searchsorted(tickets, (first, first + ROWS)))].tolist()
            keys = self.task.keys(first, first + ROWS) if mine else []
            for ticket in mine:
                if named.setdefault(keys[ticket - first], ticket) != ticket:
                    key = keys[ticket - first]
                    raise BadKey(f"replay: two rows without a label have the key {key!r}")
        self.ours._give_keys(named.items())

    def _windowed(self) -> tuple[float, Contender]:
        """Run the model with labels that are held back for a window, the best of several."""

        def run(window: float) -> Contender:
            told, model = partial(self._held_back, window), self._patient(self.task.within(window))
            return self._linear(WINDOW, "", model, told, is_window=True)

        found = ((each, run(each)) for each in self.windows)
        window, best = min(found, key=lambda pair: pair[1].mean_loss)
        silent = "is silent" if self.task.how.silence is not None else "is left out"
        about = (
            f"the same model, told every label when its row is {self._span(window)} old; a row "
            f"without an answer by then {silent}"
        )
        if self.is_told:
            return window, replace(best, about=about)
        about += f"; this window turns out best of {len(self.windows)}, which is not known before"
        return window, replace(best, name=BEST_WINDOW, about=about)

    def _patient(self, delay: int) -> LinearModel:
        """Return a model that gives up on no row whose label comes after so many predictions.

        A log of many rows may have many that are never answered, and they would all stay open.
        """
        is_short = self.task.rounds <= SHORT or self.task.how.silence is not None
        return self.task.how.model(None if is_short else {"predictions": max(OPEN, delay)})

    def _held_back(self, window: float, block: Block) -> DueLabels:
        arrivals = self.task.arrivals(block)
        return arrivals.predicted_at, *arrivals.due(window)

    def pairs(self, ours: Contender) -> Difference | None:
        """Return the loss with pairs of features beside ours without, on the first predictions.

        None: pairs are found already, there is one feature, or there are too few labels.
        """
        task = self.task
        if task.how.interactions == "auto" or len(task.features) < 2:
            return None
        how, block = replace(task.how, interactions="auto"), next(task.blocks(FIRST))
        has_silence = how.silence is not None
        asked, due, labels, is_told = block.spoken() if has_silence else block.heard()
        part = Feeder().feed(asked, due, is_told, labels, block.weights)
        model = how.listening() if has_silence else how.model()
        at = self._times(part.at) if has_silence else None
        values = model._feed(block.rows, part.events, part.labels, part.weights, at)
        losses = self._losses(values[block.counts], block.labels[block.counts])
        weights, without = block.weights[block.counts], ours.lost[: len(losses)]
        count = blocks(len(losses), task.columns["delays"][: len(losses)])
        size = float(np.average(without, weights=weights)) if count else 0.0
        if not size > 0.0:
            return None
        return difference(losses, without, weights, count).per(size, how.lowest)

    # --- Methods that need the whole log in memory ------------------------------------------------

    def _refits(self, every: float) -> Iterator[Contender]:
        """Run models that are fitted anew, on rows that are as old as the best window."""
        from sklearn import __version__

        arrivals = self.task.arrivals(self.task.everything)
        has_silence = self.task.how.silence is not None
        window, more = 0.0, ""
        for name in refitted(self.task.how.loss):
            play = partial(arrivals.refitted, *self._fit(name), advance=self.bar.advance)
            if has_silence and not window:  # trees follow the linear model
                window, seldom = self.windows[0], partial(play, self._seldom(every))
                if len(self.windows) > 1:
                    window = baselines.best(self.windows, seldom, self._cost).window
                    more = f"; this window turns out best of {len(self.windows)}"
            begin = time.perf_counter()
            values = play(every, window)
            old = f" that are at least {self._span(window)} old" if has_silence else ""
            about = (
                f"scikit-learn {__version__}: {REFITTED[name]}, fitted every {self._span(every)} "
                f"on rows{old}, with the labels that had come by then; before that the "
                f"{MEAN}{more}"
            )
            seconds, more = time.perf_counter() - begin, ""
            yield self._played(name, about, _in_blocks(values), seconds=seconds)

    def _fit(self, name: str) -> tuple[Any, Fit]:
        """Return what a model that is fitted anew is given, and how it is fitted."""
        task, how = self.task, self.task.how
        if name == RIDGE:
            return baselines.matrix(task.everything.rows), baselines.linear(how.loss)
        columns = [task.cells[name] for name in task.features]
        inputs, is_text = baselines.table(columns or [np.zeros(task.rounds)])
        return inputs, baselines.trees(how.loss, is_text, how.quantile)

    def _other(self, name: str, about: str, window: float) -> Contender:
        """Run another package on the events of the whole log."""
        task = self.task
        arrivals, play = task.arrivals(task.everything), others.ready(name, task)
        feed = Feed(task.heard().events, task.labels)
        if task.how.silence is not None:
            feed = arrivals.windowed(window)
        begin = time.perf_counter()
        values = arrivals.started(others.play(*play, feed), feed)
        used, seconds = int(np.count_nonzero(feed.events < 0)), time.perf_counter() - begin
        about = f"{others.about(name)}, {about}"
        return self._played(others.TITLES[name], about, _in_blocks(values), used, seconds)

    def _cost(self, values: Floats) -> float:
        known = self.task.known
        weights = self.task.columns["known_weights"][:]
        return float(
            np.average(self._losses(values[known], self.task.labels[known]), weights=weights)
        )

    # --- One method, block by block ---------------------------------------------------------------

    def _span(self, length: float) -> str:
        """Return a length of time in words."""
        return humane(length, self.task.log.unit)

    def _linear(
        self,
        name: str,
        about: str,
        model: LinearModel,
        told: Callable[[Block], DueLabels],
        *,
        has_times: bool = False,
        is_window: bool = False,
    ) -> Contender:
        """Run our model; where labels are held back, it is the running mean before the first."""
        touch(model)
        values = self._values(model, told, has_times=has_times, is_window=is_window)
        found = self._played(name, about, values)
        # With silence our model learns every label, by what was heard or what was not.
        return found if has_times else replace(found, used=model.report().observed)

    def _values(
        self,
        model: LinearModel,
        told: Callable[[Block], DueLabels],
        *,
        has_times: bool,
        is_window: bool,
    ) -> Iterator[Floats]:
        """Yield the predictions of a model block by block."""
        feeder, mean, is_started = Feeder(), RunningMean(), not is_window
        for block in self.task.blocks():
            asked, due, labels, is_told = told(block)
            part = feeder.feed(asked, due, is_told, labels, block.weights)
            at = self._times(part.at) if has_times else None
            values = model._feed(block.rows, part.events, part.labels, part.weights, at)
            if not is_started:
                places = np.flatnonzero(part.events < 0)
                is_started = bool(places.size)
                count = int(places[0]) if is_started else len(values)
                means = mean.predict(self.task.arrivals(block))
                values = np.where(np.arange(len(values)) < count, means, values)
            yield values
        if not is_window:
            nothing = np.empty(0)
            part = feeder.feed(asked[:0], due[:0], is_told[:0], nothing, nothing, is_last=True)
            if len(part.events):
                rows = Rows(np.zeros(1, np.int64), np.empty(0, np.int64), nothing)
                at = self._times(part.at) if has_times else None
                model._feed(rows, part.events, part.labels, part.weights, at)

    def _times(self, at: Array) -> Array:
        """Return times as a model takes them; in seconds, if the log counts since 1970.

        Numbers leave it open whether dates that come later have a time zone.
        """
        log, times = self.task.log, self.task.shown(at)
        return read_times(as_dates(times, log.unit), "replay")[0] if log.is_epoch else times

    def _played(
        self,
        name: str,
        about: str,
        values: Iterable[Floats],
        used: int | None = None,
        seconds: float = 0.0,
    ) -> Contender:
        """Write down what a method predicts, and what that costs."""
        task, said, lost = self.task, Column(), Column()
        begin = time.perf_counter()
        for found in values:
            seconds += time.perf_counter() - begin
            rows = slice(len(said), len(said) + len(found))
            said.append(found)
            counts = task.columns["counts"][rows]
            lost.append(self._losses(found[counts], task.columns["labels"][rows][counts]))
            self.bar.advance()
            begin = time.perf_counter()
        seconds += time.perf_counter() - begin
        if used is None:
            used = task.learned
        known, weights = task.columns["counts"], task.columns["known_weights"]
        mean, later = _mean(lost, weights, 0), _mean(lost, weights, task.early)
        return Contender(name, about, said, lost, known, mean, later, used, seconds)

    def _losses(self, values: Floats, labels: Floats) -> Floats:
        """Return the losses of predictions; infinite where numbers overflow."""
        found = LOSSES[self.task.how.loss].per_loss * self.model.losses(values, labels)
        return np.where(np.isnan(found), np.inf, found)


def _mean(losses: Column, weights: Column, start: int) -> float:
    """Return the weighted mean of losses from one on; NaN where there is none."""
    if start >= len(losses):
        return math.nan
    whole = total(np.multiply, losses, weights, start=start)
    return whole / total(np.array, weights, start=start)


def _in_blocks(values: Floats) -> Iterator[Floats]:
    return (values[start : start + ROWS] for start in range(0, len(values), ROWS))
