"""Files of every kind: packed, encoded, split; and no traceback, whatever they hold."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from belated import cli
from belated.errors import LogError
from belated.logs import Log, OnBad, read
from conftest import examples

ROWS = 40
HEADER = "asked_at,answered_at,size,shop,paid"


def table() -> pa.Table:
    """A log with a number, a word and a truth value."""
    return pa.table(
        {
            "asked_at": list(range(ROWS)),
            "answered_at": [t + 5 if t % 7 else None for t in range(ROWS)],
            "size": [t / 2 for t in range(ROWS)],
            "shop": [("Köln", "Bonn", "Trier")[t % 3] for t in range(ROWS)],
            "paid": [t % 2 == 0 for t in range(ROWS)],
        }
    )


def as_text(delimiter: str = ",", rows: pa.Table | None = None) -> str:
    data = table() if rows is None else rows
    lines = [delimiter.join(data.column_names)]
    for row in data.to_pylist():
        lines.append(delimiter.join("" if cell is None else str(cell) for cell in row.values()))
    return "\n".join(lines) + "\n"


def as_lines() -> str:
    """The same as JSON lines; what is missing is left out."""
    rows = ({k: v for k, v in row.items() if v is not None} for row in table().to_pylist())
    return "\n".join(map(json.dumps, rows)) + "\n"


def zipped(name: str, data: bytes) -> bytes:
    """One file in a zip file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return out.getvalue()


def with_codec(name: str, data: bytes) -> bytes:
    """Pack bytes as Arrow does."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, name) as out:
        out.write(data)
    return bytes(sink.getvalue())


def parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table(), sink, row_group_size=15)
    return bytes(sink.getvalue())


def feather() -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.feather.write_feather(table(), sink, compression="uncompressed")
    return bytes(sink.getvalue())


def sheet() -> bytes:
    """The same as a small Excel file."""
    return book([table().column_names, *([*row.values()] for row in table().to_pylist())])


def book(*tables: list[list[Any]]) -> bytes:
    """An Excel file with these sheets."""

    def cell(value: Any) -> str:
        if value is None:
            return "<c/>"
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        return f"<c><v>{value}</v></c>"

    bodies = ["".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows) for rows in tables]
    numbers = range(1, len(bodies) + 1)
    spread = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    types = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    one = f'ContentType="{types}.worksheet+xml"'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{types}.sheet.main+xml"/>'
        + "".join(f'<Override PartName="/xl/worksheets/sheet{n}.xml" {one}/>' for n in numbers)
        + "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{spread}" xmlns:r="{office}"><sheets>'
        + "".join(f'<sheet name="s{n}" sheetId="{n}" r:id="r{n}"/>' for n in numbers)
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        + "".join(
            f'<Relationship Id="r{n}" Type="{office}/worksheet" Target="worksheets/sheet{n}.xml"/>'
            for n in numbers
        )
        + "</Relationships>",
    }
    for n, body in zip(numbers, bodies, strict=True):
        data = f"<sheetData>{body}</sheetData>"
        parts[f"xl/worksheets/sheet{n}.xml"] = f'<worksheet xmlns="{spread}">{data}</worksheet>'
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return out.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    "log.csv": lambda: as_text().encode(),
    "log.tsv": lambda: as_text("\t").encode(),
    "log.csv.gz": lambda: gzip.compress(as_text().encode()),
    "log.csv.bz2": lambda: bz2.compress(as_text().encode()),
    "log.csv.xz": lambda: lzma.compress(as_text().encode()),
    "log.csv.zst": lambda: with_codec("zstd", as_text().encode()),
    "log.csv.lz4": lambda: with_codec("lz4", as_text().encode()),
    "log.zip": lambda: zipped("data/log.csv", as_text().encode()),
    "log": lambda: gzip.compress(as_text().encode()),
    "log.jsonl": lambda: as_lines().encode(),
    "log.json.gz": lambda: gzip.compress(as_lines().encode()),
    "lines.zip": lambda: zipped("log.ndjson", as_lines().encode()),
    "log.parquet": parquet,
    "log.parquet.gz": lambda: gzip.compress(parquet()),
    "log.feather": feather,
    "log.arrow.zst": lambda: with_codec("zstd", feather()),
    "utf-16.csv": lambda: as_text().encode("utf-16"),
    "latin-1.csv": lambda: as_text().encode("latin-1"),
    "latin-1.csv.gz": lambda: gzip.compress(as_text().encode("cp1252")),
    "bom.csv": lambda: as_text().encode("utf-8-sig"),
    "sep.csv": lambda: ("sep=;\n" + as_text(";")).encode(),
    "comments.csv": lambda: ("# from the shop\n#\n" + as_text()).encode(),
    "log.xlsx": sheet,
}


def test_sheets_as_people_have_them(tmp_path: Path) -> None:
    """A cover, empty rows and columns, and a sum below the table."""
    pytest.importorskip("python_calamine")
    path = tmp_path / "calls.xlsx"
    names = ["asked_at", "answered_at", None, "price", None]
    rows = [[t, t + 3, None, 1.5 * t, "x" if t == 2 else None] for t in range(4)]
    gap: list[list[Any]] = [[None] * 5]
    calls = [*gap, names, *rows[:2], *gap, *rows[2:]]
    path.write_bytes(book([["For the board"]], calls))
    log = read(path, features="all")
    assert log.predicted_at.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert set(log.features) == {"price", "column 5"}
    assert "only 's2' is read, the first of 2 sheets that holds a table" in log.notes
    path.write_bytes(book([*calls, *gap, ["Sum", None, None, 9.0]]))
    with pytest.raises(LogError, match="row 9 of the sheet: asked_at = 'Sum'"):
        read(path)
    path.write_bytes(book([["a cover"]], []))
    with pytest.raises(LogError, match="has no rows"):
        read(path)
    with zipfile.ZipFile(path) as archive:  # one cell in the last corner needs 17 billion of them
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(
        b"</sheetData>", b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(LogError, match="is no cell far from all others"):
        read(path)


def test_files_of_a_folder_that_lack_columns_are_named(tmp_path: Path) -> None:
    for name, head in (("a", "asked_at,answered_at,y"), ("b", "asked_at,answered_at,z,y")):
        (tmp_path / f"{name}.csv").write_text(f"{head}\n" + ",".join("1234"[: head.count(",") + 1]))
    log = read(tmp_path, target="y")
    assert len(log) == 2
    assert "1 of them has columns that the first one has not; these are left out" in log.notes
    (tmp_path / "c.csv").write_text("when,answered_at,y\n1,2,3\n")
    (tmp_path / "d.csv").write_text("asked_at,answered_at,label\n1,2,3\n")
    says = r"c\.csv has no 'asked_at' \(but 'when'\); .*d\.csv has no 'y' \(but 'label'\)\. Give"
    with pytest.raises(LogError, match=says):
        read(tmp_path, target="y")


def written(folder: Path, name: str) -> Path:
    if name.endswith(".xlsx"):
        pytest.importorskip("python_calamine")
    path = folder / name
    path.write_bytes(FILES[name]())
    return path


def same(log: Log, other: Log) -> bool:
    """Whether two logs have the same rows."""
    return [log.row(i) for i in range(len(log))] == [other.row(i) for i in range(len(other))]


@pytest.mark.parametrize("name", FILES)
def test_every_file_gives_the_same_log(name: str, tmp_path: Path) -> None:
    log = read(written(tmp_path, name), target="size", features=["shop", "paid"])
    plain = read(table(), target="size", features=["shop", "paid"])
    assert same(log, plain)
    assert log.row(0) == {"shop": "Köln", "paid": 1.0}
    assert log.target is not None
    assert log.target.tolist() == table()["size"].to_pylist()
    assert log.answered.tolist() == plain.answered.tolist()


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("latin-1.csv", "is read as Windows-1252"),
        ("utf-16.csv", "is read as UTF-16"),
        ("comments.csv", "2 lines at the start that begin with #, left out"),
        ("log.csv", None),
    ],
)
def test_what_is_not_usual_is_said(
    name: str, note: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, name)
    log = read(path)
    assert len(log.notes) == (note is not None)
    assert cli.main(["audit", str(path), "--no-page"]) == 0
    out = capsys.readouterr().out
    assert ("note: " in out) == (note is not None)
    assert note is None or note in out


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "log.jsonl"])
def test_an_encoding_that_is_told(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cyrillic in one byte per letter looks like Windows-1252."""
    shops = ["Москва", "Тверь"]
    rows = [(t, t + 3, shops[t % 2]) for t in range(20)]
    if name == "log.jsonl":
        keys = ("asked_at", "answered_at", "shop")
        lines = [json.dumps(dict(zip(keys, row, strict=True)), ensure_ascii=False) for row in rows]
    else:
        lines = ["asked_at,answered_at,shop", *(",".join(map(str, row)) for row in rows)]
    text = "\n".join(lines).encode("cp1251")
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert read(path, features=["shop"]).row(0) != {"shop": "Москва"}
    log = read(path, features=["shop"], encoding="cp1251")
    assert [log.row(t) for t in (0, 1)] == [{"shop": "Москва"}, {"shop": "Тверь"}]
    assert log.notes == ()
    assert cli.main(["audit", str(path), "--encoding", "windows-1251", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == []


def test_encodings_that_are_none_or_have_no_use(tmp_path: Path) -> None:
    path = written(tmp_path, "log.csv")
    for wrong in ("klingon", "base64", ""):
        with pytest.raises(LogError, match="is no encoding that is known"):
            read(path, encoding=wrong)
    with pytest.raises(LogError, match="cannot read"):
        read(path, encoding="ascii")  # there is an umlaut in it
    with pytest.raises(LogError, match=r"encoding .* is for text files"):
        read(written(tmp_path, "log.parquet"), encoding="latin-1")
    with pytest.raises(LogError, match="rows are in memory"):
        read(table(), encoding="latin-1")
    assert len(read(path, encoding="utf-8-sig")) == ROWS


def test_lines_are_counted_below_comments(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("# one\n\n# two\nasked_at,answered_at\n1,2\n3\nx,5\n6,7\n8,9\n")
    log = read(path, on_bad="skip")
    assert [str(row).partition(":")[0] for row in log.bad.first] == ["line 7", "line 6"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3,4\n", "which columns of .* hold the times"),
        ('[{"asked_at": 1}]', "begins like a JSON array; give JSON lines"),
        ("asked_at,asked_at\n1,2\n", "two columns called 'asked_at'"),
    ],
)
def test_text_that_is_no_log(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(LogError, match=message):
        read(path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "log.bin"
    path.write_bytes(bytes(range(256)) * 4)
    with pytest.raises(LogError, match="neither text nor a kind of file that belated reads"):
        read(path)
    path.write_bytes(b"asked_at,answered_at\n" + b"1,2\n" * 5_000_000 + b"\xff\xfe,3\n")
    with pytest.raises(LogError, match=r"cannot read .*UTF8"):
        read(path)


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_folder_and_a_pattern_are_one_log(end: str, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "more").mkdir(parents=True)
    for number, part in enumerate((table()[:10], table()[10:25], table()[25:])):
        path = folder / ("more" if number == 2 else ".") / f"part-{number}.{end}"
        if end == "csv":
            path.write_text(as_text(rows=part))
        else:
            pyarrow.parquet.write_table(part, path)
    (folder / "_SUCCESS").write_text("")
    (folder / "readme.md").write_text("about")
    whole = read(table(), features=["shop", "paid"])
    for given_as in (folder, str(folder), f"{folder}/**/*.{end}"):
        log = read(given_as, features=["shop", "paid"])
        assert len(log) == ROWS
        assert sorted(log.predicted_at.tolist()) == whole.predicted_at.tolist()
        assert "3 files are read, by name" in log.notes
    assert len(read(f"{folder}/part-*.{end}")) == 25
    with pytest.raises(LogError, match="no file is like"):
        read(f"{folder}/*.xyz")


def test_bad_rows_of_many_files_say_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("asked_at,answered_at\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("asked_at,answered_at\n5,6\nx,8\n9\n")
    with pytest.raises(LogError) as caught:
        read(tmp_path)
    assert f"{tmp_path / 'b.csv'}, line 3: asked_at = 'x'" in str(caught.value)
    assert f"{tmp_path / 'b.csv'}, line 4: has 1 cells, not 2" in str(caught.value)
    (tmp_path / "c.csv").write_text("asked_at,other\n5,6\n")
    with pytest.raises(LogError, match=r"a.csv: .*c.csv has no 'answered_at' \(but 'other'\)"):
        read(tmp_path, on_bad="skip")


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "log.parquet", "log.jsonl"])
def test_standard_input(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    incoming = io.TextIOWrapper(io.BytesIO(FILES[name]()))
    monkeypatch.setattr(sys, "stdin", incoming)
    assert cli.main(["audit", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == ROWS


def test_zip_files_with_more_than_one_file(tmp_path: Path) -> None:
    path = tmp_path / "log.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", as_text())
        archive.writestr("b.csv", as_text())
    with pytest.raises(LogError, match=r"holds 2 files \(a.csv, b.csv\); unpack it"):
        read(path)


def test_json_lines_grow_columns_and_fractions(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines: list[dict[str, float]] = [{"asked_at": t, "size": t} for t in range(5)]
    lines += [{"asked_at": 5, "answered_at": 6, "size": 1.5}]
    path.write_text("\n".join(map(json.dumps, lines)))
    log = read(path, features=["size"])
    assert log.answered.tolist() == [False] * 5 + [True]
    assert log.features["size"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 1.5]
    path.write_text('{"asked_at": 1, "answered_at": 2, "x": {"a": 1}, "y": [1]}\n')
    kinds = read(path, features="all").kinds
    assert [kind.why.partition(";")[0] for kind in kinds] == ["holds structs", "holds lists"]


# ---- broken files ------------------------------------------------------------------------------


def check_or_refuse(path: Path) -> None:
    """Read a file; a log that is accepted is the same when its columns are read again."""
    for on_bad in get_args(OnBad):
        try:
            log = read(path, target="size", features="all", on_bad=on_bad)
        except LogError:
            continue
        ends = pa.array(log.observed_at, mask=~log.answered)
        columns = {"asked_at": pa.array(log.predicted_at), "answered_at": ends}
        again = read(pa.table({**columns, "size": pa.array(log.target)}), target="size")
        np.testing.assert_array_equal(again.answered, log.answered)
        np.testing.assert_array_equal(again.timeline.delay, log.timeline.delay)
        np.testing.assert_array_equal(again.target, log.target)


# pyarrow prints an ignored exception before it refuses a row with too many cells and wrong UTF-8.
@pytest.mark.filterwarnings(
    "ignore:Exception ignored in.*_csv:pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("name", [name for name in FILES if name != "log.xlsx"])
@settings(examples(6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_broken_files_are_refused_in_words(name: str, tmp_path: Path, data: st.DataObject) -> None:
    """Bytes of valid files, changed, moved and cut off: a log, or one error of ours."""
    whole = bytearray(FILES[name]())
    path = tmp_path / name
    path.write_bytes(whole)
    for on_bad in get_args(OnBad):
        assert len(read(path, target="size", features="all", on_bad=on_bad)) == ROWS
    for _ in range(data.draw(st.integers(1, 4), "changes")):
        at = data.draw(st.integers(0, max(0, len(whole) - 1)), "at")
        what = data.draw(st.sampled_from(["flip", "cut", "insert", "double", "drop"]), "what")
        if what == "flip" and whole:
            whole[at] ^= data.draw(st.integers(1, 255), "bits")
        elif what == "cut":
            del whole[at:]
        elif what == "insert":
            whole[at:at] = data.draw(st.binary(min_size=1, max_size=8), "bytes")
        elif what == "double":
            whole[at:at] = whole[at : at + 20]
        else:
            del whole[at : at + 8]
    path.write_bytes(whole)
    check_or_refuse(path)


@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), max_size=5),
        min_size=1,
        max_size=12,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_cells_are_read_or_refused(tmp_path: Path, cells: list[list[str]]) -> None:
    path = tmp_path / "log.csv"
    lines = [HEADER, "1,2,3,a,yes"]
    path.write_text("\n".join(lines))
    assert len(read(path, target="size", features="all")) == 1
    path.write_text("\n".join([*lines, *(",".join(row) for row in cells)]), encoding="utf-8")
    check_or_refuse(path)
