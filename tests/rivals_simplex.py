"""Rivals for experts and arms, and those of Flaspohler et al. in any set, with slow versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import belated as bl
from belated.domains import Domain
from belated.research.rivals import (
    DORM,
    ODFTRL,
    AdaHedgeD,
    BankerTINF,
    DelayedExp3,
    MasoudianZimmertSeldin,
    SkippingExp3,
    ZimmertSeldin,
)
from belated.research.rivals.base import Hint, Mirror
from naive import ChartSet
from naive_banker import NaiveBankerTINF
from naive_simplex_rivals import (
    NaiveAdaHedgeD,
    NaiveDelayedExp3,
    NaiveDORM,
    NaiveMasoudianZimmertSeldin,
    NaiveODFTRL,
    NaiveSkippingExp3,
    NaiveZimmertSeldin,
)
from rivals_convex import RivalCase

HINTS: tuple[Hint, ...] = ("none", "recent")
LIPSCHITZ = 1.5

# name, mirror, strength, the set, and the same in the chart
PLACES: list[tuple[str, Mirror, float, Domain, ChartSet]] = [
    (
        "ball",
        "euclidean",
        6.0,
        bl.Ball(3, radius=0.8, center=(2.0, -1.0, 0.5)),
        ChartSet("ball", 3, 0.8),
    ),
    ("box", "euclidean", 6.0, bl.Box([0.5, -3.0], [1.5, 5.0]), ChartSet("box", 2)),
    ("cross-polytope", "euclidean", 6.0, bl.L1Ball(4, radius=1.2), ChartSet("l1", 4, 1.2)),
    ("simplex", "euclidean", 6.0, bl.Simplex(4), ChartSet("simplex", 4)),
    ("entropy", "entropy", 1.5, bl.Simplex(4), ChartSet("simplex", 4)),
    (
        "entropy with floor",
        "entropy",
        1.5,
        bl.Simplex(4, floor=0.05),
        ChartSet("simplex", 4, floor=0.05),
    ),
]


def _slow(kind: Callable[..., Any], **fields: Any) -> Callable[[int], Any]:
    """Return what makes a slow version out of a seed."""
    return lambda seed: kind(**fields, seed=seed)


def _in_sets() -> list[RivalCase]:
    """ODFTRL on all sets."""
    return [
        RivalCase(
            f"ODFTRL {name}, hint {hint}",
            ODFTRL(domain, strength, mirror, hint, LIPSCHITZ),
            _slow(NaiveODFTRL, domain=shape, strength=strength, mirror=mirror, hint=hint),
            "gradient",
        )
        for name, mirror, strength, domain, shape in PLACES
        for hint in HINTS
    ]


def _matchers() -> list[RivalCase]:
    """Regret matching with several powers."""
    return [
        RivalCase(
            f"DORM {arms} arms, power {power}, hint {hint}",
            DORM(arms, power, hint),
            _slow(NaiveDORM, arms=arms, power=power, hint=hint),
            "gradient",
        )
        for hint in HINTS
        for arms, power in ((2, 2.0), (5, 2.0), (5, 2.5), (5, 4.3))
    ]


def _hedgers() -> list[RivalCase]:
    """Exponential weights that tune themselves."""
    return [
        RivalCase(
            f"AdaHedgeD {arms} arms", AdaHedgeD(arms), _slow(NaiveAdaHedgeD, arms=arms), "gradient"
        )
        for arms in (2, 5)
    ]


def _bandits() -> list[RivalCase]:
    """The methods that hear the loss of one arm; one is told too little, so that it gives up."""
    known = {"rounds": 48, "total_delay": 150}
    little = {"rounds": 20, "total_delay": 10}
    return [
        RivalCase(
            "DelayedExp3", DelayedExp3(4, **known), _slow(NaiveDelayedExp3, arms=4, **known), "arm"
        ),
        RivalCase(
            "SkippingExp3",
            SkippingExp3(3, **little),
            _slow(NaiveSkippingExp3, arms=3, **little),
            "arm",
        ),
        *(
            RivalCase(
                f"ZimmertSeldin {arms} arms, skipping {skipping}",
                ZimmertSeldin(arms, skipping),
                _slow(NaiveZimmertSeldin, arms=arms, skipping=skipping),
                "arm",
            )
            for arms in (2, 5)
            for skipping in (False, True)
        ),
        *_like_tsallis_inf(),
    ]


def _like_tsallis_inf() -> list[RivalCase]:
    """Two that are Tsallis-INF without delay, as ZimmertSeldin is; one if it is told so."""
    tsallis_inf = {arms: ZimmertSeldin(arms) for arms in (2, 5)}
    return [
        *(
            RivalCase(
                f"BankerTINF {arms} arms",
                BankerTINF(arms),
                _slow(NaiveBankerTINF, arms=arms),
                "arm",
                ancestor=tsallis_inf[arms],
            )
            for arms in (2, 5)
        ),
        *(
            RivalCase(
                f"MasoudianZimmertSeldin {arms} arms, told {longest}",
                MasoudianZimmertSeldin(arms, longest),
                _slow(NaiveMasoudianZimmertSeldin, arms=arms, max_delay=longest),
                "arm",
                ancestor=None if longest else tsallis_inf[arms],
            )
            for arms, longest in ((2, 12), (5, 0), (5, 1))
        ),
    ]


CASES: list[RivalCase] = [*_in_sets(), *_matchers(), *_hedgers(), *_bandits()]
