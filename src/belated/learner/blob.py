"""Snapshots of learners; see ``belated.sealed`` for the bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

from belated import sealed
from belated.errors import SnapshotError
from belated.learner.state import PARTS, Memory

_KIND = "Learner"


class Content(NamedTuple):
    """What a snapshot holds."""

    spec: str | None
    """The spec as JSON; None when it contains Python objects."""
    code: tuple[int, ...] | None
    """What tells compositions apart where there is no spec to tell them."""
    memory: Memory
    base: bytes | None
    """What a user's base saved of itself."""


def pack(content: Content) -> bytes:
    """Return the blob."""
    base = None if content.base is None else content.base.hex()
    about = {"spec": content.spec, "code": content.code, "base": base}
    return sealed.seal(_KIND, about, content.memory.parts())


def unpack(blob: bytes) -> Content:
    """Read a blob, or say what is wrong with it."""
    about, arrays = sealed.unseal(_KIND, blob, PARTS)
    spec, code, base = _read(about)
    return Content(spec, code, Memory.from_parts(arrays), base)


def _read(about: dict[str, Any]) -> tuple[str | None, tuple[int, ...] | None, bytes | None]:
    """Return what a header says about a learner, every field of the kind that it should be."""
    try:
        spec, code, base = about["spec"], about["code"], about["base"]
        if not (spec is None or isinstance(spec, str)):
            raise ValueError("the spec is no text")
        return (
            spec,
            None if code is None else tuple(code),
            None if base is None else bytes.fromhex(base),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(f"restore: the header cannot be read ({error})") from error
