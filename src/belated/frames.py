"""Data frames as named columns, and columns as words and numbers: the one place that reads them.

Frames of pandas, polars and pyarrow are read by what they offer themselves, so that no library is
imported which the caller has not imported. Other frames need the Arrow protocol, and pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple, Protocol

import numpy as np

from belated.arrays import Bools, Floats, Ints
from belated.errors import BadFeatures, BelatedError, MissingExtra
from belated.scalars import plain


class AnyFrame(Protocol):
    """A frame of pandas, polars, pyarrow, or of another library that speaks Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the columns as a stream of Arrow."""


def is_frame(given: Any) -> bool:
    """Tell whether this is a frame: something with named columns that is not a mapping."""
    kind = type(given)
    return (hasattr(kind, "columns") or hasattr(kind, "schema")) and not isinstance(given, Mapping)


def row_of(given: Any, who: str) -> Any:
    """Return a row of pandas, whose index has names, as a dict; other single rows as they are.

    >>> import pandas
    >>> sorted(row_of(pandas.DataFrame({"size": [1.5], "shop": ["north"]}).iloc[0], "doc"))
    ['shop', 'size']
    """
    if given is None or isinstance(given, Mapping | tuple | np.ndarray):
        return given
    is_list = isinstance(given, list) and any(isinstance(part, Mapping) for part in given)
    if is_list or is_frame(given):
        many = {"choose": "choose_many", "peek": "peek_many"}.get(who, "predict_many")
        kind = type(given).__name__
        raise BadFeatures(f"{who}: one row is wanted, got a {kind} of rows; use {many}")
    if (
        hasattr(given, "items")
        and hasattr(given, "index")
        and any(isinstance(name, str) for name in given.index)
    ):
        return dict(given.items())
    return given


def each_row(given: Any) -> Any:
    """Return a list of rows with those of pandas as dicts."""
    return [row_of(row, "rows") for row in given] if isinstance(given, list) else given


def is_column(given: Any) -> bool:
    """Tell whether this is a column of values, and not one value."""
    is_sized = hasattr(given, "__len__") and not isinstance(given, str | bytes | Mapping)
    return is_sized and getattr(given, "ndim", 1) > 0


def columns_of(
    frame: Any, who: str, error: type[BelatedError] = BadFeatures
) -> list[tuple[Any, Any]]:
    """Return names and columns of a frame, the columns as its library has them.

    >>> import pyarrow
    >>> columns_of(pyarrow.table({"size": [1.5]}), "doc")[0][0]
    'size'
    """
    library = _library(frame)
    if hasattr(type(frame), "collect"):
        raise error(f"{who}: a {type(frame).__name__} holds no rows yet; give frame.collect()")
    if library == "pandas":
        return [(name, frame.iloc[:, place]) for place, name in enumerate(frame.columns)]
    if library == "polars":
        return list(zip(frame.columns, frame.get_columns(), strict=True))
    if library != "pyarrow":
        if not hasattr(frame, "__arrow_c_stream__"):
            raise error(
                f"{who}: a {type(frame).__name__} cannot be read; give a frame of pandas, polars "
                "or pyarrow"
            )
        frame = _pyarrow(who).table(frame)
    return [(name, frame.column(place)) for place, name in enumerate(frame.schema.names)]


class Frame:
    """A frame whose columns have been looked up, and those that are no features taken out."""

    def __init__(self, given: Any, who: str) -> None:
        """Look up the columns."""
        self.given, self.who = given, who
        if not is_frame(given) and not hasattr(given, "__arrow_c_stream__"):
            kind = type(given).__name__
            raise BadFeatures(f"{who}: as_frame=True needs rows in a frame, got a {kind}")
        pairs = columns_of(given, who)
        self.columns = dict(pairs)
        if len(self.columns) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise BadFeatures(f"{who}: the frame has two columns called {twice!r}; rename one")
        for name in self.columns:
            if not isinstance(name, str):
                raise BadFeatures(
                    f"{who}: names must be strings, and the frame has a column {name!r}; rename "
                    "it, or give the numbers alone, such as frame.to_numpy()"
                )

    @property
    def height(self) -> int:
        """How many rows there are."""
        count = getattr(self.given, "num_rows", None)
        return len(self.given) if count is None else int(count)

    def taken(self, given: Any, *, may_be_time: bool = False) -> Any:
        """Return the column of that name, which is then no feature; other things as they are."""
        if not isinstance(given, str):
            return given
        if given not in self.columns:
            if may_be_time and given[:1].isdigit():  # as all texts that are times
                return given
            names = ", ".join(map(repr, self.columns))
            raise BadFeatures(f"{self.who}: the frame has no column {given!r}; it has {names}")
        return self.columns.pop(given)

    def dicts(self) -> Iterable[dict[str, Any]]:
        """Return the rows one by one, with the columns that were not taken out."""
        lists = [_items(column) for column in self.columns.values()]
        names = tuple(self.columns)
        if not names:
            return ({} for _ in range(self.height))
        return (dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True))

    def of(self, found: Any) -> Any:
        """Return the columns of a result as a frame of the same kind; their names are of one."""
        columns = found._asdict() if hasattr(found, "_asdict") else {"values": found}
        return self.like(
            {
                f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s"): column
                for name, column in columns.items()
            }
        )

    def like(self, columns: Mapping[str, Any]) -> Any:
        """Return columns as a frame of the same kind, with the same index where there is one."""
        library = _library(self.given)
        if library == "pandas":
            return type(self.given)(dict(columns), index=self.given.index)
        if library == "polars":
            return type(self.given)(dict(columns))
        return _pyarrow(self.who).table(dict(columns))


class Cells(NamedTuple):
    """A column, whose rows are words, numbers or missing."""

    codes: Ints | None
    """Which of the words a row is, -1 for none; None: there are no words."""
    words: list[str]
    numbers: Floats
    """NaN in rows that are words or missing."""

    @property
    def missing(self) -> Bools:
        """Which rows have nothing."""
        nothing: Bools = np.isnan(self.numbers)
        return nothing if self.codes is None else nothing & (self.codes < 0)


def cells_of(column: Any, name: str | None = None) -> Cells:
    """Return the cells of a column: an array, a list, or a column of any library.

    Every cell is what ``plain`` makes of it. Where one cannot be read, the error names row and
    column.
    """
    library = _library(column)
    if library == "pandas":
        return _of_pandas(column, name)
    if library == "polars":
        kind = column.dtype
        if str(kind) == "Boolean" or (kind.is_numeric() and not kind.is_decimal()):
            return _of_numbers(column.cast(float).to_numpy())
        return _of_list(column.to_list(), name)
    if library == "pyarrow":
        return _of_arrow(column, name)
    if isinstance(column, np.ndarray):
        return _of_array(column, name)
    return _of_list(list(column), name)


def _of_array(array: Any, name: str | None) -> Cells:
    if array.ndim != 1:
        raise BadFeatures(f"{_place(name)}one dimension is wanted, got shape {array.shape}")
    if array.dtype.kind in "fiub":
        numbers = array.astype(np.float64)
        is_masked = isinstance(numbers, np.ma.MaskedArray)
        return _of_numbers(numbers.filled(np.nan) if is_masked else numbers)
    if array.dtype.kind in "Mm":
        return _of_list(list(array), name)
    return _of_list(array.tolist(), name)


def _of_numbers(numbers: Floats) -> Cells:
    return Cells(None, [], np.asarray(numbers, dtype=np.float64))


def _of_pandas(column: Any, name: str | None) -> Cells:
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind not in "Mm":
        return _of_array(column.to_numpy(), name)
    if hasattr(dtype, "pyarrow_dtype"):
        return _of_arrow(column.array.__arrow_array__(), name)
    if hasattr(dtype, "categories"):
        codes = column.cat.codes if hasattr(column, "cat") else column.codes
        return _encoded(np.asarray(codes), list(dtype.categories), name)
    if hasattr(dtype, "numpy_dtype"):
        return _of_numbers(column.to_numpy(dtype=np.float64, na_value=np.nan))
    codes, values = column.factorize()
    return _encoded(codes, list(values), name)


def _of_arrow(column: Any, name: str | None) -> Cells:
    types = _pyarrow("a column").types
    kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return _of_numbers(column.cast("float64", safe=False).to_numpy(zero_copy_only=False))
    if types.is_dictionary(kind):
        return _of_arrow(column.cast(kind.value_type), name)
    if types.is_string(kind) or types.is_large_string(kind):
        if hasattr(column, "combine_chunks"):
            column = column.combine_chunks()
        encoded = column.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return _encoded(codes, encoded.dictionary.to_pylist(), name)
    return _of_list(column.to_pylist(), name)


def _of_list(cells: Sequence[Any], name: str | None) -> Cells:
    """Return cells that are Python objects."""
    is_text = {str, type(None)}.issuperset(map(type, cells))
    if not is_text:
        cells = [_plain(cell, name, row) for row, cell in enumerate(cells)]
    words = [cell for cell in dict.fromkeys(cells) if type(cell) is str]
    if not words:
        numbers = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
        return Cells(None, [], numbers)
    numbers = np.full(len(cells), np.nan)
    places = {word: place for place, word in enumerate(words)}
    codes = np.fromiter(map(places.get, cells, repeat(-1)), np.int64, len(cells))
    for row in [] if is_text else np.flatnonzero(codes < 0).tolist():
        if cells[row] is not None:
            numbers[row] = cells[row]
    return Cells(codes, words, numbers)


def _encoded(codes: Any, values: Sequence[Any], name: str | None) -> Cells:
    """Return cells from where each one stands among some values, -1 for nowhere."""
    try:
        some = _of_list([*values, None], name)
    except BadFeatures:  # name the row, and not the place among the values
        _of_list([None if code < 0 else values[code] for code in codes.tolist()], name)
        some = _of_list([], name)  # such a value is in no row
        return _encoded(codes, [None for _ in values], name)
    words = None if some.codes is None else some.codes[codes]
    return Cells(words, some.words, some.numbers[codes])


def _plain(cell: Any, name: str | None, row: int) -> float | str | None:
    try:
        return plain(cell)
    except (TypeError, OverflowError) as error:
        why = f"is too large, got {cell!r}" if isinstance(error, OverflowError) else str(error)
        raise BadFeatures(f"{_place(name, row)}a value {why}") from None


def _place(name: str | None, row: int | None = None) -> str:
    """Return the start of a message about a cell."""
    parts = [] if row is None else [f"row {row}"]
    parts += [] if name is None else [f"column {name!r}"]
    return f"{', '.join(parts)}: " if parts else ""


def _items(column: Any) -> Any:
    return column.to_pylist() if hasattr(column, "to_pylist") else column


def _library(given: Any) -> str:
    """Return the name of the library that a frame or a column is from, also of a subclass."""
    names = [cls.__module__.partition(".")[0] for cls in type(given).__mro__]
    known = ("pandas", "polars", "pyarrow")
    return next((name for name in names if name in known), names[0])


def _pyarrow(who: str) -> Any:
    """Return pyarrow, or say which extra brings it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("pyarrow", extra="logs", where=who) from None
    return pyarrow
