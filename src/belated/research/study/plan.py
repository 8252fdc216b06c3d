"""The parts of a study: cells with plain parameters, and the plan that lists them."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from belated.report import Section

Value: TypeAlias = str | int | float | bool | None
Row: TypeAlias = Mapping[str, Any]
"""Plain values by name: the parameters of a cell together with what came out."""


@dataclass(frozen=True)
class Cell:
    """One run to be made: plain parameters.

    ``key`` is a digest of the parameters, the same in every process and on every machine.

    >>> cell = Cell.of(rounds=1000, seed=0)
    >>> cell["rounds"], cell.key
    (1000, 'f504bbfc32d9d900')
    >>> cell.key == Cell.of(seed=0, rounds=1000).key
    True
    """

    parameters: tuple[tuple[str, Value], ...]

    @classmethod
    def of(cls, **parameters: Value) -> Cell:
        """Return the cell with these parameters."""
        return cls(tuple(sorted(parameters.items())))

    def __getitem__(self, name: str) -> Any:
        """Return one parameter."""
        return self.to_dict()[name]

    def to_dict(self) -> dict[str, Value]:
        """Return all parameters by name."""
        return dict(self.parameters)

    @cached_property
    def key(self) -> str:
        """Return the stable digest."""
        return digest(self.to_dict())


def crossed(**axes: Any) -> Iterator[Cell]:
    """Yield a cell for every combination of values; the last axis changes fastest.

    A number or a text alone is a parameter of all cells.

    >>> [dict(cell.parameters) for cell in crossed(seed=range(2), rounds=10)]
    [{'rounds': 10, 'seed': 0}, {'rounds': 10, 'seed': 1}]
    """
    values = [[axis] if isinstance(axis, str | int | float) else axis for axis in axes.values()]
    for each in product(*values):
        yield Cell.of(**dict(zip(axes, each, strict=True)))


def axes(**values: Any) -> Mapping[str, Any]:
    """Return the axes of a study by name."""
    return MappingProxyType(values)


def digest(data: Any) -> str:
    """Return 16 hexadecimal digits that depend on the JSON form of some plain data only."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def plain(value: Any) -> Value:
    """Return a number as JSON has it: one of Python, or None where it is not finite.

    >>> import numpy as np
    >>> [plain(value) for value in (np.float64(2.5), math.inf, np.int64(3))]
    [2.5, None, 3]
    """
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


Numbers: TypeAlias = tuple[tuple[str, str], ...]
"""The main results of a page: up to three numbers, or a few words each, and what they are."""


class Study(ABC):
    """A question, the cells that answer it, and how to read the results."""

    name: ClassVar[str]
    """As on the command line."""
    title: ClassVar[str]
    question: ClassVar[str]
    """The subject of the page."""
    revision: ClassVar[int] = 1
    """To be raised when rows of the same cells would no longer mean the same."""

    grid: ClassVar[Mapping[str, Any]] = axes()
    """The axes of the cells; a number or a text alone is a parameter of all of them."""

    def cells(self) -> Iterator[Cell]:
        """List what is to be run."""
        return crossed(**self.grid)

    @abstractmethod
    def run(self, cell: Cell) -> dict[str, Any]:
        """Run one cell and return plain results; the same cell gives the same results."""

    def plain_results(self, cell: Cell) -> dict[str, Value]:
        """Run one cell and return its results as JSON has them."""
        return {name: plain(value) for name, value in self.run(cell).items()}

    @abstractmethod
    def numbers(self, rows: Sequence[Row]) -> Numbers:
        """Answer the question by the finished rows; the sections are the evidence."""

    @abstractmethod
    def sections(self, rows: Sequence[Row]) -> Iterable[Section]:
        """Say what the finished rows show; they come in the order of the plan."""

    @property
    def options(self) -> str:
        """Arguments, besides the name, that make this study from the command line."""
        return ""


def _shortened(cell: Cell) -> Cell:
    """Return a cell with a tenth of the rounds, or 1,000 of them."""
    values: dict[str, Any] = cell.to_dict()
    if rounds := values.get("rounds"):
        values["rounds"] = max(rounds // 10, min(rounds, 1_000))
    return Cell.of(**values)


@dataclass(frozen=True)
class Plan:
    """The cells of one study, quick or full."""

    study: Study
    quick: bool

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, each once; the quick version has two seeds and a tenth of the rounds."""
        cells = self.study.cells()
        if self.quick:
            cells = (
                _shortened(each) for each in cells if each.to_dict().get("seed") in (None, 0, 1)
            )
        return tuple(dict.fromkeys(cells))

    @cached_property
    def digest(self) -> str:
        """A digest of what is to be run, whatever the order."""
        keys = sorted(cell.key for cell in self.cells)
        return digest([self.study.name, self.study.revision, keys])

    @property
    def mode(self) -> str:
        """Either "quick" or "full"."""
        return "quick" if self.quick else "full"

    @property
    def command(self) -> str:
        """The command that runs it."""
        parts = ["belated study", self.study.name, self.study.options]
        return " ".join([part for part in parts if part] + ["--quick"] * self.quick)
