"""Worlds for knobs: what settings cost in expectation, and how noisily and how late that is heard.

A setting is x in [-1, 1]^k. With the best one c_t and z = x - c_t, a round costs this much more
than the best at that time, in expectation:

    quadratic  1/2 sum z_i^2                  kinked     1/2 sum |z_i|
    steep      sum (e^(3 z_i) - 1 - 3 z_i)/9  valley     1/2 z' H z
    bent       1/8 z_1^2 + 2 (z_2 - z_1^2)^2  basins     min(1/2 |z|^2, 3/50 + 1/4 |x - e|^2)
    sale       best - sum p_i P(sale at p_i)  quartic    1/2 sum z_i^4
    edge       1/4 sum (1 - s_i x_i)          ripple     1/2 sum z_i^2 + 1/20 sum sin^2(3 pi z_i)
    cliff      1/4 sum |z_i|, and 1/2 beyond  bump       1 - exp(-4 |z|^2)
    idle       1/2 z_1^2, whatever the others

The eigenvalues of H go from 1 to 1/100; e is the mirror image of c, s_i is 1 or -1, and the cliff
is at z_1 = 0.15. Prices are p = (x + 1.2) / 2.2, and each sells with probability
1 / (1 + exp(3 x - m_i)), independently of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

import numpy as np

from belated.arrays import Floats, Ints
from belated.errors import SpecError
from belated.research.worlds.rounds import AT_ONCE, Lateness

Seen = Literal["quadratic", "kinked", "steep", "valley", "bent", "basins", "sale"]
Unseen = Literal["quartic", "edge", "ripple", "cliff", "bump", "idle"]
"""Shapes that no constant of a learner was chosen by."""
Shape = Seen | Unseen
Motion = Literal["still", "drift", "switch", "walk", "turn"]
Errors = Literal["normal", "heavy", "growing", "lasting"]

_REACH = 0.5
"""How far from the middle the best setting is at most, in every coordinate."""
_PRICES = np.linspace(-1.0, 1.0, 2001)


class Ground(NamedTuple):
    """Rounds of a surface for several seeds at once; every array has an axis for them.

    >>> ground = Surface(rounds=5).drawn([0, 1])
    >>> ground.excess(0, ground.best[0])
    array([0., 0.])
    """

    surface: Surface
    best: Floats
    """The best setting in every round: rounds, seeds, knobs."""
    turned: Floats
    """The matrix H of a valley: seeds, knobs, knobs."""
    likings: Floats
    """m of prices, and the signs s of edges: seeds, knobs."""
    least: Floats
    """What prices cost at best: seeds."""
    level: Floats
    """What is added to all costs of a round."""
    errors: Floats
    """Rounds, seeds."""
    chances: Floats
    """Of sales: rounds, seeds, knobs."""
    delays: Ints
    """Rounds until a cost is heard, 2^62 for never: rounds, seeds."""

    def excess(self, t: int, x: Floats) -> Floats:
        """Return what settings cost more than the best in round t, one row for every seed."""
        return _SHAPES[self.surface.shape](self, x, x - self.best[t])

    def heard(self, t: int, x: Floats, excess: Floats) -> Floats:
        """Return the costs that will be heard, the same errors whatever the settings."""
        level = self.level[t]
        if self.surface.shape == "sale":
            sold = self.chances[t] < _sells(x, self.likings)
            return np.asarray(level - (_price(x) * sold).sum(axis=1))
        errors = self.errors[t]
        if self.surface.errors == "growing":
            errors = errors * (1.0 + 4.0 * excess)
        return np.asarray(excess + level + errors)


@dataclass(frozen=True)
class Surface:
    """What settings of knobs cost.

    ``motion`` says how the best setting moves: "still"; "drift", one slow circle in every 10,000
    rounds; "switch", to another place in every fourth of the rounds; "walk", at random;
    "turn", to and fro in 2,000 rounds. ``season`` is how far the level of all costs swings, in
    1,000 rounds. ``errors`` are "normal" with deviation ``noise``; "heavy", Student's with 2
    degrees of freedom; "growing" with the cost; or "lasting", each 0.99 of the one before. Sales
    have chance in them and no other errors.

    >>> world = Surface("kinked", knobs=1, rounds=100, lateness=Lateness(20))
    >>> world.drawn([0, 1, 2]).delays.shape
    (100, 3)
    """

    shape: Shape = "quadratic"
    knobs: int = 2
    rounds: int = 10_000
    noise: float = 0.05
    errors: Errors = "normal"
    motion: Motion = "still"
    season: float = 0.0
    lateness: Lateness = AT_ONCE

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name, known in (("shape", _SHAPES), ("errors", _ERRORS), ("motion", _MOTIONS)):
            if getattr(self, name) not in known:
                raise SpecError(f"Surface: no {name} {getattr(self, name)!r}")
        if self.shape == "bent" and self.knobs != 2:
            raise SpecError(f"Surface: a bent valley has 2 knobs, got {self.knobs}")

    def drawn(self, seeds: Sequence[int]) -> Ground:
        """Return rounds for all seeds; those of a seed do not depend on the others."""
        all_of = [self._drawn_one(seed) for seed in seeds]
        parts = zip(*all_of, strict=True)
        best, turned, likings, least, errors, chances, delays = (
            np.stack(part, axis=axis) for part, axis in zip(parts, _AXES, strict=True)
        )
        best = np.broadcast_to(best, (self.rounds, *best.shape[1:]))
        level = self.season * np.sin(2.0 * np.pi * np.arange(self.rounds) / 1000.0)
        return Ground(self, best, turned, likings, least, level, errors, chances, delays)

    def _drawn_one(self, seed: int) -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng([11, seed])
        k, rounds = self.knobs, self.rounds
        best = _MOTIONS[self.motion](rng.uniform(-_REACH, _REACH, size=(8, k)), rng, rounds)
        basis = np.linalg.qr(rng.normal(size=(k, k)))[0]
        turned = (basis * np.geomspace(1.0, 0.01, k)) @ basis.T
        likings = rng.uniform(-1.0, 1.0, size=k)
        least = np.zeros(())
        if self.shape == "basins":
            best = np.where(best < 0.0, -0.25, 0.25) + 0.5 * best
        elif self.shape == "edge":
            likings = np.where(likings < 0.0, -1.0, 1.0)
            best = likings[None, :]
        elif self.shape == "sale":
            likings += 0.5
            revenue = _price(_PRICES)[:, None] * _sells(_PRICES[:, None], likings)
            best = _PRICES[revenue.argmax(axis=0)][None, :]
            least = -revenue.max(axis=0).sum()
        errors = self.noise * _ERRORS[self.errors](rng, rounds)
        chances = rng.random((rounds, k)) if self.shape == "sale" else np.zeros((1, k))
        delays = self.lateness.drawn(rng, np.zeros(rounds), 1)[:, 0]
        return best, turned, likings, least, errors, chances, delays


_AXES = (1, 0, 0, 0, 1, 1, 1)
"""Where seeds go in what is drawn."""


# ---- shapes ------------------------------------------------------------------------------------


def _price(x: Floats) -> Floats:
    return np.asarray((x + 1.2) / 2.2)


def _sells(x: Floats, likings: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(3.0 * x - likings)))


def _basins(ground: Ground, x: Floats, z: Floats) -> Floats:
    other = 2.0 * x - z  # x - e, where e = -c = z - x
    broad = 0.06 + 0.25 * (other * other).sum(axis=1)
    return np.asarray(np.minimum(0.5 * (z * z).sum(axis=1), broad))


def _sale(ground: Ground, x: Floats, z: Floats) -> Floats:
    revenue = (_price(x) * _sells(x, ground.likings)).sum(axis=1)
    # The best price is the best of a fine grid, so a play may be better by the last digits.
    return np.asarray(np.maximum(-ground.least - revenue, 0.0))


_SHAPES: Final[Mapping[str, Callable[[Ground, Floats, Floats], Floats]]] = MappingProxyType(
    {
        "quadratic": lambda ground, x, z: 0.5 * (z * z).sum(axis=1),
        "kinked": lambda ground, x, z: 0.5 * np.abs(z).sum(axis=1),
        "steep": lambda ground, x, z: ((np.exp(3.0 * z) - 1.0 - 3.0 * z) / 9.0).sum(axis=1),
        "valley": lambda ground, x, z: 0.5 * np.einsum("si,sij,sj->s", z, ground.turned, z),
        "bent": lambda ground, x, z: 0.125 * z[:, 0] ** 2 + 2.0 * (z[:, 1] - z[:, 0] ** 2) ** 2,
        "basins": _basins,
        "sale": _sale,
        "quartic": lambda ground, x, z: 0.5 * (z**4).sum(axis=1),
        "edge": lambda ground, x, z: 0.25 * (1.0 - ground.likings * x).sum(axis=1),
        "ripple": lambda ground, x, z: (
            0.5 * (z * z).sum(axis=1) + 0.05 * (np.sin(3.0 * np.pi * z) ** 2).sum(axis=1)
        ),
        "cliff": lambda ground, x, z: 0.25 * np.abs(z).sum(axis=1) + 0.5 * (z[:, 0] > 0.15),
        "bump": lambda ground, x, z: 1.0 - np.exp(-4.0 * (z * z).sum(axis=1)),
        "idle": lambda ground, x, z: 0.5 * z[:, 0] ** 2,
    }
)
"""How much more than the best settings cost, from x and z."""


# ---- how the best setting moves ----------------------------------------------------------------

Rng = np.random.Generator


def _drift(places: Floats, rng: Rng, rounds: int) -> Floats:
    phase = 2.0 * np.pi * (np.arange(rounds)[:, None] / 10_000.0 + places[1])
    return np.asarray(0.2 * places[0] + 0.5 * np.sin(phase))


def _walk(places: Floats, rng: Rng, rounds: int) -> Floats:
    steps = 0.004 * rng.normal(size=(rounds, places.shape[1]))
    # Folded between -3/4 and 3/4, as a walk between two mirrors looks.
    along = (places[0] + np.cumsum(steps, axis=0) + 0.75) % 3.0
    return np.asarray(np.minimum(along, 3.0 - along) - 0.75)


def _turn(places: Floats, rng: Rng, rounds: int) -> Floats:
    phase = np.pi * np.arange(rounds)[:, None] / 1000.0
    return np.asarray(0.5 * places[0] + 0.3 * np.sin(phase))


_MOTIONS: Final[Mapping[str, Callable[[Floats, Rng, int], Floats]]] = MappingProxyType(
    {
        "still": lambda places, rng, rounds: places[:1],
        "drift": _drift,
        "switch": lambda places, rng, rounds: places[np.arange(rounds) * 4 // rounds],
        "walk": _walk,
        "turn": _turn,
    }
)


# ---- errors ------------------------------------------------------------------------------------


def _lasting(rng: Rng, rounds: int) -> Floats:
    fresh = rng.normal(size=rounds) * np.sqrt(1.0 - 0.99**2)
    errors = np.empty(rounds)
    last = rng.normal()
    for t, each in enumerate(fresh.tolist()):
        last = 0.99 * last + each
        errors[t] = last
    return errors


_ERRORS: Final[Mapping[str, Callable[[Rng, int], Floats]]] = MappingProxyType(
    {
        "normal": lambda rng, rounds: rng.normal(size=rounds),
        "heavy": lambda rng, rounds: rng.standard_t(2.0, size=rounds),
        "growing": lambda rng, rounds: rng.normal(size=rounds),
        "lasting": _lasting,
    }
)
