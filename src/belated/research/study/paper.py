"""The paper's algorithm, part by part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from belated import rates
from belated.bases import OMD, PFTRL
from belated.problem import Problem
from belated.reductions import FirstOrder, OnePoint, Reduction, Skip, TwoPoint

Answer = Literal["gradient", "value", "two-values"]


def paper_learner(
    problem: Problem,
    answer: Answer = "gradient",
    *,
    base: type[PFTRL] | type[OMD] = PFTRL,
    rate: Callable[[float], rates.Rate] = rates.DelayAdaptive,
    skip: bool = False,
) -> Reduction | Skip:
    """Return the paper's algorithm for a problem, part by part.

    ``Problem.learner`` returns whatever is good by default; this stays what the theorems are about.
    ``rate`` is for convex losses, those that bend have a rate of their own.

    >>> from belated import Ball
    >>> paper_learner(Problem(Ball(2), lipschitz=1.0))
    FirstOrder(base=PFTRL(domain=Ball(dim=2), rate=rates.DelayAdaptive(lipschitz=1.0)))
    """
    steps = (
        rates.StronglyConvex(problem.curvature, problem.lipschitz)
        if problem.curvature
        else rate(problem.lipschitz)
    )
    inner = _reduced(answer, base(problem.domain, steps), problem)
    return Skip(inner) if skip else inner


def _reduced(answer: Answer, base: PFTRL | OMD, problem: Problem) -> Reduction:
    """Put a base learner into the reduction for such answers."""
    if answer == "gradient":
        return FirstOrder(base)
    if answer == "two-values":
        return TwoPoint(base)
    assert problem.magnitude is not None  # all losses of the studies know their largest value
    return OnePoint(base, problem.magnitude)
