"""What all parts of a model share: state by name, and a schema that restored state must meet."""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np

from belated.errors import SnapshotError

LARGE_SUM = 1e250  # sums of squares stay below
LARGE_VECTOR = 1e120  # its square does not overflow
MOST_ROUNDS = 1 << 48
SLACK = 1e-6  # of points and sums that are restored


class Range(NamedTuple):
    """Which values a field of the state can have: a number, or each number of an array."""

    least: float
    most: float
    kind: type = float


ANY = Range(-LARGE_SUM, LARGE_SUM)
NOT_NEGATIVE = Range(0.0, LARGE_SUM)
VECTOR = Range(-LARGE_VECTOR, LARGE_VECTOR)
WEIGHT = Range(0.0, 1.0 + SLACK)
COUNT = Range(0, MOST_ROUNDS, int)
SUM = Range(0, 1 << 62, int)


def demand(holds, why):
    """Refuse restored state of which something does not hold."""
    if not holds:
        raise SnapshotError(f"restore: the state does not fit together ({why})")


@cython.cclass
class Component:
    """A part of a model.

    ``FIELDS`` names what changes while a model lives, and ``PARTS`` the components inside, whose
    fields get the name of the part and a dot in front. Everything else is given by the spec.

    Restored state is checked twice: ``check`` is the schema (names, types, shapes and ranges), and
    ``verify`` the rules between fields.
    """

    FIELDS: dict = {}
    PARTS: tuple = ()

    def parts(self):
        """Return the components inside that there are, by name."""
        return {name: part for name in self.PARTS if (part := getattr(self, name)) is not None}

    def components(self):
        """Return the names of the classes of this component and those inside."""
        return {
            "class": type(self).__name__,
            **{name: part.components() for name, part in self.parts().items()},
        }

    def state(self):
        """Return copies of all fields, by name."""
        found = {}
        for name, allowed in self.FIELDS.items():
            value = getattr(self, name)
            found[name] = value.copy() if isinstance(value, np.ndarray) else allowed.kind(value)
        for name, part in self.parts().items():
            found |= {f"{name}.{field}": value for field, value in part.state().items()}
        return found

    def restore(self, state):
        """Take fields that ``state`` has returned, or that ``check`` has passed."""
        for name in self.FIELDS:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                value[...] = state[name]
            else:
                setattr(self, name, state[name])
        for name, part in self.parts().items():
            part.restore(section(state, name))

    def check(self, state):
        """Raise ``SnapshotError`` unless these can be the fields of this component."""
        parts = self.parts()
        own = {name for name in state if name.partition(".")[0] not in parts}
        demand(own == set(self.FIELDS), f"fields {sorted(own ^ set(self.FIELDS))}")
        for name, allowed in self.FIELDS.items():
            check_field(name, state[name], getattr(self, name), allowed)
        for name, part in parts.items():
            part.check(section(state, name))
        self.verify(state)

    def verify(self, state):
        """Raise ``SnapshotError`` unless fields that are in their ranges fit together."""


def section(state, part):
    """Return the fields of a part."""
    prefix = f"{part}."
    first = len(prefix)
    return {name[first:]: value for name, value in state.items() if name.startswith(prefix)}


def check_field(name, value, current, allowed):
    """Demand that a value is of the kind of the current one, and in its range."""
    if isinstance(current, np.ndarray):
        fits = (
            isinstance(value, np.ndarray)
            and value.dtype == current.dtype
            and value.shape == current.shape
        )
        demand(fits, f"the shape of {name}")
        demand(((value >= allowed.least) & (value <= allowed.most)).all(), name)
    else:
        demand(type(value) is allowed.kind and allowed.least <= value <= allowed.most, name)


def columns_of(columns, rows):
    """Return rows as vectors of the given types, by name."""
    cells = zip(*rows, strict=True) if rows else ((),) * len(columns)
    pairs = zip(columns.items(), cells, strict=True)
    return {name: np.array(column, kind) for (name, kind), column in pairs}


def take_columns(state, columns):
    """Take vectors out of a state, which must have the given types and one length."""
    found = [state.pop(name, None) for name in columns]
    for column, kind in zip(found, columns.values(), strict=True):
        fits = isinstance(column, np.ndarray) and column.dtype == kind
        demand(fits and column.shape == (found[0].size,), "the table")
    return found
