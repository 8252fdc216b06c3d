"""The contenders in a replay: methods that predict a log on the same features and events."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from belated.arrays import Array, Floats
from belated.engine import Progress
from belated.keys import Key
from belated.models.linear import LinearModel
from belated.models.linear.losses import LOSSES
from belated.models.linear.warming import touch
from belated.replays import baselines, others
from belated.replays.baselines import Feed, Fit
from belated.replays.measures import mean
from belated.replays.task import Task
from belated.report.durations import humane

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
    """The mean of all but the first tenth; NaN where none counts."""
    used: int
    """Labels that it learned from, silence included where it is one."""
    seconds: float


class Replayer:
    """Runs all contenders on one task."""

    def __init__(
        self,
        task: Task,
        names: tuple[str, ...],
        bar: Progress,
        window: float | None = None,
        refit: float | None = None,
    ) -> None:
        """Take other packages by name, and lengths of time in the unit of the log."""
        self.task, self.names, self.bar, self.refit = task, names, bar, refit
        self.model = task.how.model()
        self.ours = task.how.listening(task.kinds or None)
        """The model that goes on where the log ends."""
        self.arrivals = task.arrivals
        self.is_told = window is not None
        self.windows = self.arrivals.windows() if window is None else [window]

    @staticmethod
    def steps(task: Task, names: tuple[str, ...], refit: float | None = None) -> int:
        """Return how many contenders there are."""
        count = len(refitted(task.how.loss)) if refit is not None else 0
        return (4 if task.how.silence is not None else 5) + len(names) + count

    def run(self) -> Iterator[Contender]:
        """Yield every contender."""
        for found in self._all():
            self.bar.advance()
            yield found

    def _all(self) -> Iterator[Contender]:
        yield from self.pair()
        window, contender = self._windowed()
        yield contender
        feed, about = Feed(self.task.events, self.task.labels), "labels as they come"
        if self.task.how.silence is None:
            model = self.task.how.model(None)
            yield self._linear(
                ON_ARRIVAL, f"the same model, told {about}, with no limit on waiting", model, feed
            )
        else:
            feed = self.arrivals.windowed(window)
            about = f"labels held back until the window of {self._span(window)} is over"
        silent = "" if self.task.how.silence is None else ", silence counted at once and corrected"
        means = self.arrivals.running_mean
        yield self._timed(MEAN, f"the mean of the labels that have come so far{silent}", means)
        if self.refit is not None:
            yield from self._refits(self.refit)
        for name in self.names:
            play = partial(others.play, *others.ready(name, self.task), feed)
            yield self._timed(others.TITLES[name], f"{others.about(name)}, {about}", play, feed)

    def pair(self) -> Iterator[Contender]:
        """Yield our model, late and told at once."""
        task = self.task
        settings, at = [], None
        about = "it learns from labels as they come"
        if task.how.silence is not None:
            settings, at = ["told what silence means"], task.spoken_at
            about = "it learns silence once an answer would have come"
        if task.how.interactions == "auto":
            settings.append('interactions="auto"')
        about = f"the default LinearModel, {', '.join(settings) or 'no setting given'}; {about}"
        feed = Feed(task.events if at is None else task.spoken, task.labels)
        yield self._linear(OURS, about, self.ours, feed, at, task.keys)
        about = "the same model, if every label came right after its prediction: not possible"
        yield self._linear(AT_ONCE, about, task.how.model(), Feed(task.at_once, task.labels))

    def _windowed(self) -> tuple[float, Contender]:
        """Run the model with labels that are held back for a window, the best of several."""
        found = []
        for window in self.windows:
            feed = self.arrivals.windowed(window)
            found.append(self._linear(WINDOW, "", self.task.how.model(None), feed))
        place = min(range(len(found)), key=lambda i: found[i].mean_loss)
        window, best = self.windows[place], found[place]
        silent = "is silent" if self.task.how.silence is not None else "is left out"
        about = (
            f"the same model, told every label when its row is {self._span(window)} old; a row "
            f"without an answer by then {silent}"
        )
        if self.is_told:
            return window, replace(best, about=about)
        about += f"; this window turns out best of {len(found)}, which is not known before"
        return window, replace(best, name=BEST_WINDOW, about=about)

    def _refits(self, every: float) -> Iterator[Contender]:
        """Run models that are fitted anew, on rows that are as old as the best window."""
        from sklearn import __version__

        has_silence = self.task.how.silence is not None
        windows = self.windows if has_silence else [0.0]
        for name in refitted(self.task.how.loss):
            begin = time.perf_counter()
            play = partial(self.arrivals.refitted, *self._fit(name), every)
            window, values, _ = baselines.best(windows, play, lambda found: self._cost(found)[1])
            old = f" that are at least {self._span(window)} old" if has_silence else ""
            about = (
                f"scikit-learn {__version__}: {REFITTED[name]}, fitted every {self._span(every)} "
                f"on rows{old}, with the labels that had come by then; before that the {MEAN}"
            )
            if len(windows) > 1:
                about += f"; this window turns out best of {len(windows)}"
            seconds = (time.perf_counter() - begin) / len(windows)
            windows = [window]  # trees take long, and follow the linear model
            yield self._contender(name, about, values, seconds)

    def _fit(self, name: str) -> tuple[Any, Fit]:
        """Return what a model that is fitted anew is given, and how it is fitted."""
        task, how = self.task, self.task.how
        if name == RIDGE:
            return baselines.matrix(task.rows), baselines.linear(how.loss)
        columns = [task.log.features[name] for name in task.features]
        inputs, is_text = baselines.table(columns or [np.zeros(task.rounds)])
        return inputs, baselines.trees(how.loss, is_text, how.quantile)

    def _span(self, length: float) -> str:
        """Return a length of time in words."""
        return humane(length, self.task.log.unit)

    def _timed(
        self, name: str, about: str, play: Callable[[], Floats], feed: Feed | None = None
    ) -> Contender:
        """Run another method, which is the running mean before its first label."""
        begin = time.perf_counter()
        values = play()
        seconds = time.perf_counter() - begin
        used = None
        if feed is not None:
            values = self.arrivals.started(values, feed)
            used = int(np.count_nonzero(feed.events < 0))
        return self._contender(name, about, values, seconds, used)

    def _linear(
        self,
        name: str,
        about: str,
        model: LinearModel,
        feed: Feed,
        at: Array | None = None,
        keys: Sequence[Key] | None = None,
    ) -> Contender:
        """Run our model; where labels are held back, it is the running mean before the first."""
        task, (events, labels) = self.task, feed
        weights = np.where(task.weights > 0.0, task.weights, 1.0)
        touch(model)
        begin = time.perf_counter()
        values = model.replay(task.rows, labels, events, weights=weights, at=at, keys=keys)
        seconds = time.perf_counter() - begin
        values = self.arrivals.started(values, feed) if name == WINDOW else values
        # With silence our model learns every label, by what was heard or what was not.
        used = None if at is not None else model.report().observed
        return self._contender(name, about, values, seconds, used)

    def _contender(
        self, name: str, about: str, values: Floats, seconds: float, used: int | None = None
    ) -> Contender:
        losses, cost = self._cost(values)
        used = int(np.count_nonzero(self.task.learned)) if used is None else used
        return Contender(name, about, values, losses, cost, self._later(losses), used, seconds)

    def _later(self, losses: Floats) -> float:
        """Return the mean loss of all but the first tenth."""
        later = np.flatnonzero(self.task.known)
        later = later[later >= self.task.begun]
        return mean(losses[later], self.task.weights[later]) if later.size else math.nan

    def _cost(self, values: Floats) -> tuple[Floats, float]:
        """Return the losses of predictions, and their mean; infinite where numbers overflow."""
        task = self.task
        known = task.known
        losses = np.full(task.rounds, np.nan)
        found = self.model.losses(values[known], task.labels[known])
        found = LOSSES[task.how.loss].per_loss * found
        losses[known] = np.where(np.isnan(found), np.inf, found)
        return losses, mean(losses[known], task.weights[known])
