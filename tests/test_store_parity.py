"""Models of a store have what those in memory have, and say the same."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import belated as bl
from belated.store.of_choosers import StoredChooser
from belated.store.of_intervals import StoredIntervals
from belated.store.of_knobs import StoredKnobs
from belated.store.of_learners import StoredLearner
from belated.store.of_linear import StoredLinear

KINDS: dict[type, tuple[type, set[str]]] = {  # what is left out; docs/store.md says so
    bl.LinearModel: (StoredLinear, {"fresh", "restore", "load", "replay", "hasher", "losses"}),
    bl.Intervals: (StoredIntervals, {"restore", "load", "model"}),
    bl.Chooser: (StoredChooser, {"fresh", "restore", "load", "model"}),
    bl.Knobs: (StoredKnobs, {"fresh", "restore", "load", "run"}),
    bl.Learner: (StoredLearner, {"restore", "load", "run"}),
}
OWN = {  # what a store adds
    *("begin", "begin_many", "many"),
    *("held", "read", "state", "tail", "history", "try_lock", "unlock"),
    *("kind", "name", "number"),
}
DOCUMENT = Path(__file__).parents[1] / "docs" / "store.md"


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if name[0] != "_"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_verbs_and_what_can_be_read(kind: type) -> None:
    stored, left_out = KINDS[kind]
    assert public(kind) - public(stored) == left_out
    assert public(stored) - public(kind) == OWN
    said = DOCUMENT.read_text(encoding="utf-8").partition("## What is promised")[0]
    assert {name for name in left_out if f"`{name}`" not in said} == set()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_verbs_take_the_same(kind: type) -> None:
    stored, left_out = KINDS[kind]
    for name in public(kind) - left_out - {"save", "tick"}:  # its own file, and its own clock
        ours, theirs = getattr(kind, name), getattr(stored, name)
        assert isinstance(ours, property) == isinstance(theirs, property), name
        if not isinstance(ours, property):
            given = inspect.signature(ours).parameters.values()
            taken = inspect.signature(theirs).parameters.values()
            assert [(each.name, each.kind, each.default) for each in taken] == [
                (each.name, each.kind, each.default) for each in given
            ], name


READ: list[Callable[[Any], Any]] = [
    lambda ranges: (ranges.rounds, ranges.open, ranges.coverage),
    lambda ranges: (ranges.ticket("c"), ranges.ticket(1)),
    lambda ranges: [ranges.is_open(name) for name in ("a", "c", 1, "never")],
    lambda ranges: str(ranges.explain({"hour": 4.0, "town": "Oslo"})),
    lambda ranges: ranges.weights(name for name in ["hour", ("town", "Oslo")]),
]


def test_intervals_say_the_same_as_their_model(tmp_path: Path) -> None:
    local = bl.Intervals(bl.LinearModel("squared", bits=6))
    with bl.open(tmp_path / "parity.db") as store:
        remote = store.model("ranges", local)
        for key, hour in zip("abc", (1.0, 4.0, 2.0), strict=True):
            row = {"hour": hour, "town": "Oslo"}
            assert remote.predict(row, key=key) == local.predict(row, key=key)
        assert remote.observe("a", 3.0) == local.observe("a", 3.0)
        for read in READ:
            assert read(remote) == read(local)
        row = {"hour": 4.0, "town": "Oslo"}
        assert str(local.explain(row)) == str(local.model.explain(row))
        assert local.explain(row).value == local.peek(row).value
        assert local.weights(["hour"]) == local.model.weights(["hour"])
        assert (local.rounds, local.open) == (local.model.rounds, local.model.open) == (3, 2)


def test_learners_say_how_they_were_made(tmp_path: Path) -> None:
    spec = bl.Problem(bl.Ball(2), lipschitz=1.0).learner(base="pftrl")
    with bl.open(tmp_path / "parity.db") as store:
        learner = store.model("l", bl.Learner(spec, seed=7, strict=True))
        assert (learner.seed, learner.strict, learner.spec) == (7, True, spec)
