"""How the target becomes a label: as it is, cut, or made a yes or no."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal

import numpy as np

from belated.arrays import Array, Bools, Floats
from belated.errors import LogError
from belated.limits import HUGE_LABEL
from belated.logs import Log, Unit
from belated.logs.kinds import ANSWERS, Kinds, word
from belated.logs.log import SECONDS
from belated.logs.spans import span_in
from belated.models.linear import LinearModel
from belated.models.linear.losses import BINARY, LOSSES, Loss, named
from belated.models.linear.settings import Wait

FREQUENT = 5
"""Values of a target that a message shows."""


@dataclass(frozen=True)
class Labels:
    """How the target becomes a label, and what a prediction of it costs."""

    loss: Loss = "squared"
    quantile: float = 0.5
    delta: float = 1.0
    clip: tuple[float, float] | None = None
    threshold: float | None = None
    positive: str | None = None
    silence: float | None = None
    """The label of rows of which nothing is heard; None: silence means nothing."""
    deadline: float | timedelta | None = None
    """How long something may be heard of a row, in the unit of the log."""
    interactions: Literal["auto"] | tuple[()] = ()
    """Whether the model finds pairs of features."""

    def __post_init__(self) -> None:
        """Check what the model does not."""
        if self.clip is not None and not self.clip[0] < self.clip[1]:
            raise LogError(f"replay: clip must be low and high, in this order, got {self.clip}")
        named(self.loss, "replay")
        if self.is_binary and self.loss not in BINARY:
            raise LogError(
                "replay: threshold and positive make a yes or no of the target, whose loss is "
                f"{' or '.join(BINARY)}, got {self.loss!r}"
            )
        if self.threshold is not None and self.positive is not None:
            raise LogError("replay: give threshold or positive, not both")
        if self.positive is not None and self.clip is not None:
            raise LogError("replay: give clip or positive, not both: a yes or no is not cut")

    @property
    def is_binary(self) -> bool:
        """Whether the target is made a yes or no."""
        return self.threshold is not None or self.positive is not None

    @property
    def lowest(self) -> float:
        """By what share a loss can fall, at most: by all of it, but Poisson losses go below 0."""
        return -math.inf if self.loss == "poisson" else -1.0

    def model(
        self, wait: Wait = "adaptive", columns: Kinds | None = None, **more: Any
    ) -> LinearModel:
        """Return a fresh model for these labels, which come when they come."""
        options: dict[str, Any] = {"quantile": self.quantile, "delta": self.delta, **more}
        options["interactions"] = self.interactions
        return LinearModel(self.loss, wait=wait, columns=columns, **options)

    def listening(self, columns: Kinds | None = None) -> LinearModel:
        """Return a fresh model that knows what silence means, if it means anything."""
        if self.silence is None:
            return self.model(columns=columns)
        return self.model(None, columns, silence=self.silence, deadline=self.deadline)

    def of(self, target: Array) -> Floats:
        """Return labels; NaN where the target is missing."""
        if self.positive is not None:
            return self._signed(_equal(target, self.positive))
        labels = np.asarray(target, dtype=np.float64)
        if self.clip is not None:
            labels = np.clip(labels, *self.clip)
        if self.threshold is not None:
            return self._signed(np.where(np.isnan(labels), np.nan, labels > self.threshold))
        values = set(np.unique(labels[~np.isnan(labels)][:1_000_000]).tolist())
        classes = LOSSES[self.loss].labels.classes
        if classes is not None and values <= {0.0, 1.0}:
            return self._signed(labels)
        allowed = values if classes is None else set(classes)
        if not values <= allowed:
            raise LogError(
                f"replay: the {self.loss} loss needs a yes or no, and the target is "
                f"{min(values - allowed):g}; say what is a yes with threshold (--threshold) or "
                "positive (--positive)"
            )
        return labels

    def _signed(self, labels: Floats) -> Floats:
        """Return 0 and 1 as the loss has them."""
        no, yes = LOSSES[self.loss].labels.classes or (0.0, 1.0)
        return no + (yes - no) * labels

    def words(self, target: str) -> str:
        """Say what is predicted."""
        if self.positive is not None:
            return f"{target} = {self.positive}"
        if self.threshold is not None:
            return f"{target} above {self.threshold:g}"
        if self.clip is not None:
            return f"{target}, clipped to [{self.clip[0]:g}, {self.clip[1]:g}]"
        return target


def settled(how: Labels, truth: Array, name: str, *, is_told: bool) -> Labels:
    """Return how the target becomes a label, now that it is known: two words are a yes or no.

    ``is_told`` says that the loss was chosen by the caller.
    """
    if how.is_binary:
        return how
    if truth.dtype.kind == "O":
        if is_told and how.loss not in BINARY:
            raise LogError(
                f"replay: {name!r} holds words, and the {how.loss} loss needs numbers; leave out "
                "the loss (--loss), or say what is a yes with positive (--positive)"
            )
        if how.clip is not None:
            raise LogError(f"replay: {name!r} holds words, which cannot be clipped")
        loss = how.loss if is_told else "logistic"
        return replace(how, loss=loss, positive=_yes(truth, name))
    known = truth[~np.isnan(truth)]
    is_answer = bool(len(known)) and bool(np.isin(known, (0.0, 1.0)).all())
    if is_answer and not is_told and how.clip is None:
        return replace(how, loss="logistic")
    return how


def check_range(how: Labels, labels: Floats, name: str) -> None:
    """Refuse labels that the loss does not take, by the first row that has one."""
    allowed = LOSSES[how.loss].labels
    if allowed.classes is not None:
        return
    known = np.where(np.isnan(labels), 0.0, labels)
    wrong = np.flatnonzero((known < allowed.least) | (known > HUGE_LABEL))
    if wrong.size:
        more = f", and {wrong.size - 1:,} more have such" if wrong.size > 1 else ""
        raise LogError(
            f"replay: with the {how.loss} loss the target {name!r} must be {allowed.words}; row "
            f"{wrong[0]} has {known[wrong[0]]:g}{more}. Mend them, cut the target (--clip LOW "
            "HIGH), or take another loss (--loss)"
        )


def _yes(truth: Array, name: str) -> str:
    """Return which of two words is the yes: that of a known pair, or else the rarer one."""
    counts: Counter[str] = Counter(cell for cell in truth.tolist() if cell is not None)
    if len(counts) > 2:
        raise LogError(
            f"replay: {name!r} holds {len(counts):,} different words; say which one is a yes with "
            f"positive (--positive). The most frequent ones are {_listed(counts)}"
        )
    words = {word.strip().lower(): word for word in counts}
    for _, yes in ANSWERS:
        if yes in words:
            return words[yes]
    known = {no for no, _ in ANSWERS}
    others = [word for small, word in words.items() if small not in known]
    return min(others or words.values(), key=lambda word: (counts[word], word), default="yes")


def _listed(counts: Counter[str]) -> str:
    return ", ".join(repr(value) for value, _ in counts.most_common(FREQUENT))


def _equal(target: Array, positive: str) -> Floats:
    """Return where the target is the positive value, as 0 and 1; NaN where it is missing."""
    if target.dtype.kind == "f":
        wanted = _number(positive)
        found = np.where(np.isnan(target), np.nan, target == wanted)
    else:
        found = np.array([np.nan if cell is None else cell == positive for cell in target])
    if not (found == 1.0).any():
        known = Counter(str(cell) for cell in target.tolist() if cell is not None and cell == cell)
        raise LogError(
            f"replay: no target is {positive!r}; the most frequent ones are {_listed(known)}"
        )
    return found.astype(np.float64)


def _number(positive: str) -> float:
    """Return what a target of numbers or truth values is to be."""
    for no, yes in ANSWERS:
        if positive.strip().lower() in (no, yes):
            return float(positive.strip().lower() == yes)
    try:
        return float(positive)
    except ValueError:
        raise LogError(f"replay: the target holds numbers, got {positive!r}") from None


# ---- what no answer means: nothing, or a label of its own, once a deadline has passed ------------
# With silence, every row gets a label: what was heard until its deadline, or else that of silence.
# Scores count the rows whose deadline has passed when the log ends, as only those are known for
# sure; of younger ones, to count those that were heard of would count no silence.

ENOUGH = 0.5
"""The share of rows that must be older than a deadline that was not given."""


@dataclass(frozen=True)
class Silence:
    """What the caller says about rows without an answer."""

    value: str | float | None = None
    """The target that no answer means; None: not given."""
    deadline: str | float | timedelta | None = None
    """How long an answer may take: a length of time, or a number in the unit of the log."""
    answered_only: bool = False
    """Whether rows without an answer are to mean nothing, whatever they hold."""

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if self.answered_only and (self.value is not None or self.deadline is not None):
            raise LogError("replay: answered-only goes without silence and deadline")

    def check(self) -> None:
        """Refuse a deadline without a silence, also for a model of a store."""
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
    """Stop where silence seems to be an answer, and ``silence=`` is not given."""
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
        raise LogError(f"replay: a length of time is more than nothing, got {deadline!r}")
    return span
