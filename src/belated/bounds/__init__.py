"""The paper's guarantees as numbers, each split into what learning costs and what lateness costs.

A function per result. The first argument is a ``Timeline``, the constants are keywords: G is
``lipschitz``, D ``diameter``, lambda ``curvature``, M ``magnitude``; r, R and k come with
``domain``. All are measured in the chart of the set (see ``belated.domains``). T is the number of
rounds, d_tot the total delay, s*_n and d*_n the dual backlog and the dual delay of the n-th
arrival, eta_n the rates, delta_t the smoothing and delta_tot its sum. Results with sums take eta_n,
delta_t and delta'_n (the smoothing of the round in progress at the n-th arrival) from the classes
that learners run on.

Results for gradients hold for every sequence of losses and delays, also for one that depends on the
plays. Those for values bound the mean over exploration directions, for losses and delays that do
not depend on them. Functions of a ``LinearGame`` are about a game that was played.

An answer that never came counts with a delay up to the end of the log, as ``Timeline`` says: it
could not have changed a play if it had come right after the last one.
"""

from __future__ import annotations

from belated.bounds.any_rates import theorem_e_1, theorem_e_2
from belated.bounds.bound import Bound
from belated.bounds.capacity import capacity
from belated.bounds.convex import corollary_5_3, gradient_adaptive, tight
from belated.bounds.curved import corollary_5_4, leader
from belated.bounds.giving_up import Skipping, corollary_6_2, deadline, expiring, skipping
from belated.bounds.portfolio_bound import portfolio
from belated.bounds.recorded import (
    Allowed,
    LinearGame,
    Misalignment,
    lemma_4_2,
    lemma_d_6,
    record_game,
    theorem_4_1,
    theorem_5_2,
    theorem_5_6,
    theorem_d_4,
    theorem_g_2,
)
from belated.bounds.value_feedback import theorem_e_3, theorem_g_5, tight_one_point
from belated.bounds.values import corollary_5_7, corollary_5_8, corollary_g_3, corollary_g_4

__all__ = [
    "Allowed",
    "Bound",
    "LinearGame",
    "Misalignment",
    "Skipping",
    "capacity",
    "corollary_5_3",
    "corollary_5_4",
    "corollary_5_7",
    "corollary_5_8",
    "corollary_6_2",
    "corollary_g_3",
    "corollary_g_4",
    "deadline",
    "expiring",
    "gradient_adaptive",
    "leader",
    "lemma_4_2",
    "lemma_d_6",
    "portfolio",
    "record_game",
    "skipping",
    "theorem_4_1",
    "theorem_5_2",
    "theorem_5_6",
    "theorem_d_4",
    "theorem_e_1",
    "theorem_e_2",
    "theorem_e_3",
    "theorem_g_2",
    "theorem_g_5",
    "tight",
    "tight_one_point",
]
