"""Delayed online gradient descent: one step per gradient, in order of arrival."""

from __future__ import annotations

from dataclasses import dataclass

from belated.rivals.descent import Tuned


@dataclass(frozen=True, repr=False)
class DelayedOGD(Tuned, module="rivals"):
    """Delayed online gradient descent: for each arriving gradient y = Pi_K(y - eta g).

    The newest y is played. eta = D / (G sqrt(T + 2 d_tot)), G bounds the gradients, D is the
    diameter of the set.
    Guarantee: regret <= D^2 / (2 eta) + eta G^2 (T / 2 + d_tot) = G D sqrt(T + 2 d_tot). In their
    paper it is the learner inside a method for moving targets, with other step sizes.
    Reference: Wan, Yao, Song and Zhang, "Non-stationary online convex optimization with
    arbitrary delays", ICML 2024.

    >>> from belated import Ball
    >>> DelayedOGD(Ball(3), lipschitz=1.0, rounds=100, total_delay=22).step
    0.16666666666666666
    """

    title = "Delayed OGD"
    reference = "Wan, Yao, Song and Zhang 2024"
    guarantee = "G D sqrt(T + 2 d_tot)"
