"""What no answer means: nothing, or a label of its own, once a deadline has passed.

With silence, every row gets a label: what was heard until its deadline, or else that of silence.
Scores count the rows whose deadline has passed when the log ends, as only those are known for
sure; of younger ones, to count those that were heard of would count no silence.
"""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np

from belated.arrays import Array, Bools, Floats
from belated.errors import LogError
from belated.logs import Log, Unit
from belated.logs.kinds import word
from belated.logs.log import SECONDS
from belated.logs.spans import span_in
from belated.models.linear.losses import LOSSES
from belated.replays.labels import Labels

ENOUGH = 0.5
"""The share of rows that must be older than a deadline that nobody gave."""


@dataclass(frozen=True)
class Silence:
    """What the caller says about rows without an answer."""

    value: str | float | None = None
    """The target that no answer means; None: nobody said."""
    deadline: str | float | timedelta | None = None
    """How long an answer may take: a length of time, or a number in the unit of the log."""
    answered_only: bool = False
    """Whether rows without an answer are to mean nothing, whatever they hold."""

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if self.answered_only and (self.value is not None or self.deadline is not None):
            raise LogError("replay: answered-only goes without silence and deadline")

    def check(self) -> None:
        """Refuse a deadline where nobody says what silence means, also no model of a store."""
        if self.deadline is not None and self.value is None:
            raise LogError(
                "replay: a deadline says when silence is an answer; say which one with silence "
                "(--silence)"
            )


@dataclass(frozen=True, eq=False)
class Hearing:
    """Which labels are learned, which of them count, and what is only silence; by row."""

    heard: Bools
    counts: Bools
    is_silence: Bools

    def take(self, rows: Any) -> Hearing:
        """Return some rows."""
        return Hearing(self.heard[rows], self.counts[rows], self.is_silence[rows])


def arrivals(log: Log, said: Silence) -> Floats:
    """Return the target of a log that has only times: 1 where an answer came; NaN elsewhere."""
    if word(said.value) == "1":
        raise LogError("replay: an answer is a 1, and so cannot be what silence means; say 0")
    return np.where(log.answered, 1.0, np.nan)


def heard(
    log: Log, labels: Floats, truth: Array, how: Labels, said: Silence
) -> tuple[Log, Floats, Labels, Hearing]:
    """Return the log, its labels, how they are learned, and which of them are heard and count."""
    if said.value is not None:
        return _with_silence(log, labels, truth, how, said)
    known = log.answered & ~np.isnan(labels)
    if not known.any():
        raise LogError(f"replay: {log.name} has no answered row with a target")
    if not said.answered_only:
        _refuse_doubt(log, labels, truth, known, how)
    return log, labels, how, Hearing(known, known, np.zeros(len(log), np.bool_))


def _refuse_doubt(log: Log, labels: Floats, truth: Array, known: Bools, how: Labels) -> None:
    """Stop where silence seems to be an answer, and nobody said which."""
    waiting = ~log.answered & ~np.isnan(labels)
    if waiting.any():
        counts = Counter(word(cell) for cell in truth[waiting].tolist())
        usual, count = counts.most_common(1)[0]
        means, value = "something", "VALUE"
        if 2 * count >= waiting.sum():
            means, value = repr(usual), shlex.quote(usual)
        raise LogError(
            f"replay: {_rows(int(waiting.sum()))} a target and no time at which it was known (such "
            f"as {usual!r}). If no answer means {means}, say so with --silence {value} and, if "
            "answers stop to count after some time, --deadline 30d; to learn and count only rows "
            "with an answer, --answered-only"
        )
    if np.count_nonzero(known) > 1 and np.ptp(labels[known]) == 0.0:
        silent = int(np.count_nonzero(~log.answered))
        hint = (
            f"If no answer means something else, say what with --silence VALUE: {_rows(silent)} no "
            "answer; to go on all the same, --answered-only"
            if silent
            else "There is nothing to predict; to go on all the same, --answered-only"
        )
        raise LogError(f"replay: every answer is {_alike(truth[known], how)}. {hint}")


def _alike(truth: Array, how: Labels) -> str:
    """Say what all answers are, by what is made of them."""
    if truth.dtype.kind != "f" or np.ptp(truth) == 0.0:
        return repr(word(truth.tolist()[0]))
    ends = f"they go from {truth.min():g} to {truth.max():g}"
    if how.threshold is not None:
        side = "above" if truth[0] > how.threshold else "at most"
        return f"{side} the threshold {how.threshold:g} ({ends}, so give --threshold in between)"
    if how.clip is not None:
        return f"the same when cut to --clip {how.clip[0]:g} {how.clip[1]:g} ({ends})"
    return f"another number than {how.positive!r} ({ends})"


def _rows(count: int) -> str:
    return f"{count:,} row has" if count == 1 else f"{count:,} rows have"


def _with_silence(
    log: Log, labels: Floats, truth: Array, how: Labels, said: Silence
) -> tuple[Log, Floats, Labels, Hearing]:
    """Give every row the label that it has at its deadline."""
    if log.weight is not None:
        raise LogError("replay: with silence every label counts once; leave out the weight")
    silence = _label(how, said, truth)
    told = log.answered & ~np.isnan(labels)
    other = ~log.answered & ~np.isnan(labels) & (labels != silence)
    if other.any():
        raise LogError(
            f"replay: {_rows(int(other.sum()))} another target than silence, {said.value!r}, and "
            "no time at which it was known"
        )
    starts, ends = log.times.predicted_at, np.where(told, log.times.observed_at, 0)
    span = _span(log, said, starts, ends, told)
    due = starts + span
    in_time = told & (ends <= due)
    last = ends[told].max(initial=starts.max())
    is_over = due <= last
    if not is_over.any():
        raise LogError(
            "replay: no deadline has passed when the log ends; give a shorter --deadline"
        )
    is_silence = is_over & ~in_time
    heard_by = in_time | is_silence
    observed = np.where(in_time, ends, due)
    changed = replace(
        log,
        observed_at=observed.view(log.predicted_at.dtype) if log.is_calendar else observed,
        answered=heard_by,
        waits=None if log.waits is None else np.where(in_time, log.waits, float(span)),
    )
    changed = replace(changed, observed_at=_gapped(changed, heard_by))
    final = np.where(in_time, labels, np.where(is_silence, silence, np.nan))
    how = replace(how, silence=silence, deadline=_deadline(log, said, span))
    return changed, final, how, Hearing(heard_by, is_over, is_silence)


def _gapped(log: Log, heard_by: Bools) -> Array:
    """Return answers with gaps where none came in time."""
    if log.observed_at.dtype.kind == "i":
        return log.observed_at
    nothing: Any = np.array("NaT", log.observed_at.dtype) if log.is_calendar else np.nan
    return np.where(heard_by, log.observed_at, nothing)


def _label(how: Labels, said: Silence, truth: Array) -> float:
    """Return the label that silence means."""
    no, yes = LOSSES[how.loss].labels.classes or (0.0, 1.0)
    text = word(said.value)
    if how.positive is not None:
        known = {word(cell) for cell in truth.tolist() if cell is not None and cell == cell}
        if len(known) > 1 and text not in known:
            listed = ", ".join(map(repr, sorted(known)[:5]))
            raise LogError(f"replay: silence is a target, such as {listed}; got {text!r}")
        return yes if text == how.positive else no
    try:
        return float(how.of(np.array([float(text)]))[0])
    except ValueError:
        raise LogError(f"replay: silence is a target, here a number, got {text!r}") from None


# ---- deadlines ---------------------------------------------------------------------------------


def _span(log: Log, said: Silence, starts: Array, ends: Array, told: Bools) -> Any:
    """Return the deadline in the unit of the clock; by default the longest that an answer took."""
    if said.deadline is not None:
        span = in_unit(said.deadline, log.unit, has_dates=log.has_dates)
        return np.int64(round(span)) if starts.dtype.kind == "i" else span
    if not told.any():
        raise LogError("replay: no row has an answer; say --deadline to learn from silence alone")
    waits = (ends - starts)[told]
    longest = waits.max()
    last = max(starts.max(), ends[told].max())
    if np.mean(starts + longest <= last) < ENOUGH:
        raise LogError(
            "replay: the longest answer took so long that the deadline of most rows would be "
            "after the end of the log; say with --deadline how long an answer counts"
        )
    return longest


def _deadline(log: Log, said: Silence, span: Any) -> float | timedelta:
    """Return the deadline as a model takes it: a length of time where times are dates."""
    if not log.has_dates:
        return float(span)
    length = timedelta(seconds=float(span) * SECONDS[log.unit or "s"])
    # Dates are floats to the model: the slowest answer, which is the deadline, shall not be late.
    return length if said.deadline is not None else length + timedelta(microseconds=1)


def in_unit(
    deadline: str | float | timedelta, unit: Unit | None, *, has_dates: bool = False
) -> float:
    """Return a length of time in the unit of a log.

    >>> in_unit("30d", "s"), in_unit("1.5 h", "min"), in_unit("250", None)
    (2592000.0, 90.0, 250.0)
    """
    span = span_in(deadline, unit, "replay", has_dates=has_dates)
    if span == 0.0:
        raise LogError(f"replay: a deadline is longer than nothing, got {deadline!r}")
    return span
