"""The contents of a figure, as plain values: no drawing, no colours, nothing to install.

A figure is one of :class:`Lines`, :class:`Bars` and :class:`Heat`. Each checks its numbers when it
is made, and notebooks draw it.
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


@dataclass(frozen=True)
class Series:
    """Values of one method: y over x, and what is known of them, from low to high.

    In :class:`Bars` there is one y per label, ``x`` stays empty, and a y may be missing (None).
    ``dashed`` marks a curve that was not measured, such as a bound. A series without any values is
    only a name in the legend.

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
        """Check that all lengths agree, and that all numbers are finite."""
        who = f"Series {self.name!r}"
        for name in ("x", "y", "low", "high"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, _numbers(who, name, values, missing=name != "x"))
        if (self.low is None) != (self.high is None):
            raise SpecError(f"{who}: low and high must be given together, got only one")
        for name in ("x", "low", "high"):
            if values := getattr(self, name):
                _check_length(who, name, values, len(self.y), "like y")

    @classmethod
    def of(cls, name: str, x: Iterable[float], y: Iterable[float]) -> Series:
        """Return the series of two columns of any kind."""
        return cls(name, tuple(map(float, x)), tuple(map(float, y)))


class Drawn:
    """A figure that notebooks draw."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Return the chart of the figure with its title."""
        from belated.report.vega import chart_of

        return chart_of(self, titled=True)._repr_mimebundle_()  # type: ignore[arg-type]


@dataclass(frozen=True)
class Lines(Drawn):
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
        """Check that names differ, and that every curve has an x for each y."""
        _check_names("Lines", "series", [series.name for series in self.series])
        for series in self.series:
            who = f"Lines: series {series.name!r}"
            _check_length(who, "x", series.x, len(series.y), "like y")
            if None in series.y:
                raise SpecError(f"{who} must have no missing y, got None")


@dataclass(frozen=True)
class Bars(Drawn):
    """Groups of bars over labels: each group has one y per label, or None where there is none."""

    title: str
    labels: tuple[str, ...]
    groups: tuple[Series, ...]
    y_label: str = ""
    log_y: bool = False
    by_label: bool = False
    """Whether each bar looks like its label, where labels are methods and there is one group."""
    note: str = ""

    def __post_init__(self) -> None:
        """Check that names differ, and that every group has a y for every label."""
        _check_names("Bars", "labels", self.labels)
        _check_names("Bars", "groups", [group.name for group in self.groups])
        for group in self.groups:
            _check_length(
                f"Bars: group {group.name!r}", "y", group.y, len(self.labels), "like labels"
            )

    @property
    def is_lying(self) -> bool:
        """Whether bars lie: names, and many or long labels, are read one below the other."""
        return self.by_label or len(self.labels) > 8 or max(map(len, self.labels)) > 20


@dataclass(frozen=True)
class Heat(Drawn):
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
    note: str = ""

    def __post_init__(self) -> None:
        """Check the shape and the numbers."""
        _check_names("Heat", "rows", self.rows)
        _check_names("Heat", "columns", self.columns)
        _check_length("Heat", "values", self.values, len(self.rows), "like rows")
        checked = tuple(_numbers("Heat", "values", row, missing=True) for row in self.values)
        object.__setattr__(self, "values", checked)
        for row in self.values:
            _check_length("Heat", "a row", row, len(self.columns), "like columns")

    @property
    def is_crowded(self) -> bool:
        """Whether names of columns only have room if they are turned, also on a telephone."""
        return max(map(len, self.columns)) * len(self.columns) > 70


Figure: TypeAlias = Lines | Bars | Heat
"""The figures and tables that a section of a page can show."""


def _numbers(who: str, name: str, values: Sequence[Any], *, missing: bool) -> Numbers:
    """Return finite floats; None stays None where values may be missing."""
    return tuple(
        None if missing and value is None else number(who, f"{name}[{i}]", value)
        for i, value in enumerate(values)
    )


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
