# cython: infer_types=True
"""Named features as coordinates and values: the hashing trick, with XXH3.

XXH3 is a published hash; the specification has version 0.2.0 (https://xxhash.com). Here are its 64
bits for the seed 0. The functions are one page; ``Hasher`` turns dicts into rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import cython
import numpy as np

from belated.arrays import Floats, Ints
from belated.errors import BadFeatures

if not cython.compiled:
    from belated.core.numerics import floats_at, ints_at

# --- XXH3 ----------------------------------------------------------------------------------------

M64 = 0xFFFFFFFFFFFFFFFF  # interpreted, results are cut to 64 bits
M32 = 0xFFFFFFFF
EVEN_BYTES = 0x00FF00FF00FF00FF
EVEN_PAIRS = 0x0000FFFF0000FFFF
P32_1 = 0x9E3779B1
P32_2 = 0x85EBCA77
P32_3 = 0xC2B2AE3D
P64_1 = 0x9E3779B185EBCA87
P64_2 = 0xC2B2AE3D27D4EB4F
P64_3 = 0x165667B19E3779F9
P64_4 = 0x85EBCA77C2B2AE63
P64_5 = 0x27D4EB2F165667C5
PMX_1 = 0x165667919E3779F9
PMX_2 = 0x9FB21C651E98DF25

SECRET_BYTES = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
SECRET = SECRET_BYTES


def half(data, i):
    """Return the number in four bytes, the least one first."""
    first: cython.ulonglong = data[i]
    second: cython.ulonglong = data[i + 1]
    third: cython.ulonglong = data[i + 2]
    fourth: cython.ulonglong = data[i + 3]
    return first | second << 8 | third << 16 | fourth << 24


def word(data, i):
    """Return the number in eight bytes, the least one first."""
    return half(data, i) | half(data, i + 4) << 32


def fold(a, b):
    """Return the two halves of the product with 128 bits, xor each other."""
    a_low, a_high, b_low, b_high = a & M32, a >> 32, b & M32, b >> 32
    low = a_low * b_low
    middle = (low >> 32) + (a_high * b_low & M32) + a_low * b_high
    high = a_high * b_high + (a_high * b_low >> 32) + (middle >> 32)
    return (middle << 32 & M64 | low & M32) ^ high


def avalanche(x):
    """Let every bit change half of all bits."""
    x = (x ^ x >> 37) * PMX_1 & M64
    return x ^ x >> 32


def hash_short(data, n):
    """Return the hash of at most 16 bytes."""
    if n > 8:
        a = word(SECRET, 24) ^ word(SECRET, 32) ^ word(data, 0)
        b = word(SECRET, 40) ^ word(SECRET, 48) ^ word(data, n - 8)
        swapped = (a & EVEN_BYTES) << 8 | a >> 8 & EVEN_BYTES
        swapped = (swapped & EVEN_PAIRS) << 16 | swapped >> 16 & EVEN_PAIRS
        swapped = (swapped & M32) << 32 | swapped >> 32
        return avalanche(n + swapped + b + fold(a, b) & M64)
    if n >= 4:
        x = word(SECRET, 8) ^ word(SECRET, 16) ^ (half(data, n - 4) | half(data, 0) << 32)
        x ^= (x << 49 & M64 | x >> 15) ^ (x << 24 & M64 | x >> 40)
        x = x * PMX_2 & M64
        x = (x ^ (x >> 35) + n) * PMX_2 & M64
        return x ^ x >> 28
    x = word(SECRET, 56) ^ word(SECRET, 64)
    if n > 0:
        x = data[n >> 1]
        x = half(SECRET, 0) ^ half(SECRET, 4) ^ (x << 24 | data[0] << 16 | n << 8 | data[n - 1])
    x = (x ^ x >> 33) * P64_2 & M64
    x = (x ^ x >> 29) * P64_3 & M64
    return x ^ x >> 32


def mix(data, i, s):
    """Return 16 bytes mixed with as many of the secret."""
    return fold(word(data, i) ^ word(SECRET, s), word(data, i + 8) ^ word(SECRET, s + 8))


def hash_medium(data, n):
    """Return the hash of 17 to 240 bytes."""
    i: cython.Py_ssize_t
    x = n * P64_1 & M64
    if n <= 128:
        for i in range((n - 1) >> 5, -1, -1):
            x += mix(data, 16 * i, 32 * i) + mix(data, n - 16 * i - 16, 32 * i + 16)
        return avalanche(x & M64)
    for i in range(8):
        x += mix(data, 16 * i, 16 * i)
    x = avalanche(x & M64)
    for i in range(8, n >> 4):
        x += mix(data, 16 * i, 16 * i - 125)
    return avalanche(x + mix(data, n - 16, 119) & M64)


def add_stripe(lanes, data, i, s):
    """Add 64 bytes to eight lanes."""
    k: cython.Py_ssize_t
    for k in range(8):
        x = word(data, i + 8 * k)
        y = x ^ word(SECRET, s + 8 * k)
        lanes[k ^ 1] = lanes[k ^ 1] + x & M64
        lanes[k] = lanes[k] + (y & M32) * (y >> 32) & M64


def hash_long(data, n):
    """Return the hash of more than 240 bytes: blocks of 16 stripes, the last 64 bytes again."""
    lanes: cython.ulonglong[8]
    lanes = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for i in range((n - 1) >> 6):
        add_stripe(lanes, data, 64 * i, 8 * (i & 15))
        if i & 15 == 15:
            for k in range(8):
                x = lanes[k] ^ lanes[k] >> 47 ^ word(SECRET, 128 + 8 * k)
                lanes[k] = x * P32_1 & M64
    add_stripe(lanes, data, n - 64, 121)
    x = n * P64_1 & M64
    for k in range(0, 8, 2):
        x += fold(lanes[k] ^ word(SECRET, 11 + 8 * k), lanes[k + 1] ^ word(SECRET, 19 + 8 * k))
    return avalanche(x & M64)


def hash_bytes(data, n):
    """Return the hash of n bytes."""
    if n <= 16:
        return hash_short(data, n)
    return hash_medium(data, n) if n <= 240 else hash_long(data, n)


def xxh3(data: bytes) -> int:
    """Return the XXH3 of bytes."""
    return hash_bytes(data, len(data))


# --- Rows ----------------------------------------------------------------------------------------

BETWEEN = "\x1f"
"""Stands between a name and its string (the ASCII unit separator)."""
AND = "\x1e"
"""Stands between the parts of an interaction (the ASCII record separator)."""
MOST_CACHED = 4096
"""Names that are cached at most, the first of a row."""
LONGEST_CACHED = 256
"""Characters of the longest name that is cached."""
NUMBERS = (float, int, np.floating, np.integer, np.bool_, Real)


def hash_text(text):
    """Return the hash of a text in UTF-8."""
    data = text.encode("utf-8", "surrogatepass")
    return hash_bytes(data, len(data))


def hash_string(name, text):
    """Return the hash of a name and its string; short ASCII is joined without new objects."""
    if cython.compiled:
        n: cython.Py_ssize_t = len(name)
        m: cython.Py_ssize_t = len(text)
        if n + m < 256 and PyUnicode_MAX_CHAR_VALUE(name) < 128 > PyUnicode_MAX_CHAR_VALUE(text):
            joined: cython.uchar[256]
            memcpy(joined, PyUnicode_DATA(name), n)
            joined[n] = 0x1F
            memcpy(joined + n + 1, PyUnicode_DATA(text), m)
            return hash_bytes(joined, n + m + 1)
    return hash_text(name + BETWEEN + text)


def to_text(text):
    """Return a string without the type that is derived from str."""
    return text if type(text) is str else str.__str__(str(text))


def to_number(name: object, value: object) -> float:
    """Return the number that a feature is, or refuse it."""
    if isinstance(value, NUMBERS):
        try:
            return float(value)
        except OverflowError:
            raise BadFeatures(f"features: {name!r} is too large, got {value!r}") from None
    raise BadFeatures(f"features: {name!r} must be a number, a string or None, got {value!r}")


class Hasher:
    """Turns dicts into rows: coordinates below 2^bits, and values.

    A row stands at the start of ``indices`` and ``values`` until the next one. Names of the latest
    row are cached by their place, since most rows have the same names in the same order; strings
    are hashed again. The cache has a bound, and is no part of a snapshot. With ``columns``, rows
    are cells of a log, which become features first.
    """

    def __init__(self, bits: object, interactions: object, columns: object):
        self.bits, self.mask, self.columns = bits, (1 << bits) - 1, columns
        self.interactions = tuple(interactions)
        self.cached = []
        self.cached_array = np.zeros(MOST_CACHED, dtype=np.int64)
        self.cached_at = ints_at(self.cached_array)
        self.make_room(64)

    def make_room(self, room):
        """Replace the two arrays of a row."""
        self.indices, self.values, self.room = np.zeros(room, dtype=np.int64), np.zeros(room), room
        self.index_at, self.value_at = ints_at(self.indices), floats_at(self.values)

    def coordinate(self, *parts: str | tuple[str, str]) -> int:
        """Return the coordinate of a name, of a name with a string, or of several such parts."""
        texts = [part if isinstance(part, str) else part[0] + BETWEEN + part[1] for part in parts]
        return hash_text(AND.join(texts)) & self.mask

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
        bounds, used, room = [0], 0, 256
        indices, values = np.empty(room, dtype=np.int64), np.empty(room)
        index_at, value_at = ints_at(indices), floats_at(values)
        for features in many:
            count = self.fill(features)
            if used + count > room:
                room = 2 * (used + count)
                indices, values = np.resize(indices, room), np.resize(values, room)
                index_at, value_at = ints_at(indices), floats_at(values)
            for k in range(count):
                index_at[used + k], value_at[used + k] = self.index_at[k], self.value_at[k]
            used += count
            bounds.append(used)
        return np.array(bounds), indices[:used], values[:used]

    def fill(self, features):
        """Write a row to the start of the two arrays, and return its length."""
        if self.columns is not None:
            features = self.columns.row(features)
        return self.write(features if type(features) is dict else dict(features.items()))

    def write(self, features):
        """Write a row that is a dict."""
        size = len(features)
        if size + len(self.interactions) > self.room:
            self.make_room(2 * (size + len(self.interactions)))
        cached: list = self.cached
        count: cython.Py_ssize_t = 0
        place: cython.Py_ssize_t = 0
        for name, value in features.items():
            if place == size:
                raise RuntimeError("features: the dict has changed while it was read")
            if place < len(cached) and type(name) is str and name == cached[place]:
                index = self.cached_at[place]
            else:
                index = self.look_up(name, place)
            place += 1
            if type(value) is float:
                self.value_at[count] = value
            elif isinstance(value, str):
                index = hash_string(to_text(name), to_text(value)) & self.mask
                self.value_at[count] = 1.0
            elif value is None:
                continue
            else:
                self.value_at[count] = to_number(name, value)
            self.index_at[count] = index
            count += 1
        for group in self.interactions:
            count += self.write_interaction(group, features, count)
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
                self.cached[place] = text
            self.cached_at[place] = index
        return index

    def write_interaction(self, group, features, count):
        """Write an interaction where all of its parts are there; return how many entries it has."""
        product = 1.0
        texts = []
        for name in group:
            value = features.get(name)
            if value is None:
                return 0
            if isinstance(value, str):
                texts.append(name + BETWEEN + to_text(value))
            else:
                product *= to_number(name, value)
                texts.append(name)
        self.index_at[count], self.value_at[count] = hash_text(AND.join(texts)) & self.mask, product
        return 1
