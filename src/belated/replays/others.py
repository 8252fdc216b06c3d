"""Vowpal Wabbit and river on the same events: predict when asked, learn when the label comes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from belated.arrays import Floats
from belated.errors import BelatedError
from belated.replays.baselines import Feed
from belated.replays.task import Labels, Task

PACKAGES = {"vw": "vowpalwabbit", "river": "river"}
TITLES = {"vw": "Vowpal Wabbit", "river": "river"}

Predict = Callable[[int], float]
Learn = Callable[[int, float], None]


def check(names: tuple[str, ...]) -> None:
    """Refuse other methods that are unknown or not installed."""
    for name in names:
        if name not in PACKAGES:
            raise BelatedError(f"replay: others are {' and '.join(PACKAGES)}, got {name!r}")
        _imported(name)


def check_loss(names: tuple[str, ...], how: Labels) -> None:
    """Refuse other methods that have no such loss."""
    for name in names:
        if how.loss not in _LOSSES[name]:
            raise BelatedError(
                f"replay: {TITLES[name]} has no {how.loss} loss that belated knows of; leave it out"
            )


def about(name: str) -> str:
    """Say which version and settings are run."""
    settings = {"vw": "its defaults", "river": "StandardScaler and a linear model, its defaults"}
    version = getattr(_imported(name), "__version__", "")
    return f"{PACKAGES[name]} {version}: {settings[name]}"


def ready(name: str, task: Task) -> tuple[Predict, Learn]:
    """Return another method, with all that it has to import."""
    return {"vw": _vowpal_wabbit, "river": _river}[name](task)


def play(predict: Predict, learn: Learn, feed: Feed) -> Floats:
    """Return what another method predicts, by ticket."""
    out = np.zeros(len(feed.labels))
    for event in feed.events.tolist():
        if event >= 0:
            out[event] = predict(event)
        else:
            learn(~event, float(feed.labels[~event]))
    return out


def _imported(name: str, module: str = "") -> Any:
    package = PACKAGES[name]
    try:
        return importlib.import_module(f"{package}.{module}" if module else package)
    except ImportError:
        raise BelatedError(
            f"replay: {name!r} needs {package}, which is not installed: pip install {package}"
        ) from None


def _vowpal_wabbit(task: Task) -> tuple[Predict, Learn]:
    """Return what predicts and learns with Vowpal Wabbit, on the same coordinates."""
    how, (*_, rows), weights = task.how, task.everything, task.everything.weights
    loss = _LOSSES["vw"][how.loss].format(how.quantile)
    link = "" if how.loss != "logistic" else "--link logistic"
    space = _imported("vw").Workspace(f"--quiet -b 22 --loss_function {loss} {link}")
    signs = how.loss == "logistic"

    def line(t: int) -> str:
        span = slice(rows.indptr[t], rows.indptr[t + 1])
        pairs = zip(rows.indices[span].tolist(), rows.values[span].tolist(), strict=True)
        return "| " + " ".join(f"{i}:{x:.9g}" for i, x in pairs)

    def predict(t: int) -> float:
        value = float(space.predict(line(t)))
        return float(np.exp(value)) if how.loss == "poisson" else value

    def learn(t: int, label: float) -> None:
        label = 2.0 * label - 1.0 if signs else label
        space.learn(f"{label:.9g} {weights[t]:.9g} {line(t)}")

    return predict, learn


def _river(task: Task) -> tuple[Predict, Learn]:
    """Return what predicts and learns with river: scaled numbers, and one feature per text."""
    how, columns, weights = task.how, task.cells, task.everything.weights
    is_even = bool((weights == 1.0).all())
    losses, linear = _imported("river", "optim.losses"), _imported("river", "linear_model")
    compose, scaling = _imported("river", "compose"), _imported("river", "preprocessing")
    loss: Any = {
        "squared": losses.Squared,
        "absolute": losses.Absolute,
        "quantile": lambda: losses.Quantile(how.quantile),
        "huber": lambda: losses.Huber(how.delta),
        "logistic": losses.Log,
    }[how.loss]()
    is_binary = how.loss == "logistic"
    last = linear.LogisticRegression(loss=loss) if is_binary else linear.LinearRegression(loss=loss)
    numeric = [name for name in task.features if columns[name].dtype.kind == "f"]
    scaled = compose.Select(*numeric) | scaling.StandardScaler() if numeric else None
    model = (scaled + compose.Discard(*numeric)) | last if numeric else last

    def features(t: int) -> dict[str, float]:
        cells = ((name, columns[name][t]) for name in task.features)
        return {
            (f"{name}={cell}" if isinstance(cell, str) else name): (
                1.0 if isinstance(cell, str) else float(cell)
            )
            for name, cell in cells
            if cell is not None and cell == cell
        }

    def predict(t: int) -> float:
        if is_binary:
            return float(model.predict_proba_one(features(t)).get(True, 0.5))
        return float(model.predict_one(features(t)))

    def learn(t: int, label: float) -> None:
        known = bool(label) if is_binary else label
        more = {} if is_even else {"w": float(weights[t])}
        model.learn_one(features(t), known, **more)

    return predict, learn


_LOSSES = {
    "vw": {
        "squared": "squared",
        "absolute": "quantile --quantile_tau 0.5",
        "quantile": "quantile --quantile_tau {}",
        "hinge": "hinge",
        "logistic": "logistic",
        "poisson": "poisson",
    },
    "river": dict.fromkeys(("squared", "absolute", "quantile", "huber", "logistic"), ""),
}
"""Losses that each has, and how Vowpal Wabbit calls them."""
