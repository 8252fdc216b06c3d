"""The step that a composition takes, and its size: everything that ``code`` can choose."""

from __future__ import annotations

from belated.kernels.jit import switch
from belated.kernels.learners import bases, leader, portfolio, schedules
from belated.kernels.slots import code as C
from belated.kernels.slots import kinds as K

# z_{n+1} out of z_n; what a user must do is left waiting.
step = switch(
    C.BASE,
    {
        K.PFTRL: bases.pftrl_step,
        K.OMD: bases.omd_step,
        K.ENTROPY: bases.entropy_step,
        K.OUTSIDE: bases.wait_for_base,
        K.PORTFOLIO: portfolio.step,
        K.DUAL_AVERAGING: bases.dual_averaging_step,
        K.LEADER: leader.step,
    },
)

# What a cost of zero does to a base that hears of it.
hear_nothing = switch(
    C.BASE, {K.OUTSIDE: bases.wait_for_nothing, K.PORTFOLIO: portfolio.hear_nothing}
)

# eta_n for the arrival just counted; 0 means: do not move.
step_size = switch(
    C.RATE,
    {
        K.DELAY_ADAPTIVE: schedules.delay_adaptive,
        K.TIGHT: schedules.tight,
        K.GRADIENT_ADAPTIVE: schedules.gradient_adaptive,
        K.CURVED: schedules.curved,
        K.CONSTANT_RATE: schedules.constant,
        K.TABLE: schedules.table,
        K.NO_RATE: schedules.no_step,
        K.ROOT: schedules.root,
        K.MIXED: portfolio.step_sizes,
    },
)
