"""AdaGrad that knows nothing of delays: what one gets by feeding late labels to a textbook method.

    w_i -= a g_i / sqrt(sum of g_i^2),    g_i = x_i l'(p_t, y_t)

for every coordinate i of ticket t when its label y_t comes, where p_t is the prediction that was
made for it, however long ago: the gradient is used as if it were that of the current weights.
Reference: Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic
optimization", JMLR 2011.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from belated.arrays import Floats, Ints
from belated.core.linear import Replay, run_ada_grad
from belated.models.linear import LinearModel, Rows

CHUNK = 250_000
"""Events between two chances to interrupt."""


def ada_grad(
    model: LinearModel,
    rows: Rows,
    labels: Floats,
    counts: Floats,
    events: Ints,
    scale: float,
    progress: Callable[[int], None],
) -> Floats:
    """Return what AdaGrad predicts, by ticket; loss and size are those of ``model``."""
    loss = model.settings.loss_of_labels()
    size = (1 << model.settings.bits) + 1
    weights, sums = np.zeros(size), np.zeros(size)
    none = np.zeros(1)
    log = Replay(model._linear, events, rows, labels, counts, 0, none, none)
    for start in range(0, len(events), CHUNK):
        end = min(start + CHUNK, len(events))
        run_ada_grad(loss, scale, log, weights, sums, start, end)
        progress(end)
    found: Floats = log.predictions
    return found


def in_units(rows: Rows, bits: int) -> Rows:
    """Return the rows with every coordinate divided by its largest size in the whole log.

    This is more than a method could know when it begins, and in its favour.
    """
    largest = np.zeros(1 << bits)
    np.maximum.at(largest, rows.indices, np.abs(rows.values))
    return rows._replace(values=rows.values / np.maximum(largest[rows.indices], 1e-300))
