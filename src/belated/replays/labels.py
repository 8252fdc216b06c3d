"""How the target becomes a label: as it is, cut, or made a yes or no."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from belated.arrays import Array, Floats
from belated.errors import LogError
from belated.limits import HUGE_LABEL
from belated.logs.kinds import ANSWERS, Kinds
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

    def model(self, wait: Wait = "adaptive", columns: Kinds | None = None) -> LinearModel:
        """Return a fresh model for these labels, which come when they come."""
        return LinearModel(
            self.loss, quantile=self.quantile, delta=self.delta, wait=wait, columns=columns
        )

    def listening(self, columns: Kinds | None = None) -> LinearModel:
        """Return a fresh model that knows what silence means, if it means anything."""
        if self.silence is None:
            return self.model(columns=columns)
        return LinearModel(
            self.loss,
            quantile=self.quantile,
            delta=self.delta,
            wait=None,
            silence=self.silence,
            deadline=self.deadline,
            columns=columns,
        )

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
