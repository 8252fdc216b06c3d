"""Snapshots: a learner as one self-describing, versioned, checksummed blob.

Layout: 8 bytes of magic, format number (2 bytes), length of the header (4 bytes), the header as
JSON, the arrays as little-endian bytes, 16 bytes of BLAKE2b over all that. The table of tickets is
written without gaps, so equal learners give equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import struct
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from belated._version import __version__
from belated.arrays import Floats, Ints
from belated.errors import SnapshotError
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import table as T
from belated.learner.program import FEWEST, copies_of, entries_of, records_of, resized

FORMAT = 3
"""Number of the format. It changes with the layout of the arrays, and only then."""

_MAGIC = b"belated\x00"
_PREFIX = struct.Struct("<8sHI")
_DIGEST = 16


class Content(NamedTuple):
    """What a snapshot holds."""

    spec: str | None
    """The spec as JSON; None when it contains Python objects."""
    code: tuple[int, ...]
    f: Floats
    n: Ints
    base: bytes | None
    """What a user's base saved of itself."""


def pack(content: Content) -> bytes:
    """Return the blob."""
    f, n, tickets = _without_gaps(content)
    header = {
        "belated": __version__,
        "spec": content.spec,
        "code": content.code,
        "lengths": [f.size, n.size, len(tickets)],
        "base": None if content.base is None else content.base.hex(),
    }
    text = json.dumps(header).encode()
    arrays = (
        f.astype("<f8").tobytes(),
        n.astype("<i8").tobytes(),
        tickets.astype("<i8").tobytes(),
    )
    body = b"".join((_PREFIX.pack(_MAGIC, FORMAT, len(text)), text, *arrays))
    return body + _digest(body)


def unpack(blob: bytes) -> Content:
    """Read a blob, or say what is wrong with it."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise SnapshotError(f"restore: a snapshot is bytes, got {type(blob).__name__}")
    header, rest = _checked(bytes(blob))
    floats, ints, tickets = header["lengths"]
    sizes = [8 * floats, 8 * ints, 16 * tickets]
    if sum(sizes) != len(rest) or ints < N.HEADER:
        raise SnapshotError("restore: the arrays do not have the sizes that the header gives")
    cuts = np.cumsum([0, *sizes])
    f, n, table = (
        np.frombuffer(rest[a:b], kind)
        for (a, b), kind in zip(pairwise(cuts), ("<f8", "<i8", "<i8"), strict=True)
    )
    base = None if header["base"] is None else bytes.fromhex(header["base"])
    return Content(header["spec"], tuple(header["code"]), *_with_room(f, n, table), base)


def _with_room(f: Floats, n: Ints, table: Ints) -> tuple[Floats, Ints]:
    """Undo ``_without_gaps``: put the table back between counters and copies, and let it grow."""
    tickets = table.size // 2
    n = np.concatenate([n[: N.HEADER], table, n[N.HEADER :]]).astype(np.int64)
    capacity = max(FEWEST, 1 << int(max(2 * tickets, n[N.MADE])).bit_length())
    return resized(f.astype(np.float64), n, capacity)


def _without_gaps(content: Content) -> tuple[Floats, Ints, Ints]:
    """Return floats, counters with copies, and tickets, free of accidents.

    What depends on how the table happened to be filled (dead entries, capacity, head) and the
    scratch vector are normalised away.
    """
    room, kept_at = F.padded(int(content.n[N.DIM])), int(content.n[N.KEPT_AT])
    table = entries_of(content.n)
    kept = table[:, 1] != T.DEAD
    copy_f, copy_n = copies_of(content.f, content.n)
    f = np.concatenate(
        [content.f[:kept_at], records_of(content.f, content.n)[kept].ravel(), copy_f.ravel()]
    )
    f[F.HEADER + 2 * room : F.HEADER + 3 * room] = 0.0
    n = np.concatenate([content.n[: N.HEADER], copy_n.ravel()])
    count = int(kept.sum())
    n[N.SPARSE] = n[N.CAPACITY] = count
    n[N.OFFSET] = count - n[N.ROUNDS]
    n[N.HEAD] = int(np.argmax(np.append(table[kept, 1], 0) >= 0))  # first open entry, or the end
    n[N.CALM] = 0
    return f, n, table[kept]


def _checked(blob: bytes) -> tuple[dict[str, Any], bytes]:
    """Return header and arrays of a whole, undamaged blob of this format."""
    if len(blob) < _PREFIX.size + _DIGEST or not blob.startswith(_MAGIC):
        raise SnapshotError("restore: not a belated snapshot (or cut off at the very start)")
    _, version, length = _PREFIX.unpack_from(blob)
    if version != FORMAT:
        raise SnapshotError(
            f"restore: snapshot format {version}, this version of belated reads format {FORMAT}; "
            "restore it with the version that wrote it"
        )
    body, digest = blob[:-_DIGEST], blob[-_DIGEST:]
    if _digest(body) != digest:
        raise SnapshotError("restore: the snapshot is damaged or cut off (checksum does not match)")
    return _header(body[_PREFIX.size : _PREFIX.size + length]), body[_PREFIX.size + length :]


def _header(text: bytes) -> dict[str, Any]:
    """Return the header, every field of the kind that it should be."""
    try:
        header = json.loads(text)
        spec, base = header["spec"], header["base"]
        whole = len(header["code"]) == C.SLOTS and len(header["lengths"]) == 3
        counts = all(isinstance(count, int) for count in [*header["code"], *header["lengths"]])
        if not (whole and counts and (spec is None or isinstance(spec, str))):
            raise ValueError("a field is of the wrong kind")
        bytes.fromhex(base or "")
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(f"restore: the header cannot be read ({error})") from error
    assert isinstance(header, dict)
    return header


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()
