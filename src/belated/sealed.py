"""Snapshots: named arrays and what they are, as one versioned, checksummed blob.

Layout: 8 bytes of magic, format number (2 bytes), length of the header (4 bytes), the header as
JSON, the arrays as little-endian bytes, 16 bytes of BLAKE2b over all that. The header says what
kind of thing this is, what else there is to know about it, and type and shape of every array.

The checksum finds accidents; anybody can compute it. With a secret there are 32 bytes of
HMAC-SHA256 in its place, and the last byte of the magic says so. Nothing of such a blob is read
before the HMAC is checked.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.errors import SnapshotError

FORMAT = 19
"""Number of the format. It changes with the container or the layout of any array, and only then."""

_MAGIC = b"belated\x00"
_SEALED = b"belated\x01"
_PREFIX = struct.Struct("<8sHI")
_DIGEST = 16
_PROOF = 32
_WORD = 8
_TYPES = frozenset({"<f8", "<i8", "<f4", "<i4", "<u4"})


class Content(NamedTuple):
    """The content of a blob."""

    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def seal(
    kind: str,
    about: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    secret: bytes | None = None,
) -> bytes:
    """Return the blob; the same content and secret give the same bytes."""
    _check_secret(secret, "snapshot")
    forms = {name: [_type(array), array.shape] for name, array in arrays.items()}
    text = json.dumps({"kind": kind, "about": about, "arrays": forms}).encode()
    parts = [array.astype(_type(array)).tobytes() for array in arrays.values()]
    magic = _MAGIC if secret is None else _SEALED
    body = b"".join((_PREFIX.pack(magic, FORMAT, len(text)), text, *parts))
    return body + (_digest(body) if secret is None else _proof(body, secret))


def unseal(
    kind: str, blob: Any, types: Mapping[str, str] | None, secret: bytes | None = None
) -> Content:
    """Read a blob of a kind, with these arrays of these types, or say what is wrong with it.

    ``types`` is None where arrays of any names are read, and compared with a schema later.
    """
    text, rest = _checked(_bytes_of(blob, secret), secret)
    about, forms = _header(kind, text, types)
    arrays, at = {}, 0
    for name, (form, shape) in forms.items():
        size = int(form[-1]) * math.prod(shape)
        if len(rest) - at < size:
            break
        flat = np.frombuffer(rest[at : at + size], form)
        arrays[name] = flat.astype(form[1:]).reshape(shape)
        at += size
    if at != len(rest) or len(arrays) < len(forms):
        raise SnapshotError("restore: the arrays do not have the sizes that the header gives")
    return Content(about, arrays)


def kind_of(blob: Any, secret: bytes | None = None) -> str:
    """Return what a blob is a snapshot of."""
    text, _ = _checked(_bytes_of(blob, secret), secret)
    try:
        return str(json.loads(text)["kind"])
    except (LookupError, RecursionError, TypeError, ValueError) as error:
        raise SnapshotError(f"restore: the header cannot be read ({error})") from error


def _bytes_of(blob: Any, secret: Any) -> bytes:
    """Return a blob as bytes, if it and the secret can be what they are said to be."""
    _check_secret(secret, "restore")
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise SnapshotError(f"restore: a snapshot is bytes, got {type(blob).__name__}")
    return bytes(blob)


def _checked(blob: bytes, secret: bytes | None) -> tuple[bytes, bytes]:
    """Return header and arrays of an undamaged blob of this format, sealed with this secret."""
    if len(blob) < _PREFIX.size + _PROOF or not blob.startswith((_MAGIC, _SEALED)):
        if blob.startswith(b"SQLite format"):
            raise SnapshotError("restore: this is a store and no snapshot: open it with bl.open")
        raise SnapshotError("restore: not a belated snapshot (or cut off at the very start)")
    _, version, length = _PREFIX.unpack_from(blob)
    if version != FORMAT:
        raise SnapshotError(
            f"restore: snapshot format {version}, this version of belated reads format {FORMAT}; "
            "restore it with the version that wrote it"
        )
    body = _proven(blob, secret) if blob.startswith(_SEALED) else _intact(blob, secret)
    return body[_PREFIX.size : _PREFIX.size + length], body[_PREFIX.size + length :]


def _header(
    kind: str, text: bytes, types: Mapping[str, str] | None
) -> tuple[dict[str, Any], dict[str, tuple[str, tuple[int, ...]]]]:
    """Return what is said about the thing, and types and shapes of its arrays."""
    try:
        header = json.loads(text)
        found, about, forms = header["kind"], dict(header["about"]), dict(header["arrays"])
        found_forms = {name: (form, tuple(shape)) for name, (form, shape) in forms.items()}
        sizes = [size for _, shape in found_forms.values() for size in shape]
        if not all(type(size) is int and 0 <= size < 1 << 48 for size in sizes):
            raise ValueError("a shape is of the wrong kind")
        if any(len(shape) > 2 for _, shape in found_forms.values()):
            raise ValueError("a shape has too many sides")
        kinds = {name: form for name, (form, _) in found_forms.items()}
        if found == kind and types is not None and kinds != types:
            raise ValueError("the arrays are not those of this kind")
        if not all(form in _TYPES for form in kinds.values()):
            raise ValueError("an array is of the wrong kind")
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise SnapshotError(f"restore: the header cannot be read ({error})") from error
    if found != kind:
        raise SnapshotError(f"restore: this is a snapshot of a {found}, not of a {kind}")
    return about, found_forms


def _intact(blob: bytes, secret: bytes | None) -> bytes:
    """Return all but the checksum, which must be right."""
    if secret is not None:
        raise SnapshotError(
            "restore: the snapshot was sealed without a secret, so its author cannot be verified; "
            "leave secret out to take it all the same"
        )
    body, digest = blob[:-_DIGEST], blob[-_DIGEST:]
    if _digest(body) != digest:
        raise SnapshotError("restore: the snapshot is damaged or cut off (checksum does not match)")
    return body


def _proven(blob: bytes, secret: bytes | None) -> bytes:
    """Return all but the proof, which cannot be made without the secret."""
    if secret is None:
        raise SnapshotError("restore: the snapshot was sealed with a secret; pass it as secret=")
    body, proof = blob[:-_PROOF], blob[-_PROOF:]
    import hmac

    if not hmac.compare_digest(_proof(body, secret), proof):
        raise SnapshotError(
            "restore: the snapshot was sealed with another secret, or was changed or cut off since"
        )
    return body


def _check_secret(secret: Any, who: str) -> None:
    """Refuse what is no secret."""
    if secret is not None and not (isinstance(secret, bytes) and secret):
        got = "none at all" if secret == b"" else type(secret).__name__
        raise SnapshotError(f"{who}: a secret is bytes, such as secrets.token_bytes(32), got {got}")


def _type(array: NDArray[Any]) -> str:
    return f"<{array.dtype.kind}{array.dtype.itemsize}"


def _digest(body: bytes) -> bytes:
    import hashlib  # slow to import, and needed for snapshots only

    return hashlib.blake2b(body, digest_size=_DIGEST).digest()


def _proof(body: bytes, secret: bytes) -> bytes:
    import hmac

    return hmac.digest(secret, body, "sha256")


# --- Blobs inside of blobs ------------------------------------------------------------------------


def as_words(blob: bytes) -> NDArray[np.int64]:
    """Return bytes as whole words, with zeros at the end."""
    return np.frombuffer(blob + bytes(-len(blob) % _WORD), dtype="<i8").astype(np.int64)


def from_words(words: NDArray[Any], size: int) -> bytes:
    """Undo ``as_words``, for bytes of this length."""
    whole = words.astype("<i8").tobytes()
    if not len(whole) - _WORD < size <= len(whole) or any(whole[size:]):
        raise SnapshotError("restore: a snapshot within the snapshot has another length")
    return whole[:size]
