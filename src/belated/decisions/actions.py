"""Contexts and actions as the kernels take them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from belated.arrays import Floats, Ints
from belated.errors import BadFeatures, SpecError
from belated.linear.features import Features, Hasher

Actions = Iterable[str] | Mapping[str, Features | None]
"""Names of actions, or their features by name."""
Crossing = Literal["all", "none"] | tuple[str, ...]
"""Which features of the context are multiplied with those of the action."""

_ACTION = "action"  # the feature that holds the name of an action
_REMEMBERED = 1 << 16
_ONE: Floats = np.ones(1)


class Context(NamedTuple):
    """A context: coordinates, values, which of them meet the action, and how many there are."""

    indices: Ints
    values: Floats
    crossed: Ints
    length: int


class Table(NamedTuple):
    """Actions: their names, and their features as compressed sparse rows."""

    names: tuple[str, ...]
    indptr: Ints
    indices: Ints
    values: Floats


class Encoder:
    """Turns contexts and actions into coordinates.

    Every action has its name as a feature, and what else is given for it.
    """

    def __init__(self, bits: int, crossing: Crossing) -> None:
        self._hasher = Hasher(bits)
        self._crossing = crossing
        self._wanted = frozenset(crossing) if isinstance(crossing, tuple) else frozenset()
        self._known: dict[tuple[str, ...], Table] = {}
        self._names: dict[str, Ints] = {}
        self._ones: Ints = np.ones(64, dtype=np.int64)
        self._zeros: Ints = np.zeros(64, dtype=np.int64)

    def context(self, features: Features | None) -> Context:
        """Return a context; the next one may overwrite it."""
        if features is None:
            features = {}
        if not isinstance(features, Mapping):
            raise BadFeatures(
                f"choose: a context is a dict of numbers and strings, got {type(features).__name__}"
            )
        indices, values, count = self._hasher.entries(features)
        if not np.isfinite(values[:count]).all():
            _check("context", features)
        return Context(indices, values, self._crossed(features, count), count)

    def _crossed(self, features: Features, count: int) -> Ints:
        while count > self._ones.size:
            size = 2 * self._ones.size
            self._ones, self._zeros = np.ones(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        if self._crossing == "all":
            return self._ones
        if self._crossing == "none":
            return self._zeros
        given = [name in self._wanted for name, value in features.items() if value is not None]
        return np.array(given or [False], dtype=np.int64)

    def actions(self, given: Actions) -> Table:
        """Return a table of actions, or say what is wrong with them."""
        if isinstance(given, Mapping):
            return self._with_features(given)
        names = names_of(given)
        table = self._known.get(names)
        if table is None:
            table = self._with_features(dict.fromkeys(names))
            if len(self._known) * len(names) < _REMEMBERED:
                self._known[names] = table
        return table

    def _with_features(self, given: Mapping[str, Features | None]) -> Table:
        names = names_of(given)
        bounds, indices, values = [0], [], []
        for name in names:
            features = given[name]
            indices.append(self._name(name))
            values.append(_ONE)
            count = 0
            if features:
                if features.__class__ is not dict and not isinstance(features, Mapping):
                    raise BadFeatures(
                        f"choose: the features of action {name!r} are a dict, got "
                        f"{type(features).__name__}"
                    )
                index, value, count = self._hasher.entries(features)
                indices.append(index[:count].copy())
                values.append(value[:count].copy())
            bounds.append(bounds[-1] + 1 + count)
        table = Table(names, np.array(bounds), np.concatenate(indices), np.concatenate(values))
        if not np.isfinite(table.values).all():
            _refuse(given)
        return table

    def _name(self, name: str) -> Ints:
        """Return the coordinate of the name of an action."""
        found = self._names.get(name)
        if found is None:
            if len(self._names) >= _REMEMBERED:
                self._names.clear()
            found = np.array([self._hasher.coordinate((_ACTION, name))])
            self._names[name] = found
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


def _check(where: str, features: Features) -> None:
    """Refuse numbers that cannot be used."""
    for name, value in features.items():
        if not isinstance(value, str | None) and not math.isfinite(value):
            raise BadFeatures(
                f"choose: {where}: {name!r} is {value!r}, which is not finite; nothing has "
                "changed: leave the feature out where it is not known"
            )


def _refuse(given: Mapping[str, Features | None]) -> None:
    for name, features in given.items():
        _check(f"action {name!r}", features or {})
