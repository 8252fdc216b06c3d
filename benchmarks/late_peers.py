"""Vowpal Wabbit and river under the same protocol: predict now, learn when the label comes."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.logs.log import Log

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

VW_SETTINGS = {
    "default": "",
    "-l 0.1": "-l 0.1",
    "-l 0.02": "-l 0.02",
    "--coin": "--coin",
    "--sgd -l 0.01": "--sgd -l 0.01",
}
"""Ways to run VW, by the name that they are reported under."""

_UNSAFE = str.maketrans({" ": "_", ":": "_", "|": "_"})  # what VW's text has another use for


def has(package: str) -> bool:
    """Whether a package can be imported."""
    return find_spec(package) is not None


# --- Vowpal Wabbit -------------------------------------------------------------------------------


def workspace(arguments: str = "", *, logistic: bool = False) -> Any:
    """Return a VW that is quiet."""
    vw: Any = importlib.import_module("vowpalwabbit")
    loss = " --loss_function logistic" if logistic else ""
    return vw.Workspace(f"--quiet --no_stdin {arguments}{loss}")


def vw_texts(log: Log) -> list[str]:
    """Return the features of every row in VW's format; what is missing is left out."""
    columns = []
    for name, column in log.features.items():
        cells = column.tolist()
        if column.dtype == object:
            columns.append([f" {name}={cell.translate(_UNSAFE)}" for cell in cells])
        else:
            columns.append([f" {name}:{cell:.9g}" if cell == cell else "" for cell in cells])
    return ["|" + "".join(cells) for cells in zip(*columns, strict=True)]


def vw_labels(target: Floats, *, logistic: bool = False) -> list[str]:
    """Return targets in VW's format."""
    if logistic:
        return ["1" if label > 0.5 else "-1" for label in target.tolist()]
    return [f"{label:.9g}" for label in target.tolist()]


def vw_replay(vw: Any, texts: Sequence[str], labels: Sequence[str], events: Ints) -> Floats:
    """Predict and learn from text, which is parsed for both; return the predictions."""
    found = np.empty(len(texts))
    predict, learn = vw.predict, vw.learn
    for event in events.tolist():
        if event >= 0:
            found[event] = predict(texts[event])
        else:
            learn(f"{labels[~event]} {texts[~event]}")
    return found


def vw_kept(vw: Any, texts: Sequence[str], labels: Sequence[str], events: Ints) -> Floats:
    """The same with examples that are parsed once and kept until the label comes."""
    found = np.empty(len(texts))
    kept: dict[int, Any] = {}
    example, predict, learn, finish = vw.example, vw.predict, vw.learn, vw.finish_example
    for event in events.tolist():
        if event >= 0:
            kept[event] = now = example(texts[event])
            found[event] = predict(now)
        else:
            late = kept.pop(~event)
            late.set_label_string(labels[~event])
            late.unsetup_example()  # without these two, VW does not take notice of the label
            late.setup_example()
            learn(late)
            finish(late)
    return found


# --- river ---------------------------------------------------------------------------------------


def river_regression() -> Any:
    """Return river's linear regression, without anything before it."""
    linear_model: Any = importlib.import_module("river.linear_model")
    return linear_model.LinearRegression()


def river_scaled_regression() -> Any:
    """Return river's linear regression behind a scaler."""
    preprocessing: Any = importlib.import_module("river.preprocessing")
    return preprocessing.StandardScaler() | river_regression()


def river_encoded_regression() -> Any:
    """Return river's linear regression behind an encoder of words and a scaler of numbers."""
    compose: Any = importlib.import_module("river.compose")
    preprocessing: Any = importlib.import_module("river.preprocessing")
    words = compose.SelectType(str) | preprocessing.OneHotEncoder()
    numbers = compose.SelectType(float) | preprocessing.StandardScaler()
    return (words + numbers) | river_regression()


def river_delayed(model: Any, rows: Iterable[tuple[Any, float]], delay: int) -> float:
    """Return the mean squared error of a model in river's own delayed evaluation."""
    evaluate: Any = importlib.import_module("river.evaluate")
    metrics: Any = importlib.import_module("river.metrics")
    found = evaluate.progressive_val_score(rows, model, metrics.MSE(), delay=delay)
    return float(found.get())


def river_live(model: Any, rows: Sequence[Any], labels: Sequence[float], delay: int) -> None:
    """Predict every row, and learn each label ``delay`` rows later."""
    predict, learn = model.predict_one, model.learn_one
    for t, row in enumerate(rows):
        predict(row)
        if t >= delay:
            learn(rows[t - delay], labels[t - delay])
