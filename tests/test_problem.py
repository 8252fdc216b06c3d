"""Problem: checks, the learner it composes, the bound that belongs to it, and the words for it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.problem import BaseName, Feedback, RateName

BALL = bl.Ball(3, 2.0)
CONVEX = bl.Problem(BALL, 1.5, magnitude=2.0)
CURVED = bl.Problem(BALL, 1.5, curvature=0.5, magnitude=2.0)
TIMELINE = bl.Timeline.from_delays([30] * 10 + [2] * 90)

ONE_RATE = bl.rates.DelayAdaptive(1.5)


# --- The value -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"domain": 3, "lipschitz": 1.0}, "Problem: domain must be a belated domain, got 3"),
        ({"lipschitz": 0.0}, "Problem: lipschitz must be positive, got 0.0"),
        ({"lipschitz": float("inf")}, "Problem: lipschitz must be finite"),
        ({"lipschitz": 1.0, "curvature": -0.1}, "Problem: curvature must not be negative"),
        ({"lipschitz": 1.0, "horizon": 0}, "Problem: horizon must be at least 1"),
        ({"lipschitz": 1.0, "horizon": 2.5}, "Problem: horizon must be a whole number"),
        ({"lipschitz": 1.0, "curvature": 0.6}, "inputs contradict: .* exceeds 2 \\* lipschitz"),
    ],
)
def test_checks(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(bl.errors.SpecError, match=message):
        bl.Problem(**{"domain": BALL, **arguments})


# --- The learner ---------------------------------------------------------------------------------

PFTRL = bl.PFTRL(BALL, ONE_RATE)
CLASSICAL = 4.0 / (1.5 * math.sqrt(2.0))
PORTFOLIO = bl.Portfolio(
    [
        bl.PFTRL(BALL, bl.rates.Tight(1.5)),
        bl.OMD(BALL, bl.rates.InverseRoot(CLASSICAL, 1.5)),
        bl.OMD(BALL, bl.rates.InverseRoot(4.0 * CLASSICAL, 1.5)),
        bl.DualAveraging(BALL, bl.rates.Tight(1.5, scale=1.0 / 32.0)),
        bl.DualAveraging(BALL, bl.rates.Tight(1.5, scale=1.0 / 8.0)),
        bl.DualAveraging(BALL, bl.rates.InverseRoot(CLASSICAL, 1.5)),
        bl.DualAveraging(BALL, bl.rates.InverseRoot(16.0 * CLASSICAL, 1.5)),
    ]
)
USER_SET = bl.ConvexSet(3, lambda v: v / max(1.0, float(np.linalg.norm(v))), 2.0)


REFUSED: list[tuple[bl.Problem, dict[str, Any], str]] = [
    (CONVEX, {"feedback": "colour"}, "feedback is one of 'gradient', 'value', 'two-values'"),
    (CONVEX, {"base": "adam"}, "'portfolio', 'leader', 'newton', None, got 'adam'"),
    (CONVEX, {"rate": "gradient", "feedback": "value"}, "rate='gradient' is for gradients of"),
    (CURVED, {"rate": "tight", "feedback": "value"}, "rate='tight' is for gradients of convex"),
    (CONVEX, {"rate": "tight", "feedback": "value", "base": "omd"}, "base='pftrl' only"),
    (CURVED, {"rate": "gradient"}, "rate='gradient' is for gradients of convex losses"),
    (CONVEX, {"base": "portfolio", "rate": "tight"}, "base='portfolio' is for gradients of convex"),
    (CONVEX, {"base": "portfolio", "feedback": "function"}, "base='portfolio' is for gradients"),
    (CONVEX, {"base": "portfolio", "feedback": "value"}, "build a bl.Portfolio by hand"),
    (CURVED, {"base": "portfolio"}, "base='portfolio' is for gradients of convex losses"),
    (bl.Problem(USER_SET, 1.0), {"base": "portfolio"}, "got a ConvexSet; use PFTRL there"),
    (CONVEX, {"base": "leader"}, "base='leader' is for gradients of strongly convex losses"),
    (CURVED, {"base": "leader", "feedback": "function"}, "base='leader' is for gradients of"),
    (CURVED, {"base": "leader", "feedback": "value"}, "or use base='pftrl'"),
    (
        bl.Problem(USER_SET, 1.5, curvature=0.5),
        {"base": "leader"},
        "Leader: .* got a ConvexSet; use PFTRL there",
    ),
    (bl.Problem(BALL, 1.0), {"feedback": "value"}, "needs a bound on the values: give magnitude"),
    (
        bl.Problem(bl.Simplex(3), 1.0, magnitude=1.0),
        {"feedback": "value"},
        "Simplex has no interior",
    ),
]


@pytest.mark.parametrize(("problem", "choice", "message"), REFUSED)
def test_refused_choices(problem: bl.Problem, choice: dict[str, Any], message: str) -> None:
    """All three methods refuse alike."""
    with pytest.raises(bl.errors.SpecError, match=message):
        problem.learner(**choice)
    with pytest.raises(bl.errors.SpecError, match=message):
        problem.bound(TIMELINE, **choice)
    with pytest.raises(bl.errors.SpecError, match=message):
        problem.explain(**choice)


# --- The bound -----------------------------------------------------------------------------------


def test_bound_uses_the_numbers_of_the_learner() -> None:
    """The constants are passed on unchanged, to the same functions anyone can call."""
    bounds = bl.bounds
    same = {"lipschitz": 1.5, "diameter": 4.0}
    assert CONVEX.bound(TIMELINE) == bounds.portfolio(TIMELINE, base=PORTFOLIO)
    assert CONVEX.bound(TIMELINE, base="pftrl") == bounds.corollary_5_3(TIMELINE, **same)
    assert CONVEX.bound(TIMELINE, rate="tight") == bounds.tight(TIMELINE, **same)
    assert CURVED.bound(TIMELINE) == bounds.leader(
        TIMELINE, lipschitz=1.5, diameter=4.0, curvature=0.5
    )
    assert CURVED.bound(TIMELINE, base="omd") == bounds.corollary_5_4(
        TIMELINE, lipschitz=1.5, curvature=0.5, base="omd", diameter=4.0
    )
    known = bl.Problem(BALL, 1.5, magnitude=2.0, horizon=100)
    assert known.bound(TIMELINE, "value") == bounds.corollary_5_7(
        TIMELINE, domain=BALL, lipschitz=1.5, magnitude=2.0, horizon=100
    )
    assert known.bound(TIMELINE, "value") != CONVEX.bound(TIMELINE, "value")


def test_one_way_to_give_up_at_a_time() -> None:
    for ask in (CONVEX.learner, CONVEX.explain, lambda **words: CONVEX.bound(TIMELINE, **words)):
        with pytest.raises(
            bl.errors.SpecError, match="skip=True and deadline=5 both say when to give up"
        ):
            ask(skip=True, deadline=5)
        with pytest.raises(
            bl.errors.SpecError, match="forget=5 is about tickets that were given up on"
        ):
            ask(forget=5)
        with pytest.raises(
            bl.errors.SpecError, match="Deadline: rounds must be at least 0, got -1"
        ):
            ask(deadline=-1)


UNCOVERED: list[tuple[bl.Problem, Feedback, BaseName, bool, RateName, str]] = [
    (CONVEX, "value", "omd", False, "paper", "rest on Lemma 4.2"),
    (CURVED, "two-values", "omd", False, "paper", "rest on Lemma 4.2"),
    (CURVED, "value", "pftrl", True, "paper", "for gradients and not for values"),
    (CURVED, "two-values", "pftrl", True, "paper", "for gradients and not for values"),
]


@pytest.mark.parametrize(("problem", "feedback", "base", "skip", "rate", "why"), UNCOVERED)
def test_heuristics_run_without_a_bound(
    problem: bl.Problem,
    feedback: Feedback,
    base: BaseName,
    skip: bool,
    rate: RateName,
    why: str,
) -> None:
    """A learner without a theorem is available, has no bound, and says so."""
    assert bl.Learner(problem.learner(feedback, base, skip, rate))._player.dim == 3
    with pytest.raises(
        bl.errors.SpecError, match=f"Problem.bound: no theorem covers this: .*{why}"
    ):
        problem.bound(TIMELINE, feedback, base, skip, rate)
    words = problem.explain(feedback, base, skip, rate)
    assert words.startswith("No theorem covers this composition: ")
    assert why in words
    assert words.endswith("It runs, as a heuristic.")


# --- Exp-concave losses --------------------------------------------------------------------------


def test_exp_concave_losses_are_offered_the_newton_step() -> None:
    problem = bl.Problem(bl.Ball(3), lipschitz=2.0, exp_concavity=0.25)
    newton = bl.rivals.DelayedONS(bl.Ball(3), 2.0, 0.25)
    assert problem.learner(base="newton") == newton
    timeline = bl.delays.constant(1000, 5)
    assert problem.bound(timeline, base="newton") == newton.bound(timeline)
    assert problem.explain(base="newton").startswith(
        "The guarantee of the delayed Newton step applies, because the answers are gradients of "
        "exp-concave losses. "
    )
    assert bl.from_json(problem.to_json()) == problem


def test_the_newton_step_is_refused_where_nothing_is_known_of_it() -> None:
    told = bl.Problem(bl.Ball(3), lipschitz=2.0, exp_concavity=0.25)
    with pytest.raises(bl.errors.SpecError, match="give exp_concavity to Problem"):
        bl.Problem(bl.Ball(3), lipschitz=2.0).learner(base="newton")
    with pytest.raises(bl.errors.SpecError, match="base='newton' is for gradients"):
        told.learner("function", base="newton")
    with pytest.raises(bl.errors.SpecError, match="gives up on nothing"):
        told.learner(base="newton", skip=True)
    with pytest.raises(bl.errors.SpecError, match="gives up on nothing"):
        told.bound(bl.delays.constant(10, 1), base="newton", deadline=3)
    with pytest.raises(bl.errors.SpecError, match="exp_concavity must not be negative"):
        bl.Problem(bl.Ball(3), lipschitz=2.0, exp_concavity=-0.1)
