"""Keys: the names that users give to tickets."""

from __future__ import annotations

from typing import Any

from belated.errors import BadKey

Key = str
"""A key: a string."""


def check_key(key: Any) -> None:
    """Refuse a key that is no string."""
    if not isinstance(key, str):
        raise BadKey(
            f"a key is a string, got {key!r}; nothing has changed: use str(id) for an id that is a "
            "number"
        )


LOST = -(1 << 63)
"""The ticket of an unknown key where tickets may be lost; no model hands it out."""
