"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

StrPath = str | os.PathLike[str]


def write_whole(path: StrPath, content: bytes) -> None:
    """Replace a file by ``content``, or leave everything as it was and raise.

    The bytes go to a new file beside it, are on disk before that takes the name, and the folder is
    on disk when this returns. A process that is killed meanwhile leaves the old file.
    """
    import tempfile  # not needed by most

    target = Path(path)
    try:
        number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except FileNotFoundError:
        parent = target.parent
        raise FileNotFoundError(f"cannot write {path}: there is no folder {parent}") from None
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.chmod(name, target.stat().st_mode & 0o777)
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk, where the system can."""
    with suppress(OSError):  # Windows has no handle of a folder
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
