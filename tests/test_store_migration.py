"""Stores of the version before: they are migrated when they are opened, and nothing is lost.

``golden/store-3.db.gz`` was written by the last version of belated whose stores had format 3.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import belated as bl
from belated import sealed
from belated.store import tables

GOLDEN = Path(__file__).parent / "golden"
EXPECTED: dict[str, Any] = json.loads((GOLDEN / "store-3.json").read_text())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a store of format 3."""
    found = tmp_path / "old.db"
    with gzip.open(GOLDEN / "store-3.db.gz") as source, found.open("wb") as target:
        shutil.copyfileobj(source, target)
    return found


def version(path: Path) -> int:
    """Return the version that a file says that it has."""
    with closing(sqlite3.connect(path)) as reader:
        return int(reader.execute("PRAGMA user_version").fetchone()[0])


@pytest.fixture
def readable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stores be migrated whose models have the format of the snapshots in ``golden``."""
    monkeypatch.setattr(sealed, "FORMAT", EXPECTED["snapshots"])


def test_a_store_whose_models_cannot_be_read_is_left_alone(path: Path) -> None:
    before = path.read_bytes()
    assert EXPECTED["snapshots"] != sealed.FORMAT
    with pytest.raises(
        bl.errors.StoreError, match=r"models of another version.*nothing has changed"
    ):
        bl.open(path)
    assert (path.read_bytes(), version(path)) == (before, 3)


@pytest.mark.usefixtures("readable")
def test_a_store_of_the_version_before_goes_on(path: Path) -> None:
    assert version(path) == 3
    with bl.open(path) as store:
        assert store.models() == sorted(EXPECTED["events"])
        for name, events in EXPECTED["events"].items():
            about = store._models[name]._about
            assert [event for event, _ in store.events(about, about.first, 99)] == events
        assert [(note.name, note.body) for note in store.notes("")] == [
            ("service:answer:1", b'{"key":"order-9"}'),
            ("plain", b"a note"),
        ]
    assert version(path) == tables.VERSION


@pytest.mark.usefixtures("readable")
def test_a_migration_that_fails_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()
    steps = f"{tables.MIGRATIONS[4]} INSERT INTO nothing VALUES (1);"
    with monkeypatch.context() as patch:
        patch.setitem(tables.MIGRATIONS, 4, steps)
        with pytest.raises(bl.errors.StoreError):
            bl.open(path)
    assert (path.read_bytes(), version(path)) == (before, 3)
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name]
    with bl.open(path) as store:
        assert store.models() == sorted(EXPECTED["events"])
