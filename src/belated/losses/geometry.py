"""How far things reach in a domain: what it contributes to the constants of the losses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, cast

from belated.domains import Box, Domain, L1Ball, Simplex

if TYPE_CHECKING:
    from belated.arrays import Floats


class Spread(NamedTuple):
    """For some rounds, how large a_t is and what <a_t, x> can be; one entry per round."""

    norm: Floats
    """|a_t| in the chart."""
    low: Floats
    """Smallest <a_t, x> over the domain."""
    high: Floats
    """Largest <a_t, x> over the domain."""
    target: Floats
    """b_t."""


def chart_scales(domain: Domain) -> Floats:
    """Return the scale of the chart per coordinate."""
    import numpy as np

    return np.ones(domain.dim) if domain.half_widths is None else np.array(domain.half_widths)


def _round(domain: Domain) -> tuple[Floats, float]:
    """Return centre and radius of a ball that holds the set."""
    import numpy as np

    return np.array(domain.center), float(domain.outer_radius or domain.diameter)


def _range(domain: Domain, vectors: Floats) -> tuple[Floats, Floats]:
    """Return the smallest and the largest <a, x> over the domain, for every row a."""
    import numpy as np

    if isinstance(domain, Box):
        low, high = vectors * domain.bounds[0], vectors * domain.bounds[1]
        return np.minimum(low, high).sum(axis=1), np.maximum(low, high).sum(axis=1)
    if isinstance(domain, Simplex):
        base, free = domain.floor * vectors.sum(axis=1), 1.0 - domain.dim * domain.floor
        return base + free * vectors.min(axis=1), base + free * vectors.max(axis=1)
    if isinstance(domain, L1Ball):
        reach = domain.radius * np.abs(vectors).max(axis=1)
        return -reach, reach
    center, radius = _round(domain)
    middle, reach = vectors @ center, radius * np.linalg.norm(vectors, axis=1)
    return middle - reach, middle + reach


def farthest(domain: Domain, points: Floats, weights: Floats) -> Floats:
    """Return the largest |weights * (x - a)| over the domain, for every row a.

    A convex function is largest at an extreme point. Only a box may have weights other than 1.
    """
    import numpy as np

    if isinstance(domain, Box):
        low, high = (np.abs(points - side) for side in domain.bounds)
        return cast("Floats", np.linalg.norm(weights * np.maximum(low, high), axis=1))
    if isinstance(domain, Simplex):
        base, free = domain.floor - points, 1.0 - domain.dim * domain.floor
        gain = free * (2.0 * base.max(axis=1) + free)
        return cast("Floats", np.sqrt((base * base).sum(axis=1) + gain))
    if isinstance(domain, L1Ball):
        gain = domain.radius * (2.0 * np.abs(points).max(axis=1) + domain.radius)
        return cast("Floats", np.sqrt((points * points).sum(axis=1) + gain))
    center, radius = _round(domain)
    return cast("Floats", np.linalg.norm(points - center, axis=1) + radius)


def extent(domain: Domain) -> float:
    """Return the largest |x| over the domain."""
    import numpy as np

    return float(farthest(domain, np.zeros((1, domain.dim)), np.ones(domain.dim))[0])


def widest(domain: Domain) -> float:
    """Return the largest sum of |x_i| over the domain."""
    import numpy as np

    if isinstance(domain, Box):
        return float(np.abs(domain.bounds).max(axis=0).sum())
    if isinstance(domain, Simplex):
        return 1.0
    if isinstance(domain, L1Ball):
        return domain.radius
    center, radius = _round(domain)
    return float(np.abs(center).sum() + radius * math.sqrt(domain.dim))


def exact_spread(domain: Domain, vectors: Floats, targets: Floats) -> Spread:
    """Return the spread of known rounds."""
    import numpy as np

    norm = cast("Floats", np.linalg.norm(vectors * chart_scales(domain), axis=1))
    return Spread(norm, *_range(domain, vectors), targets)


def both_signs(norm: float, reach: float, target: float) -> Spread:
    """Return the spread of rounds of which only bounds are known."""
    import numpy as np

    ones = np.ones(2)
    return Spread(norm * ones, -reach * ones, reach * ones, target * np.array([1.0, -1.0]))
