"""What a figure shows, as plain values: no drawing, no colours, nothing to install.

A figure is one of :class:`Lines`, :class:`Bars` and :class:`Heat`. Each checks its numbers when it
is made, so that whatever draws it can rely on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from belated.errors import SpecError
from belated.spec import number

Numbers: TypeAlias = tuple[float | None, ...]
"""Numbers of which some may be missing."""

ROUNDING = 1e-9
"""How far, relative to its size, a value may leave its interval: averages are rounded."""


@dataclass(frozen=True)
class Series:
    """Values of one method: y over x, and what is known of them, from low to high.

    In :class:`Bars` there is one y per label, ``x`` stays empty, and a y may be missing (None).
    ``dashed`` marks what was not measured, such as a bound. A series without any values is only a
    name in the legend.

    >>> Series("OMD", x=(1, 10, 100), y=(0.5, 2.0, 7.5), low=(0, 1, 7), high=(1, 3, 8)).y
    (0.5, 2.0, 7.5)
    """

    name: str
    x: tuple[float, ...]
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    dashed: bool = False

    def __post_init__(self) -> None:
        """Check that all lengths agree, all numbers are finite, and no interval is empty."""
        _check_text("Series", "name", self.name)
        who = f"Series {self.name!r}"
        for name in ("x", "y", "low", "high"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, _numbers(who, name, values, missing=name != "x"))
        if self.x:
            _check_length(who, "x", self.x, len(self.y), "like y")
        self._check_band(who)

    @classmethod
    def of(cls, name: str, x: Iterable[float], y: Iterable[float]) -> Series:
        """Return the series of two columns of any kind."""
        return cls(name, tuple(map(float, x)), tuple(map(float, y)))

    def _check_band(self, who: str) -> None:
        """Check that low and high come together, beside every y, and in order."""
        if (self.low is None) != (self.high is None):
            raise SpecError(f"{who}: low and high must be given together, got only one")
        if self.low is None or self.high is None:
            return
        _check_length(who, "low", self.low, len(self.y), "like y")
        _check_length(who, "high", self.high, len(self.y), "like y")
        for y, low, high in zip(self.y, self.low, self.high, strict=True):
            if (low is None) != (y is None) or (high is None) != (y is None):
                raise SpecError(
                    f"{who}: low and high must be missing where y is, "
                    f"got y {y!r}, low {low!r}, high {high!r}"
                )
            if low is not None and high is not None and low > high:
                raise SpecError(f"{who}: low must not exceed high, got {low!r} and {high!r}")


@dataclass(frozen=True)
class Lines:
    """Curves of several methods over the same axis, with their uncertainty as bands.

    >>> one = Series("OMD", x=(1, 10), y=(2.0, 3.0))
    >>> Lines("Regret", "rounds", "regret", (one, one))
    Traceback (most recent call last):
        ...
    belated.errors.SpecError: Lines: names of series must differ, got 'OMD' twice
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        """Check that there is a curve, that names differ, and that each one runs to the right."""
        _check_text("Lines", "title", self.title)
        _check_names("Lines", "series", [series.name for series in self.series])
        for series in self.series:
            who = f"Lines: series {series.name!r}"
            if len(series.x) != len(series.y):
                raise SpecError(f"{who} must have an x for each y, got {len(series.x)}")
            if None in series.y:
                raise SpecError(f"{who} must have no missing y, got None")
            for left, right in zip(series.x, series.x[1:], strict=False):
                if left > right:
                    raise SpecError(f"{who} must not go back in x, got {left!r} before {right!r}")


@dataclass(frozen=True)
class Bars:
    """Groups of bars over labels: each group has one y per label, or None where there is none.

    A stack shows parts of a whole, so its parts are not negative and its axis is not logarithmic.
    """

    title: str
    labels: tuple[str, ...]
    groups: tuple[Series, ...]
    y_label: str = ""
    stacked: bool = False
    log_y: bool = False
    by_label: bool = False
    """Whether each bar looks like its label, where labels are methods and there is one group."""
    note: str = ""

    def __post_init__(self) -> None:
        """Check that every group has a y for every label, inside its interval."""
        _check_text("Bars", "title", self.title)
        _check_names("Bars", "labels", self.labels)
        _check_names("Bars", "groups", [group.name for group in self.groups])
        for group in self.groups:
            who = f"Bars: group {group.name!r}"
            if len(group.y) != len(self.labels):
                raise SpecError(f"{who} must have {len(self.labels)} y, got {len(group.y)}")
            _check_whiskers(who, group)
        if self.by_label and len(self.groups) > 1:
            raise SpecError("Bars: by_label needs a single group, got more")
        if self.stacked and self.log_y:
            raise SpecError("Bars: log_y must be False when stacked, got True")
        if self.stacked and any(y is not None and y < 0 for g in self.groups for y in g.y):
            raise SpecError("Bars: y must not be negative when stacked, got a negative one")

    @property
    def is_lying(self) -> bool:
        """Whether the bars lie: many or long labels can only be read one below the other."""
        return len(self.labels) > 8 or max(map(len, self.labels)) > 20


@dataclass(frozen=True)
class Heat:
    """A matrix of numbers as colours, one row and column per name; None is a cell without one.

    Colours run from ``low`` to ``high``, by default from the smallest to the largest value.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[Numbers, ...]
    value_label: str
    log: bool = True
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        """Check the shape, the numbers, and the ends of the colours."""
        _check_text("Heat", "title", self.title)
        _check_names("Heat", "rows", self.rows)
        _check_names("Heat", "columns", self.columns)
        _check_length("Heat", "values", self.values, len(self.rows), "like rows")
        checked = tuple(_numbers("Heat", "values", row, missing=True) for row in self.values)
        object.__setattr__(self, "values", checked)
        for row in self.values:
            _check_length("Heat", "a row", row, len(self.columns), "like columns")
        for name in ("low", "high"):
            end = getattr(self, name)
            if end is not None and number("Heat", name, end) <= 0 and self.log:
                raise SpecError(f"Heat: {name} must be positive when log, got {end!r}")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise SpecError(f"Heat: low must be below high, got {self.low!r} and {self.high!r}")

    @property
    def is_crowded(self) -> bool:
        """Whether names of columns only have room if they are turned, also on a telephone."""
        return max(map(len, self.columns)) * len(self.columns) > 70


Figure: TypeAlias = Lines | Bars | Heat
"""What a section of a page can show."""


def _numbers(who: str, name: str, values: Sequence[Any], *, missing: bool) -> Numbers:
    """Return finite floats; None stays None where values may be missing."""
    return tuple(
        None if missing and value is None else number(who, f"{name}[{i}]", value)
        for i, value in enumerate(values)
    )


def _check_text(who: str, name: str, text: str) -> None:
    if not text.strip():
        raise SpecError(f"{who}: {name} must not be empty, got {text!r}")


def _check_length(who: str, name: str, values: Sequence[Any], wanted: int, like: str) -> None:
    if len(values) != wanted:
        raise SpecError(f"{who}: {name} must have {wanted} entries {like}, got {len(values)}")


def _check_names(who: str, what: str, names: Iterable[str]) -> None:
    """Check that there are names and that they differ: the reader knows things by them."""
    counts = Counter(names)
    if not counts:
        raise SpecError(f"{who}: {what} must not be empty, got none")
    name, count = counts.most_common(1)[0]
    if count > 1:
        owner = "labels" if what == "labels" else f"names of {what}"
        raise SpecError(f"{who}: {owner} must differ, got {name!r} twice")


def _check_whiskers(who: str, group: Series) -> None:
    """Check that the interval holds the end of the bar, which its whiskers start from."""
    if group.low is None or group.high is None:
        return
    for y, low, high in zip(group.y, group.low, group.high, strict=True):
        if y is None or low is None or high is None:
            continue
        slack = ROUNDING * max(abs(y), abs(low), abs(high))
        if not low - slack <= y <= high + slack:
            raise SpecError(f"{who} must have y from low to high, got {y!r}, {low!r}, {high!r}")
