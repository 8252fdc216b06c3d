"""Made-up logs in which the label itself says when it is known, and some in which it does not.

A booking that is cancelled is known to be within days, one that is kept only on the day of arrival;
a short journey is over before a long one. Every log has 20,000 rounds with six numbers and a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.late_logs import Case, in_order, per_sd
from benchmarks.seeds import seeds

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ROUNDS = 20_000
SHARES = (0.1, 0.4)
SPANS = (1000, 5000)
"""How many rounds later the late kind is known, on average."""
RARE = (0.001, 0.01, 0.1)
WAITS = (100, 1000)
"""Shares of yes, and mean delays, where neither features nor delays say anything of the label."""
_SOON = 50.0  # the same of the early kind
_NUMBERS, _WORDS = 6, 8
_NEVER = 0.3
_PLACE = np.arange(ROUNDS, dtype=np.float64)
_BACKLOG = 5000
_LONG = 20_000.0  # rounds, after which all is answered


def cases() -> Iterator[Case]:
    """Yield every world."""
    for early in ("yes", "no"):
        for share in SHARES:
            for span in SPANS:
                yield answers(early, share, span)
    yield answers("yes", 0.4, 5000, drift=True)
    yield answers("no", 0.1, 1000, drift=True)
    yield answers("yes", 0.4, 1000, never=True)
    yield bookings()
    for span in SPANS:
        yield durations(span)
    yield durations(1000, drift=True)
    yield durations(5000, never=True)
    yield arrivals()


def backlogs() -> Iterator[Case]:
    """Yield durations whose tickets are not asked evenly, or whose order comes to an end."""
    yield _uneven("backlogs of 5,000", _in_backlogs(ROUNDS))
    yield _uneven("one backlog of 5,000", _in_backlogs(_BACKLOG))
    yield _uneven("a pause after 3,000", np.where(_PLACE < 3000, 0.0, _LONG))
    yield _uneven("nights", _LONG * (_PLACE // 2000))
    yield _uneven("order ceases after 5,000", 0.0 * _PLACE, ceases=True)


def equally_late() -> Iterator[Case]:
    """Yield worlds in which what is open is like what is known, and a constant is best."""
    for share in RARE:
        for wait in WAITS:
            rng = _generator(5, int(1000 * share), wait)
            columns, _ = _features(rng)
            y = rng.random(ROUNDS) < share
            delays = wait * rng.exponential(size=ROUNDS)
            yield _case(rng, f"equally late, {share:.1%}, {wait:,}", columns, y, delays)


def answers(
    early: str, share: float, span: int, *, drift: bool = False, never: bool = False
) -> Case:
    """Yes or no, one of which is known soon and the other one after ``span`` rounds or so."""
    rng = _generator(1, early == "yes", int(10 * share), span, drift, never)
    columns, score = _features(rng)
    y = _drawn(rng, 0.8 * score + _turn(drift), share)
    soon = _SOON * rng.exponential(size=ROUNDS)
    late = span * rng.uniform(0.5, 1.5, size=ROUNDS)
    delays = np.where(y == (early == "yes"), soon, late)
    name = f"early {early}, {share:.0%}, {span:,}{_extra(drift, never)}"
    return _case(rng, name, columns, y, delays, never)


def bookings() -> Case:
    """Cancelled or not: a stay is known when its lead time is over, which is among the features."""
    rng = _generator(2)
    columns, score = _features(rng)
    lead = 2500.0 * np.exp(0.9 * rng.standard_normal(ROUNDS) + 0.2 * score)
    columns["lead"] = lead
    cancelled = _drawn(rng, 0.6 * score + 0.5 * np.log(lead / 2500.0), 0.37)
    delays = np.where(cancelled, 0.1 * lead * rng.random(ROUNDS), lead)
    return _case(rng, "bookings", columns, cancelled, delays)


def durations(span: int, *, drift: bool = False, never: bool = False) -> Case:
    """How long something takes, which is when it is known."""
    rng = _generator(3, span, drift, never)
    columns, score = _features(rng)
    y = np.exp(0.4 * score + _turn(drift) + 0.5 * rng.standard_normal(ROUNDS))
    return _case(rng, f"durations, {span:,}{_extra(drift, never)}", columns, y, span * y, never)


def _in_backlogs(until: int) -> Floats:
    """Return how much later than their number tickets are asked, up to one of them at once.

    The next backlog is asked when all of the one before is answered.
    """
    asked = np.minimum(_PLACE, until)
    number = asked // _BACKLOG
    return number * _LONG - 0.999 * np.where(until > _PLACE, asked - number * _BACKLOG, 0.0)


def _uneven(name: str, later: Floats, *, ceases: bool = False) -> Case:
    """Durations of about 1,000 rounds, of tickets that are asked later than one each round."""
    rng = _generator(6, int(later.max()), ceases)
    columns, score = _features(rng)
    y = np.exp(0.4 * score + 0.5 * rng.standard_normal(ROUNDS))
    delays = 1000.0 * y
    if ceases:
        delays = np.where(_PLACE < _BACKLOG, delays, rng.permutation(delays))
    return _case(rng, f"durations, {name}", columns, y, delays, times=_PLACE + later)


def arrivals() -> Case:
    """How late something is, known after the journey and as much later as it is late."""
    rng = _generator(4)
    columns, score = _features(rng)
    y = 10.0 * (0.5 * score + rng.exponential(size=ROUNDS) - 1.0)
    return _case(rng, "arrivals", columns, y, np.maximum(1000.0 + 60.0 * y, 0.0))


def _generator(*world: int) -> np.random.Generator:
    """Return what a world is drawn with: it follows from the seed of the run and the world."""
    return np.random.default_rng([*seeds("lateness by label", 1), *world])


def _features(rng: np.random.Generator) -> tuple[dict[str, Any], Floats]:
    """Return columns, and a linear score of them with variance 1."""
    x = rng.standard_normal((ROUNDS, _NUMBERS))
    words = rng.integers(0, _WORDS, size=ROUNDS)
    score = x @ rng.standard_normal(_NUMBERS) + rng.standard_normal(_WORDS)[words]
    columns: dict[str, Any] = {f"x{i}": x[:, i] for i in range(_NUMBERS)}
    columns["word"] = np.array([f"w{word}" for word in words.tolist()], dtype=object)
    return columns, (score - score.mean()) / score.std()


def _drawn(rng: np.random.Generator, score: Floats, share: float) -> Bools:
    """Draw yes with log odds that are the score and a constant, about as often as ``share``."""
    grid = np.linspace(-8.0, 8.0, 401)
    means = [np.mean(1.0 / (1.0 + np.exp(-(level + score)))) for level in grid]
    level = np.interp(share, means, grid)
    return np.asarray(rng.random(ROUNDS) < 1.0 / (1.0 + np.exp(-(level + score))))


def _turn(drift: bool) -> Floats | float:
    return 0.6 * np.sin(2.0 * np.pi * np.arange(ROUNDS) / ROUNDS) if drift else 0.0


def _extra(drift: bool, never: bool) -> str:
    return ", drift" if drift else ", some never" if never else ""


def _case(
    rng: np.random.Generator,
    name: str,
    columns: dict[str, Any],
    y: NDArray[Any],
    delays: Floats,
    never: bool = False,
    times: Floats = _PLACE,
) -> Case:
    if never:
        delays = np.where(rng.random(ROUNDS) < _NEVER, np.nan, delays)
    log = in_order(times, times + delays, y.astype(np.float64), columns)
    if y.dtype == np.bool_:
        return Case(name, log, "logistic", "made up")
    return Case(name, log, "squared", "made up", per_sd(log))
