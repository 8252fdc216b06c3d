"""Convex sets to play in: ``Ball``, ``Box``, ``Simplex``, ``L1Ball`` and a user's ``ConvexSet``.

Every set lives in a *chart*: the learner works with y where x = center + scale * y, coordinate by
coordinate, and all radii below are measured in y. Only ``Box`` has a scale other than 1 (its
half-widths), which is the fixed Mahalanobis norm that the proofs allow; a gradient g in x becomes
scale * g in y, and ``lipschitz`` bounds the norm of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from belated.errors import SpecError
from belated.spec import LARGEST, Spec, number, positive, vector, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from belated.core import sets


class Domain(Spec):
    """A closed convex set. See the module for what the numbers mean.

    To add one: a class here, its class in ``core/sets.py``, and what whole games ask of it in
    ``geometry.py``.
    """

    if TYPE_CHECKING:

        @property
        def dim(self) -> int:
            """Number of coordinates, k in the paper."""

        @property
        def diameter(self) -> float:
            """Largest distance between two points of the set, D in the paper."""

        @property
        def inner_radius(self) -> float | None:
            """Radius r of a ball around the centre inside the set; 0: none, None: unknown."""

        @property
        def outer_radius(self) -> float | None:
            """Radius R of a ball around the centre that holds the set; None: unknown."""

        @property
        def center(self) -> Sequence[float]:
            """Centre of the set in x, where a learner starts."""

    def in_chart(self) -> sets.Domain:
        """Return the set as the core sees it."""
        raise SpecError(f"no set of the core is known for {self.kind}")

    @property
    def half_widths(self) -> tuple[float, ...] | None:
        """Scale of the chart per coordinate, or None when it is 1 everywhere."""
        return None

    @property
    def origin(self) -> Sequence[float]:
        """Where the chart begins: x = origin + scale * y."""
        return self.center

    @property
    def size(self) -> float:
        """The one number that a projection in the chart needs."""
        return 1.0


class _BuiltIn(Domain):
    """A set whose projection is compiled."""

    def project(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the point of the set nearest to ``x``."""
        import numpy as np

        who = f"{self.kind}: project takes {self.dim} finite numbers"
        try:
            point = np.array(x)
        except ValueError as error:
            raise SpecError(f"{who}, got {x!r}") from error
        if point.shape != (self.dim,):
            raise SpecError(f"{who}, got shape {point.shape}")
        if point.dtype.kind not in "iuf" or not np.isfinite(point).all():
            raise SpecError(f"{who}, got {x!r}")
        return self._nearest(point.astype(np.float64))

    def _nearest(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the nearest point, found in the chart."""
        import numpy as np

        origin = np.array(self.origin)
        return np.asarray(origin + self.in_chart().nearest(point - origin))


@dataclass(frozen=True, repr=False)
class Ball(_BuiltIn):
    """Euclidean ball {x : |x - center| <= radius}; D = 2 radius, r = R = radius.

    >>> ball = Ball(2, radius=5.0)
    >>> ball.diameter, ball.project([6.0, 8.0])
    (10.0, array([3., 4.]))
    """

    dim: int
    radius: float = 1.0
    center: Sequence[float] = None  # type: ignore[assignment]  # the origin; a tuple afterwards

    def __post_init__(self) -> None:
        """Check the numbers; a missing centre is the origin."""
        dim = whole("Ball", "dim", self.dim)
        object.__setattr__(self, "dim", dim)
        object.__setattr__(self, "radius", positive("Ball", "radius", self.radius))
        object.__setattr__(self, "center", _center("Ball", self.center, dim))
        _check_grid("Ball", max(map(abs, self.center)), self.radius)

    @property
    def diameter(self) -> float:
        """D = 2 radius."""
        return 2.0 * self.radius

    @property
    def inner_radius(self) -> float:
        """The radius itself."""
        return self.radius

    @property
    def outer_radius(self) -> float:
        """The radius itself."""
        return self.radius

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "center": self.center if any(self.center) else None}

    @property
    def size(self) -> float:
        """The radius."""
        return self.radius

    def in_chart(self) -> sets.Domain:
        """Return the ball around 0."""
        from belated.core import sets

        return sets.Ball(self.dim, self.radius)


@dataclass(frozen=True, repr=False)
class Box(_BuiltIn):
    """Product of intervals [low_i, high_i], each measured in its own half-width.

    In the chart the box is [-1, 1]^dim, so D = 2 sqrt(dim), r = 1, R = sqrt(dim), and a price in
    [10, 200] and a timeout in [0.1, 5] are equally far. ``low`` and ``high`` are numbers or
    sequences; ``dim`` repeats numbers, and a sequence of equal numbers is kept as that number.

    >>> box = Box([10.0, 0.1], [200.0, 5.0])
    >>> box.dim, box.project([300.0, 1.0])
    (2, array([200.,   1.]))
    >>> Box(0.0, 1.0, dim=4).diameter
    4.0
    """

    low: float | Sequence[float] | NDArray[np.float64]
    high: float | Sequence[float] | NDArray[np.float64]
    dim: int = None  # type: ignore[assignment]  # filled in below; always an int afterwards

    def __post_init__(self) -> None:
        """Check the numbers and find the dimension."""
        low, high = _side("low", self.low), _side("high", self.high)
        lengths = [len(side) for side in (low, high) if isinstance(side, tuple)]
        given = None if self.dim is None else whole("Box", "dim", self.dim)
        dim = given or (lengths[0] if lengths else 1)
        if dim == 0 or any(length != dim for length in lengths):
            raise SpecError(
                f"Box: low, high and dim must agree and not be empty, got lengths {lengths}"
                + (f" and dim {given}" if given else "")
            )
        object.__setattr__(self, "low", _shortest(low))
        object.__setattr__(self, "high", _shortest(high))
        object.__setattr__(self, "dim", dim)
        for i, (a, b) in enumerate(zip(*self.bounds, strict=True)):
            if not a < b:
                raise SpecError(f"Box: low must be below high, got [{a!r}, {b!r}] at index {i}")
            half = positive("Box", f"half of high - low at index {i}", b / 2.0 - a / 2.0)
            _check_grid("Box", max(abs(a), abs(b)), half)

    @property
    def bounds(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Lower and upper ends, one per coordinate."""
        low, high = self.low, self.high
        return (
            low if isinstance(low, tuple) else (float(low),) * self.dim,  # type: ignore[arg-type]
            high if isinstance(high, tuple) else (float(high),) * self.dim,  # type: ignore[arg-type]
        )

    @property
    def diameter(self) -> float:
        """D = 2 sqrt(dim), in half-widths."""
        return 2.0 * math.sqrt(self.dim)

    @property
    def inner_radius(self) -> float:
        """One half-width."""
        return 1.0

    @property
    def outer_radius(self) -> float:
        """R = sqrt(dim), in half-widths."""
        return math.sqrt(self.dim)

    @property
    def center(self) -> tuple[float, ...]:
        """Middle of every interval."""
        return tuple(a + (b / 2.0 - a / 2.0) for a, b in zip(*self.bounds, strict=True))

    @property
    def half_widths(self) -> tuple[float, ...]:
        """Half of every interval's length."""
        return tuple(b / 2.0 - a / 2.0 for a, b in zip(*self.bounds, strict=True))

    def _arguments(self) -> dict[str, Any]:
        told = isinstance(self.low, tuple) or isinstance(self.high, tuple) or self.dim == 1
        return {"low": self.low, "high": self.high, "dim": None if told else self.dim}

    def _nearest(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """Clip, without rounding through the chart."""
        import numpy as np

        low, high = self.bounds
        return np.minimum(high, np.maximum(low, point))

    def in_chart(self) -> sets.Domain:
        """Return [-1, 1]^dim."""
        from belated.core import sets

        return sets.Box(self.dim)


def _side(name: str, value: Any) -> float | tuple[float, ...]:
    """Return one side of a box as a float or as a tuple of floats."""
    raw = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(raw, list | tuple):
        return vector("Box", name, raw)
    return number("Box", name, raw)


def _shortest(side: float | tuple[float, ...]) -> float | tuple[float, ...]:
    """Return one number for many that are alike, so that equal boxes are equal specs."""
    return side[0] if isinstance(side, tuple) and len(set(side)) == 1 else side


@dataclass(frozen=True, repr=False)
class Simplex(_BuiltIn):
    """Probability vectors {x : x_i >= floor, sum x = 1}.

    ``floor`` keeps the set away from the boundary; entropy steps with a changing rate need it,
    because their divergence is unbounded at 0. The set has no interior, so one-point and two-point
    feedback refuse it: play on a ``Box`` of the first dim - 1 coordinates, or ask for gradients.

    >>> Simplex(3).project([0.9, 0.6, -1.0])
    array([0.65, 0.35, 0.  ])
    """

    dim: int
    floor: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        dim = whole("Simplex", "dim", self.dim, least=2)
        floor = number("Simplex", "floor", self.floor)
        if not 0.0 <= floor < 1.0 / dim:
            raise SpecError(f"Simplex: floor must be in [0, 1/dim = {1 / dim:.6g}), got {floor!r}")
        object.__setattr__(self, "dim", dim)
        object.__setattr__(self, "floor", floor)

    @property
    def diameter(self) -> float:
        """D = sqrt(2) (1 - dim floor), between two corners."""
        return math.sqrt(2.0) * (1.0 - self.dim * self.floor)

    @property
    def inner_radius(self) -> float:
        """Zero: the set has no interior."""
        return 0.0

    @property
    def outer_radius(self) -> float:
        """From the centre to a corner."""
        return math.sqrt(1.0 - 1.0 / self.dim) * (1.0 - self.dim * self.floor)

    @property
    def divergence(self) -> float:
        """Largest Kullback-Leibler divergence that an entropy step meets.

        ln(dim) from the uniform start when floor is 0; otherwise (a - floor) ln(a / floor) with
        a = 1 - (dim - 1) floor, attained between two corners since KL is convex in both arguments.
        """
        if self.floor == 0.0:
            return math.log(self.dim)
        corner = 1.0 - (self.dim - 1) * self.floor
        return (corner - self.floor) * math.log(corner / self.floor)

    @property
    def center(self) -> tuple[float, ...]:
        """The uniform distribution."""
        return (1.0 / self.dim,) * self.dim

    @property
    def origin(self) -> tuple[float, ...]:
        """The origin: floors and sums are counted from there."""
        return (0.0,) * self.dim

    @property
    def size(self) -> float:
        """The floor."""
        return self.floor

    def in_chart(self) -> sets.Domain:
        """Return the simplex itself."""
        from belated.core import sets

        return sets.Simplex(self.dim, self.floor)


@dataclass(frozen=True, repr=False)
class L1Ball(_BuiltIn):
    """Cross-polytope {x : sum |x_i| <= radius}; D = 2 radius, r = radius / sqrt(dim), R = radius.

    >>> L1Ball(2).project([2.0, 0.5])
    array([1., 0.])
    """

    dim: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "dim", whole("L1Ball", "dim", self.dim))
        object.__setattr__(self, "radius", positive("L1Ball", "radius", self.radius))

    @property
    def diameter(self) -> float:
        """D = 2 radius."""
        return 2.0 * self.radius

    @property
    def inner_radius(self) -> float:
        """Radius / sqrt(dim)."""
        return self.radius / math.sqrt(self.dim)

    @property
    def outer_radius(self) -> float:
        """The radius itself."""
        return self.radius

    @property
    def center(self) -> tuple[float, ...]:
        """The origin."""
        return (0.0,) * self.dim

    @property
    def size(self) -> float:
        """The radius."""
        return self.radius

    def in_chart(self) -> sets.Domain:
        """Return the ball itself."""
        from belated.core import sets

        return sets.L1Ball(self.dim, self.radius)


@dataclass(frozen=True, repr=False)
class ConvexSet(Domain):
    """A user's own set, given by its Euclidean projection.

    ``project`` maps a vector to the nearest point of the set. ``diameter`` may be an upper
    bound. A learner starts at ``center`` (the origin unless given) or, if that is not in the set,
    at its projection, which then is the centre. One-point and two-point feedback also need
    ``inner_radius`` and ``outer_radius`` of balls around a ``center`` in the set.

    The function is tried once, when the set is made: it must return finite vectors, leave its own
    points where they are, and go to the nearest point. That cannot show that it is a projection,
    but often that it is none. ``diameter`` and ``outer_radius`` are believed: guarantees count on
    them.

    >>> import numpy as np
    >>> halfball = ConvexSet(2, lambda v: np.maximum(v, 0) / max(1, np.hypot(*np.maximum(v, 0))), 2)
    >>> halfball.project([3.0, -1.0])
    array([1., 0.])
    >>> ConvexSet(2, lambda v: np.clip(v, 100.0, 101.0), 1.5).center
    (100.0, 100.0)
    """

    dim: int
    project: Callable[[NDArray[np.float64]], ArrayLike]
    diameter: float
    inner_radius: float | None = None
    outer_radius: float | None = None
    center: Sequence[float] = None  # type: ignore[assignment]  # the origin; a tuple afterwards

    def __post_init__(self) -> None:
        """Check the numbers, then try the projection and move the centre into the set."""
        dim = whole("ConvexSet", "dim", self.dim)
        diameter = positive("ConvexSet", "diameter", self.diameter)
        object.__setattr__(self, "dim", dim)
        object.__setattr__(self, "diameter", diameter)
        object.__setattr__(self, "center", _center("ConvexSet", self.center, dim))
        if not callable(self.project):
            raise SpecError(f"ConvexSet: project must be a function, got {self.project!r}")
        for name in ("inner_radius", "outer_radius"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, positive("ConvexSet", name, getattr(self, name)))
        inner = self.inner_radius or 0.0
        outer = self.outer_radius or max(inner, diameter)
        if not inner <= outer <= diameter or 2.0 * inner > diameter:
            raise SpecError(
                "ConvexSet: needs 2 inner_radius <= diameter and inner_radius <= outer_radius <= "
                f"diameter, got {self.inner_radius}, {self.outer_radius}, {diameter}"
            )
        self._try_projection()
        _check_grid("ConvexSet", max(map(abs, self.center)), self.diameter)

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "center": self.center if any(self.center) else None}

    def _try_projection(self) -> None:
        """Move the centre into the set, and refuse a function that is shown to be no projection.

        The projection Pa of any a has <a - Pa, x - Pa> <= 0 for all x of the set.
        """
        import numpy as np

        center = np.array(self.center)
        start = self._projected(center)
        step = np.full(self.dim, self.diameter / math.sqrt(self.dim))
        tried = [center, start + step, start - step]
        found = [start, *(self._projected(a) for a in tried[1:])]
        room = _TOLERANCE * self.diameter + _ROUNDING * float(np.abs([*tried, *found]).max())
        for x in found:
            if _distance(again := self._projected(x), x) > room:
                raise SpecError(
                    "ConvexSet: project must leave its own points where they are, but maps "
                    f"{_shown(x)} to {_shown(again)}"
                )
        for a, near in zip(tried, found, strict=True):
            for x in found:
                ways = _distance(a, near) + _distance(x, near)
                if float((a - near) @ (x - near)) > room * ways:
                    raise SpecError(
                        "ConvexSet: project must go to the nearest point of a convex set, but maps "
                        f"{_shown(a)} to {_shown(near)}, though {_shown(x)} is in the set"
                    )
        self._check_inner_ball(center, room)
        object.__setattr__(self, "center", tuple(start.tolist()))

    def _projected(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the user's function makes of a point, as a vector of its own."""
        import numpy as np

        given = self.project(x.copy())
        return np.array(vector("ConvexSet", "what project returns", given, self.dim))

    def _check_inner_ball(self, center: NDArray[np.float64], room: float) -> None:
        """Refuse a ball around the centre that is not in the set; two ends of it are looked at."""
        if self.inner_radius is None:
            return
        for radius in (0.0, self.inner_radius, -self.inner_radius):
            x = center + radius / math.sqrt(self.dim)
            if _distance(self._projected(x), x) > room:
                raise SpecError(
                    f"ConvexSet: the ball of inner_radius {self.inner_radius!r} around center "
                    f"{_shown(center)} must lie in the set, but {_shown(x)} does not; give another "
                    "center or a smaller inner_radius"
                )


_TOLERANCE = 1e-4
"""How far off a user's projection may be, in diameters: some are found step by step."""
_ROUNDING = 1e-12
"""The same next to the largest number involved."""


def _distance(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return math.dist(x, y)


def _shown(x: NDArray[np.float64]) -> str:
    return f"[{', '.join(f'{value:.6g}' for value in x[:4])}{', ...' if x.size > 4 else ''}]"


_FINEST = 2.0**-30
"""How far apart floats may be in a set, as a part of its size: plays are rounded to them."""


def _check_grid(owner: str, far: float, size: float) -> None:
    """Refuse a set so far from 0 that guarantees would be about points which are no floats."""
    if (spacing := math.ulp(far)) > _FINEST * size:
        raise SpecError(
            f"{owner}: a set of size {size!r} is too small at a distance of {far!r} from 0, where "
            f"floats are {spacing:.3g} apart; count from a point nearer to the set"
        )


def _center(owner: str, value: Sequence[float] | None, dim: int) -> tuple[float, ...]:
    """Return a centre as a tuple; a missing one is the origin."""
    center = (0.0,) * dim if value is None else vector(owner, "center", value, dim)
    if any(abs(entry) > LARGEST for entry in center):
        raise SpecError(f"{owner}: center must be within 1e100 to compute with, got {center!r}")
    return center
