"""The step that a composition takes, its size, and the norm that goes with it."""

from __future__ import annotations

from belated.kernels.choices import switch
from belated.kernels.learners import leader, portfolio
from belated.kernels.learners.bases import (
    dual_averaging_step,
    entropy_step,
    euclidean_norm,
    largest_entry,
    omd_step,
    pftrl_step,
)
from belated.kernels.learners.rates import RATES
from belated.kernels.parts import Part, Parts
from belated.kernels.slots import code as C
from belated.kernels.slots import kinds as K

# ``step``: z_{n+1} out of z_n, a cost, a step size and the norm of the cost. ``norm``: the dual
# norm of a cost. ``hear_nothing``: what a cost of zero does to a base that hears of it.
BASES = Parts(
    "base",
    Part("PFTRL", K.PFTRL, step=pftrl_step, norm=euclidean_norm),
    Part("OMD", K.OMD, step=omd_step, norm=euclidean_norm),
    Part("OMD, entropy", K.ENTROPY, step=entropy_step, norm=largest_entry),
    Part("a user's base", K.USER_BASE),  # in the core only
    Part(
        "Portfolio",
        4,
        step=portfolio.step,
        norm=euclidean_norm,
        hear_nothing=portfolio.hear_nothing,
    ),
    Part("DualAveraging", K.DUAL_AVERAGING, step=dual_averaging_step, norm=euclidean_norm),
    Part("Leader", 6, step=leader.step, norm=euclidean_norm),
)
step = switch(C.BASE, BASES.choices("step"))
size_of = switch(C.BASE, BASES.choices("norm"))
hear_nothing = switch(C.BASE, BASES.choices("hear_nothing"))
step_size = switch(
    C.RATE, {**RATES.choices("size"), RATES.code("rates.Mixed"): portfolio.step_sizes}
)
