"""Real logs in which something is heard of late, or never, and the ways to learn from them.

* **purchases**: the customers of CDNOW who bought for the first time in the first quarter of 1997,
  until June 1998 (Fader and Hardie 2001), from the data files of the package ``lifetimes``. After
  every day with a purchase: will the customer buy again within so many days? A yes is heard of when
  it happens; that there was none is never said. Days too close to the end of the data to tell are
  predicted, and do not count.
* **flights**: all flights from New York in 2013, at scheduled departure: will it be cancelled? An
  arrival is heard of; a cancellation, here, is what is not heard of within a day.

All ways use ``LinearModel`` with logistic loss on the same features; they differ in what they tell
it, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.models.linear import LinearModel, Rows
from belated.models.linear.features import Hasher
from belated.replays.baselines import Arrivals, linear, matrix
from benchmarks.flights_of_2013 import build_year

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BITS = 18
_END = np.datetime64("1998-06-30")  # of the purchases
_PREDICT, _HEAR, _DUE = 2, 0, 1  # what comes first of events at the same time: hearing


@dataclass(frozen=True)
class Silent:
    """Rows in the order of time, in days, and what comes of them."""

    rows: Rows
    asked: Floats
    heard: Floats
    """When something was heard of a row, within the deadline; infinite where nothing was."""
    deadline: float
    silence: float
    """The label of what nothing is heard of; the other one is heard."""
    counts: NDArray[np.bool_]
    """Rows whose last word is known."""
    windows: tuple[float, ...]
    """Days, shorter than the deadline, that one may think of waiting."""
    refit_every: float = 7.0
    """Days from one fit of a regression to the next."""

    @property
    def arrivals(self) -> Arrivals:
        """The same as baselines take it."""
        answers = np.full(len(self.asked), 1.0 - self.silence)
        return Arrivals(self.asked, answers, self.heard, self.silence, self.deadline)

    @property
    def labels(self) -> Floats:
        """The last word on every row."""
        return np.where(np.isfinite(self.heard), 1.0 - self.silence, self.silence)

    def row(self, t: int) -> tuple[Ints, Floats]:
        """Return coordinates and values of a row."""
        part = slice(self.rows.indptr[t], self.rows.indptr[t + 1])
        return self.rows.indices[part], self.rows.values[part]

    def events(self, due: float) -> Iterator[tuple[int, int]]:
        """Yield kinds and rows in the order of time; ``due`` is when one stops waiting."""
        count = len(self.asked)
        rows = np.tile(np.arange(count), 3)
        times = np.concatenate([self.asked, self.heard, self.asked + due])
        kinds = np.repeat([_PREDICT, _HEAR, _DUE], count)
        end = self.asked[-1]
        order = np.lexsort((rows, kinds, times))
        order = order[times[order] <= end]
        return zip(kinds[order].tolist(), rows[order].tolist(), strict=True)


# --- Logs ----------------------------------------------------------------------------------------


def purchases_file() -> Path | None:
    """Return the file of purchases, where ``lifetimes`` is installed; it is not imported."""
    found = find_spec("lifetimes")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]) / "datasets" / "CDNOW_master.txt"


def purchases(path: Path, window: float) -> Silent:
    """Return days with purchases, and whether the customer bought again within the window."""
    table = np.loadtxt(path, dtype=np.float64, skiprows=1)
    customers, dates = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    texts = [f"{d // 10000}-{d // 100 % 100:02}-{d % 100:02}" for d in dates.tolist()]
    days = np.array(texts, dtype="datetime64[D]").astype(np.int64)
    keys = np.stack([customers, days], axis=1)
    pairs, first = np.unique(keys, axis=0, return_inverse=True)
    pieces, spent = (np.bincount(first.ravel(), weights=table[:, column]) for column in (2, 3))
    customer, day = pairs[:, 0], pairs[:, 1].astype(np.float64)
    is_new = np.append(True, customer[1:] != customer[:-1])
    start = np.maximum.accumulate(np.where(is_new, np.arange(len(day)), 0))
    number = np.arange(len(day)) - start + 1
    before = np.where(is_new, np.nan, np.append(0.0, np.diff(day)))
    total = np.cumsum(spent) - (np.cumsum(spent) - spent)[start]
    again = np.where(np.append(is_new[1:], True), np.inf, np.append(day[1:], np.inf))
    columns = {
        "number": [str(min(n, 12)) for n in number.tolist()],
        "purchases": np.log(number),
        "gap": [None if g != g else str(int(np.log2(g))) for g in before.tolist()],
        "days since": np.log(before),
        "age": np.log1p(day - day[start]),
        "spent": np.log1p(spent),
        "total": np.log1p(total),
        "pieces": np.log1p(pieces),
    }
    order = np.lexsort((customer, day))
    end = float(_END.astype(np.int64))
    taken = {name: np.asarray(column, dtype=object)[order] for name, column in columns.items()}
    return Silent(
        rows=Hasher(BITS).table(taken),
        asked=day[order],
        heard=np.where(again - day <= window, again, np.inf)[order],
        deadline=window,
        silence=0.0,
        counts=(day + window <= end)[order],
        windows=tuple(days for days in (7.0, 30.0, 90.0) if days < window),
    )


def returns(people: Ints, days: Ints, window: float) -> Silent:
    """Return the days on which somebody was there, and whether the same came again in time."""
    pairs = np.unique(np.stack([people, days], axis=1), axis=0)
    person, day = pairs[:, 0], pairs[:, 1].astype(np.float64)
    is_new = np.append(True, person[1:] != person[:-1])
    start = np.maximum.accumulate(np.where(is_new, np.arange(len(day)), 0))
    number = np.arange(len(day)) - start + 1
    before = np.where(is_new, np.nan, np.append(0.0, np.diff(day)))
    again = np.where(np.append(is_new[1:], True), np.inf, np.append(day[1:], np.inf))
    columns = {
        "number": [str(min(n, 12)) for n in number.tolist()],
        "times": np.log(number),
        "gap": [None if g != g else str(int(np.log2(g))) for g in before.tolist()],
        "days since": np.log(before),
        "age": np.log1p(day - day[start]),
    }
    heard = np.where(again - day <= window, again, np.inf)
    shorter = tuple(width for width in (7.0, 30.0) if width < window)
    return silent(columns, day, heard, window, day + window <= day.max(), shorter)


def silent(
    columns: Mapping[str, Any],
    asked: Floats,
    heard: Floats,
    deadline: float,
    counts: NDArray[np.bool_],
    shorter: tuple[float, ...],
    refit_every: float = 7.0,
) -> Silent:
    """Return rows in the order of time; silence is a no."""
    order = np.argsort(asked, kind="stable")
    taken = {name: np.asarray(column, dtype=object)[order] for name, column in columns.items()}
    return Silent(
        rows=Hasher(BITS).table(taken),
        asked=asked[order],
        heard=heard[order],
        deadline=deadline,
        silence=0.0,
        counts=counts[order],
        windows=shorter,
        refit_every=refit_every,
    )


def cancellations() -> Silent:
    """Return the flights of 2013; silence is a cancellation, for which a day is enough."""
    log = build_year()
    scale = np.timedelta64(1, "D").astype("timedelta64[ns]").astype(np.float64)
    asked = log.predicted_at.astype(np.int64) / scale
    came = np.where(log.answered, log.observed_at.astype(np.int64) / scale, np.inf)
    names = ("carrier", "origin", "dest", "weekday", "distance", "month", "hour")
    return Silent(
        rows=Hasher(BITS).table({name: log.features[name] for name in names}),
        asked=asked,
        heard=np.where(came - asked <= 1.0, came, np.inf),
        deadline=1.0,
        silence=1.0,
        counts=asked + 1.0 <= asked[-1],
        windows=(0.125, 0.25, 0.5),
    )


# --- Ways ----------------------------------------------------------------------------------------


def ours(given: Silent, **settings: Any) -> Floats:
    """Silence is a label, learned at once and corrected when something is heard."""
    settings |= {"silence": given.silence, "deadline": given.deadline}
    model = LinearModel("logistic", bits=BITS, **settings)
    values = np.empty(len(given.asked))
    for kind, row in given.events(given.deadline):
        if kind == _PREDICT:
            at = float(given.asked[row])
            values[row] = model.predict(given.row(row), at=at).value
        elif kind == _HEAR:
            model.observe(row, 1.0 - given.silence, at=float(given.heard[row]))
    assert model.report().late == 0
    return values


def at_once(given: Silent) -> Floats:
    """The last word comes right after the prediction, which no way can have."""
    model = LinearModel("logistic", bits=BITS)
    labels = given.labels.tolist()
    values = np.empty(len(given.asked))
    for row in range(len(given.asked)):
        ticket, values[row] = model.predict(given.row(row))
        model.observe(ticket, labels[row])
    return values


def windows(given: Silent) -> dict[str, Floats]:
    """Both labels are held back until the window is over; the longest one is the deadline."""
    found = {}
    for width in (*given.windows, given.deadline):
        feed = given.arrivals.windowed(width)
        values = LinearModel("logistic", bits=BITS).replay(given.rows, feed.labels, feed.events)
        found[f"window of {width:g} days"] = given.arrivals.started(values, feed)
    return found


def regressions(given: Silent) -> dict[str, Floats]:
    """Logistic regressions, fitted anew every so often on rows that are old enough."""
    inputs, fit = matrix(given.rows), linear("logistic", (1.0,))
    return {
        f"refits, window of {width:g} days": given.arrivals.refitted(
            inputs, fit, given.refit_every, width
        )
        for width in given.windows
    }


def heard_only(given: Silent) -> Floats:
    """Learns what it hears, and nothing of silence."""
    model = LinearModel("logistic", bits=BITS)
    values = np.empty(len(given.asked))
    for kind, row in given.events(given.deadline):
        if kind == _PREDICT:
            values[row] = model.predict(given.row(row)).value
        elif kind == _HEAR:
            model.observe(row, 1.0 - given.silence)
    return values


def fake_negatives(given: Silent) -> Floats:
    """Fake-negative weighting (Ktena et al. 2019): see ``benchmarks.conversions``.

    p is the probability that something is heard; weights are (1 - p)(1 + p) and 1 + p.
    """
    model = LinearModel("logistic", bits=BITS)
    quiet, values = given.silence, np.empty(len(given.asked))
    for kind, row in given.events(given.deadline):
        if kind == _DUE:
            continue
        ticket, value = model.predict(given.row(row))
        p = value if quiet == 0.0 else 1.0 - value
        if kind == _PREDICT:
            values[row] = value
            model.observe(ticket, quiet, weight=max((1.0 - p) * (1.0 + p), 1e-6))
        else:
            model.observe(ticket, 1.0 - quiet, weight=1.0 + p)
    return values


def calibrated(given: Silent) -> Floats:
    """Fake-negative calibration: the same examples without weights, b being p / (1 + p)."""
    model = LinearModel("logistic", bits=BITS)
    quiet, values = given.silence, np.empty(len(given.asked))
    for kind, row in given.events(given.deadline):
        if kind == _DUE:
            continue
        ticket, value = model.predict(given.row(row))
        if kind == _PREDICT:
            b = value if quiet == 0.0 else 1.0 - value
            p = b / (1.0 - b) if b < 0.5 else 1.0
            values[row] = p if quiet == 0.0 else 1.0 - p
            model.observe(ticket, quiet)
        else:
            model.observe(ticket, 1.0 - quiet)
    return values


def rivals(given: Silent) -> Iterator[tuple[str, Floats]]:
    """Yield names and predictions of all other ways."""
    ways: dict[str, Callable[[Silent], Floats]] = {
        "fake-negative weighting": fake_negatives,
        "fake-negative calibration": calibrated,
        "only what is heard": heard_only,
    }
    for name, way in ways.items():
        yield name, way(given)
    yield "running share", given.arrivals.running_mean()
    yield from windows(given).items()
    yield from regressions(given).items()
