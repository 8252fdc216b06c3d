"""Second models on the same events, which never answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import belated as bl
from belated.errors import SpecError

MODELS: dict[str, tuple[Any, Any]] = {
    "linear": (
        bl.LinearModel(bits=8, silence=0.0, deadline=20),
        bl.LinearModel(bits=6, silence=0.0, deadline=20, l2=0.1),
    ),
    "intervals": (
        bl.Intervals(bl.LinearModel(bits=8), 0.9),
        bl.Intervals(bl.LinearModel(bits=8, l1=0.1), 0.8),
    ),
    "chooser": (
        bl.Chooser(["a", "b"], bits=8, silence=0.0, deadline=20),
        bl.Chooser(["a", "b"], bits=8, silence=0.0, deadline=20, explore=bl.explore.Greedy()),
    ),
}


def feed(model: Any, begin: int, end: int) -> None:
    """Predict, and answer some in another order."""
    verb = "choose" if hasattr(model, "choose") else "predict"
    row = "context" if verb == "choose" else "row"
    calls: list[Any] = []
    for i in range(begin, end):
        calls.append((verb, {row: {"x": float(i % 3), "w": f"v{i % 2}"}, "key": f"k{i}"}))
        if i % 3 == 2:
            for j in (i, i - 1):
                calls.append(("observe", {"ticket": f"k{j}", "answer": float(j % 2)}))
    refused = [each for each in model.many(calls) if isinstance(each, bl.BelatedError)]
    assert len(refused) <= 1  # where a part begins in the middle of three


@pytest.mark.parametrize("kind", MODELS)
def test_a_shadow_is_what_it_would_be_had_it_seen_the_log(kind: str, tmp_path: Path) -> None:
    spec, other = MODELS[kind]
    path = tmp_path / "shop.db"
    with bl.open(path) as store:
        model = store.model("m", spec)
        assert model.report().shadow is None
        feed(model, 0, 100)
        assert store.shadow("m", other).rounds == 100
        feed(model, 100, 200)
        report = model.report()
        assert report.rounds == report.shadow.rounds == 200
        assert "shadow" in str(report)
        assert report.to_dict()["shadow"]["rounds"] == 200
    with bl.open(path) as store:
        model = store.model("m")
        feed(model, 200, 1500)
        assert store.shadow("m").rounds == 1500
        if kind != "chooser":  # a shadow compares with what was played, and a rebuilt one does not
            assert store.shadow("m").snapshot() == store.rebuild("m", other).snapshot()
        store.compact("m")
        feed(model, 1500, 1510)
    with bl.open(path) as store:
        shadow = store.model("m").report().shadow
        assert shadow.rounds == 1510
        if kind == "chooser":
            assert 0.0 < shadow.agreement < 1.0
        assert store.model("m").is_open("k1509") == store.shadow("m").is_open("k1509")
        store.end_shadow("m")
        assert store.model("m").report().shadow is None
    with bl.open(path) as store:
        assert store.shadow("m") is None
        store.delete("m")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (bl.Chooser(["a"]), "same class"),
        (bl.LinearModel("absolute"), "loss must be that of"),
        (bl.LinearModel(silence=0.0), "silence must be that of"),
        (bl.LinearModel(deadline=5), "deadline must be that of"),
    ],
)
def test_what_cannot_be_compared_is_refused(spec: Any, said: str, tmp_path: Path) -> None:
    with bl.open(tmp_path / "shop.db") as store:
        store.model("m", bl.LinearModel())
        with pytest.raises(SpecError, match=said):
            store.shadow("m", spec)
        assert store.shadow("m") is None
