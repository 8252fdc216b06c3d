"""From predicted rewards to probabilities, and from probabilities to one action."""

from __future__ import annotations

import math

from belated.arrays import Floats, Ints
from belated.kernels.choices import select
from belated.kernels.directions import philox
from belated.kernels.jit import leaf
from belated.kernels.parts import Part, Parts

STREAM = 32  # second word of the counter, beside those of directions and generated losses
_WORD = 0xFFFFFFFF


@leaf
def best_of(scores: Floats) -> int:
    """Return the first action with the largest predicted reward."""
    best = 0
    for a in range(1, scores.size):
        if scores[a] > scores[best]:
            best = a
    return best


@leaf
def _worst_of(scores: Floats) -> float:
    """Return the smallest predicted reward."""
    worst = scores[0]
    for a in range(1, scores.size):
        worst = min(worst, scores[a])
    return worst


@leaf
def _gap_weighted(amount: float, gap: float, actions: int, spread: float, rounds: int) -> float:
    """1 / (K + g sqrt(t) gap / S)."""
    return 1.0 / (actions + amount * math.sqrt(rounds + 1.0) * gap / spread)


@leaf
def _uniform(amount: float, gap: float, actions: int, spread: float, rounds: int) -> float:
    """share / K."""
    return amount / actions


@leaf
def _greedy(amount: float, gap: float, actions: int, spread: float, rounds: int) -> float:
    """0."""
    return 0.0


RULES = Parts(
    "exploration",
    Part("explore.GapWeighted", 0, share=_gap_weighted),
    Part("explore.Uniform", 1, share=_uniform),
    Part("explore.Greedy", 2, share=_greedy),
)
"""Rules of exploration, by their specs: what an action gets that is not the best one."""
_share_of = select(RULES.choices("share"), "amount, gap, actions, spread, rounds", "math.nan")


@leaf
def weigh(
    rule: int,
    amount: float,
    floor: float,
    scores: Floats,
    spread: float,
    rounds: int,
    probabilities: Floats,
) -> None:
    """Write the probability of every action.

    ``spread`` is S, the standard deviation of the rewards so far, and ``rounds`` the choices so
    far. Where S is 0 or all scores are equal, every action has the same.
    """
    actions = scores.size
    best = best_of(scores)
    if not (spread > 0.0 and scores[best] > _worst_of(scores)):
        for a in range(actions):
            probabilities[a] = 1.0 / actions
        return
    left = 1.0
    for a in range(actions):
        if a != best:
            gap = scores[best] - scores[a]
            p = _share_of(rule, amount, gap, actions, spread, rounds)
            probabilities[a] = p
            left -= p
    probabilities[best] = left
    least = min(floor, 1.0 / actions)
    if least > 0.0:
        for a in range(actions):
            probabilities[a] = least + (1.0 - actions * least) * probabilities[a]


@leaf
def try_new(probabilities: Floats, new: Ints, trial: float) -> None:
    """Give the actions that are new a share ``trial`` among them, out of what all have."""
    for a in range(probabilities.size):
        probabilities[a] *= 1.0 - trial
    for j in range(new.size):
        probabilities[new[j]] += trial / new.size


@leaf
def pick(probabilities: Floats, ticket: int, low: int, high: int) -> int:
    """Return an action drawn with these probabilities: a function of (seed, ticket) and of them."""
    t = int(ticket)
    w0, w1, _, _ = philox(t - t, t - t + STREAM, t & _WORD, (t >> 32) & _WORD, low, high)
    u = ((w0 >> 5) * 67108864.0 + (w1 >> 6)) * 1.1102230246251565e-16  # 53 bits, in [0, 1)
    total = 0.0
    last = 0
    for a in range(probabilities.size):
        if probabilities[a] > 0.0:
            total += probabilities[a]
            last = a
            if u < total:
                return a
    return last
