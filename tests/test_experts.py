"""Losses of labels and the experts of linear models, alone and in both modes of the core."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import belated as bl
from belated.core import label_losses
from belated.core.experts import Experts
from belated.core.label_losses import LabelStatistics
from belated.errors import SnapshotError
from belated.models.linear.losses import LOSSES as KNOWN
from belated.models.linear.losses import table
from naive_linear import NaiveLinear, NaiveLoss

Array = NDArray[np.float64]

LOSSES: dict[str, tuple[Any, NaiveLoss]] = {
    "squared": (label_losses.Squared(), NaiveLoss("squared")),
    "absolute": (label_losses.Absolute(), NaiveLoss("absolute")),
    "quantile": (label_losses.Quantile(0.9), NaiveLoss("quantile", quantile=0.9)),
    "huber": (label_losses.Huber(0.7), NaiveLoss("huber", delta=0.7)),
    "hinge": (label_losses.Hinge(), NaiveLoss("hinge")),
    "logistic": (label_losses.Logistic(), NaiveLoss("logistic")),
    "poisson": (label_losses.Poisson(), NaiveLoss("poisson")),
}
LABELS = {"logistic": (0.0, 1.0), "hinge": (-1.0, 1.0), "poisson": (0.0, 1.0, 7.0)}
NUMBERS = (-2.5, 0.0, 0.3, 40.0)
POINTS = (-30.0, -2.0, -0.4, 0.1, 1.7, 4.0)


@pytest.mark.parametrize("kind", LOSSES)
def test_losses_are_those_of_the_slow_version(kind: str) -> None:
    loss, naive = LOSSES[kind]
    for y in LABELS.get(kind, NUMBERS):
        for p in POINTS:
            value, slope, _ = loss.evaluate(p, y)
            assert value == pytest.approx(naive.value(p, y), rel=1e-12, abs=1e-14)
            assert slope == pytest.approx(naive.slope(p, y), rel=1e-12, abs=1e-14)
            for q in (1e-6, 0.3, 50.0):
                wanted = naive.implicit(p, y, q)
                assert loss.evaluate(p, y, q)[2] == pytest.approx(wanted, rel=1e-9, abs=1e-12)
            assert loss.evaluate(p, y)[2] == slope


@pytest.mark.parametrize("kind", LOSSES)
def test_links_and_their_losses(kind: str) -> None:
    loss, naive = LOSSES[kind]
    for p in POINTS[1:]:
        v = loss.to_value(p)
        assert v == pytest.approx(naive.shown(p), rel=1e-13)
        assert loss.to_prediction(v) == pytest.approx(p, rel=1e-9)
        for y in LABELS.get(kind, NUMBERS):
            assert loss.losses([v], [y])[0] == pytest.approx(naive.value(p, y), rel=1e-9, abs=1e-12)
    with pytest.raises(ValueError, match="same shape"):
        loss.losses([1.0], [1.0, 0.0])


@pytest.mark.parametrize("kind", LOSSES)
def test_labels(kind: str) -> None:
    loss, _ = LOSSES[kind]
    assert all(loss.accepts(y) for y in LABELS.get(kind, NUMBERS))
    assert not any(loss.accepts(y) for y in (math.nan, math.inf, -math.inf, 1e21))
    assert loss.accepts(0.5) == (kind not in ("logistic", "hinge"))
    assert loss.accepts(-1.0) == (kind not in ("logistic", "poisson"))


# --- Both modes ----------------------------------------------------------------------------------


def label_of(kind: str, signal: Array) -> Array:
    """Return labels that depend on a signal."""
    if kind == "logistic":
        return (signal > 0.0).astype(float)
    if kind == "hinge":
        return np.where(signal > 0.0, 1.0, -1.0)
    return np.floor(np.exp(0.5 * np.minimum(signal, 4.0))) if kind == "poisson" else signal


# --- Experts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("starts", "counts", "size"),
    [([0, 5], [5, 6], 12), ([0, 4], [5, 6], 11), ([0], [0.0], 0), ([0, 5], [5.5, 5.5], 11)],
)
def test_rows_must_share_the_pool(starts: list[int], counts: list[float], size: int) -> None:
    loss = label_losses.Squared()
    experts = Experts(loss, LabelStatistics(loss), 16, True, 0.0, 0.0, False)
    experts.check_rows(np.array([0.0, 5.0]), np.array([5.0, 6.0]), 11)
    with pytest.raises(SnapshotError):
        experts.check_rows(np.array(starts), np.array(counts), size)


def test_a_first_no_hardly_moves_a_rare_category() -> None:
    model = bl.LinearModel("logistic", bits=8)
    for t in range(500):
        model.observe(model.predict({"ad": f"a{t % 5}"}).ticket, float(t % 100 == 0))
    before = model.peek({"ad": "new"})
    model.observe(model.predict({"ad": "new"}).ticket, 0.0)
    assert 0.9 * before < model.peek({"ad": "new"}) < before
    model.observe(model.predict({"ad": "new"}).ticket, 1.0)
    assert before < model.peek({"ad": "new"}) < 0.5


# --- The range of numbers ------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e19])
@pytest.mark.parametrize("kind", ["squared", "absolute", "huber"])
def test_the_unit_of_labels_does_not_matter(kind: Any, scale: float) -> None:
    def values(unit: float) -> Array:
        rng = np.random.default_rng(2)
        model = bl.LinearModel(kind, bits=4, delta=unit)
        weights, said = rng.normal(size=16), []
        for t in range(300):
            indices, x = rng.integers(0, 16, size=5), rng.normal(size=5)
            said.append(model.predict((indices, x)).value)
            model.observe(t, unit * float(weights[indices] @ x))
        return np.array(said)

    np.testing.assert_allclose(values(scale), scale * values(1.0), rtol=2e-2, atol=1e-3 * scale)


@pytest.mark.parametrize("scale", [1e-25, 1e-10, 1e10, 1e29])
def test_the_units_of_features_do_not_matter(scale: float) -> None:
    def values(unit: float) -> Array:
        rng = np.random.default_rng(3)
        model = bl.LinearModel(bits=4)
        weights, said = rng.normal(size=16), []
        for t in range(300):
            indices, x = rng.integers(0, 16, size=5), rng.normal(size=5) + 1.0
            said.append(model.predict((indices, unit * x)).value)
            model.observe(t, float(weights[indices] @ x))
        return np.array(said)

    np.testing.assert_allclose(values(scale), values(1.0), rtol=2e-2, atol=1e-2)


@pytest.mark.parametrize("kind", LOSSES)
def test_the_largest_numbers_stay_finite(kind: Any) -> None:
    rng = np.random.default_rng(4)
    model = bl.LinearModel(kind, bits=4)
    large = {"logistic": 1.0, "hinge": 1.0}.get(kind, 1e20)
    for t in range(200):
        value = model.predict((rng.integers(0, 16, size=3), rng.choice([-1e30, 1.0, 1e30], 3)))
        assert math.isfinite(value.value)
        least = 0.0 if kind in ("logistic", "poisson") else -large
        model.observe(t, float(rng.choice([least, large])), weight=float(rng.choice([1.0, 1e15])))
    state = model._linear.state()
    model._linear.check(state)
    with pytest.raises(bl.errors.BadFeatures):
        model.predict((np.array([0]), np.array([1.1e30])))


# --- Against the slow version without rounding ---------------------------------------------------


@pytest.mark.parametrize("kind", LOSSES)
def test_rounding_of_coordinates_hardly_matters(kind: Any) -> None:
    rng = np.random.default_rng(12)
    fast, slow = bl.LinearModel(kind, bits=6, wait=None), NaiveLinear(kind, wait=None)
    weights, labels, said = rng.normal(size=64), [], []
    for t in range(200):
        indices, values = rng.integers(0, 64, size=8), rng.normal(size=8) * 3.0 + 1.0
        signal = weights[indices] @ values / 5.0 + 0.3 * rng.normal()
        labels.append(float(label_of(kind, np.array(signal))))
        row = list(zip(indices.tolist(), values.tolist(), strict=True))
        said.append((fast.predict((indices, values)).value, slow.predict(row)[1]))
        if t >= 20:
            fast.observe(t - 20, labels[t - 20])
            slow.observe(t - 20, labels[t - 20])
    ours, exact = np.array(said).T
    away = np.abs(ours - exact) / (np.abs(exact) + np.std(exact))
    assert np.median(away) < 1e-5
    assert away.max() < 1e-4


# --- Every loss of linear models is known everywhere: a forgotten one fails here ------------------


DOCS = Path(__file__).parent.parent / "docs" / "linear.md"
TRIED_LABELS = (-1.0, 0.0, 1.0, 0.5, -7.5, 12.0, 1e19)

LINKS: dict[str | None, Callable[[Any], Any]] = {
    None: lambda p: p,
    "probability": lambda p: 1.0 / (1.0 + np.exp(-p)),
    "rate": np.exp,
}


def test_the_documentation_has_them_all() -> None:
    assert table() in DOCS.read_text()
    for name in KNOWN:
        assert f'"{name}"' in (bl.LinearModel.__doc__ or "")


def core_loss(name: Any) -> Any:
    """Return what computes a loss."""
    return bl.LinearModel(name, bits=1).settings.loss_of_labels()


@pytest.mark.parametrize("name", KNOWN)
def test_the_core_has_the_same_traits(name: Any) -> None:
    """What tables say without the core is what it computes."""
    told, loss = KNOWN[name], core_loss(name)
    assert loss.is_binary == (told.labels.classes is not None)
    assert loss.has_link == (told.link is not None)
    assert loss.is_linear_in_label == told.is_linear_in_label


@pytest.mark.parametrize("name", KNOWN)
def test_labels_are_those_that_the_core_takes(name: Any) -> None:
    labels = KNOWN[name].labels
    taken = [y for y in TRIED_LABELS if core_loss(name).accepts(y)]
    if labels.classes is not None:
        assert taken == sorted(labels.classes)
    else:
        assert taken == [y for y in TRIED_LABELS if y >= 0.0 or labels.plural == "numbers"]
    assert bl.LinearModel(name, bits=1).settings.labels == labels.words


@pytest.mark.parametrize("name", KNOWN)
def test_traits_are_those_of_the_numbers(name: Any) -> None:
    loss = KNOWN[name]
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
