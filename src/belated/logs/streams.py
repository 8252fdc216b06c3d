"""Files as streams of bytes: unpacked, and recoded to UTF-8, each time from the start."""

from __future__ import annotations

import codecs
import lzma
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from belated.errors import LogError
from belated.logs.sources import arrow, reading

CHECKED = 1 << 22
"""Bytes at the start of a file that are looked at to find out how text is encoded."""
PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}
"""How packed files begin."""
MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
EXCEL = "xl/workbook"
"""How a member of a zip file is called that makes it an Excel file."""


@dataclass(frozen=True)
class Opener:
    """How to read a file from its start, as often as wanted."""

    name: str
    """What messages call it."""
    path: Path
    ending: str
    """How its name ends, but for what says that it is packed."""
    packing: str | None = None
    member: str | None = None
    """Which file of a zip file it is."""
    encoding: str = "utf-8"

    def open(self) -> Any:
        """Return the bytes from the start on, unpacked and in UTF-8."""
        pa = arrow("reading a log")
        stream = self._unpacked()
        if self.encoding == "utf-8":
            return stream
        return pa.transcoding_input_stream(stream, self.encoding, "utf-8")

    def start(self, size: int) -> bytes:
        """Return the first bytes."""
        with self.open() as stream:
            return bytes(stream.read(size))

    def buffer(self) -> Any:
        """Return all of it in memory, for what cannot be read from a stream."""
        with self.open() as stream:
            return arrow("reading a log").BufferReader(stream.read_buffer())

    def _unpacked(self) -> Any:
        pa = arrow("reading a log")
        if self.packing is None:
            return pa.OSFile(str(self.path))
        if self.packing == "xz":
            return pa.PythonFile(lzma.open(self.path), mode="r")
        if self.packing == "zip":
            archive = zipfile.ZipFile(self.path)
            return pa.PythonFile(archive.open(self.member or ""), mode="r")
        return pa.CompressedInputStream(pa.OSFile(str(self.path)), self.packing)


def opener_of(path: Path, name: str) -> Opener:
    """Return how to open a file, by how it begins."""
    with open(path, "rb") as file:
        start = file.read(8)
    if not start:
        raise LogError(f"logs: {name} is empty")
    packing = next((kind for mark, kind in PACKED.items() if start.startswith(mark)), None)
    ending = path.suffix.lower()
    if packing is None:
        return Opener(name, path, ending)
    found = Opener(name, path, Path(path.stem).suffix.lower(), packing)
    return _member(found, path) if packing == "zip" else found


def _member(opener: Opener, path: Path) -> Opener:
    """Return the only file of a zip file; an Excel file is one itself."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise LogError(f"logs: cannot read {opener.name}: {error}; is the file complete?") from None
    if any(member.startswith(EXCEL) for member in members):
        return replace(opener, packing=None, ending=".xlsx")
    files = [m for m in members if not m.endswith("/") and not m.startswith("__MACOSX")]
    if len(files) != 1:
        listed = ", ".join(files[:5]) or "nothing"
        raise LogError(
            f"logs: {opener.name} holds {len(files)} files ({listed}); unpack it and give the "
            "folder, or a zip file with one"
        )
    return replace(opener, member=files[0], ending=Path(files[0]).suffix.lower())


def in_utf8(opener: Opener) -> tuple[Opener, str | None]:
    """Return how to open text so that it is UTF-8, and what to say where it was not."""
    with reading(opener.name):
        start = opener.start(CHECKED)
    encoding = encoding_of(start)
    if encoding is None:
        raise LogError(
            f"logs: {opener.name} is neither text nor a kind of file that belated reads (CSV, JSON "
            "lines, Parquet, Arrow, Excel)"
        )
    if encoding == "utf-8":
        if len(start) < CHECKED and _is_cut(start):
            raise LogError(f"logs: {opener.name} ends inside a character; is the file complete?")
        return opener, None
    said = {"cp1252": "Windows-1252 (latin-1)"}.get(encoding, encoding.upper())
    return replace(opener, encoding=encoding), f"the text is no UTF-8 and is read as {said}"


def told(opener: Opener, encoding: str) -> Opener:
    """Return how to open text that is encoded as somebody says."""
    try:
        "a".encode(encoding)  # not all codecs are of text
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise LogError(
            f"logs: {encoding!r} is no encoding that is known; say one such as utf-8, latin-1, "
            "cp1251 or utf-16 (--encoding)"
        ) from None
    return replace(opener, encoding=name)


def encoding_of(start: bytes) -> str | None:
    """Return how text is encoded that begins so; None: it is no text.

    >>> encoding_of("Größe".encode()), encoding_of("Größe".encode("latin-1"))
    ('utf-8', 'cp1252')
    >>> encoding_of("a,b".encode("utf-16")), encoding_of(b"\\x00\\x01\\x02\\x03")
    ('utf-16', None)
    """
    if start[:2] in MARKS:
        return "utf-16"
    few = start[:4096]
    zeros = few[0::2].count(0), few[1::2].count(0)
    half = max(1, len(few) // 4)
    if zeros[1] > half and not zeros[0]:
        return "utf-16-le"
    if zeros[0] > half and not zeros[1]:
        return "utf-16-be"
    if 0 in few:
        return None
    for encoding in ("utf-8", "cp1252"):
        try:
            # The last character may go on behind these bytes.
            codecs.getincrementaldecoder(encoding)().decode(start)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def _is_cut(start: bytes) -> bool:
    """Whether the last bytes of UTF-8 are no whole character."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    decoder.decode(start)
    return bool(decoder.getstate()[0])
