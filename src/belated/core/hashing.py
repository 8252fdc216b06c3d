# cython: infer_types=True
"""Named features as coordinates and values: the hashing trick, with XXH64.

XXH64 is a published hash (https://xxhash.com); the seed is 0. ``Hasher`` turns dicts into rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import cython
import numpy as np

from belated.arrays import Floats, Ints
from belated.errors import BadFeatures
from belated.limits import MOST_COLUMNS
from belated.scalars import plain

if cython.compiled:
    from cython.cimports import numpy as cnp

    cnp.import_array()
else:
    from belated.core.numerics import floats_at, ints_at


def bytes_at(array):
    """Return where the bytes of an array without gaps stand."""
    if cython.compiled:
        return cython.cast(cython.p_uchar, cnp.PyArray_DATA(cython.cast(cnp.ndarray, array)))
    else:
        return memoryview(array)


# --- XXH64 ---------------------------------------------------------------------------------------

M64 = 0xFFFFFFFFFFFFFFFF  # interpreted, results are cut to 64 bits
P1 = 0x9E3779B185EBCA87
P2 = 0xC2B2AE3D27D4EB4F
P3 = 0x165667B19E3779F9
P4 = 0x85EBCA77C2B2AE63
P5 = 0x27D4EB2F165667C5


def rotate(x, k):
    """Rotate 64 bits to the left by k."""
    return x << k & M64 | x >> 64 - k


def read(data, i, size):
    """Return the number in ``size`` bytes, the least one first."""
    x: cython.ulonglong = 0
    for k in range(size - 1, -1, -1):
        x = x << 8 | data[i + k]
    return x


def mix(lane, x):
    """Return a lane after the next 8 bytes."""
    return rotate(lane + x * P2 & M64, 31) * P1 & M64


def hash_bytes(data, n):
    """Return the hash of n bytes."""
    x: cython.ulonglong = P5
    lanes: cython.ulonglong[4]
    i: cython.Py_ssize_t = 0
    if n >= 32:
        lanes = [P1 + P2 & M64, P2, 0, M64 - P1 + 1]
        while i + 32 <= n:
            for k in range(4):
                lanes[k] = mix(lanes[k], read(data, i + 8 * k, 8))
            i += 32
        x = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18)
        for k in range(4):
            x = (x ^ mix(0, lanes[k])) * P1 + P4 & M64
    x = x + n & M64
    while i + 8 <= n:
        x = rotate(x ^ mix(0, read(data, i, 8)), 27) * P1 + P4 & M64
        i += 8
    if i + 4 <= n:
        x = rotate(x ^ read(data, i, 4) * P1 & M64, 23) * P2 + P3 & M64
        i += 4
    while i < n:
        x = rotate(x ^ data[i] * P5 & M64, 11) * P1 & M64
        i += 1
    x = (x ^ x >> 33) * P2 & M64
    x = (x ^ x >> 29) * P3 & M64
    return x ^ x >> 32


def xxh64(data: bytes) -> int:
    """Return the XXH64 of bytes."""
    return hash_bytes(data, len(data))


# --- Rows ----------------------------------------------------------------------------------------

BETWEEN = "\x1f"  # stands between a name and its string (the ASCII unit separator)
AND = "\x1e"  # stands between the parts of an interaction (the ASCII record separator)
MOST_CACHED = 4096  # names
LONGEST_CACHED = 256  # characters of a cached name
MOST_NAMES = 65_536  # names that a hasher remembers


def hash_text(text):
    """Return the hash of a text in UTF-8, which ASCII is in memory."""
    if cython.compiled and PyUnicode_IS_ASCII(text):
        return hash_bytes(PyUnicode_1BYTE_DATA(text), len(text))
    data = text.encode("utf-8", "surrogatepass")
    return hash_bytes(data, len(data))


def text_of(parts):
    """Return the text that is hashed for a name, a name with a string, or several such parts."""
    texts = [part if isinstance(part, str) else part[0] + BETWEEN + part[1] for part in parts]
    return AND.join(texts)


def parts_of(text: str) -> list[tuple[str, ...]]:
    """Return the parts of a text that was hashed: names, and names with their strings."""
    return [tuple(part.split(BETWEEN, 1)) for part in text.split(AND)]


def to_text(text):
    """Return a string without the type that is derived from str."""
    return text if type(text) is str else str.__str__(str(text))


def to_plain(name, value):
    """Return a value of a row as a float or a string, None where it is missing, or refuse it."""
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise BadFeatures(f"features: {name!r} is too large, got {value!r}") from None
    try:
        return plain(value)
    except (TypeError, OverflowError) as error:
        why = f"is too large, got {value!r}" if isinstance(error, OverflowError) else error
        raise BadFeatures(f"features: {name!r} {why}") from None


class Hasher:
    """Turns dicts into rows: coordinates below 2^bits, and values.

    A row stands at the start of ``indices`` and ``values`` until the next one. Names are cached by
    their place in the row, since most rows have the same names in the same order. The cache has a
    bound, and is no part of a snapshot. With ``columns``, rows are cells of a log, which become
    features first. ``names`` has the text that was hashed first to each coordinate, for a bounded
    number of them; it is no part of a snapshot either.

    ``seen`` numbers the names, and ``first_and_last`` has for each its first row and the
    last one before it left the cache. ``rows_read`` counts rows, ``width`` names in the last one.
    """

    def __init__(self, bits: object, interactions: object, columns: object):
        self.bits, self.mask, self.columns = bits, (1 << bits) - 1, columns
        self.interactions = tuple(interactions)
        self.cached, self.seen = [], {}
        self.rows_read = self.width = 0
        self.first_and_last = np.zeros((2, MOST_COLUMNS + 1), dtype=np.int64)
        self.first_at = ints_at(self.first_and_last[0])
        self.last_at = ints_at(self.first_and_last[1])
        self.number_array = np.zeros(MOST_CACHED, dtype=np.int64)  # of the cached names
        self.number_at = ints_at(self.number_array)
        self.cached_array = np.zeros(MOST_CACHED, dtype=np.int64)
        self.cached_at = ints_at(self.cached_array)
        self.names = {}
        self.known_array = np.zeros(1 << bits, dtype=np.uint8)  # where there are names
        self.known_at = bytes_at(self.known_array)
        self.make_room(64)

    def make_room(self, room):
        """Replace the two arrays of a row."""
        self.indices, self.values, self.room = np.zeros(room, dtype=np.int64), np.zeros(room), room
        self.index_at, self.value_at = ints_at(self.indices), floats_at(self.values)

    def coordinate(self, *parts: str | tuple[str, str]) -> int:
        """Return the coordinate of a name, of a name with a string, or of several such parts."""
        return hash_text(text_of(parts)) & self.mask

    def remembered(self, *parts: str | tuple[str, str]) -> int:
        """Return the coordinate of what stands in a row, and remember its name."""
        text = text_of(parts)
        index: cython.longlong = hash_text(text) & self.mask
        if not self.known_at[index]:
            self.remember(index, text)
        return index

    def remember(self, index, text):
        """Remember what was hashed first to a coordinate, while there is room for names."""
        if len(self.names) < MOST_NAMES and len(text) <= LONGEST_CACHED:
            self.names[index] = text
            self.known_at[index] = 1

    def named(self, features: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the features of a row, which may be the cells of a log."""
        return features if self.columns is None else self.columns.row(features)

    def entries(self, features: Mapping[str, Any]) -> tuple[Ints, Floats, int]:
        """Return two arrays that begin with a row, and its length; the next row overwrites them."""
        count = self.fill(features)
        return self.indices, self.values, count

    def row(self, features: Mapping[str, Any]) -> tuple[Ints, Floats]:
        """Return coordinates and values of one row, in the order of its names."""
        count = self.fill(features)
        return self.indices[:count].copy(), self.values[:count].copy()

    def arrays_of(self, many: Iterable[Mapping[str, Any]]) -> tuple[Ints, Ints, Floats]:
        """Return where each of many rows begins and ends, their coordinates and their values."""
        bounds, used, indices, values = [0], 0, bytearray(), bytearray()
        for features in many:
            count = self.fill(features)
            indices.extend(self.indices[:count])
            values.extend(self.values[:count])
            used += count
            bounds.append(used)
        return np.array(bounds), np.frombuffer(indices, np.int64), np.frombuffer(values)

    def fill(self, features):
        """Write a row to the start of the two arrays, and return its length."""
        given = self.named(features)
        row: dict = given if type(given) is dict else dict(given.items())
        size = len(row)
        if size + len(self.interactions) > self.room:
            self.make_room(2 * (size + len(self.interactions)))
        cached: list = self.cached
        count: cython.Py_ssize_t = 0
        place: cython.Py_ssize_t = 0
        number: cython.double
        for name, value in row.items():
            if place == size:
                raise RuntimeError("features: the dict has changed while it was read")
            if place < len(cached) and type(name) is str and name == cached[place]:
                index = self.cached_at[place]
            else:
                index = self.look_up(name, place)
            place += 1
            if type(value) is not float and type(value) is not str:
                value = to_plain(name, value)
            if type(value) is float:
                number = value
                if number != number:
                    continue
                self.value_at[count] = number
                if not self.known_at[index]:
                    self.remember(index, to_text(name))
            elif value is None:
                continue
            else:
                text = f"{to_text(name)}{BETWEEN}{value}"
                index = hash_text(text) & self.mask
                self.value_at[count] = 1.0
                if not self.known_at[index]:
                    self.remember(index, text)
            self.index_at[count] = index
            count += 1
        for group in self.interactions:
            count += self.write_interaction(group, row, count)
        if size < self.width:
            for place in range(size, min(self.width, len(cached))):
                self.last_at[self.number_at[place]] = self.rows_read - 1
        self.width = size
        self.rows_read += 1
        return count

    def look_up(self, name, place):
        """Return the coordinate of a name, and cache it by its place in the row."""
        if not isinstance(name, str):
            raise BadFeatures(f"features: names must be strings, got {name!r}")
        text = to_text(name)
        index = hash_text(text) & self.mask
        if len(text) <= LONGEST_CACHED and place <= len(self.cached) and place < MOST_CACHED:
            if place == len(self.cached):
                self.cached.append(text)
            else:
                if place < self.width:
                    self.last_at[self.number_at[place]] = self.rows_read - 1
                self.cached[place] = text
            self.cached_at[place] = index
            self.number_at[place] = self.number_of(text)
        return index

    def number_of(self, name):
        """Return the number of a name; all beyond the most that are told apart share one."""
        number = self.seen.get(name, -1)
        if number < 0:
            number = len(self.seen)
            if number >= MOST_COLUMNS:
                return MOST_COLUMNS
            self.seen[name] = number
            self.first_at[number] = self.rows_read
        return number

    def write_interaction(self, group, features, count):
        """Write an interaction where all of its parts are there; return how many entries it has."""
        product = 1.0
        texts = []
        for name in group:
            value = to_plain(name, features.get(name))
            if value is None:
                return 0
            if type(value) is str:
                texts.append(name + BETWEEN + value)
            else:
                product *= value
                texts.append(name)
        text = AND.join(texts)
        index = hash_text(text) & self.mask
        if not self.known_at[index]:
            self.remember(index, text)
        self.index_at[count], self.value_at[count] = index, product
        return 1
