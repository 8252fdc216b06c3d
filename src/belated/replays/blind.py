"""AdaGrad that knows nothing of delays: what one gets by feeding late labels to a textbook method.

    w_i -= a g_i / sqrt(sum of g_i^2),    g_i = x_i l'(p_t, y_t)

for every coordinate i of ticket t when its label y_t comes, where p_t is the prediction that was
made for it, however long ago: the gradient is used as if it were that of the current weights.
Reference: Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic
optimization", JMLR 2011.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from belated.arrays import Floats, Ints
from belated.kernels.jit import entry
from belated.kernels.linear.losses import link, slope
from belated.kernels.stamps import stamp
from belated.linear import LinearModel, Rows

_FLOATS, _INTS = "float64[::1]", "int64[::1]"
_SIGNATURE = (
    f"void({_FLOATS}, {_FLOATS}, {_FLOATS}, float64, {_INTS}, {_INTS}, {_INTS}, {_FLOATS}, "
    f"{_FLOATS}, {_FLOATS}, {_FLOATS}, {_FLOATS})"
)
CHUNK = 250_000
"""Events between two chances to interrupt."""

Loop = Callable[..., None]


@functools.cache
def _loop(kind: int) -> Loop:
    """Return the compiled loop over events, for one loss; the last coordinate is the bias."""
    code = (kind, stamp(link.__module__))

    def ada_grad(
        f: Floats,
        weights: Floats,
        sums: Floats,
        scale: float,
        events: Ints,
        indptr: Ints,
        indices: Ints,
        values: Floats,
        labels: Floats,
        counts: Floats,
        margins: Floats,
        out: Floats,
    ) -> None:
        bias = weights.size - 1
        for event in events:
            t = event if event >= 0 else ~event
            begin, end = indptr[t], indptr[t + 1]
            if event >= 0:
                margin = weights[bias]
                for j in range(begin, end):
                    margin += weights[indices[j]] * values[j]
                margins[t] = margin
                out[t] = link(code, margin)
                continue
            g = counts[t] * slope(code, f, margins[t], labels[t])
            for j in range(begin, end + 1):
                i = indices[j] if j < end else bias
                part = g * values[j] if j < end else g
                sums[i] += part * part
                if sums[i] > 0.0:
                    weights[i] -= scale * part / math.sqrt(sums[i])

    return entry(ada_grad, _SIGNATURE)


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
    f = model.settings.header()
    size = (1 << model.settings.bits) + 1
    weights, sums = np.zeros(size), np.zeros(size)
    margins, out = np.zeros(len(labels)), np.zeros(len(labels))
    loop = _loop(model.settings.kind)
    for start in range(0, len(events), CHUNK):
        part = np.ascontiguousarray(events[start : start + CHUNK])
        loop(f, weights, sums, scale, part, *rows, labels, counts, margins, out)
        progress(start + len(part))
    return out


def in_units(rows: Rows, bits: int) -> Rows:
    """Return the rows with every coordinate divided by its largest size in the whole log.

    This is more than a method could know when it begins, and in its favour.
    """
    largest = np.zeros(1 << bits)
    np.maximum.at(largest, rows.indices, np.abs(rows.values))
    return rows._replace(values=rows.values / np.maximum(largest[rows.indices], 1e-300))
