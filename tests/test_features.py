"""Features: names and values in, coordinates out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.errors import MissingExtra, SpecError
from belated.linear import BadFeatures, Hasher, LinearModel, Rows
from belated.linear import features as module

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
        index = xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"), seed=0) % (
            1 << bits
        )
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


def test_published_hash() -> None:
    """Known answers of XXH3, from its own documentation of the empty input and from the library."""
    assert xxhash.xxh3_64_intdigest(b"") == 0x2D06800538D394C2
    assert Hasher(30).coordinate("") == 0x2D06800538D394C2 % (1 << 30)


@pytest.mark.parametrize(
    "value", [2, 2.0, True, np.float32(2), np.int8(2), np.bool_(1), Fraction(2)]
)
def test_numbers_of_any_kind(value: Any) -> None:
    assert Hasher(8).row({"a": value})[1].tolist() == [float(value)]


def test_string_subclasses_are_strings() -> None:
    hasher = Hasher(20)
    assert pairs(hasher.row({"a": np.str_("x")})) == pairs(hasher.row({"a": "x"}))


@pytest.mark.parametrize("value", [[1], {}, b"x", 1j, np.zeros(2), object()])
def test_other_values_are_refused_by_name(value: Any) -> None:
    with pytest.raises(BadFeatures, match="features: 'a' must be a number, a string or None"):
        Hasher(8).row({"a": value})


def test_other_refusals() -> None:
    with pytest.raises(BadFeatures, match="names must be strings, got 3"):
        Hasher(8).row({3: 1.0})  # type: ignore[dict-item]
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


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 50)
    hasher = Hasher(20, [("a", "b")])
    for i in range(300):
        features = {"a": f"{i}", "b": 2.0, f"c{i}": 1.0}
        assert pairs(hasher.row(features))[:3] == slow_row(features, 20)
        held: list[Any] = [hasher._names, hasher._joint, *hasher._strings.values()]
        assert sum(len(part) for part in held) <= 50


def test_interactions_multiply_values_and_join_names() -> None:
    hasher = Hasher(20, [("a", "b"), ("a", "c", "d")])
    row = hasher.row({"a": "x", "b": 3.0, "c": 2.0, "d": 5})
    joint = xxhash.xxh3_64_intdigest(b"a\x1fx\x1eb") % (1 << 20)
    triple = xxhash.xxh3_64_intdigest(b"a\x1fx\x1ec\x1ed") % (1 << 20)
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


def test_missing_numbers_in_tables() -> None:
    columns = {"n": [1.0, float("nan")]}
    with pytest.raises(BadFeatures, match="column 'n' is NaN in row 1"):
        Hasher(8).table(columns)
    assert Hasher(8).table(columns, nan="skip").indptr.tolist() == [0, 1, 1]


def test_bad_tables() -> None:
    with pytest.raises(BadFeatures, match="one length"):
        Hasher(8).table({"a": [1.0], "b": [1.0, 2.0]})
    with pytest.raises(BadFeatures, match="one dimension"):
        Hasher(8).table({"a": np.zeros((2, 2))})
    with pytest.raises(BadFeatures, match="names must be strings"):
        Hasher(8).table({1: [2.0]})  # type: ignore[dict-item]
    assert Hasher(8).table({}).height == 0


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Index arrays need no hash; names say what to install."""
    import sys

    monkeypatch.setitem(sys.modules, "xxhash", None)
    model = LinearModel(bits=4)
    model.predict([1.0, 2.0])
    with pytest.raises(MissingExtra, match=r"belated\[hashing\]"):
        model.predict({"a": 1.0})
    assert model.rounds == 1
