"""Models that are rebuilt from their log: settings that are not given keep their values."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import belated as bl
from belated.errors import SpecError
from belated.store.rebuild import with_settings

SPEC = bl.Problem(bl.Ball(2), lipschitz=1.0).learner(base="pftrl")
RANGES = {"x": (0.0, 1.0), "n": bl.ranges.Int(0, 8)}
MODELS: dict[str, Any] = {
    "LinearModel": lambda: bl.LinearModel(
        "logistic",
        bits=8,
        l1=1e-3,
        silence=0,
        deadline=timedelta(days=3),
        interactions=[("a", "b")],
    ),
    "counted": lambda: bl.LinearModel(
        "huber", bits=8, delta=2.0, wait={"predictions": 4}, max_open=9, intercept=False
    ),
    "Intervals": lambda: bl.Intervals(
        bl.LinearModel("squared", bits=8, deadline={"predictions": 5}), coverage=0.7
    ),
    "Chooser": lambda: bl.Chooser(
        ["a", "b"], explore=bl.explore.Uniform(0.2), silence=0.0, deadline=7, baseline="b", seed=5
    ),
    "Knobs": lambda: bl.Knobs(
        RANGES,
        start={"x": 0.25, "n": 2},
        goal="max",
        context={"hour": (0, 23)},
        constraints=[{"x": 1.0, "at_most": 0.9}],
        max_step=0.5,
        holdout=0.1,
        silence=0.5,
        deadline=6,
        seed=8,
    ),
    "Learner": lambda: bl.Learner(SPEC, 4, strict=True),
}
CHANGES: dict[str, dict[str, Any]] = {
    "LinearModel": {"bits": 9},
    "counted": {"wait": None},
    "Intervals": {"coverage": 0.8},
    "Chooser": {"deadline": {"predictions": 3}},
    "Knobs": {"holdout": 0.2},
    "Learner": {"strict": False},
}


def lived(model: Any) -> None:
    """Predict, choose or turn some times, and answer every other one."""
    kind = model.kind
    for number in range(12):
        key = f"k{number}"
        if kind == "Chooser":
            model.choose({"a": float(number)}, key=key)
        elif kind in ("Knobs", "Learner"):
            model.predict(key=key)
        else:
            model.predict({"a": float(number), "b": "x"}, key=key)
        if number % 2:
            model.observe(f"k{number - 1}", [0.1, 0.2] if kind == "Learner" else 1.0)


@pytest.mark.parametrize("name", MODELS)
def test_settings_that_are_not_given_keep_their_values(name: str, tmp_path: Path) -> None:
    same = with_settings(MODELS[name](), {})
    assert same.snapshot() == MODELS[name]().snapshot()
    with bl.open(tmp_path / "s.db") as store:
        lived(store.model("m", MODELS[name]()))
        changed = with_settings(MODELS[name](), CHANGES[name])
        assert changed.snapshot() != same.snapshot()
        built = store.rebuild("m", CHANGES[name])
        assert built.snapshot() == store.rebuild("m", changed).snapshot()
        back = {key: _value(MODELS[name](), key) for key in CHANGES[name]}
        store.rebuild("m", CHANGES[name], to="m")
        assert store.rebuild("m", back).snapshot() == store.rebuild("m", MODELS[name]()).snapshot()


def _value(model: Any, name: str) -> Any:
    """Return a setting of a model as it was given."""
    holder = model.model if isinstance(model, bl.Chooser) else model
    settings = holder if isinstance(model, bl.Intervals | bl.Learner) else holder.settings
    return getattr(settings, name)


def test_a_rule_is_kept(tmp_path: Path) -> None:
    def decide(*_: Any) -> dict[str, float]:
        return {"a": 0.5, "b": 0.5}

    chooser = bl.Chooser(["a", "b"], decide=decide, bits=6)
    with bl.open(tmp_path / "s.db") as store:
        lived(store.model("m", chooser))
        assert store.rebuild("m", {"bits": 7})._decide is decide


def test_settings_that_no_such_model_has_are_refused(tmp_path: Path) -> None:
    with bl.open(tmp_path / "s.db") as store:
        model = store.model("m", bl.LinearModel("squared", bits=6))
        before = model.snapshot()
        with pytest.raises(SpecError, match="a LinearModel has no setting 'coverage'; it has loss"):
            store.rebuild("m", {"coverage": 0.9}, to="m")
        with pytest.raises(SpecError, match="bits"):
            store.rebuild("m", {"bits": 99}, to="m")
        assert model.snapshot() == before
