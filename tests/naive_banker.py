"""Slow, obvious versions of Banker-OMD for arms (Huang, Dai and Huang 2023).

Every saving is kept, with the point that it is at. grad Psi(x)_i = -1 / sqrt(x_i); points z_s are
in the positive orthant, not projected. See ``naive_simplex_rivals`` for the two events.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from naive import Array
from naive_simplex_rivals import Arms, bisect, normalised


def slope(x: Array) -> Array:
    """grad Psi(x)."""
    return np.asarray(-1.0 / np.sqrt(x))


def on_simplex(dual: Array) -> Array:
    """The distribution x with grad Psi(x) = dual + constant: x_i = 1 / (m - dual_i)^2."""
    values: list[float] = (dual - dual.max()).tolist()  # then m is between 1 and sqrt(K)

    def lack(m: float) -> float:
        return 1.0 - math.fsum(1.0 / (m - value) ** 2 for value in values)

    m = bisect(lack, 1.0 - 1e-9, math.sqrt(len(values)) + 1e-9)
    return normalised(np.array([1.0 / (m - value) ** 2 for value in values]))


@dataclass
class Saving:
    """What is left of what a round paid back, and where."""

    amount: float
    at: Array


class NaiveBankerTINF(Arms):
    """Section 7.7, Banker-TINF: 1 / c_t = 1 / sqrt(t) + sigma_t sqrt(ln(S_t + 1) / S_t)."""

    def __init__(self, *, arms: int, seed: int = 0) -> None:
        super().__init__(arms=arms, seed=seed)
        self.savings: list[Saving] = []
        self.waiting: list[int] = []  # per ticket: sigma_t
        self.scales: list[float] = []  # per ticket: c_t
        self.borrowed: list[float] = []  # per ticket: b_t

    def new_scale(self, ticket: int) -> float:
        inverse = 1.0 / math.sqrt(ticket + 1)
        total = sum(self.waiting)
        if self.waiting[-1]:
            inverse += self.waiting[-1] * math.sqrt(math.log(total + 1) / total)
        return 1.0 / inverse

    def distribution(self, ticket: int) -> Array:
        """Spend savings in proportion, borrow the rest at the uniform distribution."""
        self.waiting.append(len(self.open_tickets()))
        scale = self.new_scale(ticket)
        have = math.fsum(saving.amount for saving in self.savings)
        spent = [saving.amount * min(have, scale) / have for saving in self.savings]
        rest = max(0.0, scale - have)
        dual = rest * slope(np.full(self.dim, 1.0 / self.dim))
        for share, saving in zip(spent, self.savings, strict=True):
            dual = dual + share * slope(saving.at)
            saving.amount -= share
        if have <= scale:
            self.savings = []
        self.scales.append(scale)
        self.borrowed.append(rest)
        return on_simplex(dual / scale)

    def save(self, ticket: int, estimate: Array) -> None:
        """v_s = c_s at z_s with grad Psi(z_s) = grad Psi(x_s) - lhat_s / c_s."""
        scale = self.scales[ticket]
        dual = slope(self.distributions[ticket]) - estimate / scale
        self.savings.append(Saving(scale, 1.0 / dual**2))

    def learn(self, ticket: int, answer: float) -> None:
        """Save what the round had invested, moved by its loss."""
        super().learn(ticket, answer)
        self.save(ticket, self.estimates[-1])

    def cancel(self, ticket: int) -> None:
        """Save what the round had invested, as after a loss of 0."""
        super().cancel(ticket)
        self.save(ticket, np.zeros(self.dim))


def bound_banker(learner: NaiveBankerTINF, ranges: list[float] | None = None) -> float:
    """(2 sqrt(K) - 2) sum b_t + sqrt(K) sum Lhat_t^2 / c_t; Lhat_t = 1 for losses in [0, 1]."""
    root, believed = math.sqrt(learner.dim), ranges or [1.0] * len(learner.scales)
    paid = math.fsum(m**2 / c for m, c in zip(believed, learner.scales, strict=True))
    return (2.0 * root - 2.0) * math.fsum(learner.borrowed) + root * paid
