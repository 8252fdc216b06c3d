"""Batches in stores: what is refused in memory is refused there, and the log has what happened."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import belated as bl
from belated.errors import BadFeatures, BelatedError
from belated.store.events import LoggedMethod

KINDS: dict[str, Callable[[], Any]] = {
    "linear": lambda: bl.LinearModel(bits=5),
    "intervals": lambda: bl.Intervals(bl.LinearModel(bits=5)),
    "chooser": lambda: bl.Chooser(["a", "b"], bits=5),
}


def test_old_events_are_learned_in_the_order_of_the_calls(tmp_path: Path) -> None:
    """As the log has them: a model in a store merges no batches."""
    said = []
    for _ in range(2):  # the second time of a model that was loaded
        with bl.open(tmp_path / "m.db") as store:
            model: Any = store.model("m", bl.LinearModel(bits=8))
            begin = model.rounds
            times = [begin + 1.0, begin + 2.0]
            model.predict_many([{"x": 1.0}, {"x": 2.0}], at=times)
            model.observe_many([begin], [1.0], at=[begin + 1.5])
            said.append(model.snapshot())
            assert store.rebuild("m", {}).snapshot() == said[-1]
        with bl.open(tmp_path / "m.db") as store:
            assert store.model("m").snapshot() == said[-1]
    twin = bl.LinearModel(bits=8)
    for begin in (0, 2):
        for ticket in (begin, begin + 1):
            twin.predict({"x": ticket - begin + 1.0}, at=ticket + 1.0)
        twin.observe(begin, 1.0, at=begin + 1.5)
    assert twin.snapshot() == said[-1]


def test_answers_that_can_be_read_once_may_be_old() -> None:
    said, makers = [], (list, iter)
    for once in makers:
        model = bl.LinearModel(bits=5)
        model.predict_many([{"x": 1.0}, {"x": 2.0}], at=[1.0, 2.0])
        for ticket, at in ((0, 1.5), (1, 9.0)):
            used = model.observe_many(once([ticket]), once([1.0]), weights=once([2.0]), at=[at])
            assert used.tolist() == [True]
        said.append(model.snapshot())
    assert said[0] == said[1]


@pytest.mark.parametrize("kind", KINDS)
def test_no_frame_can_be_answered_where_none_was_given(kind: str, tmp_path: Path) -> None:
    rows: Any = [{"x": 1.0}]
    with bl.open(tmp_path / "m.db") as store:
        made: tuple[Any, ...] = KINDS[kind](), store.model("m", KINDS[kind]())
        for model in made:
            many = model.choose_many if kind == "chooser" else model.predict_many
            with pytest.raises(BadFeatures):
                many(rows, as_frame=True)
            assert model.rounds == 0
            many(pd.DataFrame(rows), as_frame=True)
        said = model.snapshot()
    with bl.open(tmp_path / "m.db") as store:
        assert store.model("m").snapshot() == said


def test_what_cannot_be_written_down_has_not_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the error is one of the library's own, which else says that nothing has changed."""
    with bl.open(tmp_path / "m.db") as store:
        model: Any = store.model("m", bl.LinearModel(bits=5))
        model.predict_many([{"x": 1.0}, {"x": 2.0}])
        said = model.snapshot()
        calls = [("observe", {"ticket": ticket, "answer": 1.0}) for ticket in (0, 1)]
        verbs: tuple[Callable[[], Any], ...] = (
            lambda: model.observe(0, 1.0),
            lambda: model.observe_many([0, 1], [1.0, 1.0]),
            lambda: model.many(calls),
        )
        for verb in verbs:
            with monkeypatch.context() as patched:
                patched.setattr(LoggedMethod, "finish", refuse)
                with pytest.raises(BelatedError):
                    verb()
            assert model.snapshot() == said
            assert model.history.events == 2


def refuse(*_: Any) -> None:
    raise BadFeatures("no")


def test_a_rule_that_fails_in_the_middle_of_a_batch_leaves_nothing(tmp_path: Path) -> None:
    wrong: list[int] = []

    def make() -> bl.Chooser:
        return bl.Chooser(
            ["a", "b"],
            bits=5,
            decide=lambda _, ticket: [math.nan if ticket in wrong else 0.5, 0.5],
        )

    contexts, twin = ({"x": 1.0}, {"x": 2.0}, {"x": 3.0}), make()
    for turn in range(2):  # the second time of a model that was loaded
        with bl.open(tmp_path / "m.db") as store:
            model: Any = store.model("m", make())
            assert model.snapshot() == twin.snapshot()
            for one in (twin, model):
                one.choose_many(contexts, keys=[f"{turn}a", None, f"{turn}b"])
                one.observe_many([f"{turn}b"], [1.0])
                before = one.snapshot()
                wrong.append(one.rounds + 1)
                with pytest.raises(BelatedError):
                    one.choose_many(contexts, keys=["x", "y", "z"])
                wrong.clear()
                assert one.snapshot() == before
            assert store.rebuild("m", {}).snapshot() == twin.snapshot()
