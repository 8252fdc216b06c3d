"""Logs: every kind of source and time gives the same log, and what is wrong is said clearly."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.errors import LogError, TimelineError
from belated.logs import Log, read, scan
from belated.logs import files as files_module
from belated.logs.columns import choose
from belated.logs.dates import to_utc
from belated.timeline import Timeline
from conftest import Python

ASKED = ["2024-05-01T10:00:00", "2024-05-01T11:00:00", "2024-05-01T12:00:00"]
ANSWERED = ["2024-05-01T15:00:00", None, "2024-05-01T12:30:00"]
TABLE = pa.table(
    {
        "asked_at": pa.array(
            [datetime.fromisoformat(text) for text in ASKED], pa.timestamp("us", "UTC")
        ),
        "answered_at": pa.array(
            [text and datetime.fromisoformat(text) for text in ANSWERED], pa.timestamp("us", "UTC")
        ),
        "truth": [1.5, None, -2.0],
        "shop": ["a", "b", None],
        "size": [1, 2, 3],
    }
)


def same(log: Log, other: Log) -> bool:
    """Whether two logs hold the same times."""
    return (
        log.predicted_at.dtype == other.predicted_at.dtype
        and np.array_equal(log.predicted_at, other.predicted_at)
        and np.array_equal(log.answered, other.answered)
        and np.array_equal(log.observed_at[log.answered], other.observed_at[other.answered])
    )


def ns(*texts: str | None) -> np.ndarray[Any, Any]:
    """Return datetimes as logs hold them."""
    return np.array(["NaT" if text is None else text for text in texts], dtype="datetime64[ns]")


def text_log(folder: Path, *rows: str, header: str = "asked_at,answered_at") -> Path:
    path = folder / "log.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


# ---- sources -----------------------------------------------------------------------------------


def as_csv(folder: Path) -> Any:
    pa.csv.write_csv(TABLE, folder / "log.csv")
    return folder / "log.csv"


def as_gzip(folder: Path) -> Any:
    (folder / "log.csv.gz").write_bytes(gzip.compress(as_csv(folder).read_bytes()))
    return str(folder / "log.csv.gz")


def as_parquet(folder: Path) -> Any:
    pa.parquet.write_table(TABLE, folder / "log.parquet", row_group_size=2)
    return folder / "log.parquet"


def as_feather(folder: Path) -> Any:
    pa.feather.write_feather(TABLE, folder / "log.arrow")
    return folder / "log.arrow"


def as_ipc_stream(folder: Path) -> Any:
    with pa.ipc.new_stream(str(folder / "log.ipc"), TABLE.schema) as out:
        out.write_table(TABLE, max_chunksize=2)
    return folder / "log.ipc"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": as_csv,
    "csv.gz": as_gzip,
    "parquet": as_parquet,
    "feather": as_feather,
    "ipc stream": as_ipc_stream,
    "arrow": lambda _: TABLE,
    "arrow stream": lambda _: TABLE.to_reader(max_chunksize=1),
    "record batch": lambda _: TABLE.to_batches()[0],
    "pandas": lambda _: TABLE.to_pandas(),
    "polars": lambda _: pl.from_arrow(TABLE),
    "lists": lambda _: TABLE.to_pydict(),
    "arrays": lambda _: {name: TABLE[name].to_numpy() for name in TABLE.column_names},
    "series": lambda _: {name: TABLE.to_pandas()[name] for name in TABLE.column_names},
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same_log(kind: str, tmp_path: Path) -> None:
    log = read(
        SOURCES[kind](tmp_path), target="truth", weight="size", features=["shop", "size"], tz=None
    )
    assert log.predicted_at.tolist() == ns(*ASKED).tolist()
    assert log.answered.tolist() == [True, False, True]
    assert log.observed_at[log.answered].tolist() == ns(ANSWERED[0], ANSWERED[2]).tolist()
    assert np.isnat(log.observed_at[1])
    assert log.unit == "ns"
    assert log.target is not None
    assert log.weight is not None
    assert np.array_equal(log.target, [1.5, np.nan, -2.0], equal_nan=True)
    assert log.weight.tolist() == [1.0, 2.0, 3.0]
    assert log.features["shop"].tolist() == ["a", "b", None]
    assert log.features["size"].tolist() == [1.0, 2.0, 3.0]
    assert log.row(0) == {"shop": "a", "size": 1.0}
    assert log.row(2) == {"size": 3.0}
    assert log.timeline == Timeline.from_intervals(ns(*ASKED), ns(*ANSWERED))
    found = scan(SOURCES[kind](tmp_path))
    assert (found.columns.predicted, found.columns.observed) == ("asked_at", "answered_at")
    stretches = list(Timeline.chunks(found.times()))
    assert np.concatenate([stretch.ticket for stretch in stretches]).tolist() == [2, 0, 1]


def test_a_scan_can_be_read_again_but_a_stream_cannot(tmp_path: Path) -> None:
    found = scan(as_csv(tmp_path))
    assert [len(block) for block in found] == [len(block) for block in found]
    once = scan(TABLE.to_reader())
    assert sum(map(len, once)) == 3
    with pytest.raises(LogError, match="only once"):
        list(once)


def test_small_blocks_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{t},{t + t % 7}" for t in range(2000)]
    path = text_log(tmp_path, *rows)
    whole = read(path)
    monkeypatch.setattr(files_module, "BLOCK", 500)
    found = scan(path)
    blocks = list(found)
    assert len(blocks) > 10
    assert np.concatenate([block.observed_at for block in blocks]).tolist() == [
        float(t + t % 7) for t in range(2000)
    ]
    assert same(read(path), whole)


def test_all_other_columns_are_features_on_request() -> None:
    log = read(TABLE, target="truth", features="all")
    assert list(log.features) == ["shop", "size"]
    with pytest.raises(LogError, match="'all' or a list"):
        read(TABLE, features="shop")


# ---- times -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        np.array(["2024-05-01", "2024-05-02"], dtype="datetime64[D]"),
        np.array(["2024-05-01T00", "2024-05-02T00"], dtype="datetime64[h]"),
        np.array(["2024-05-01", "2024-05-02"], dtype="datetime64[ns]"),
        pa.array([date(2024, 5, 1), date(2024, 5, 2)], pa.date32()),
        pa.array([date(2024, 5, 1), date(2024, 5, 2)], pa.date64()),
        pa.array([datetime(2024, 5, 1), datetime(2024, 5, 2)], pa.timestamp("s")),
        pa.array(["2024-05-01", "2024-05-02"], pa.large_string()),
        pa.array(["2024-05-01", "2024-05-02"]).dictionary_encode(),
        pd.Series(["2024-05-01", "2024-05-02"], dtype="category"),
        pd.Series(pd.to_datetime(["2024-05-01", "2024-05-02"])),
        pd.Series(pd.to_datetime(["2024-05-01", "2024-05-02"]), dtype=object),
        pd.Series(pd.to_datetime(["2024-05-01T02:00+02:00", "2024-05-02T02:00+02:00"])),
        pl.Series([date(2024, 5, 1), date(2024, 5, 2)]),
        pl.Series([datetime(2024, 5, 1), datetime(2024, 5, 2)]),
        [date(2024, 5, 1), datetime(2024, 5, 2)],
        ["2024-05-01", "2024-05-02 00:00"],
        ["2024-05-01T00:00Z", "2024-05-02T00:00:00.000000000Z"],
        ["2024-05-01T02:00+02:00", "2024-05-01T19:00-0500"],
        ["2024-05-01 00:00:00 UTC", "2024-05-02 01:00:00 +0100"],
        [" 2024-05-01T00:00 ", "20240502T000000"],
        [
            datetime(2024, 5, 1, 2, tzinfo=timezone(timedelta(hours=2))),
            datetime(2024, 5, 2, tzinfo=UTC),
        ],
        [datetime(2024, 5, 1, 2, tzinfo=timezone(timedelta(hours=2))), datetime(2024, 5, 2)],
    ],
    ids=lambda column: type(column).__name__,
)
def test_times_of_any_type_and_zone(column: Any) -> None:
    log = read({"predicted_at": column, "observed_at": ["2024-05-03", None]})
    assert log.predicted_at.dtype == np.dtype("datetime64[ns]")
    assert log.predicted_at.tolist() == ns("2024-05-01", "2024-05-02").tolist()


@pytest.mark.parametrize(
    "column",
    [
        [3, 4],
        [3.0, 4.0],
        ["3", "4"],
        ["3.0", " 4"],
        np.array([3, 4], dtype=np.uint8),
        np.array([3, 4], dtype=np.float32),
        np.ma.MaskedArray([3, 4], mask=[False, False]),
        pd.Series([3, 4], dtype="Int64"),
        pa.array([3, 4]).cast(pa.decimal128(30, 2)),
    ],
    ids=lambda column: type(column).__name__,
)
def test_numbers_of_any_type(column: Any) -> None:
    log = read({"predicted_at": column, "observed_at": [5, None]}, unit="s")
    assert log.predicted_at.tolist() == [3.0, 4.0]
    assert log.unit == "s"
    assert log.answered.tolist() == [True, False]


def test_a_log_without_any_answer() -> None:
    log = read({"predicted_at": ["2024-05-01", "2024-05-02"], "observed_at": [None, None]})
    assert not log.answered.any()
    assert log.timeline.total_delay == 1


def test_nanoseconds_are_exact() -> None:
    at = 1_700_000_000_000_000_001
    log = read({"predicted_at": [at, at + 1], "observed_at": [at + 2, None]})
    assert log.predicted_at.dtype == np.int64
    assert log.predicted_at.tolist() == [at, at + 1]
    assert log.timeline.observed.tolist() == [True, False]
    text = read({"predicted_at": [str(at), str(at + 1)], "observed_at": [str(at + 2), ""]})
    assert same(log, text)
    clock = read({"predicted_at": ["2024-05-01T00:00:00.000000001"], "observed_at": [None]})
    assert clock.predicted_at.view(np.int64)[0] % 10 == 1


def test_naive_times_take_the_zone_that_is_given() -> None:
    table = {"predicted_at": ["2024-01-15T12:00", "2024-07-15T12:00Z"], "observed_at": [None, None]}
    log = read(table, tz="America/New_York")
    assert log.predicted_at.tolist() == ns("2024-01-15T17:00", "2024-07-15T12:00").tolist()
    with pytest.raises(LogError, match="no time zone 'Nowhere'"):
        read(table, tz="Nowhere")


def test_clocks_that_are_changed() -> None:
    table = {
        "predicted_at": ["2013-11-03T01:50", "2013-11-03T01:50", "2013-03-10T02:30"],
        "observed_at": ["2013-11-03T01:55", "2013-11-03T01:10", "2013-03-10T03:30"],
    }
    log = read(table, tz="America/New_York")
    assert log.predicted_at.tolist() == ns(*2 * ["2013-11-03T05:50"], "2013-03-10T07:30").tolist()
    # The second answer is read as after its question, in the hour that comes again.
    assert (
        log.observed_at.tolist()
        == ns("2013-11-03T05:55", "2013-11-03T06:10", "2013-03-10T07:30").tolist()
    )


@given(
    second=st.integers(-(10**9), 4 * 10**9),
    name=st.sampled_from(["Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"]),
    late=st.booleans(),
)
def test_zones_agree_with_the_standard_library(second: int, name: str, late: bool) -> None:
    wall = datetime(1970, 1, 1) + timedelta(seconds=second)
    wanted = wall.replace(tzinfo=ZoneInfo(name), fold=int(late)).timestamp()
    found = to_utc(np.array([second * 10**9]), name, late=late)
    assert found.tolist() == [int(wanted) * 10**9]


# ---- guessing ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["predicted_at", "observed_at"], (0, 1)),
        (["observed", "predicted"], (1, 0)),
        (["Prediction Time", "labelTime"], (0, 1)),
        (["id", "created_at", "converted_at"], (1, 2)),
        (["requested", "arrived"], (0, 1)),
        (["request_time", "two"], (0, 1)),
        (["one", "outcome_time"], (0, 1)),
    ],
)
def test_columns_are_guessed(names: list[str], wanted: tuple[int, int]) -> None:
    early, late = ["2024-05-01"], ["2024-05-02"]
    cells = {name: ["7"] if name == "id" else early for name in names}
    cells[names[wanted[1]]] = late
    found = choose(pa.RecordBatch.from_pydict(cells), "log", None, None, None, None, ())
    assert (found.predicted, found.observed) == (names[wanted[0]], names[wanted[1]])


@pytest.mark.parametrize(
    "table",
    [
        {"a": [1], "b": [2]},
        {"a": [1_717_162_200], "b": [1_717_162_300]},
        {"a": ["2024-05-01"], "b": ["2024-05-01"], "c": ["2024-05-01"]},
        {"a": ["2024-05-01", "2024-05-09"], "b": ["2024-05-02", "2024-05-03"]},
        {"a": ["x"], "b": ["y"]},
    ],
)
def test_where_there_is_doubt_it_asks(table: dict[str, list[Any]]) -> None:
    with pytest.raises(LogError, match="which columns of columns hold the times") as caught:
        read(table)
    assert "predicted=..." in str(caught.value)
    assert "--predicted" in str(caught.value)
    assert ("'a' (" in str(caught.value)) == (table["a"] != ["x"])


# ---- what is wrong -----------------------------------------------------------------------------


def test_bad_rows_are_counted_and_shown(tmp_path: Path) -> None:
    path = text_log(
        tmp_path,
        "2024-05-01T10:00,2024-05-01T11:00",
        "yesterday,2024-05-01T11:00",
        "2024-05-01T10:00,2024-05-01T09:00",
        "2024-05-01T10:00,9999-12-31",
        "2024-05-01T10:00",
        ",2024-05-01T11:00",
        "2024-13-01T10:00,",
        "2024-05-01T10:00,",
    )
    with pytest.raises(LogError) as caught:
        read(path)
    assert str(caught.value).splitlines() == [
        f"logs: {path}: 6 bad rows",
        "  line 3: asked_at = 'yesterday' is no time like 2024-05-01T12:00 or "
        "2024-05-01 12:00:00+02:00",
        "  line 4: answered_at = '2024-05-01T09:00' is before asked_at = '2024-05-01T10:00'",
        "  line 5: answered_at = '9999-12-31' is beyond the years 1678 to 2261; leave the cell "
        "empty where no answer came",
        "  line 7: asked_at = (empty) must not be missing",
        "  line 8: asked_at = '2024-13-01T10:00' is no time like 2024-05-01T12:00 or "
        "2024-05-01 12:00:00+02:00",
        "  and 1 more",
        "of 8. Leave them out with on_bad='skip' (--skip-bad-rows on the command line), or mend "
        "the log",
    ]
    log = read(path, on_bad="skip")
    assert len(log) == 2
    assert log.bad.count == 6
    assert "6 bad rows left out" in repr(log)
    found = scan(path, on_bad="skip")
    assert sum(map(len, found)) == 2
    assert found.bad == log.bad


def test_lines_of_the_wrong_length_are_bad_rows(tmp_path: Path) -> None:
    log = read(text_log(tmp_path, "1,2", "3", "4,5,6", "7,8"), on_bad="skip")
    assert log.predicted_at.tolist() == [1.0, 7.0]
    assert [str(row) for row in log.bad.first] == [
        "line 3: has 1 cells, not 2",
        "line 4: has 3 cells, not 2",
    ]


@pytest.mark.parametrize(
    ("column", "cell", "reason"),
    [
        ("truth", "soon", "is no finite number"),
        ("weight", "-1", "must not be negative"),
        ("weight", "", "must not be missing"),
        ("size", "large", "is no finite number"),
    ],
)
def test_bad_cells_of_other_columns(column: str, cell: str, reason: str) -> None:
    table = {"predicted_at": [1, 2, 3], "observed_at": [2, 3, 4]}
    others = {name: ["1", "1", "1"] for name in ("truth", "weight", "size")}
    others[column][1] = cell
    log = read(
        {**table, **others}, target="truth", weight="weight", features=["size"], on_bad="skip"
    )
    assert len(log) == 2
    assert log.bad.first[0].reason == reason
    assert log.bad.first[0].place == "row 1"


def test_numbers_that_do_not_fit_the_first_ones() -> None:
    at = 1_700_000_000_000_000_000
    log = read({"predicted_at": [at, at], "observed_at": [float(at), 0.5 + 2.0**40]}, on_bad="skip")
    assert len(log) == 1
    assert "kept exactly" in log.bad.first[0].reason


@pytest.mark.parametrize("text", ["", "asked_at,answered_at", "asked_at,answered_at\n"])
def test_files_without_rows(text: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(LogError, match="is empty" if not text else "no rows"):
        read(path)


@pytest.mark.parametrize("kind", ["csv.gz", "parquet", "feather"])
def test_truncated_files(kind: str, tmp_path: Path) -> None:
    path = Path(SOURCES[kind](tmp_path))
    data = path.read_bytes()
    for size in (9, len(data) // 2, len(data) - 4):
        path.write_bytes(data[:size])
        with pytest.raises(LogError, match=r"cannot read .* complete"):
            read(path)


def test_files_that_are_not_there_or_no_logs(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="there is no file"):
        read(tmp_path / "none.csv")
    with pytest.raises(LogError, match=r"the folder .* holds no file that can be read"):
        read(tmp_path)
    (tmp_path / "log.parquet").write_text("asked_at,answered_at\n1,2\n")
    with pytest.raises(LogError, match="what its ending says"):
        read(tmp_path / "log.parquet")
    with pytest.raises(LogError, match="got int"):
        read(7)
    with pytest.raises(LogError, match="collect"):
        read(pl.LazyFrame({"a": [1]}))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": [1], "b": [1, 2]}, "same length"),
        ({"a": [[1]], "b": [2]}, "must hold|cannot be read|one dimension|holds no times"),
        ({"a": "text", "b": [2]}, "one dimension"),
        ({"a": ["2024-05-01"], "b": [2]}, "'a' holds dates and 'b' holds numbers"),
        ({"a": ["soon"], "b": [2]}, "holds no times that can be read; it begins with 'soon'"),
        ({"a": [None], "b": [2]}, "it begins with empty cells"),
        ({"a": [True], "b": [2]}, "holds no times"),
    ],
)
def test_columns_that_hold_no_times(table: dict[str, Any], message: str) -> None:
    with pytest.raises(LogError, match=message):
        read(table, "a", "b")


def test_nothing_but_bad_rows() -> None:
    table = {"predicted_at": ["2", "3", "x"], "observed_at": ["1", "1", "1"]}
    with pytest.raises(LogError, match="no rows that can be used"):
        read(table, on_bad="skip")
    with pytest.raises(LogError, match="on_bad is"):
        read(table, on_bad="ignore")  # type: ignore[arg-type]


# ---- logs --------------------------------------------------------------------------------------


def test_times_of_a_log_are_its_columns_by_one_clock() -> None:
    asked = np.array(["2024-05-01", "2024-05-02"], dtype="datetime64[D]")
    log = Log(asked, np.array(["2024-05-01T12", "NaT"], dtype="datetime64[h]"))
    assert log.timeline == Timeline.from_intervals([0, 24], [12, None])
    log = Log(np.array([1, 2]), np.array([3.0, np.inf]))
    assert log.answered.tolist() == [True, False]
    assert log.timeline == Timeline.from_intervals([1, 2], [3, None])


def test_an_answer_without_a_time_never_came() -> None:
    log = Log(np.array([1.0, 2.0]), np.array([np.nan, 3.0]), np.array([True, False]))
    assert log.timeline.observed.tolist() == [False, False]
    assert log.answered.flags.writeable


@pytest.mark.parametrize(
    ("asked", "answered", "message"),
    [
        (ns("2024-05-01"), ns("2024-04-01"), r"observed_at\[0\] is before .*2024-04-01T00"),
        (ns(None), ns("2024-04-01"), r"predicted_at\[0\] is missing or infinite"),
        (np.array([-np.inf]), np.array([1.0]), r"predicted_at\[0\] is missing or infinite"),
    ],
)
def test_logs_without_intervals_have_no_timeline(asked: Any, answered: Any, message: str) -> None:
    with pytest.raises(TimelineError, match=message):
        _ = Log(asked, answered).timeline


def test_logs_check_their_columns() -> None:
    times = np.arange(3.0)
    with pytest.raises(ValueError, match="feature 'size' must have 3 rows, got 2"):
        Log(times, times, features={"size": np.arange(2.0)})
    with pytest.raises(ValueError, match="unit must be one of"):
        Log(times, times, unit="weeks")  # type: ignore[arg-type]


def test_without_pyarrow_the_extra_is_named(python: Python) -> None:
    source = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from belated.errors import MissingExtra\n"
        "from belated.logs import read\n"
        "try: read({'a': [1]})\n"
        "except MissingExtra as error: print(error)"
    )
    assert "pip install 'belated[logs]'" in python("-c", source)
