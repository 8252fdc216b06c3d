"""How a ``Chooser`` turns predicted rewards into probabilities.

With K actions, predicted rewards r_a and b the action with the largest:

    GapWeighted   p_a = 1 / (K + gamma (r_b - r_a) / S) for a != b, and what is left for b
    Uniform       p_a = share / K for a != b, and what is left for b
    Greedy        p_b = 1

While nothing tells the actions apart every one has 1 / K. A ``floor`` mixes with that: every
probability is at least ``floor``, or 1 / K where that is less.
"""

from __future__ import annotations

from dataclasses import dataclass

from belated.errors import SpecError
from belated.spec import Spec, positive

__all__ = ["GapWeighted", "Greedy", "Uniform"]


class Exploration(Spec):
    """A rule of exploration.

    To add one: a class here, one in ``core/decisions.py`` that computes, and a line of ``rule_of``
    in ``models/chooser/settings.py``.
    """

    trial: float = 0.0
    """Share of the choices that goes to new actions."""


@dataclass(frozen=True, repr=False)
class GapWeighted(Exploration, module="explore"):
    """Inverse gap weighting, the default: the worse an action seems, the less it is tried.

    gamma = ``growth`` sqrt(t) in round t of those that the chooser played itself, and S is the
    standard deviation of the rewards so far, so
    that nothing depends on their unit. Whatever way the predictions were learned, a round costs at
    most 2 (K - 1) / gamma + gamma / 4 times the squared error of the prediction (in units of S), in
    expectation; docs/decisions.md has the proof.

    Actions that are new, with fewer than 10 rewards heard and 100 choices, have ``trial`` of all
    choices among them: with silence they seem worthless until the first reward comes.

    After N. Abe and P. M. Long, "Associative reinforcement learning using linear probabilistic
    concepts" (1999), and D. J. Foster and A. Rakhlin, "Beyond UCB" (2020).

    >>> GapWeighted(growth=10)
    explore.GapWeighted(growth=10.0)
    """

    growth: float = 40.0
    floor: float = 0.0
    trial: float = 0.1

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "trial", _share("explore.GapWeighted: trial", self.trial))
        object.__setattr__(self, "growth", positive("explore.GapWeighted", "growth", self.growth))
        object.__setattr__(self, "floor", _share("explore.GapWeighted: floor", self.floor))


@dataclass(frozen=True, repr=False)
class Uniform(Exploration, module="explore"):
    """The best one, but in a share of the rounds any action (known as epsilon-greedy).

    >>> Uniform(share=0.1)
    explore.Uniform(share=0.1)
    """

    share: float = 0.05
    floor: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "share", _share("explore.Uniform: share", self.share))
        object.__setattr__(self, "floor", _share("explore.Uniform: floor", self.floor))


@dataclass(frozen=True, repr=False)
class Greedy(Exploration, module="explore"):
    """Always the action that seems best. It may never find out that another one is better.

    >>> Greedy()
    explore.Greedy()
    """

    floor: float = 0.0

    def __post_init__(self) -> None:
        """Check the number."""
        object.__setattr__(self, "floor", _share("explore.Greedy: floor", self.floor))


def _share(name: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0:
        return float(value)
    raise SpecError(f"{name} must be from 0 to 1, got {value!r}")
