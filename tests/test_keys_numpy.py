"""Keys that are NumPy's texts, and numbers, which are refused as keys."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.errors import BadKey, UnknownTicket
from belated.research.rivals import DelayedVAW

SPEC = bl.Problem(bl.Ball(2), lipschitz=1.0).learner(base="pftrl")

MODELS: dict[str, Callable[[], Any]] = {
    "LinearModel": lambda: bl.LinearModel("squared", bits=4),
    "Intervals": lambda: bl.Intervals(bl.LinearModel("squared", bits=4)),
    "Chooser": lambda: bl.Chooser(["a", "b"], bits=4),
    "Knobs": lambda: bl.Knobs({"x": (0, 1)}),
    "Learner": lambda: bl.Learner(SPEC),
    "DelayedVAW": lambda: DelayedVAW(1, magnitude=1.0, norm=1.0),
}
KEYS = [(np.str_("order-1"), "order-1")]


def ask(model: Any, key: Any) -> int:
    """Return a ticket with a key."""
    if hasattr(model, "choose"):
        return int(model.choose(key=key).ticket)
    takes_rows = "features" in inspect.signature(model.predict).parameters
    return int(model.predict(*([[1.0]] if takes_rows else []), key=key).ticket)


def tell(model: Any, name: Any) -> None:
    """Answer a ticket."""
    is_vector = "feedback" in inspect.signature(model.observe).parameters
    model.observe(name, [0.6, 0.8] if is_vector else 1.0)


@pytest.mark.parametrize(("given", "plain"), KEYS, ids=[repr(key) for _, key in KEYS])
@pytest.mark.parametrize("kind", MODELS)
def test_they_are_kept_as_pythons_own(kind: str, given: Any, plain: Any) -> None:
    ours, theirs = MODELS[kind](), MODELS[kind]()
    assert ask(ours, given) == ask(theirs, plain) == 0
    with pytest.raises(BadKey, match="still open"):
        ask(ours, plain)
    with pytest.raises(BadKey, match="still open"):
        ask(theirs, given)
    if kind != "DelayedVAW":
        assert ours.snapshot() == theirs.snapshot()
    tell(ours, plain)
    tell(theirs, given)
    assert ask(ours, given) == ask(theirs, plain) == 1
    ours.cancel(given)
    theirs.cancel(plain)
    for model in (ours, theirs):
        with pytest.raises(UnknownTicket, match="no open ticket has the key"):
            model.cancel(given)
    assert (ours.open if hasattr(ours, "open") else ours.model.open) == 0


ASKED = [kind for kind in MODELS if kind != "DelayedVAW"]


@pytest.mark.parametrize("is_stored", [False, True], ids=["memory", "store"])
@pytest.mark.parametrize("kind", ASKED)
def test_keys_and_tickets_are_open(kind: str, is_stored: bool, tmp_path: Path) -> None:
    name: Any
    with bl.open(tmp_path / "open.db") as store:
        model: Any = MODELS[kind]()
        if is_stored:
            model = store.model("m", model)
        assert not model.is_open(0)
        assert ask(model, "a") == 0
        for name in ("a", np.str_("a"), 0, np.int64(0)):
            assert model.is_open(name)
        for name in ("b", "0", 1, -1):
            assert not model.is_open(name)
        assert ask(model, "7") == 1
        for name in ("a", "7", np.int32(1), 0, 1):
            assert model.is_open(name)
        for name in ("0", "1", 7, np.int64(7)):
            assert not model.is_open(name)
        for nonsense in (None, 1.5, b"a", ["a"]):
            with pytest.raises(UnknownTicket, match="a ticket is an int, got"):
                model.is_open(nonsense)
        with pytest.raises(UnknownTicket, match="never handed out"):
            model.is_open(True)
        tell(model, "a")
        model.cancel("7")
        for name in ("a", "7", 0, 1):
            assert not model.is_open(name)


def test_a_file_that_is_sent_again() -> None:
    model = bl.LinearModel("squared", bits=4)
    rows = {"o-1": 3.0, "o-2": 1.0, "o-3": 2.0}
    model.predict_many([[value] for value in rows.values()], keys=list(rows))
    model.observe("o-2", 5.0)
    for count in (2, 0):  # partly answered, and then altogether
        fresh = [key for key in rows if model.is_open(key)]
        assert len(fresh) == count
        assert model.observe_many(fresh, [rows[key] for key in fresh]).all()
    assert model.open == 0


def test_a_choice_that_is_not_shown_is_open() -> None:
    chooser = bl.Chooser(["a", "b"], bits=4)
    chooser.choose(key="hidden", shown=False)
    assert chooser.is_open("hidden")
    chooser.cancel("hidden")
    assert not chooser.is_open("hidden")


@pytest.mark.parametrize(
    "bad",
    [7, np.int64(9001), np.uint8(7), True, np.True_, np.float64(1.0), np.timedelta64(3, "s"), b"x"],
)
@pytest.mark.parametrize("kind", MODELS)
def test_what_is_no_key_stays_refused(kind: str, bad: Any) -> None:
    model = MODELS[kind]()
    with pytest.raises(BadKey, match=r"a key is a string, got .* use str\(id\)"):
        ask(model, bad)
    assert ask(model, "a") == 0


def test_lists_and_logs_of_them() -> None:
    ours, theirs = MODELS["LinearModel"](), MODELS["LinearModel"]()
    names = np.array(["30", "10", "20"])
    rows = [[1.0], [2.0], [3.0]]
    ours.predict_many(rows, keys=list(names))
    theirs.predict_many(rows, keys=["30", "10", "20"])
    assert ours.snapshot() == theirs.snapshot()
    assert ours.observe_many(list(names[:2]), [1.0, 2.0]).all()
    assert theirs.observe_many(["30", "10"], [1.0, 2.0]).all()
    assert ours.snapshot() == theirs.snapshot()
    ours, theirs = MODELS["LinearModel"](), MODELS["LinearModel"]()
    ours.replay(rows, [1.0, 2.0, 3.0], [0, 1, ~0, 2], keys=names)
    theirs.replay(rows, [1.0, 2.0, 3.0], [0, 1, ~0, 2], keys=["30", "10", "20"])
    assert ours.snapshot() == theirs.snapshot()
    assert ours.ticket(np.str_("20")) == 2


@pytest.mark.parametrize(("given", "plain"), KEYS, ids=[repr(key) for _, key in KEYS])
@pytest.mark.parametrize("kind", ASKED)
def test_stores_log_pythons_own(tmp_path: Path, kind: str, given: Any, plain: Any) -> None:
    with bl.open(tmp_path / "store.db") as store:
        model = store.model("m", MODELS[kind]())
        assert ask(model, given) == 0
        tell(model, given)
        assert ask(model, given) == 1
        if kind == "LinearModel":
            model.predict_many([[1.0], [2.0]], keys=[np.str_("p"), np.str_("70")])
            model.observe_many([np.str_("p"), np.str_("70")], [1.0, 2.0])
        _, tail = model.tail(10)
        events = [event for event, _ in tail]
        assert json.dumps(plain) in json.dumps(events)
        snapshot = model.snapshot()
    with bl.open(tmp_path / "store.db") as store:
        again = store.model("m")
        assert again.snapshot() == snapshot
        again.cancel(given)
        with pytest.raises(UnknownTicket):
            again.cancel(plain)
