"""Every loss of linear models is known everywhere: a forgotten one fails here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest

import belated as bl
import pins
import test_naive_linear
from belated.errors import BelatedError, SpecError
from belated.models.linear import settings
from belated.models.linear.losses import BINARY, LOSSES, Loss, named, table
from belated.replays import others, replay
from conftest import Python
from test_imports import HEAVY, loaded_by

DOCS = Path(__file__).parent.parent / "docs" / "linear.md"
LABELS = (-1.0, 0.0, 1.0, 0.5, -7.5, 12.0, 1e19)

LINKS: dict[str | None, Callable[[Any], Any]] = {
    None: lambda p: p,
    "probability": lambda p: 1.0 / (1.0 + np.exp(-p)),
    "rate": np.exp,
}


def test_every_table_has_them_all() -> None:
    names = list(LOSSES)
    assert list(get_args(Loss)) == names
    assert list(settings._LOSSES) == names
    assert set(pins.LINEAR_LOSSES) == set(names)
    assert {loss.kind for loss in test_naive_linear.LOSSES} == set(names)
    for known in others._LOSSES.values():
        assert set(known) <= set(names)


def test_the_table_is_light(python: Python) -> None:
    assert (
        loaded_by(python, "import belated.models.linear.losses, belated.cli") & set(HEAVY) == set()
    )


def test_the_documentation_has_them_all() -> None:
    assert table() in DOCS.read_text()
    for name in LOSSES:
        assert f'"{name}"' in (bl.LinearModel.__doc__ or "")


def core_loss(name: Any) -> Any:
    """Return what computes a loss."""
    return bl.LinearModel(name, bits=1).settings.loss_of_labels()


@pytest.mark.parametrize("name", LOSSES)
def test_the_core_has_the_same_traits(name: Any) -> None:
    """What tables say without the core is what it computes."""
    told, loss = LOSSES[name], core_loss(name)
    assert loss.is_binary == (told.labels.classes is not None)
    assert loss.has_link == (told.link is not None)
    assert loss.is_linear_in_label == told.is_linear_in_label


@pytest.mark.parametrize("name", LOSSES)
def test_labels_are_those_that_the_core_takes(name: Any) -> None:
    labels = LOSSES[name].labels
    taken = [y for y in LABELS if core_loss(name).accepts(y)]
    if labels.classes is not None:
        assert taken == sorted(labels.classes)
    else:
        assert taken == [y for y in LABELS if y >= 0.0 or labels.plural == "numbers"]
    assert bl.LinearModel(name, bits=1).settings.labels == labels.words


@pytest.mark.parametrize("name", LOSSES)
def test_traits_are_those_of_the_numbers(name: Any) -> None:
    loss = LOSSES[name]
    p = np.array([3.0, 0.5])
    low, high = loss.labels.classes or (0.0, 1.0)

    def lost(y: float, **more: float) -> Any:
        model = bl.LinearModel(name, bits=1, **more)  # type: ignore[arg-type]
        return model.losses(LINKS[loss.link](p), np.full(2, y))

    bent = lost(low) - lost(high)
    assert np.isclose(bent[0] - bent[1], (high - low) * (p[0] - p[1])) == loss.is_linear_in_label
    for parameter in ("quantile", "delta"):
        changed = (lost(low, **{parameter: 0.25}) != lost(low)).any()
        assert changed == (parameter == loss.parameter)


@pytest.mark.parametrize("name", LOSSES)
def test_replays_know_them_all(name: Any) -> None:
    size = np.sin(np.arange(60.0))
    log = bl.logs.Log(
        np.arange(60.0), np.arange(60.0) + 2.5, target=size + 1.0, features={"s": size}
    )
    found = replay(log, loss=name, threshold=1.0 if name in BINARY else None, known=["s"])
    assert found.measure == LOSSES[name].measure
    ours = found.methods["belated"]
    model = bl.LinearModel(name)
    plain = model.losses(ours.predictions[found.task.known], found.task.labels[found.task.known])
    assert ours.mean_loss == pytest.approx(LOSSES[name].per_loss * plain.mean())


def test_regressors_of_river_take_all_but_classes() -> None:
    river = pytest.importorskip("belated.adapters.river")
    taken = get_args(get_type_hints(river.LinearRegressor.__init__)["loss"])
    assert taken == tuple(name for name in LOSSES if name not in BINARY)
    for name in BINARY:
        with pytest.raises(SpecError, match="loss for classes"):
            river.LinearRegressor(name)


def test_others_are_refused_everywhere(python: Python) -> None:
    wrong: Any = "cubic"
    for act in (lambda: named(wrong, "here"), lambda: bl.LinearModel(wrong)):
        with pytest.raises(SpecError, match=r"loss must be one of squared, .*, got 'cubic'"):
            act()
    log = bl.logs.Log(np.arange(3.0), np.arange(3.0) + 1.0, target=np.ones(3))
    with pytest.raises(BelatedError, match=r"replay: loss must be one of .* got 'cubic'"):
        replay(log, loss=wrong)
    assert f"{{{','.join(LOSSES)}}}" in python("-m", "belated", "replay", "--help", COLUMNS="200")
