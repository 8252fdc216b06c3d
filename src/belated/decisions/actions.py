"""Contexts and actions as the kernels take them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from belated.arrays import Floats, Ints
from belated.errors import BadFeatures, SpecError
from belated.kernels.linear.layout import HUGE_VALUE
from belated.linear.features import Features, Hasher

Actions = Iterable[str] | Mapping[str, Features | None]
"""Names of actions, or their features by name."""
Crossing = Literal["all", "none"] | tuple[str, ...]
"""Which features of the context are multiplied with those of the action."""

_ACTION = "action"  # the feature that holds the name of an action
_REMEMBERED = 1 << 16
_DICTS = frozenset({dict})
_as_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time


class Context(NamedTuple):
    """A context: coordinates, values, which of them meet the action, and how many there are."""

    indices: Ints
    values: Floats
    crossed: Ints
    length: int


class Table(NamedTuple):
    """Actions: their names, the coordinates of these, and other features as sparse rows."""

    names: tuple[str, ...]
    heads: Ints
    indptr: Ints
    indices: Ints
    values: Floats
    widest: int
    """Features of the action that has most, missing ones included."""


class Encoder:
    """Turns contexts and actions into coordinates.

    Every action has its name as a feature, and what else is given for it.
    """

    def __init__(self, bits: int, crossing: Crossing) -> None:
        self._hasher = Hasher(bits)
        self._wanted = frozenset(crossing) if isinstance(crossing, tuple) else frozenset()
        self._known: dict[tuple[str, ...], Table] = {}
        self._names: dict[str, int] = {}
        self._last: tuple[tuple[str, ...], Ints] = ((), np.empty(0, dtype=np.int64))
        self._every: Ints | None = None
        if isinstance(crossing, str):
            self._every = np.full(64, int(crossing == "all"), dtype=np.int64)

    # --- Contexts -------------------------------------------------------------------------------

    def context(self, features: Features | None) -> Context:
        """Return a context; the next one may overwrite it. Its numbers may be anything."""
        if features is None:
            features = {}
        if features.__class__ is not dict and not isinstance(features, Mapping):
            raise BadFeatures(
                f"choose: a context is a dict of numbers and strings, got {type(features).__name__}"
            )
        indices, values, count = self._hasher.entries(features)
        return _as_tuple(Context, (indices, values, self._crossed(features, count), count))

    def _crossed(self, features: Features, count: int) -> Ints:
        if self._every is not None:
            if count > self._every.size:
                self._every = np.full(2 * count, self._every[0])
            return self._every
        given = [name in self._wanted for name, value in features.items() if value is not None]
        return np.array(given or [False], dtype=np.int64)

    # --- Actions --------------------------------------------------------------------------------

    def actions(self, given: Actions) -> Table:
        """Return a table of actions, or say what is wrong with them.

        Its numbers may be anything: the kernels refuse those that are too large.
        """
        if given.__class__ is dict or isinstance(given, Mapping):
            return self._with_features(given)
        names = names_of(given)
        table = self._known.get(names)
        if table is None:
            table = self._with_features(dict.fromkeys(names))
            if len(self._known) * len(names) < _REMEMBERED:
                self._known[names] = table
        return table

    def _with_features(self, given: Mapping[str, Features | None]) -> Table:
        names, heads = self._heads(given)
        rows = [features or {} for features in given.values()]
        if not _DICTS.issuperset(map(type, rows)):
            for name, row in zip(names, rows, strict=True):
                if not isinstance(row, Mapping):
                    raise BadFeatures(
                        f"choose: the features of action {name!r} are a dict, got "
                        f"{type(row).__name__}"
                    )
        indptr, indices, values = self._hasher.arrays_of(rows)
        return _as_tuple(Table, (names, heads, indptr, indices, values, max(map(len, rows))))

    def _heads(self, given: Mapping[str, Any]) -> tuple[tuple[str, ...], Ints]:
        """Return names of actions, and their coordinates."""
        names = tuple(given)
        if names != self._last[0]:
            names = names_of(names)
            self._last = names, np.array([self._name(name) for name in names], dtype=np.int64)
        return self._last

    def _name(self, name: str) -> int:
        """Return the coordinate of the name of an action."""
        found = self._names.get(name)
        if found is None:
            if len(self._names) >= _REMEMBERED:
                self._names.clear()
            found = self._names[name] = self._hasher.coordinate((_ACTION, name))
        return found


def names_of(given: Any) -> tuple[str, ...]:
    """Return the names of actions, in their order."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise SpecError(f"actions are a list of names, or a dict of their features, got {given!r}")
    names = tuple(given)
    if not names:
        raise SpecError("there must be at least one action; nothing has changed")
    for name in names:
        if not isinstance(name, str):
            raise SpecError(f"names of actions are text, got {name!r}; nothing has changed")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SpecError(f"action {twice!r} is there twice; nothing has changed")
    return names


def checked_crossing(given: Any) -> Crossing:
    """Return which features of the context meet the action."""
    if isinstance(given, str):
        if given == "all":
            return "all"
        if given == "none":
            return "none"
    elif isinstance(given, Iterable):
        names = tuple(given)
        if all(isinstance(name, str) for name in names):
            return names
    raise SpecError(
        f"Chooser: interactions must be 'all', 'none' or names of context features, got {given!r}"
    )


def refusal(context: Features, given: Any) -> BadFeatures:
    """Return the error for numbers that cannot be used."""
    largest = 0.0
    for name, value in _numbers(context):
        if not abs(value) <= HUGE_VALUE:
            return _cannot("the context", name, value)
        largest = max(largest, abs(value))
    for action, features in given.items() if isinstance(given, Mapping) else ():
        for name, value in _numbers(features or {}):
            if not abs(value) <= HUGE_VALUE:
                return _cannot(f"action {action!r}", name, value)
            if not largest * abs(value) <= HUGE_VALUE:
                return _cannot(f"action {action!r} times the context", name, largest * value)
    raise AssertionError("all numbers can be used")


def _numbers(features: Features) -> Iterator[tuple[str, float]]:
    for name, value in features.items():
        if not isinstance(value, str | None):
            yield name, float(value)


def _cannot(where: str, name: str, value: float) -> BadFeatures:
    if math.isfinite(value):
        return BadFeatures(
            f"choose: {where}: {name!r} is {value!r}, which is too large to compute with "
            f"({HUGE_VALUE:g}); nothing has changed: rescale it"
        )
    return BadFeatures(
        f"choose: {where}: {name!r} is {value!r}, which is not finite; nothing has changed: leave "
        "the feature out where it is not known"
    )
