"""What is asked of a log of decisions, and what to type to ask it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, NamedTuple

import numpy as np

from belated.evaluations.estimators import Estimator
from belated.logs import DateOrder, OnBad, Unit
from belated.logs.log import as_date
from belated.logs.spans import span_text
from belated.report.typed import how_read


class Columns(NamedTuple):
    """The names of the columns of a log of decisions; times may be guessed."""

    action: str = "action"
    probability: str = "probability"
    reward: str = "reward"
    decided: str | None = None
    rewarded: str | None = None
    context: Sequence[str] | Literal["all"] = "all"
    ignore: Sequence[str] = ()
    """Columns that are no context, where all others are."""
    known: Sequence[str] = ()
    """Columns that were known when the decision was made, however much they look like rewards."""


class Reading(NamedTuple):
    """How times are read, and what is done with rows that cannot be."""

    dates: DateOrder | None = None
    tz: str | None = None
    unit: Unit | None = None
    on_bad: OnBad = "error"
    encoding: str | None = None
    missing: Sequence[str] = ()


@dataclass(frozen=True)
class Asked:
    """Everything that is asked of a log, as it was given."""

    columns: Columns
    reading: Reading
    policies: tuple[tuple[str, str], ...] = ()
    """Those that are columns: what they are called, and the column or what several begin with."""
    untold: tuple[str, ...] = ()
    """Names of those that are not, which cannot be typed."""
    silence: float | None = None
    deadline: Any = None
    until: Any = None
    chooser: bool = True
    estimator: Estimator = "dr"
    against: str = "logged"
    blocks: int | None = None
    slices: tuple[str, ...] | None = None


def typed(asked: Asked, log: str, *, is_calendar: bool) -> str:
    """Return what to type for the same; functions, arrays and choosers cannot be typed."""
    columns = asked.columns
    parts = ["belated", "evaluate", log]
    parts += ["--action", columns.action, "--probability", columns.probability]
    parts += ["--reward", columns.reward]
    for option in ("decided", "rewarded"):
        if getattr(columns, option) is not None:
            parts += [f"--{option}", getattr(columns, option)]
    if columns.context != "all":
        parts += ["--context", *columns.context]
    for option in ("ignore", "known"):
        if names := getattr(columns, option):
            parts += [f"--{option}", *names]
    parts += how_read(**asked.reading._asdict())
    parts += _of_rewards(asked, is_calendar)
    parts += _of_policies(asked)
    return shlex.join(parts)


def _of_rewards(asked: Asked, is_calendar: bool) -> list[str]:
    parts = []
    if asked.silence is not None:
        parts += ["--silence", _short(asked.silence)]
    if asked.deadline is not None:
        parts += ["--deadline", span_text(asked.deadline)]
    if asked.until is not None:
        parts += ["--until", _moment(asked.until, is_calendar)]
    return parts


def _of_policies(asked: Asked) -> list[str]:
    parts = []
    known = {name: called(column) for name, column in asked.policies}
    if asked.policies:
        parts += ["--policy", *(column for _, column in asked.policies)]
    if not asked.chooser:
        parts += ["--no-chooser"]
    if asked.estimator != "dr":
        parts += ["--estimator", asked.estimator]
    rival = known.get(asked.against, asked.against)
    if rival != "logged" and (asked.against in known or asked.against not in asked.untold):
        parts += ["--against", rival]
    if asked.blocks is not None:
        parts += ["--blocks", str(asked.blocks)]
    if asked.slices is not None:
        parts += ["--slice", *asked.slices]
    return parts


def called(column: str) -> str:
    """Return what a policy is called that is a column, or several that begin with this.

    >>> called("new_"), called("would")
    ('new', 'would')
    """
    return column.rstrip("_") or column


def _moment(given: Any, is_calendar: bool) -> str:
    """Return a moment as text; a number beside dates counts seconds since 1970."""
    if isinstance(given, str):
        return given
    if isinstance(given, date):
        return given.isoformat()
    if isinstance(given, np.datetime64):
        return str(given)
    return f"{as_date(float(given), 's')}Z" if is_calendar else _short(given)


def _short(number: Any) -> str:
    """Return a number so that it is read again as it is."""
    return repr(float(number)).removesuffix(".0")
