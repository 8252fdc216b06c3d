"""Features: names and values in, coordinates out."""

from __future__ import annotations

import sys
import threading
from collections import ChainMap, OrderedDict
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.core.hashing import xxh64
from belated.errors import SpecError
from belated.models.linear import BadFeatures, Hasher, LinearModel, Rows

xxhash = pytest.importorskip("xxhash")

TEXTS = st.text(max_size=8)
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.integers(-1000, 1000)
)
VALUES = st.one_of(TEXTS, NUMBERS, st.none())
DICTS = st.dictionaries(TEXTS, VALUES, max_size=6)


def slow_row(features: dict[str, Any], bits: int) -> list[tuple[int, float]]:
    """The same by the definition."""
    row = []
    for name, value in features.items():
        if value is None:
            continue
        text = f"{name}\x1f{value}" if isinstance(value, str) else name
        index = xxhash.xxh64_intdigest(text.encode("utf-8", "surrogatepass"), seed=0) % (1 << bits)
        row.append((index, 1.0 if isinstance(value, str) else float(value)))
    return row


def pairs(row: tuple[Any, Any]) -> list[tuple[int, float]]:
    """Return a row as pairs."""
    return list(zip(row[0].tolist(), row[1].tolist(), strict=True))


@given(st.lists(DICTS, max_size=6), st.integers(1, 30))
def test_rows_follow_the_definition(many: list[dict[str, Any]], bits: int) -> None:
    hasher = Hasher(bits)
    for features in [*many, *many]:  # the second time from memory
        assert pairs(hasher.row(features)) == slow_row(features, bits)


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=300), min_size=2))
def test_texts_of_any_length_and_with_any_characters(texts: list[str]) -> None:
    """Half of a surrogate pair is a character like any other."""
    features: dict[str, Any] = {texts[0]: texts[1], "x" * len(texts[0]): "y" * len(texts[1])}
    features |= dict.fromkeys(texts, 1.0)
    assert pairs(Hasher(30).row(features)) == slow_row(features, 30)


def test_other_refusals() -> None:
    with pytest.raises(BadFeatures, match="names must be strings, got 3"):
        Hasher(8).row({3: 1.0})  # type: ignore[dict-item]
    with pytest.raises(BadFeatures, match="names must be strings, got 3"):
        Hasher(8).row({3: None})  # type: ignore[dict-item]
    with pytest.raises(BadFeatures, match="'a' is too large"):
        Hasher(8).row({"a": 10**400})


def test_rows_of_numbers_may_turn_into_anything() -> None:
    """The quick way for rows that are all numbers notices when they are not."""
    hasher = Hasher(12)
    rows: list[dict[str, Any]] = [
        {"a": 1.0, "b": 2.0},
        {"a": 3.0, "b": 4},
        {"a": "x", "b": 4.0},
        {"a": 1.0, "b": None},
        {"a": 1.0, "b": 5.0},
        {"b": 1.0, "a": 5.0},
    ]
    for features in [*rows, *rows]:
        assert pairs(hasher.row(features)) == slow_row(features, 12)
    hasher.row({"c": 1.0})
    with pytest.raises(BadFeatures, match="too large"):
        hasher.row({"c": 10**400})


def test_mappings_are_read_like_dicts() -> None:
    features = {"a": 1.0, "b": "x"}
    for same in (MappingProxyType(features), OrderedDict(features), ChainMap(features)):
        assert sorted(pairs(Hasher(20).row(same))) == sorted(slow_row(features, 20))


def test_rows_are_found_again_whatever_came_between() -> None:
    """Names are cached by their place, and rows may have any names in any order."""
    hasher = Hasher(30)
    rows: list[dict[str, Any]] = [
        {f"n{(i * j) % 41}": float(i) for i in range(1 + 7 * j)} for j in range(12)
    ]
    for features in [*rows, *rows[::-1], {}, *rows]:
        assert pairs(hasher.row(features)) == slow_row(features, 30)


def test_the_cache_is_bounded() -> None:
    hasher = Hasher(20)
    hasher.row({f"n{i}": 1.0 for i in range(10_000)})
    assert len(hasher.cached) == 4096
    for i in range(1000):
        features: dict[str, Any] = {"a" * 1000 + f"{i}": 1.0, f"c{i}": 2.0, f"b{i}": "x" * 1000}
        assert pairs(hasher.row(features)) == slow_row(features, 20)
    assert len(hasher.cached) == 4096
    assert max(map(len, hasher.cached)) <= 256


class Meddling(Fraction):
    """A number that changes the dict that it stands in."""

    features: ClassVar[dict[str, Any]] = {}
    hasher = Hasher(20)

    def __float__(self) -> float:
        """Remove the oldest feature, add another, and use the hasher that is at work."""
        self.hasher.row({f"m{i}": 1.0 for i in range(300)})
        self.features.pop(next(iter(self.features)))
        self.features[f"new {len(self.hasher.cached)}, {id(object())}"] = Meddling(1)
        return 1.0


def test_a_dict_that_changes_while_it_is_read_is_refused() -> None:
    features = Meddling.features
    features.update({"a": 1.0, "b": Meddling(1), "c": 2.0})
    with pytest.raises(RuntimeError, match="changed"):
        Meddling.hasher.row(features)
    assert pairs(Meddling.hasher.row({"a": 1.0})) == slow_row({"a": 1.0}, 20)


@pytest.mark.needs_compiler
@pytest.mark.compiled
def test_threads_share_a_hasher() -> None:
    hasher, interval = Hasher(24), sys.getswitchinterval()
    wrong: list[int] = []
    many = [{f"{k}{i}": (f"{k}" if i % 3 else 1.0) for i in range(5 + k)} for k in range(4)]
    expected = [slow_row(features, 24) for features in many]

    def work(k: int) -> None:
        wrong.extend(k for _ in range(3000) if pairs(hasher.row(many[k])) != expected[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_interactions_multiply_values_and_join_names() -> None:
    hasher = Hasher(20, [("a", "b"), ("a", "c", "d")])
    row = hasher.row({"a": "x", "b": 3.0, "c": 2.0, "d": 5})
    joint = xxhash.xxh64_intdigest(b"a\x1fx\x1eb") % (1 << 20)
    triple = xxhash.xxh64_intdigest(b"a\x1fx\x1ec\x1ed") % (1 << 20)
    assert pairs(row)[4:] == [(joint, 3.0), (triple, 10.0)]
    assert len(hasher.row({"a": "x", "b": None, "c": 1.0})[0]) == 2
    assert hasher.coordinate(("a", "x"), "b") == joint


@pytest.mark.parametrize("bad", ["ab", [("a",)], [("a", 1)], ["ab"], 3, [3]])
def test_bad_interactions(bad: Any) -> None:
    with pytest.raises(SpecError, match="interactions must be tuples of at least two names"):
        LinearModel(bits=4, interactions=bad)


@given(st.lists(DICTS, min_size=1, max_size=6))
def test_tables_equal_rows(many: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for features in many for name in features))
    rows = [{name: features.get(name) for name in names} for features in many]
    hasher = Hasher(16, [(names[0], names[-1])] if names else ())
    columns = {name: np.array([row[name] for row in rows], dtype=object) for name in names}
    table, one_by_one = hasher.table(columns), hasher.rows(rows if names else [])
    for a, b in zip(table, one_by_one, strict=True):
        np.testing.assert_array_equal(a, b)


def test_tables_of_plain_arrays() -> None:
    hasher = Hasher(16)
    masked = np.ma.masked_array([1.0, 2.0], mask=[True, False])
    table = hasher.table({"s": np.array(["u", "v"]), "n": np.array([1, 2]), "m": masked})
    assert isinstance(table, Rows)
    assert (table.height, table.widest) == (2, 3)
    rows = hasher.rows([{"s": "u", "n": 1}, {"s": "v", "n": 2, "m": 2.0}])
    for a, b in zip(table, rows, strict=True):
        np.testing.assert_array_equal(a, b)


def test_bad_tables() -> None:
    with pytest.raises(BadFeatures, match="one length"):
        Hasher(8).table({"a": [1.0], "b": [1.0, 2.0]})
    with pytest.raises(BadFeatures, match="one dimension"):
        Hasher(8).table({"a": np.zeros((2, 2))})
    with pytest.raises(BadFeatures, match="names must be strings"):
        Hasher(8).table({1: [2.0]})  # type: ignore[dict-item]
    assert Hasher(8).table({}).height == 0


# --- The hash ------------------------------------------------------------------------------------

VECTORS = {
    0: 0xEF46DB3751D8E999,
    1: 0xE934A84ADB052768,
    4: 0x9136A0DCA57457EE,
    14: 0x8282DCC4994E35C8,
    222: 0xB641AE8CB691C174,
}
"""Published hashes of the first bytes of a sequence, by their number."""


def sequence(length: int) -> bytes:
    """Return the bytes that the published hashes are of."""
    state, made = 0x9E3779B1, bytearray()
    for _ in range(length):
        made.append(state >> 56)
        state = state * 0x9E3779B185EBCA8D % 2**64
    return bytes(made)


@pytest.mark.compiled
@pytest.mark.parametrize(("length", "expected"), VECTORS.items())
def test_published_hashes(length: int, expected: int) -> None:
    assert xxh64(sequence(length)) == expected


def test_a_nan_that_cannot_be_compared_is_missing() -> None:
    given, without = LinearModel(bits=4), LinearModel(bits=4)
    nothing: Any = Decimal("sNaN")
    given.predict({"x": nothing, "y": 1.0}, at=nothing)
    without.predict({"y": 1.0})
    assert given.snapshot() == without.snapshot()


# --- Columns that come late or disappear, as reports mention them ---------------------------------


Row = dict[str, Any]


def linear(rows: list[Row]) -> bl.reports.LinearReport:
    model = bl.LinearModel(bits=8)
    for row in rows:
        model.predict(row)
    return model.report()


def many(rows: list[Row]) -> bl.reports.LinearReport:
    model = bl.LinearModel(bits=8)
    model.predict_many(rows)
    return model.report()


def frames(rows: list[Row]) -> bl.reports.LinearReport:
    pandas = pytest.importorskip("pandas")
    model = bl.LinearModel(bits=8)
    for part in (rows[:300], rows[300:]):
        model.predict_many(pandas.DataFrame(part) if part[0] else part)
    return model.report()


def chooser(rows: list[Row]) -> bl.reports.LinearReport:
    model = bl.Chooser(["a", "b"], bits=8)
    for row in rows:
        model.choose(row)
    return model.report().model


@pytest.mark.parametrize("feed", [linear, many, frames, chooser])
@pytest.mark.parametrize(
    ("before", "after", "new", "gone"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {}, {}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {}, {}),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2, "c": "x"}, {"c": 300}, {}),
        ({"a": 1, "b": 2, "c": "x"}, {"b": 2, "c": "x"}, {}, {"a": 299}),
        ({"a": 1, "b": 2, "c": "x"}, {"c": "x", "d": 4}, {"d": 300}, {"a": 299, "b": 299}),
        ({"a": 1}, {}, {}, {"a": 299}),
    ],
)
def test_columns_that_come_and_go(
    feed: Callable[[list[Row]], bl.reports.LinearReport],
    before: Row,
    after: Row,
    new: dict[str, int],
    gone: dict[str, int],
) -> None:
    report = feed([before] * 300 + [after] * 300)
    assert (report.new_columns, report.gone_columns) == (new, gone)
    assert all(f"{name} (" in str(report) for name in {**new, **gone})


def test_a_column_that_is_missing_now_and_then_is_not_gone() -> None:
    report = linear([{"a": 1, "b": 2} if i % 50 else {"b": 2} for i in range(600)])
    assert (report.new_columns, report.gone_columns) == ({}, {})


def test_words_are_no_columns() -> None:
    report = linear([{f"word {i}": 1} for i in range(2000)])
    assert (report.new_columns, report.gone_columns) == ({}, {})
