"""Intervals with late labels: how many labels they cover, and how wide they are for that.

**Flights.** Two weeks of flights in time order, 90 % asked. The coverage is to be within half a
percent, and the mean half-width at most 49 minutes; the constant that would have been the best in
hindsight is there to be known. Two more logs, where installed, are those on which nothing was
chosen.

Intervals without ends, from before the first label, are left out: for us and for all peers.

**Swings.** Labels whose size swings between 1 and 10 with a period of twice the delay, where the
latest news is always of the other regime. The common rule moves its threshold by whether a label is
covered *now*; ours by whether it was covered by the interval that was issued with it.

MAPIE (adaptive conformal inference) and crepes, where installed, get the same predictions, and the
labels in the order in which they come. They are asked for a new width every ``EVERY`` labels.
"""

from __future__ import annotations

import importlib
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

import belated as bl
from benchmarks import late_logs
from benchmarks.seeds import seeds
from benchmarks.timing import Result

COVERAGE = 0.9
EVERY = 20
ROUNDS = 20_000
WIDEST = 49.0
TOLERANCE = 0.005
MOST_MISSED = 0.105
STEP = 3.0  # of the common rule: three tenths of the largest score, as fast as the swings are

Floats = NDArray[np.float64]


class Stream(NamedTuple):
    """Rows and labels, and the order of predictions (t) and labels (~t)."""

    name: str
    rows: Sequence[Any]
    labels: Floats
    events: list[int]


class Played(NamedTuple):
    """Predictions, their distances from the labels, and thresholds, in ticket order."""

    values: Floats
    scores: Floats
    thresholds: Floats
    guaranteed: float = 0.0
    """The coverage that was guaranteed in the end."""

    @property
    def missed(self) -> float:
        """The share of labels outside of their intervals."""
        return float(np.mean(self.scores[self.counted] > self.thresholds[self.counted]))

    @property
    def half_width(self) -> float:
        """The mean half-width where the label came."""
        return float(np.mean(np.maximum(self.thresholds[self.counted], 0.0)))

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Which labels came of intervals that had ends."""
        return self.came & np.isfinite(self.thresholds)

    @property
    def came(self) -> NDArray[np.bool_]:
        """Which labels came."""
        return ~np.isnan(self.scores)


class Peer(Protocol):
    """A way to find half-widths from the residuals that have come."""

    def learn(self, residual: float) -> None:
        """Take in a residual."""

    def half_width(self) -> float:
        """Return the half-width of the next intervals."""


def main() -> Iterator[Result]:
    """Yield all figures."""
    flights = two_weeks()
    ours = play_ours(flights)
    off = abs(1.0 - ours.missed - COVERAGE)
    note = f"guaranteed {ours.guaranteed:.4f}"
    yield _figure("intervals, flights: off the coverage", off, TOLERANCE, "share", 1.0, note)
    yield _figure("intervals, flights: half-width", ours.half_width, WIDEST, "minutes", 1.0)
    best = float(np.quantile(ours.scores[ours.came], COVERAGE))
    yield _figure("intervals, flights: over the best constant", ours.half_width, best, "minutes")
    for name, peer in peers().items():
        theirs = play_peer(flights, ours, peer())
        note = f"{name} missed {theirs.missed:.4f}, ours {ours.missed:.4f}"
        title = f"intervals, flights: half-width, {name}"
        yield _figure(title, ours.half_width, theirs.half_width, "minutes", note=note)
    yield from other_logs()
    for delay in (0, 50, 300):
        yield from swinging(delay)


def other_logs() -> Iterator[Result]:
    """Yield half-widths on logs on which nothing was chosen, over the best constants."""
    for cases in (late_logs.air_time, late_logs.weather):
        try:
            case = cases()[0]
        except late_logs.NotInstalled as missing:
            print(f"{missing} is not installed: {cases.__name__} is left out", file=sys.stderr)
            continue
        rows = [_known(case.log.row(t)) for t in range(len(case.log))]
        ours = play_ours(Stream(case.name, rows, case.target, case.events.tolist()))
        best = float(np.quantile(ours.scores[ours.came], COVERAGE))
        title, note = f"intervals, {case.name}: best constant", f"missed {ours.missed:.4f}"
        yield _figure(title, ours.half_width, best, "units", note=note)


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is missing."""
    return {name: value for name, value in row.items() if value == value}


def swinging(delay: int) -> Iterator[Result]:
    """Yield the shares missed where scores swing."""
    stream = swings(delay)
    ours = play_ours(stream)
    name = f"intervals, swings, delay {delay}: missed"
    note = f"half-width {ours.half_width:.4g}, guaranteed {ours.guaranteed:.4f}"
    yield _figure(name, ours.missed, MOST_MISSED, "share", 1.0, note)
    for other, peer in ({"common rule": Common} | peers()).items():
        theirs = play_peer(stream, ours, peer())
        note = f"half-width {theirs.half_width:.4g}"
        yield _figure(f"{name}, {other}", ours.missed, theirs.missed, "share", note=note)


def two_weeks() -> Stream:
    """Return the flights that come with belated."""
    log = bl.datasets.flights()
    timeline = log.timeline
    events = [e for e in timeline.events.tolist() if e >= 0 or timeline.observed[~e]]
    rows = [log.row(t) for t in range(len(log))]
    return Stream("flights", rows, np.asarray(log.target, dtype=np.float64), events)


def swings(delay: int) -> Stream:
    """Return labels of either sign whose size swings with a period of twice the delay."""
    generator, half = np.random.default_rng([*seeds("intervals", 1), delay]), max(delay, 50)
    size = np.where(np.arange(ROUNDS) // half % 2 == 1, 10.0, 1.0)
    sign = generator.choice([-1.0, 1.0], size=ROUNDS)
    labels = size * sign * generator.uniform(0.5, 1.0, size=ROUNDS)
    timeline = bl.delays.constant(ROUNDS, delay)
    events = [e for e in timeline.events.tolist() if e >= 0 or timeline.observed[~e]]
    return Stream("swings", [[]] * ROUNDS, labels, events)


def play_ours(stream: Stream) -> Played:
    """Play a stream with ``Intervals`` as they come."""
    intervals = bl.Intervals(bl.LinearModel("squared"), COVERAGE)
    played = _empty(stream)
    for event in stream.events:
        if event >= 0:
            _, value, low, high = intervals.predict(stream.rows[event])
            played.values[event] = value
            played.thresholds[event] = 0.5 * (high - low)
        else:
            label = float(stream.labels[~event])
            intervals.observe(~event, label)
            played.scores[~event] = abs(label - played.values[~event])
    return played._replace(guaranteed=intervals.report().guaranteed)


def play_peer(stream: Stream, ours: Played, peer: Peer) -> Played:
    """Play a stream with our predictions and the widths of a peer."""
    played, width, heard = _empty(stream), math.inf, 0
    for event in stream.events:
        if event >= 0:
            played.thresholds[event] = width
        else:
            peer.learn(float(stream.labels[~event] - ours.values[~event]))
            heard += 1
            if isinstance(peer, Common) or heard % EVERY == 0:
                width = peer.half_width()
    return Played(ours.values, ours.scores, played.thresholds)


def _empty(stream: Stream) -> Played:
    values, scores, thresholds = np.full((3, len(stream.rows)), math.nan)
    return Played(values, scores, thresholds)


class Common:
    """q += eta (1[s > q] - alpha), with q as it is when the label comes."""

    def __init__(self) -> None:
        self._threshold = 0.0

    def learn(self, residual: float) -> None:
        """Move the threshold."""
        self._threshold += STEP * ((abs(residual) > self._threshold) - (1.0 - COVERAGE))

    def half_width(self) -> float:
        """Return the threshold."""
        return self._threshold


class Crepes:
    """A conformal regressor that is fitted to all residuals so far."""

    def __init__(self) -> None:
        crepes: Any = importlib.import_module("crepes")
        self._make = crepes.ConformalRegressor
        self._residuals: list[float] = []

    def learn(self, residual: float) -> None:
        """Keep the residual."""
        self._residuals.append(residual)

    def half_width(self) -> float:
        """Fit, and return half of the interval."""
        fitted = self._make().fit(np.array(self._residuals))
        ((low, high),) = fitted.predict_int(np.zeros(1), confidence=COVERAGE)
        return float(high - low) / 2.0


class Mapie:
    """Adaptive conformal inference, after a first calibration.

    Where it gives an infinite interval, the largest residual so far is taken in its place.
    """

    FIRST = 500
    GAMMA = 0.05

    def __init__(self) -> None:
        base: Any = importlib.import_module("sklearn.base")
        regression: Any = importlib.import_module("mapie.regression")

        class Nothing(base.RegressorMixin, base.BaseEstimator):  # type: ignore[misc]
            """Predicts 0: the labels are residuals of another model."""

            n_features_in_ = 1

            def fit(self, x: Any, y: Any) -> Any:
                return self

            def predict(self, x: Any) -> Any:
                return np.zeros(len(x))

            def __sklearn_is_fitted__(self) -> bool:
                return True

        self._regressor = regression.TimeSeriesRegressor(Nothing(), method="aci", cv="prefit")
        self._first: list[float] = []
        self._new: list[float] = []
        self._largest = 0.0

    def learn(self, residual: float) -> None:
        """Keep the residual."""
        self._largest = max(self._largest, abs(residual))
        (self._first if len(self._first) < self.FIRST else self._new).append(residual)
        if len(self._first) == self.FIRST and not self._new:
            self._regressor.fit(np.zeros((self.FIRST, 1)), np.array(self._first))

    def half_width(self) -> float:
        """Adapt to what is new, and return half of the interval."""
        if len(self._first) < self.FIRST:
            return float(np.quantile(np.abs(self._first), COVERAGE))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self._new:
                rows, labels = np.zeros((len(self._new), 1)), np.array(self._new)
                self._regressor.adapt_conformal_inference(
                    rows, labels, gamma=self.GAMMA, confidence_level=COVERAGE
                )
                self._new = self._new[:0]
            _, found = self._regressor.predict(
                np.zeros((1, 1)), confidence_level=COVERAGE, allow_infinite_bounds=True
            )
        low, high = found[0, :, 0]
        return min(float(high - low) / 2.0, self._largest)


def peers() -> dict[str, Callable[[], Peer]]:
    """Return the peers that are installed, and say which are not."""
    known: dict[str, Callable[[], Peer]] = {"crepes": Crepes, "mapie": Mapie}
    for name in [name for name in known if find_spec(name) is None]:
        print(f"{name} is not installed: there is no figure of it", file=sys.stderr)
        del known[name]
    return known


def _figure(
    name: str, ours: float, floor: float, unit: str, target: float = math.inf, note: str = ""
) -> Result:
    return Result(name, ours / floor, target, ours, floor, unit, 0.0, note)
