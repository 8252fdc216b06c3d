"""What subclasses and users add to an object, so that pickles and copies keep it."""

from __future__ import annotations

from typing import Any


def extras_of(thing: object, ours: type) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return attributes and slots that are not of ``ours``, as pickle takes them, or None.

    Our own attributes all have slots.
    """
    below = (cls for cls in type(thing).__mro__ if issubclass(cls, ours) and cls is not ours)
    names = [name for cls in below for name in _slots(cls) if hasattr(thing, name)]
    attributes, slots = vars(thing), {name: getattr(thing, name) for name in names}
    return (attributes, slots) if attributes or slots else None


def _slots(cls: type) -> tuple[str, ...]:
    own = vars(cls).get("__slots__", ())
    names = (own,) if isinstance(own, str) else tuple(own)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))
