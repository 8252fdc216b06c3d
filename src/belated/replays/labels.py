"""How the target becomes a label: as it is, cut, or made a yes or no."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal, NamedTuple

import numpy as np

from belated.arrays import Array, Bools, Floats
from belated.audits.silence import Deadline
from belated.errors import LogError
from belated.limits import HUGE_LABEL
from belated.logs import Log, Unit
from belated.logs.kinds import ANSWERS, Kinds, word
from belated.logs.log import SECONDS
from belated.logs.spans import span_in
from belated.models.linear import LinearModel
from belated.models.linear.losses import BINARY, LOSSES, Loss, named
from belated.models.linear.settings import Wait
from belated.replays.columns import Column, total
from belated.timeline.times import Times

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
            return self._signed(equal(target, self.positive))
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


def _listed(counts: Counter[str]) -> str:
    return ", ".join(repr(value) for value, _ in counts.most_common(FREQUENT))


def equal(target: Array, positive: str) -> Floats:
    """Return where the target is the positive value, as 0 and 1; NaN where it is missing."""
    if target.dtype.kind == "f":
        wanted = _number(positive)
        found = np.where(np.isnan(target), np.nan, target == wanted)
    else:
        found = np.array([np.nan if cell is None else cell == positive for cell in target])
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


def is_there(cells: Array) -> Bools:
    """Return which cells are not missing."""
    if cells.dtype.kind == "f":
        return np.asarray(~np.isnan(cells))
    return np.array([cell is not None for cell in cells.tolist()], dtype=np.bool_)


ENOUGH = 0.5
"""The share of rows that must be older than a deadline that was not given."""


@dataclass(frozen=True)
class Silence:
    """The arguments about rows without an answer."""

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


# ---- what the targets of a log are, counted in one pass ------------------------------------------

MANY_NUMBERS, MANY_WORDS = 1 << 12, 1 << 20
"""Different values from which on they are no longer counted one by one."""


@dataclass
class Values:
    """The values of a column: how often each is there while they are few, and the range of numbers.

    >>> values = Values()
    >>> values.add(np.array([2.0, 1.0, np.nan, 2.0]))
    >>> values.counts, float(values.low), float(values.high), values.missing
    (Counter({2.0: 2, 1.0: 1}), 1.0, 2.0, 1)
    """

    counts: Counter[Any] = field(default_factory=Counter)
    is_many: bool = False
    """Whether there are more values than ``counts`` has."""
    low: float = math.inf
    high: float = -math.inf
    total: int = 0
    missing: int = 0
    is_words: bool = False

    def add(self, cells: Array) -> None:
        """Count cells; NaN and None are missing."""
        self.total += len(cells)
        self.is_words = cells.dtype.kind == "O"
        if self.is_words:
            self._count(Counter(cells.tolist()), MANY_WORDS)
            self.missing += self.counts.pop(None, 0)
            return
        known = cells[~np.isnan(cells)]
        self.missing += len(cells) - len(known)
        if len(known):
            self.low, self.high = min(self.low, known.min()), max(self.high, known.max())
            if not self.is_many:
                values, counts = np.unique(known, return_counts=True)
                found = dict(zip(values.tolist(), counts.tolist(), strict=True))
                self._count(found, MANY_NUMBERS)

    def _count(self, found: Mapping[Any, int], most: int) -> None:
        if self.is_many and None not in found:
            return
        self.counts.update({None: found[None]} if self.is_many else found)
        self.is_many = self.is_many or len(self.counts) > most

    @property
    def known(self) -> int:
        """How many cells are not missing."""
        return self.total - self.missing

    @property
    def different(self) -> int:
        """How many different values there are, a missing one being one."""
        return len(self.counts) + bool(self.missing)

    @property
    def is_constant(self) -> bool:
        """Whether all cells are the same."""
        if self.is_words:
            return self.total > 1 and self.different == 1
        return not self.missing and self.low == self.high

    @property
    def shown(self) -> str:
        """The type of a constant."""
        return repr(next(iter(self.counts), None)) if self.is_words else f"{self.low:g}"

    def array(self) -> Array:
        """Return the different values: all of them while they are few, else some and both ends."""
        if self.is_words:
            return np.array(list(self.counts), dtype=object)
        ends = [self.low, self.high] if self.low <= self.high else []
        return np.unique(np.array([*self.counts, *ends], dtype=np.float64))


class Census:
    """Counts of the first pass over a log, which decide how targets become labels."""

    def __init__(self, how: Labels) -> None:
        self.how = how
        self.known, self.waiting = Values(), Values()
        """Targets of rows whose answer came, and of rows without a time at which it came."""
        self.wrong = 0
        """Targets that the loss does not take, ..."""
        self.first_wrong: tuple[int, float] = (0, 0.0)
        """... and the row and target of the first one."""
        self.has_positive = False
        self.rows = self.silent = 0
        """Rows, and those without an answer."""
        self.deadline = Deadline()
        """The latest event of an answered row, and the longest that an answer took."""

    def add(self, times: Times, truth: Array) -> None:
        """Count the rows of a block."""
        there = is_there(truth)
        told = times.answered & there
        self.known.add(truth[told])
        self.waiting.add(truth[~times.answered & there])
        self._check(truth)
        self.rows += len(truth)
        self.silent += int(np.count_nonzero(~times.answered))
        self.deadline.note(times, told)

    def _check(self, truth: Array) -> None:
        """Count targets that cannot be a label."""
        how = self.how
        if how.positive is not None and not self.has_positive:
            self.has_positive = bool((equal(truth, how.positive) == 1.0).any())
        allowed = LOSSES[how.loss].labels
        if allowed.classes is None and truth.dtype.kind == "f":
            known = np.where(np.isnan(truth), 0.0, truth)
            known = known if how.clip is None else np.clip(known, *how.clip)
            wrong = np.flatnonzero((known < allowed.least) | (known > HUGE_LABEL))
            if wrong.size and not self.wrong:
                self.first_wrong = self.rows + int(wrong[0]), float(known[wrong[0]])
            self.wrong += len(wrong)

    @property
    def values(self) -> Counter[Any]:
        """Targets of all rows, as far as they were counted."""
        return self.known.counts + self.waiting.counts

    def array(self) -> Array:
        """Return the different targets, as far as they were counted."""
        found = [values.array() for values in (self.known, self.waiting) if values.known]
        return np.unique(np.concatenate(found)) if found else np.empty(0)

    # --- How targets become labels ----------------------------------------------------------------

    def settled(self, name: str, *, is_words: bool, is_arrival: bool, is_told: bool) -> Labels:
        """Return how the target becomes a label: two words are a yes or no, and so are 0 and 1.

        ``is_arrival`` says that it is whether an answer came, and ``is_told`` that the loss was
        chosen by the caller.
        """
        how = self.how
        if how.positive is not None and not self.has_positive:
            raise LogError(
                f"replay: no target is {how.positive!r}; the most frequent ones are "
                f"{_listed(Counter({word(cell): n for cell, n in self.values.items()}))}"
            )
        if how.is_binary:
            return how
        if is_words:
            if is_told and how.loss not in BINARY:
                raise LogError(
                    f"replay: {name!r} holds words, and the {how.loss} loss needs numbers; leave "
                    "out the loss (--loss), or say what is a yes with positive (--positive)"
                )
            if how.clip is not None:
                raise LogError(f"replay: {name!r} holds words, which cannot be clipped")
            return replace(how, loss=how.loss if is_told else "logistic", positive=self._yes(name))
        found = self.array()
        is_answer = (is_arrival or len(found) > 0) and bool(np.isin(found, (0.0, 1.0)).all())
        if is_answer and not is_told and how.clip is None:
            return replace(how, loss="logistic")
        return how

    def _yes(self, name: str) -> str:
        """Return which of two words is the yes: that of a known pair, or else the rarer one."""
        counts = self.values
        if len(counts) > 2:
            raise LogError(
                f"replay: {name!r} holds {len(counts):,} different words; say which one is a yes "
                f"with positive (--positive). The most frequent ones are {_listed(counts)}"
            )
        words: dict[str, str] = {word.strip().lower(): word for word in counts}
        for _, yes in ANSWERS:
            if yes in words:
                return words[yes]
        known = {no for no, _ in ANSWERS}
        others = [word for small, word in words.items() if small not in known]
        return min(others or words.values(), key=lambda word: (counts[word], word), default="yes")

    def check_range(self, how: Labels, name: str) -> None:
        """Refuse labels that the loss does not take, by the first row that has one."""
        how.of(self.array())
        allowed = LOSSES[how.loss].labels
        if self.wrong and allowed.classes is None:
            row, value = self.first_wrong
            more = f", and {self.wrong - 1:,} more have such" if self.wrong > 1 else ""
            raise LogError(
                f"replay: with the {how.loss} loss the target {name!r} must be {allowed.words}; "
                f"row {row} has {value:g}{more}. Mend them, cut the target (--clip LOW HIGH), or "
                "take another loss (--loss)"
            )

    def refuse_doubt(self, how: Labels) -> None:
        """Stop where silence seems to be an answer, and ``silence=`` is not given."""
        if self.waiting.known:
            usual, count = self.waiting.counts.most_common(1)[0]
            usual, means, value = word(usual), "something", "VALUE"
            if 2 * count >= self.waiting.known:
                means, value = repr(usual), shlex.quote(usual)
            raise LogError(
                f"replay: {_rows(self.waiting.known)} a target and no time at which it was known "
                f"(such as {usual!r}). If no answer means {means}, say so with --silence {value} "
                "and, if answers stop to count after some time, --deadline 30d; to learn and count "
                "only rows with an answer, --answered-only"
            )
        truth = self.known.array()
        if self.known.known > 1 and np.ptp(how.of(truth)) == 0.0:
            hint = (
                f"If no answer means something else, say what with --silence VALUE: "
                f"{_rows(self.silent)} no answer; to go on all the same, --answered-only"
                if self.silent
                else "There is nothing to predict; to go on all the same, --answered-only"
            )
            raise LogError(f"replay: every answer is {_alike(truth, how)}. {hint}")

    # --- What no answer means ---------------------------------------------------------------------

    def silence_of(self, how: Labels, said: Silence) -> float:
        """Return the label that silence means; refuse what contradicts it."""
        no, yes = LOSSES[how.loss].labels.classes or (0.0, 1.0)
        text = word(said.value)
        if how.positive is not None:
            known = {word(cell) for cell in self.values}
            if len(known) > 1 and text not in known:
                listed = ", ".join(map(repr, sorted(known)[:5]))
                raise LogError(f"replay: silence is a target, such as {listed}; got {text!r}")
            silence = yes if text == how.positive else no
        else:
            try:
                silence = float(how.of(np.array([float(text)]))[0])
            except ValueError:
                raise LogError(
                    f"replay: silence is a target, here a number, got {text!r}"
                ) from None
        counts = self.waiting.counts
        cells = list(counts)
        labels = how.of(np.array(cells, dtype=object if how.positive else np.float64))
        alike = sum(
            counts[cell] for cell, label in zip(cells, labels, strict=True) if label == silence
        )
        if other := self.waiting.known - alike:
            raise LogError(
                f"replay: {_rows(other)} another target than silence, {said.value!r}, and no time "
                "at which it was known"
            )
        return silence


class Hearing(NamedTuple):
    """Which labels are learned, which of them count, and what is only silence; by row.

    With silence, every row gets a label: the answer until its deadline, or else that of silence.
    Scores count the rows whose deadline has passed when the log ends, as only those are known for
    sure. Without silence, rows that were answered are learned and count.
    """

    ends: Array
    """When labels are known."""
    labels: Floats
    answered: Bools
    counts: Bools
    is_silence: Bools
    waits: Floats
    """How long answers took; for silence, the deadline."""


def hearing(times: Times, labels: Floats, deadline: Deadline, silence: float) -> Hearing:
    """Return what is heard of the rows of a block."""
    told = times.answered & ~np.isnan(labels)
    waits = times.lengths
    if deadline.span is None:
        nothing = np.zeros(len(told), dtype=np.bool_)
        return Hearing(times.observed_at, labels, told, told, nothing, waits.astype(float))
    at, in_time, due = deadline.ends(times, told)
    is_over = due <= deadline.latest
    is_silence = is_over & ~in_time
    return Hearing(
        at,
        np.where(in_time, labels, np.where(is_silence, silence, np.nan)),
        in_time | is_silence,
        is_over,
        is_silence,
        np.where(in_time, waits, deadline.span).astype(float),
    )


def names_of(how: Labels) -> tuple[str, ...]:
    """Return what a yes and a no are called where they are made from a target."""
    if how.threshold is not None:
        return f"above {how.threshold:g}", f"at most {how.threshold:g}"
    return () if how.positive is None else (how.positive, f"not {how.positive}")


def arrivals(log: Log, said: Silence) -> Floats:
    """Return the target of a log that has only times: 1 where an answer came; NaN elsewhere."""
    if word(said.value) == "1":
        raise LogError("replay: an answer is a 1, and so cannot be what silence means; say 0")
    return np.where(log.answered, 1.0, np.nan)


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


# ---- deadlines ---------------------------------------------------------------------------------


def span_of(log: Log, said: Silence, found: Deadline, starts: Column) -> Any:
    """Return how long an answer counts, by the clock; by default the longest that one took."""
    if said.deadline is not None:
        span = in_unit(said.deadline, log.unit, has_dates=log.has_dates)
        return np.int64(round(span)) if starts.dtype.kind == "i" else span
    if found.longest is None:
        raise LogError("replay: no row has an answer; say --deadline to learn from silence alone")
    is_over = total(lambda start: start + found.longest <= found.latest, starts)
    if is_over < ENOUGH * len(starts):
        raise LogError(
            "replay: the longest answer took so long that the deadline of most rows would be "
            "after the end of the log; say with --deadline how long an answer counts (belated "
            "audit tells how long 99 % of the answers took)"
        )
    return found.longest


def in_model(log: Log, said: Silence, span: Any) -> float | timedelta:
    """Return a deadline as a model takes it: a length of time where times are dates."""
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
