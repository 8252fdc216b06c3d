"""Every loss of linear models is known everywhere: a forgotten one fails here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.models.linear.losses import LOSSES, table

DOCS = Path(__file__).parent.parent / "docs" / "linear.md"
LABELS = (-1.0, 0.0, 1.0, 0.5, -7.5, 12.0, 1e19)

LINKS: dict[str | None, Callable[[Any], Any]] = {
    None: lambda p: p,
    "probability": lambda p: 1.0 / (1.0 + np.exp(-p)),
    "rate": np.exp,
}


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
