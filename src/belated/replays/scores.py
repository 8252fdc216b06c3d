"""Other measures of the same predictions: what a loss alone does not tell."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from belated.arrays import Bools, Floats
from belated.models.linear.losses import LOSSES
from belated.replays.labels import Labels
from belated.replays.measures import calibration, calibration_error, mean


def scores(how: Labels, values: Floats, labels: Floats, weights: Floats) -> Mapping[str, float]:
    """Return every measure that these labels have, by name.

    >>> found = scores(Labels(), np.array([1.0, 3.0]), np.array([0.0, 1.0]), np.ones(2))
    >>> {name: round(value, 3) for name, value in found.items()}
    {'RMSE': 1.581, 'MAE': 1.5, 'calibration error': 1.5}
    """
    loss = LOSSES[how.loss]
    if loss.labels.classes is not None:
        return _of_classes(how, values, labels, weights)
    off = values - labels
    found = {
        "RMSE": float(np.sqrt(mean(off * off, weights))),
        "MAE": mean(np.abs(off), weights),
    }
    if how.loss == "quantile":
        found["pinball"] = mean(
            np.maximum(-how.quantile * off, (1.0 - how.quantile) * off), weights
        )
        found["labels below"] = mean((labels <= values).astype(np.float64), weights)
    else:
        found["calibration error"] = calibration_error(calibration(values, labels, weights))
    return found


def _of_classes(
    how: Labels, values: Floats, labels: Floats, weights: Floats
) -> Mapping[str, float]:
    """Return the measures of a yes or no: of chances where those are predicted, or of signs."""
    is_chance = LOSSES[how.loss].link == "probability"
    is_yes = labels > 0.0
    right = (values > (0.5 if is_chance else 0.0)) == is_yes
    found = {
        "AUC": auc(values, is_yes, weights),
        "accuracy": mean(right.astype(np.float64), weights),
    }
    if not is_chance:
        return found
    with np.errstate(divide="ignore"):
        surprise = -np.log(np.where(is_yes, values, 1.0 - values))
    bins = calibration(values, labels, weights)
    return {
        "log loss": mean(surprise, weights),
        **found,
        "calibration error": calibration_error(bins),
    }


def auc(values: Floats, is_yes: Bools, weights: Floats) -> float:
    """Return the chance that a yes is predicted above a no; equal predictions count half.

    NaN where there are only yes or only no.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, False, True, True]), np.ones(4))
    0.875
    """
    _, places = np.unique(values, return_inverse=True)
    yes = np.bincount(places, weights * is_yes)
    no = np.bincount(places, weights * ~is_yes)
    pairs = float(np.sum(yes)) * float(np.sum(no))
    below = np.cumsum(no) - 0.5 * no
    return float(np.sum(yes * below)) / pairs if pairs else float("nan")
