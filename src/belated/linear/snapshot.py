"""Snapshots of linear models: self-describing, versioned, checksummed, and sparse.

Layout: 8 bytes of magic, format number (2 bytes), length of the header (4 bytes), the header as
JSON, the arrays as little-endian bytes, 16 bytes of BLAKE2b over all that. Only coordinates that
were seen are written, and the table and the pool without gaps, so equal models give equal bytes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
from itertools import pairwise
from typing import Any

import numpy as np

from belated._version import __version__
from belated.arrays import Floats, Ints
from belated.errors import SnapshotError, SpecError
from belated.kernels.linear import layout as lm
from belated.kernels.slots import ints as N
from belated.kernels.slots import table as T
from belated.learner.program import FEWEST, entries_of, records_of, resized
from belated.linear.settings import Settings, checked
from belated.linear.store import Store, coordinates, rows_of

FORMAT = 2
"""Number of the format. It changes with the layout of the arrays, and only then."""

_MAGIC = b"belatlin"
_PREFIX = struct.Struct("<8sHI")
_DIGEST = 16
_KINDS = ("<f8", "<i8", "<i8", "<f8", "<f8", "<i8", "<f8")
# Numbers per entry of each array: sums, counters, tickets, records, pairs, and for every coordinate
# its number and row.
_WIDTHS = (1, 1, 2, lm.KEEP, 2, 1, lm.ROW)


def pack(settings: Settings, store: Store) -> bytes:
    """Return the blob."""
    arrays = [*_tickets(store), *_coordinates(store.c)]
    header = {
        "belated": __version__,
        "settings": dataclasses.asdict(settings),
        "lengths": [a.size // width for a, width in zip(arrays, _WIDTHS, strict=True)],
    }
    text = json.dumps(header).encode()
    parts = [a.astype(kind).tobytes() for a, kind in zip(arrays, _KINDS, strict=True)]
    body = b"".join((_PREFIX.pack(_MAGIC, FORMAT, len(text)), text, *parts))
    return body + _digest(body)


def _tickets(store: Store) -> tuple[Floats, Ints, Ints, Floats, Floats]:
    """Return sums, counters, tickets, records and pairs, free of accidents."""
    table = entries_of(store.n)
    kept = table[:, 1] != T.DEAD
    tickets = table[kept]
    records = records_of(store.f, store.n)[kept].copy()
    is_open = tickets[:, 1] >= 0
    records[~is_open] = 0.0
    starts = records[:, lm.START].astype(np.int64)
    counts = records[:, lm.PAIRS].astype(np.int64)
    records[:, lm.START] = np.where(is_open, np.cumsum(counts) - counts, 0)
    pairs = np.repeat(starts, counts) + _ranges(counts)
    n = store.n[: N.HEADER].copy()
    n[N.SPARSE] = n[N.CAPACITY] = len(tickets)
    n[N.OFFSET] = len(tickets) - n[N.ROUNDS]
    n[N.HEAD] = int(np.argmax(np.append(is_open, True)))  # first open entry, or the end
    n[N.CALM] = 0
    n[N.KEPT_AT] = lm.HEADER
    n[N.POOL_TAIL] = pairs.size
    return store.f[: lm.HEADER].copy(), n, tickets, records, store.pool.reshape(-1, 2)[pairs]


def _ranges(counts: Ints) -> Ints:
    """Return 0, 1, ..., count - 1 for every count, one after the other."""
    total = int(counts.sum())
    return np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)


def _coordinates(c: Floats) -> tuple[Ints, Floats]:
    """Return numbers and rows of the coordinates that were seen."""
    rows = rows_of(c)
    seen = np.flatnonzero(rows[:, lm.SEEN])
    return seen, rows[seen]


def unpack(blob: bytes) -> tuple[Settings, Store]:
    """Read a blob, or say what is wrong with it."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise SnapshotError(f"restore: a snapshot is bytes, got {type(blob).__name__}")
    header, rest = _checked(bytes(blob))
    settings = _settings(header)
    sizes = [8 * n * width for n, width in zip(header["lengths"], _WIDTHS, strict=True)]
    if min(sizes) < 0 or sum(sizes) != len(rest):
        raise SnapshotError("restore: the arrays do not have the sizes that the header gives")
    cuts = pairwise(np.cumsum([0, *sizes]).tolist())
    f, n, tickets, records, pairs, seen, rows = (
        np.frombuffer(rest[a:b], kind).astype(kind[1:])
        for (a, b), kind in zip(cuts, _KINDS, strict=True)
    )
    _check_sizes(settings, f, n, tickets, records, seen, rows)
    return settings, _store(settings, f, n, tickets, records, pairs, seen, rows)


def _store(settings: Settings, *arrays: Any) -> Store:
    f, n, tickets, records, pairs, seen, rows = arrays
    store = Store.fresh(settings)
    work = store.f[lm.HEADER : int(store.n[N.KEPT_AT])]
    widest = lm.SCALES * int(records.reshape(-1, lm.KEEP)[:, lm.PAIRS].max(initial=0))
    room = np.zeros(max(work.size, widest))
    n[N.KEPT_AT] = lm.HEADER + room.size
    capacity = max(FEWEST, 1 << int(tickets.size).bit_length())
    store.f, store.n = resized(
        np.concatenate([f, room, records]), np.concatenate([n, tickets]), capacity
    )
    store.pool = np.zeros(max(store.pool.size, 2 << (2 * pairs.size).bit_length()))
    store.pool[: pairs.size] = pairs
    store.c = coordinates(1 << settings.bits)
    rows_of(store.c)[seen] = rows.reshape(-1, lm.ROW)
    return store


def _check_sizes(
    settings: Settings,
    f: Floats,
    n: Ints,
    tickets: Ints,
    records: Floats,
    seen: Ints,
    rows: Floats,
) -> None:
    """Refuse arrays that do not fit together."""
    whole = f.size == lm.HEADER and n.size == N.HEADER and seen.size * lm.ROW == rows.size
    whole = whole and tickets.size * lm.KEEP == 2 * records.size
    if not whole or (seen < 0).any() or (seen > 1 << settings.bits).any():
        raise SnapshotError("restore: the arrays do not fit together")
    if n[N.COORDINATES] != 1 << settings.bits or n[N.CAPACITY] != tickets.size // 2:
        raise SnapshotError("restore: the arrays do not fit the settings")


def _checked(blob: bytes) -> tuple[dict[str, Any], bytes]:
    """Return header and arrays of a whole, undamaged blob of this format."""
    if len(blob) < _PREFIX.size + _DIGEST or not blob.startswith(_MAGIC):
        raise SnapshotError(
            "restore: not a snapshot of a LinearModel (or cut off at the very start)"
        )
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
        lengths = header["lengths"]
        if len(lengths) != len(_WIDTHS) or not all(isinstance(n, int) for n in lengths):
            raise ValueError("lengths are of the wrong kind")
        if not isinstance(header["settings"], dict):
            raise ValueError("settings are of the wrong kind")
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(f"restore: the header cannot be read ({error})") from error
    assert isinstance(header, dict)
    return header


def _settings(header: dict[str, Any]) -> Settings:
    try:
        return checked(**header["settings"])
    except (SpecError, TypeError) as error:
        raise SnapshotError(f"restore: the settings cannot be read ({error})") from error


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()
