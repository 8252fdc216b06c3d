"""Keys of many rows at once in a store, and the same model after whatever happens."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.errors import StoreDamaged, UnknownTicket
from belated.store import events as of
from belated.store import stretches
from belated.store.recovery import recovered
from conftest import examples

ROWS: list[Any] = [{"x": 1.0}, {"x": 2.0, "w": "a"}, [3.0]]


def spec(**changes: Any) -> bl.LinearModel:
    return bl.LinearModel(**{"loss": "squared", "bits": 6, "wait": None, **changes})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a store may be."""
    return tmp_path / "s.db"


def from_log(store: bl.Store, name: str = "m") -> Any:
    """Return the model that the whole log leads to."""
    about = store._known[name]
    return recovered(store._database, about, None).model


@pytest.mark.parametrize("changes", [{}, {"wait": {"predictions": 3}}, {"bits": 8}])
def test_a_rebuild_keeps_the_keys_of_batches(path: Path, changes: dict[str, Any]) -> None:
    with bl.open(path) as store:
        model = store.model("m", spec())
        model.predict_many(ROWS, keys=["a", "b", "7"])
        model.predict_many(ROWS, keys=["d", None, "f"])
        model.observe_many(["b", "7", 4], [1.0, 2.0, 3.0])
        model.predict_many(ROWS[:1], keys=["b"])
        built = store.rebuild("m", spec(**changes), to="n")
        names = {key: built.ticket(key) for key in ("a", "b", "d", "f")}
        assert names == {"a": 0, "b": 6, "d": 3, "f": 5}
        with pytest.raises(UnknownTicket):
            built.ticket("7")
        if not changes:
            assert built.snapshot() == model.snapshot()
        built.observe_many(["b", "f"], [1.0, 2.0])
        assert from_log(store, "n").snapshot() == built.snapshot()


@pytest.mark.parametrize(
    "changed",
    [
        [of.PREDICT, [1.0], 7],
        [of.PREDICT, {"x": 1.0}, 7],
        [of.OBSERVE, [0, 0], 1.0],
        [of.OBSERVE, [0], 1.0],
        [of.OBSERVE, [0, "a", 1], 1.0],
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("short", [1, 10**6])
def test_keys_that_nobody_wrote_are_refused(
    path: Path, changed: list[Any], short: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretches, "_SHORT", short)
    with bl.open(path) as store:
        model = store.model("m", spec())
        model.predict([1.0], key="a")
        with pytest.raises(StoreDamaged):
            _with(store, changed)


def _with(store: bl.Store, event: list[Any]) -> Any:
    """Return the model that a log with one more event leads to."""
    about = store._known["m"]
    database: Any = store._database
    rows = [*database.rows(about.number, 0)]
    rows.append(of.new_row(about.number, 1, 0.0, of.encoded(event), 1))

    class Longer:
        def rows(self, model: int, first: int) -> Any:
            return iter(rows)

        def snapshots(self, model: int) -> Any:
            return iter(())

    return recovered(Longer(), about, None).model


KEYS = st.one_of(st.sampled_from("abcd"), st.integers(0, 5), st.none())
LIVES = st.lists(
    st.tuples(st.sampled_from("pmoOskc"), st.lists(KEYS, min_size=1, max_size=4)), max_size=20
)


@pytest.mark.parametrize("short", [1, 10**6])
@examples(15)
@given(life=LIVES)
def test_any_life_survives_kills(
    life: list[tuple[str, list[Any]]],
    short: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Single events and batches, closed, killed and copied: the twin in memory never was."""
    folder = tmp_path_factory.mktemp("life")
    twin, place, patch = spec(), folder / "s0.db", pytest.MonkeyPatch()
    patch.setattr(stretches, "_SHORT", short)
    store = bl.open(place)
    model: Any = store.model("m", spec())
    for step, (verb, keys) in enumerate(life):
        if verb == "k":  # what is on disk now, as a kill would leave it
            other = folder / f"s{step + 1}.db"
            for file in folder.glob(f"{place.name}*"):
                if not file.name.endswith("-shm"):
                    shutil.copy(file, folder / file.name.replace(place.name, other.name))
            store.close()
            place, store = other, bl.open(other)
            model = store.model("m")
        elif verb == "c":
            store.close()
            store = bl.open(place)
            model = store.model("m")
        elif verb == "s":
            model.save()
        else:
            said = [_tried(each, verb, keys) for each in (twin, model)]
            assert said[0] == said[1]
        assert model.snapshot() == twin.snapshot()
    assert from_log(store).snapshot() == twin.snapshot()
    store.close()
    patch.undo()


def _tried(model: Any, verb: str, keys: list[Any]) -> Any:
    try:
        if verb == "p":
            tickets, values = model.predict_many([[float(i)] for i in range(len(keys))], keys=keys)
            return tickets.tolist(), values.tolist()
        if verb == "m":
            return model.predict({"x": 1.0}, key=keys[0])
        if verb == "o":
            return model.observe_many(keys, np.arange(len(keys)) + 0.5).tolist()
        return model.observe(keys[0], 2.0)
    except bl.BelatedError as error:
        return type(error) if verb in "pm" else "refused"
