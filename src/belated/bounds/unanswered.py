"""The largest cost of a round without an answer, in the chart of the set."""

from __future__ import annotations


def worst_round(lipschitz: float, diameter: float, curvature: float = 0.0) -> float:
    """Return the most that one play can lose to another: max over d <= D of G d - lambda d^2 / 2.

    For a loss that is lambda-strongly convex with gradients of at most G,
    f(x) - f(u) <= <grad f(x), x - u> - (lambda / 2) |x - u|^2. Without curvature this is G D.

    >>> worst_round(1.0, 2.0), worst_round(1.0, 2.0, 0.25), worst_round(1.0, 2.0, 1.0)
    (2.0, 1.5, 0.5)
    """
    if curvature * diameter <= lipschitz:
        return lipschitz * diameter - 0.5 * curvature * diameter**2
    return 0.5 * lipschitz**2 / curvature


def stand_in(curvature: float, outer_radius: float) -> float:
    """Return the most that the loss (lambda / 2) |y|^2 can lose at one point to another.

    It stands in for the loss of a round that is given up on; R bounds |y|, and 0 is a point of the
    set. Together with ``worst_round`` that is at most G D, if lambda D <= 2 G and R is at most
    (sqrt(3) / 2) D, as on every built-in set.

    >>> worst_round(1.0, 2.0, 1.0) + stand_in(1.0, 1.0)
    1.0
    """
    return 0.5 * curvature * outer_radius**2
