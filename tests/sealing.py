"""Snapshots taken apart and sealed again, with something wrong inside."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

PREFIX = struct.Struct("<8sHI")


def sealed(body: bytes) -> bytes:
    """Return a body with the right checksum, so that only its content is wrong."""
    return body + hashlib.blake2b(body, digest_size=16).digest()


def header_of(blob: bytes) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(blob[PREFIX.size :][: PREFIX.unpack_from(blob)[2]])
    return header


def rewritten(blob: bytes, inside: Mapping[str, Any] | None = None, **changes: Any) -> bytes:
    """Return a snapshot with another header, or other things ``about`` it; ... removes a key."""
    magic, version, length = PREFIX.unpack_from(blob)
    header = header_of(blob)
    header["about"] = _changed(header["about"], inside or {})
    text = json.dumps(_changed(header, changes)).encode()
    rest = blob[PREFIX.size + length : -16]
    return sealed(PREFIX.pack(magic, version, len(text)) + text + rest)


def _changed(old: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**old, **changes}.items() if value is not ...}


def arrays_of(blob: bytes) -> dict[str, NDArray[Any]]:
    """Return copies of the arrays, by name."""
    start = PREFIX.size + PREFIX.unpack_from(blob)[2]
    arrays = {}
    for name, (kind, shape) in header_of(blob)["arrays"].items():
        size = int(kind[-1]) * math.prod(shape)
        arrays[name] = np.frombuffer(blob[start : start + size], kind).reshape(shape).copy()
        start += size
    return arrays


def with_arrays(blob: bytes, changed: Mapping[str, NDArray[Any]]) -> bytes:
    """Return a snapshot with other arrays, of whatever shape, and a right checksum."""
    arrays = {**arrays_of(blob), **changed}
    magic, version, _ = PREFIX.unpack_from(blob)
    header = header_of(blob)
    forms = {name: [header["arrays"][name][0], array.shape] for name, array in arrays.items()}
    text = json.dumps({**header, "arrays": forms}).encode()
    parts = [array.tobytes() for array in arrays.values()]
    return sealed(b"".join((PREFIX.pack(magic, version, len(text)), text, *parts)))


def forged(blob: bytes, name: str, value: Any, place: Any = ...) -> bytes:
    """Return a snapshot with another value of a field, or in a place of an array."""
    if place is ...:
        return rewritten(blob, {"state": {**header_of(blob)["about"]["state"], name: value}})
    array = arrays_of(blob)[name]
    array[place] = value
    return with_arrays(blob, {name: array})
