"""Linear models with late labels against Vowpal Wabbit and river: how well, and how fast.

**How well.** Every log of :mod:`benchmarks.late_logs` and :mod:`benchmarks.timed_logs` is played in
time order: predict at the time of prediction, learn at the time of the label. Ours is
``LinearModel`` as it comes; VW is run in five ways, and where the target is a number, in two units
each, with errors always in the first one. The best of them is chosen afterwards, which nobody can
do beforehand. A ratio below 1 is in our favour. "No giving up" is ours with ``wait=None``. Where
features are dense, a delayed regression stands beside ours, see :mod:`benchmarks.dense_labels`.

**How fast.** A log of :data:`ROUNDS` rounds, labels 100 rounds late, features 30 dense ones or 100
of 2^20. Every run starts with a new model. VW is given text that was written beforehand, and its
time includes the parsing. River is given the first :data:`FEW` rounds, and the time of its
evaluation includes its copies of the features.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median, quantiles
from typing import Any

import numpy as np
from numpy.typing import NDArray

import belated as bl
from belated.models.linear import LinearModel, Rows
from benchmarks import dense_labels, timed_logs
from benchmarks import late_peers as peers
from benchmarks.late_logs import Case, cases, two_weeks
from benchmarks.timing import Result, interleaved

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Timed = tuple[Callable[[], object], int]
"""Work, and how many events it is."""

NO_TARGET = math.inf


def main() -> Iterator[Result]:
    """Yield all figures as they are found."""
    has_vw, has_river = peers.has("vowpalwabbit"), peers.has("river")
    for name, is_there in (("vowpalwabbit", has_vw), ("river", has_river)):
        if not is_there:
            print(f"{name} is not installed, so it is left out", file=sys.stderr)
    if has_vw:
        yield from quality()
    yield from dense_labels.quality()
    for features in (dense(), hashed()):
        yield from replayed(features, has_vw=has_vw, has_river=has_river)
        if has_vw:
            yield live_arrays(features)
    if has_river:
        yield from live_dicts()


# --- How well ------------------------------------------------------------------------------------


def quality() -> Iterator[Result]:
    """Yield our error over the best of VW, and over VW's default, on every log."""
    for case in (*cases(), *timed_logs.cases()):
        theirs = vw_errors(case)
        best = min(theirs.values())
        ours = our_error(case)
        yield _quality(f"{case.name}, best VW", case, ours, best, 1.0, _note(case, theirs))
        patient = our_error(case, wait=None)
        yield _quality(f"{case.name}, best VW, no giving up", case, patient, best, NO_TARGET)
        is_flight_delay = case.name in ("flights, two weeks", "flights, year")
        for unit, _ in case.units if is_flight_delay else case.units[:1]:
            label = f", {unit}" if is_flight_delay else ""
            target = 0.95 if is_flight_delay else NO_TARGET
            floor = theirs["default", unit]
            yield _quality(f"{case.name}, VW default{label}", case, ours, floor, target)


def our_error(case: Case, **settings: Any) -> float:
    """Return the mean error of our model on a log."""
    model = LinearModel(case.loss, **settings)
    rows = model.hasher.table(case.log.features)
    values = model.replay(rows, case.target, case.log.timeline)
    answered = case.log.answered
    losses = model.losses(values[answered], case.target[answered])
    return float(np.mean(losses)) * (2.0 if case.loss == "squared" else 1.0)


def vw_errors(case: Case) -> dict[tuple[str, str], float]:
    """Return VW's mean errors by setting and unit."""
    texts = peers.vw_texts(case.log)
    return {
        (setting, unit): _vw_error(case, texts, arguments, size)
        for setting, arguments in peers.VW_SETTINGS.items()
        for unit, size in case.units
    }


def _vw_error(case: Case, texts: list[str], arguments: str, size: float) -> float:
    logistic = case.loss == "logistic"
    labels = peers.vw_labels(case.target / size, logistic=logistic)
    vw = peers.workspace(arguments, logistic=logistic)
    found = peers.vw_replay(vw, texts, labels, case.events)[case.log.answered]
    vw.finish()
    target = case.target[case.log.answered]
    if logistic:
        return float(np.mean(np.logaddexp(0.0, np.where(target > 0.5, -found, found))))
    return float(np.mean((size * found - target) ** 2))


def _note(case: Case, theirs: dict[tuple[str, str], float]) -> str:
    rows = "; ".join(f"{way} ({unit}): {error:.5g}" for (way, unit), error in theirs.items())
    return f"delays are {case.delays}; VW {rows}"


def _quality(
    name: str, case: Case, ours: float, floor: float, target: float, note: str = ""
) -> Result:
    return Result(
        name=name,
        ratio=ours / floor,
        target=target,
        ours=ours,
        floor=floor,
        unit="log loss" if case.loss == "logistic" else "sq. error",
        spread=0.0,
        note=note,
    )


# --- How fast ------------------------------------------------------------------------------------

ROUNDS = 100_000
FEW = 5_000
DELAY = 100
BITS = 20
REPEATS = 5
OVER_VW = {"30 dense": 0.04, "100 of 2^20": 0.12}
LIVE_OVER_VW = {"30 dense": 0.09, "100 of 2^20": 0.22}
OVER_RIVER = {"30 dense": 0.02, "100 of 2^20": 0.03}
"""How long a compiled replay may take, as a part of theirs, by log."""
RIVER = {"river": peers.river_regression, "river, scaled": peers.river_scaled_regression}
"""Models for numbers: regression alone, and as it is recommended, with a scaler before it."""


class Made:
    """A made-up log with features in every form that somebody wants them in."""

    def __init__(self, name: str, indices: Ints) -> None:
        generator = np.random.default_rng(0)
        self.name = name
        self.indices = indices
        self.values = generator.normal(size=indices.shape)
        weights = generator.normal(size=1 << BITS)
        self.labels = (weights[indices] * self.values).sum(axis=1) + generator.normal(size=ROUNDS)
        timeline = bl.delays.constant(ROUNDS, DELAY)
        self.events = timeline.events[: ROUNDS + int(timeline.observed.sum())].copy()

    @property
    def rows(self) -> Rows:
        """The features as one sparse matrix."""
        rounds, width = self.indices.shape
        indptr = width * np.arange(rounds + 1, dtype=np.int64)
        return Rows(indptr, self.indices.ravel(), self.values.ravel())

    @property
    def dicts(self) -> list[dict[str, float]]:
        """The features of the first rounds by name."""
        return [{f"f{i}": v for i, v in pairs} for pairs in self._pairs(FEW)]

    @property
    def texts(self) -> list[str]:
        """The features in VW's format."""
        return ["|" + "".join(f" {i}:{v:.6g}" for i, v in pairs) for pairs in self._pairs(ROUNDS)]

    def _pairs(self, rounds: int) -> Iterator[Iterator[tuple[int, float]]]:
        for indices, values in zip(self.indices[:rounds], self.values[:rounds], strict=True):
            yield zip(indices.tolist(), values.tolist(), strict=True)


def dense() -> Made:
    """Return a log with 30 numbers in every row."""
    return Made("30 dense", np.tile(np.arange(30, dtype=np.int64), (ROUNDS, 1)))


def hashed() -> Made:
    """Return a log with 100 numbers in every row, at coordinates that are all equally likely."""
    places = np.random.default_rng(1).integers(0, 1 << BITS, size=(ROUNDS, 100))
    return Made("100 of 2^20", places)


def replayed(made: Made, *, has_vw: bool, has_river: bool) -> Iterator[Result]:
    """Yield our compiled replay over loops of VW and of river."""
    events = made.events.size
    ours = partial(_replay, made, made.rows)
    if has_vw:
        texts, labels = made.texts, peers.vw_labels(made.labels)
        for way, play, target in (
            ("VW", peers.vw_replay, OVER_VW[made.name]),
            ("VW, examples kept", peers.vw_kept, NO_TARGET),
        ):
            floor = partial(_vw, play, texts, labels, made.events)
            name = f"replay, {made.name}, over {way}"
            yield timed(name, (ours, events), (floor, events), target)
    if has_river:
        pairs = list(zip(made.dicts, made.labels[:FEW].tolist(), strict=True))
        for way, model in RIVER.items():
            floor = partial(_river_delayed, model, pairs)
            name = f"replay, {made.name}, over {way}"
            yield timed(name, (ours, events), (floor, 2 * FEW), OVER_RIVER[made.name])


def live_arrays(made: Made) -> Result:
    """Return live events with arrays over VW's kept examples."""
    rows = list(zip(made.indices, made.values, strict=True))
    ours = partial(_live, rows, made.labels.tolist())
    floor = partial(_vw, peers.vw_kept, made.texts, peers.vw_labels(made.labels), made.events)
    name = f"live, {made.name}, over VW, examples kept"
    target = LIVE_OVER_VW[made.name]
    return timed(name, (ours, 2 * ROUNDS - DELAY), (floor, made.events.size), target)


def live_dicts() -> Iterator[Result]:
    """Yield live events with dicts over those of river, with numbers and with words too."""
    made = dense()
    for way, model in RIVER.items():
        yield _live_dicts(f"30 dense, over {way}", made.dicts, made.labels[:FEW], model)
    flights = two_weeks()[0]
    words = [flights.log.row(i) for i in range(len(flights.log))]
    labels = np.nan_to_num(flights.target)
    yield _live_dicts("flights, over river", words, labels, peers.river_encoded_regression)


def _live_dicts(name: str, rows: Sequence[Any], labels: Floats, model: Callable[[], Any]) -> Result:
    ours = partial(_live, rows, labels.tolist())
    floor = partial(_river_live, model, rows, labels.tolist())
    events = 2 * len(rows) - DELAY
    return timed(f"live dicts, {name}", (ours, events), (floor, events), 0.4)


def timed(name: str, ours: Timed, floor: Timed, target: float) -> Result:
    """Return the times of both per event, and the median of the ratios of pairs."""
    works = {"ours": ours[0], "floor": floor[0]}
    times = interleaved(works, REPEATS)
    mine = [1e6 * seconds / ours[1] for seconds in times["ours"]]
    theirs = [1e6 * seconds / floor[1] for seconds in times["floor"]]
    low, middle, high = quantiles([a / b for a, b in zip(mine, theirs, strict=True)], n=4)
    return Result(
        name=name,
        ratio=middle,
        target=target,
        ours=median(mine),
        floor=median(theirs),
        unit="us/event",
        spread=(high - low) / 2.0 / middle,
    )


def _replay(made: Made, rows: Rows) -> Floats:
    return LinearModel(bits=BITS).replay(rows, made.labels, made.events)


def _live(rows: Sequence[Any], labels: Sequence[float]) -> None:
    model = LinearModel(bits=BITS)
    predict, observe = model.predict, model.observe
    for t, row in enumerate(rows):
        predict(row)
        if t >= DELAY:
            observe(t - DELAY, labels[t - DELAY])


def _vw(
    play: Callable[..., Floats], texts: Sequence[str], labels: Sequence[str], events: Ints
) -> None:
    vw = peers.workspace(f"-b {BITS}")
    play(vw, texts, labels, events)
    vw.finish()


def _river_delayed(make: Callable[[], Any], rows: Sequence[tuple[Any, float]]) -> None:
    peers.river_delayed(make(), rows, DELAY)


def _river_live(make: Callable[[], Any], rows: Sequence[Any], labels: Sequence[float]) -> None:
    peers.river_live(make(), rows, labels, DELAY)
