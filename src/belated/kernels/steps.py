"""The step that a composition takes, and its size: everything that ``code`` can choose."""

from __future__ import annotations

from belated.kernels import bases, leader, portfolio, schedules
from belated.kernels import layout as at
from belated.kernels.jit import switch

# z_{n+1} out of z_n; what a user must do is left waiting.
step = switch(
    at.BASE,
    {
        at.PFTRL: bases.pftrl_step,
        at.OMD: bases.omd_step,
        at.ENTROPY: bases.entropy_step,
        at.OUTSIDE: bases.wait_for_base,
        at.PORTFOLIO: portfolio.step,
        at.DUAL_AVERAGING: bases.dual_averaging_step,
        at.LEADER: leader.step,
    },
)

# eta_n for the arrival just counted; 0 means: do not move.
step_size = switch(
    at.RATE,
    {
        at.DELAY_ADAPTIVE: schedules.delay_adaptive,
        at.TIGHT: schedules.tight,
        at.GRADIENT_ADAPTIVE: schedules.gradient_adaptive,
        at.CURVED: schedules.curved,
        at.CONSTANT_RATE: schedules.constant,
        at.TABLE: schedules.table,
        at.NO_RATE: schedules.no_step,
        at.ROOT: schedules.root,
        at.MIXED: portfolio.step_sizes,
    },
)
