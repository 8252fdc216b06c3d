"""The checked settings of a linear model."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from belated.core import label_losses
from belated.core.censoring import Expiry
from belated.errors import LogError, SpecError
from belated.limits import HUGE_LABEL
from belated.models.clock import LONGEST_WAIT, Duration, has_unit, predictions_of, span_of
from belated.models.linear.features import Interactions, checked_interactions, is_auto
from belated.models.linear.losses import LOSSES, Loss, named

if TYPE_CHECKING:
    from belated.logs.kinds import Kinds

Wait = Duration | None
"""Of ``wait``: "adaptive", {"predictions": n}, a length of time, or None."""
Late = Literal["drop", "learn"]

MOST_BITS = 30
LEAST_WAIT = 1_000
"""Later predictions that the adaptive rule waits for at least."""


@dataclass(frozen=True)
class Settings:
    """The arguments of a ``LinearModel``."""

    loss: Loss
    bits: int
    quantile: float
    delta: float
    l1: float
    l2: float
    intercept: bool
    interactions: Interactions | Literal["auto"]
    wait: Literal["adaptive"] | dict[str, int] | None
    silence: float | None
    deadline: float | None
    """In the unit of the clock; None: tickets have none."""
    needs_times: bool
    """Whether the deadline is a length of time, so that predictions have to come with times."""
    counts_predictions: bool
    """Whether the deadline was given in predictions, so that times are refused."""
    late: Late
    max_open: int | None
    columns: Kinds | None = None
    """The kinds of the columns of a log; None: features are as they are given."""

    @property
    def longest_wait(self) -> int | None:
        """The fixed number of predictions that a ticket waits for; None where there is none."""
        return self.wait["predictions"] if isinstance(self.wait, dict) else None

    @property
    def products(self) -> Interactions:
        """The interactions that are given by name."""
        return () if self.interactions == "auto" else self.interactions

    @property
    def labels(self) -> str:
        """The rule for labels, in words."""
        return LOSSES[self.loss].labels.words

    def loss_of_labels(self) -> Any:
        """Return what computes the loss; see ``core.label_losses``."""
        make = _LOSSES[self.loss]
        parameter = LOSSES[self.loss].parameter
        return make() if parameter is None else make(getattr(self, parameter))

    def numbers(self) -> dict[str, Any]:
        """Return what the core is told."""
        by_ages = self.wait == "adaptive" and self.deadline is None  # which says how long to wait
        return {
            "loss": self.loss_of_labels(),
            "coordinates": 1 << self.bits,
            "intercept": self.intercept,
            "l1": self.l1,
            "l2": self.l2,
            "silence": self.silence,
            "deadline": self.deadline,
            "late": self.late,
            "max_open": self.max_open,
            "expiry": Expiry(by_ages, LEAST_WAIT, self.longest_wait),
            "pairs": self.interactions == "auto",
        }


_LOSSES: dict[str, Any] = {
    "squared": label_losses.Squared,
    "absolute": label_losses.Absolute,
    "quantile": label_losses.Quantile,
    "huber": label_losses.Huber,
    "logistic": label_losses.Logistic,
    "hinge": label_losses.Hinge,
    "poisson": label_losses.Poisson,
}


def checked(
    *,
    loss: Any,
    bits: Any,
    quantile: Any,
    delta: Any,
    l1: Any,
    l2: Any,
    intercept: Any,
    interactions: Any,
    wait: Any,
    silence: Any,
    deadline: Any,
    late: Any,
    max_open: Any,
    needs_times: Any = False,
    counts_predictions: Any = False,
    columns: Any = None,
) -> Settings:
    """Return the settings, or say which one is wrong."""
    named(loss, "LinearModel")
    level = _number("quantile", quantile)
    if not 0.0 < level < 1.0:
        raise _wrong("quantile must be between 0 and 1", quantile)
    bend = _number("delta", delta)
    if not 0.0 < bend <= HUGE_LABEL:
        raise _wrong("delta must be positive", delta)
    penalties = {"l1": _number("l1", l1), "l2": _number("l2", l2)}
    for name, penalty in penalties.items():
        if not 0.0 <= penalty <= HUGE_LABEL:
            raise _wrong(f"{name} must be at least 0", penalty)
    if not isinstance(intercept, bool | np.bool_):
        raise _wrong("intercept must be True or False", intercept)
    if not isinstance(late, str) or late not in ("drop", "learn"):
        raise _wrong("late must be 'drop' or 'learn'", late)
    wait, deadline = _one_of(wait, deadline)
    if deadline is not None:
        needs_times = bool(needs_times) or has_unit(deadline)
        counts_predictions = bool(counts_predictions) or isinstance(deadline, Mapping)
        deadline = span_of(deadline, "LinearModel: deadline must be a duration of at least 0")
    return Settings(
        loss=loss,
        bits=_whole("bits", bits, 1, MOST_BITS),
        quantile=level,
        delta=bend,
        intercept=bool(intercept),
        interactions="auto" if is_auto(interactions) else checked_interactions(interactions),
        wait=wait,
        silence=_silence(loss, silence),
        deadline=deadline,
        needs_times=bool(needs_times),
        counts_predictions=bool(counts_predictions),
        late="learn" if late == "learn" else "drop",
        max_open=None if max_open is None else _whole("max_open", max_open, 1, LONGEST_WAIT),
        columns=None if columns is None else _columns(columns),
        **penalties,
    )


def _one_of(wait: Any, deadline: Any) -> tuple[Any, Any]:
    """Return both, checked, where a wait that is a duration is a deadline."""
    rule = 'wait must be "adaptive", {"predictions": n}, None or a duration such as "30d"'
    if wait is None or (isinstance(wait, str) and wait == "adaptive"):
        return wait, deadline
    if isinstance(wait, Mapping):
        return {"predictions": predictions_of(wait, f"LinearModel: {rule}")}, deadline
    if not has_unit(wait):
        is_count = isinstance(wait, int | np.integer) and not isinstance(wait, bool)
        more = f'; a number of predictions is {{"predictions": {wait}}}' if is_count else ""
        raise _wrong(f"{rule}{more}", wait)
    if deadline is not None:
        raise _wrong("wait as a duration is a deadline, so give only one of the two", wait)
    span_of(wait, f"LinearModel: {rule}")
    return None, wait


def _columns(columns: Any) -> Kinds:
    """Return what columns become, which may be as plain as a snapshot has it."""
    from belated.logs.kinds import Kinds

    if isinstance(columns, Kinds):
        return columns
    try:
        return Kinds.from_dict(columns)
    except LogError as error:
        raise _wrong("columns must be the kinds of a log", columns) from error


def _silence(loss: Any, silence: Any) -> float | None:
    """Return the label that silence means, if it can mean one."""
    if silence is None:
        return None
    if not LOSSES[loss].is_linear_in_label:
        able = ", ".join(name for name, each in LOSSES.items() if each.is_linear_in_label)
        raise SpecError(
            f"LinearModel: silence needs a loss that can be corrected later without knowing the "
            f"weights of then, in which the label enters linearly: {able}; not {loss}"
        )
    label = _number("silence", silence)
    if not LOSSES[loss].labels.takes(label):
        raise _wrong(f"silence must be a label: {LOSSES[loss].labels.words}", silence)
    return label


def _wrong(rule: str, value: Any) -> SpecError:
    return SpecError(f"LinearModel: {rule}, got {value!r}")


def _number(name: str, value: Any) -> float:
    try:
        number = float(value) if not isinstance(value, str | bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise _wrong(f"{name} must be a finite number", value)
    return number


def _whole(name: str, value: Any, low: int, high: int) -> int:
    try:
        number = operator.index(value) if not isinstance(value, bool) else -1
    except TypeError:
        number = -1
    if not low <= number <= high:
        raise _wrong(f"{name} must be a whole number from {low} to {high}", value)
    return number
