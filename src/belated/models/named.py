"""Keys and tickets of many rows at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from belated.arrays import Ints
from belated.errors import BadKey, UnknownTicket
from belated.keys import LOST, Key
from belated.missing import is_missing
from belated.validation import checked_ticket, whole

_TEXTS, _NUMBERS = {str}, {int}
_PLAIN = frozenset({str, int, type(None)})


class Named(NamedTuple):
    """Tickets of many, and what they were called."""

    tickets: Ints
    names: list[Any] | None
    """Keys and tickets, as they were given; None where none of them can be a key."""

    def at(self, who: str, place: int) -> str:
        """Return the words for one of them.

        >>> Named(np.array([7, 3]), ["order-120", 3]).at("observe_many", 0)
        "observe_many: position 0 ('order-120')"
        """
        named = "" if self.names is None else f" ({self.names[place]!r})"
        return f"{who}: position {place}{named}"


def named(given: Any, keys: Any, who: str, *, loses: bool = False) -> Named:
    """Return the tickets of a list of keys and tickets, each as a single verb takes it.

    If the model ``loses`` tickets, an unknown key may be that of a lost one: it stands as ``LOST``.

    >>> import belated as bl
    >>> model = bl.LinearModel()
    >>> ticket = model.predict([1.0], key="order-120").ticket
    >>> named(["order-120", 3], model._keys, "observe_many").tickets.tolist()
    [0, 3]
    """
    if hasattr(given, "to_pylist"):  # a column of pyarrow
        given = given.to_pylist()
    if not _may_name(given):
        try:
            tickets = whole(given, f"{who}: tickets must be whole numbers", UnknownTicket)
        except UnknownTicket:
            _refuse_missing(_listed(given) or (), who)
            raise
        if tickets.ndim != 1:
            raise UnknownTicket(f"{who}: tickets must have one dimension, got {tickets.shape}")
        return Named(tickets, None)
    names = _listed(given)
    if names is None:
        raise UnknownTicket(f"{who}: tickets and keys must be a list, got {_shown(given)}")
    return Named(np.array(_tickets(names, keys, who, loses), dtype=np.int64), names)


def _tickets(names: list[Any], keys: Any, who: str, loses: bool) -> list[int]:
    types = set(map(type, names))
    if types == _TEXTS:
        found = list(map(keys.ticket_of.get, names))
        if None not in found:  # as nearly always
            return found
    _refuse_missing(names, who)
    numbers = []
    for place, name in enumerate(names):
        try:
            numbers.append(checked_ticket(keys.ticket(name)))
        except UnknownTicket as error:
            if not (loses and isinstance(name, str)):
                raise UnknownTicket(f"{who}: position {place}: {error}") from None
            numbers.append(LOST)
    return numbers


def _refuse_missing(names: Sequence[Any], who: str) -> None:
    """Refuse a list where one of the rows has no name, and say which."""
    place = next((place for place, name in enumerate(names) if name is None), None)
    if place is not None:
        raise UnknownTicket(
            f"{who}: position {place}: there is no key or ticket (None, NaN or NA); nothing has "
            "changed: leave such rows out"
        )


def keys_of(given: Any, rows: int, who: str) -> list[Key | None]:
    """Return keys as a list of one for each row, None where a column has nothing.

    >>> keys_of(np.array(["81", "82"]), 2, "predict_many")
    ['81', '82']
    """
    keys = listed_keys(given, who)
    if len(keys) != rows:
        raise BadKey(f"{who}: {rows} rows need as many keys, got {len(keys)}; nothing has changed")
    return keys


def listed_keys(given: Any, who: str) -> list[Key | None]:
    """Return keys as a list, however many they are."""
    keys = _listed(given)
    if keys is None:
        raise BadKey(f"{who}: keys must be a list, one for each row, got {_shown(given)}")
    return keys


def _is_of_names(kind: type) -> bool:
    """Tell whether things of this type are looked at one by one.

    True and False are no names: they are refused so, and not taken for 1 and 0.
    """
    return issubclass(kind, str | bool)


def _may_name(given: Any) -> bool:
    """Tell whether there may be a key in a list."""
    if isinstance(given, list | tuple):
        types = set(map(type, given))
        return types != _NUMBERS and any(map(_is_of_names, types))
    array = given if isinstance(given, np.ndarray) else np.asarray(given)
    return array.dtype.kind in "OUT"


def _listed(given: Any) -> list[Any] | None:
    """Return what has an order as a list, with Python's own numbers; None: it has none.

    Where a column has nothing, such as the NaN of pandas, the list has None.
    """
    names: list[Any]
    if isinstance(given, np.ndarray):
        if given.ndim != 1:
            return None
        names = given.tolist()
    elif isinstance(given, str | bytes | Mapping | Set) or not isinstance(given, Iterable):
        return None
    else:
        names = given.to_pylist() if hasattr(given, "to_pylist") else list(given)
    if _PLAIN.issuperset(map(type, names)):  # as nearly always
        return names
    return [None if is_missing(name) else name for name in names]


def _shown(given: Any) -> str:
    return repr(given) if isinstance(given, str | bytes) else type(given).__name__
