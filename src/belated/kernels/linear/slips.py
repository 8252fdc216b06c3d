"""An early outlier among the first five labels: the model starts again without it.

The first five labels are learned as they are, since nothing is known of their range. The sixth
label allows a comparison (see ``taming``). If one of the five is more than twenty standard
deviations from the mean of the others, base and unit count it at that distance, and everything else
that labels have taught is reset. Standardisers never depend on labels.
"""

from __future__ import annotations

from belated.arrays import Code, Ints
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.linear.censoring import restart_counts
from belated.kernels.linear.experts import reset_expert_losses, unlearn
from belated.kernels.linear.losses import count_label, slipped
from belated.kernels.linear.rows import row_of
from belated.kernels.linear.taming import of_others
from belated.kernels.narrow import count
from belated.kernels.slots import ints as N
from belated.kernels.state import State


@leaf
def note_first(s: State, y: float, weight: float, is_last: bool) -> None:
    """Keep one of the first labels, and how often it counts; 0 for one that may change."""
    f = s.f
    place = lm.FIRST + 2 * int(f[lm.LABELS])
    if place < lm.FIRST + 2 * lm.FIRST_LABELS:
        f[place] = y
        f[place + 1] = weight if is_last else 0.0


@leaf
def look_back(code: Code, s: State, c: Ints, y: float) -> None:
    """With the sixth label, look for a slip among those before it; if there is one, begin anew.

    The first labels are counted again, the slip no farther out than it may be.
    """
    which = slipped(code, s.f, y)
    if which >= 0:
        f = s.f
        f[lm.TAMED] += 1.0
        mean, reach = of_others(f, which, y)
        slip = f[lm.FIRST + 2 * which]
        f[lm.FIRST + 2 * which] = min(max(slip, mean - reach), mean + reach)
        f[lm.COUNT], f[lm.MEAN], f[lm.SPREAD], f[lm.SUM], f[lm.LABELS] = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(lm.FIRST_LABELS):
            count_label(code, f, f[lm.FIRST + 2 * i], f[lm.FIRST + 2 * i + 1])
        for i in range(s.n[N.COORDINATES] + 1):
            row = row_of(c, i)
            if count(row, lm.SEEN) > 0:
                unlearn(row)
        reset_expert_losses(s)
        for k in range(lm.EXPERTS):
            f[lm.SHARE + k] = 1.0 / lm.EXPERTS
        restart_counts(s)
