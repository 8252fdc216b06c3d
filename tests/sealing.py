"""Snapshots taken apart and sealed again, with something wrong inside."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from typing import Any

PREFIX = struct.Struct("<8sHI")


def sealed(body: bytes) -> bytes:
    """Return a body with the right checksum, so that only its content is wrong."""
    return body + hashlib.blake2b(body, digest_size=16).digest()


def header_of(blob: bytes) -> dict[str, Any]:
    """Return the header."""
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
