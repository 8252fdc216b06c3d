"""Cases of the rivals that learn from values, and of simple ones that learn from gradients.

The fields of a method have the same names in its slow version, so a case gives them once. Sets come
with the same thing in the words of ``naive``, which works in the chart.
"""

from __future__ import annotations

from typing import Any

import belated as bl
import naive_rivals as slow
from belated import rates
from belated.domains import Domain
from belated.rates import Rate
from belated.reductions import FirstOrder, LearnerSpec
from belated.research.rivals import (
    DFTBL,
    DOGDSC,
    GOLD,
    SDMD,
    AdaDelay,
    AdaGrad,
    AgarwalDekelXiao,
    Bistritz,
    BistritzDoubling,
    DelayAdaptiveSGD,
    DelayedOGD,
    DFTBLStronglyConvex,
    DOGDSCManyPoint,
    DOGDSCTwoPoint,
    Flaxman,
    HazanAgarwalKale,
    Shamir,
    Zinkevich,
)
from belated.research.rivals.base import Rival
from naive import ChartSet
from rival_case import Answer, RivalCase

# Every set as the library knows it, and its chart.
SETS: dict[str, tuple[Domain, ChartSet]] = {
    "ball": (bl.Ball(3, radius=1.25), ChartSet("ball", 3, radius=1.25)),
    "line": (bl.Ball(1, radius=0.5), ChartSet("ball", 1, radius=0.5)),
    "shifted ball": (
        bl.Ball(4, radius=0.8, center=(1.0, -2.0, 0.5, 3.0)),
        ChartSet("ball", 4, radius=0.8),
    ),
    "box": (bl.Box([-1.0, 2.0, 10.0], [4.0, 2.5, 200.0]), ChartSet("box", 3)),
    "simplex": (bl.Simplex(5), ChartSet("simplex", 5)),
    "raised simplex": (bl.Simplex(4, floor=0.05), ChartSet("simplex", 4, floor=0.05)),
    "l1": (bl.L1Ball(4, radius=1.5), ChartSet("l1", 4, radius=1.5)),
}

Fields = dict[str, Any]

G: Fields = {"lipschitz": 1.5}
M: Fields = {"magnitude": 0.3}
LAMBDA: Fields = {"curvature": 0.6}
T: Fields = {"rounds": 40}
TOLD: Fields = {**T, "total_delay": 90}
LATE: Fields = {**T, "max_delay": 8}

_ANSWERS: dict[str, Answer] = {"value": "value", "two values": "pair", "k + 1 values": "values"}


def _case(
    kind: type[Rival],
    place: str,
    remark: str = "",
    ancestor: LearnerSpec | None = None,
    **fields: Any,
) -> RivalCase:
    """Return the case of a method on a set, with these fields."""
    domain, chart = SETS[place]
    naive = getattr(slow, f"Naive{kind.__name__}")
    return RivalCase(
        name=f"{kind.__name__}, {place}{remark}",
        spec=kind(domain=domain, **fields),  # type: ignore[call-arg]
        slow=lambda seed: naive(domain=chart, **fields, seed=seed),
        answer=_ANSWERS.get(kind.answers, "gradient"),
        ancestor=ancestor,
    )


def _omd(place: str, rate: Rate) -> LearnerSpec:
    """Return mirror descent fed with gradients."""
    return FirstOrder(bl.OMD(SETS[place][0], rate))


# --- Gradients -----------------------------------------------------------------------------------


def _zinkevich(place: str) -> RivalCase:
    return _case(Zinkevich, place, ancestor=_omd(place, rates.DelayAdaptive(**G)), **G)


def _hazan_agarwal_kale(place: str) -> RivalCase:
    ancestor = _omd(place, rates.StronglyConvex(**LAMBDA))
    return _case(HazanAgarwalKale, place, ancestor=ancestor, **LAMBDA)


def _ada_grad(place: str) -> RivalCase:
    return _case(AdaGrad, place, ancestor=_omd(place, rates.GradientAdaptive()))


def _delayed_ogd(place: str) -> RivalCase:
    step = DelayedOGD(SETS[place][0], **G, **TOLD).step
    return _case(DelayedOGD, place, ancestor=_omd(place, rates.Constant(step)), **G, **TOLD)


def _delay_adaptive_sgd(place: str) -> RivalCase:
    ancestor = _omd(place, rates.Constant(0.3))
    return _case(DelayAdaptiveSGD, place, ancestor=ancestor, step=0.3, workers=2)


def _dogd_sc(place: str) -> RivalCase:
    return _case(DOGDSC, place, ancestor=HazanAgarwalKale(SETS[place][0], **LAMBDA), **LAMBDA)


def _sdmd(place: str) -> list[RivalCase]:
    domain, _ = SETS[place]
    late, curved = DelayedOGD(domain, **G, **TOLD), HazanAgarwalKale(domain, **LAMBDA)
    return [
        _case(SDMD, place, ancestor=late, **G, **TOLD),
        _case(SDMD, place, ", curved", ancestor=curved, **G, **LAMBDA),
    ]


def _sdmd_with_entropy(place: str) -> list[RivalCase]:
    return [
        _case(SDMD, place, ", entropy", **G, **TOLD, mirror="entropy"),
        _case(SDMD, place, ", entropy, curved", **G, **T, **LAMBDA, mirror="entropy"),
    ]


FROM_GRADIENTS = [
    _zinkevich("ball"),
    _zinkevich("box"),
    _hazan_agarwal_kale("ball"),
    _hazan_agarwal_kale("simplex"),
    _ada_grad("shifted ball"),
    _ada_grad("box"),
    _delayed_ogd("ball"),
    _delayed_ogd("l1"),
    _delay_adaptive_sgd("shifted ball"),
    _delay_adaptive_sgd("box"),
    _case(AdaDelay, "ball", smoothness=2.0, scale=0.4),
    _case(AdaDelay, "l1", smoothness=2.0, scale=0.4),
    _dogd_sc("ball"),
    _dogd_sc("box"),
    *_sdmd("ball"),
    *_sdmd("box"),
    *_sdmd_with_entropy("simplex"),
    *_sdmd_with_entropy("raised simplex"),
]

# --- Values --------------------------------------------------------------------------------------

FROM_VALUES = [
    _case(GOLD, "ball", **M, **G),
    _case(GOLD, "ball", ", growth", **M, **G, growth=0.6),
    _case(GOLD, "box", **M, **G),
    _case(GOLD, "l1", ", little smoothing", **M, **G, smoothing=0.1),
    _case(Bistritz, "ball", **M, **G, **TOLD),
    _case(Bistritz, "ball", ", prompt", **M, **G, rounds=40, total_delay=0),
    _case(Bistritz, "l1", **M, **G, **TOLD),
    _case(BistritzDoubling, "shifted ball", **M, **G),
    _case(BistritzDoubling, "box", **M, **G),
    _case(DFTBL, "ball", **M, **G, **LATE),
    _case(DFTBL, "box", **M, **G, **LATE),
    _case(DFTBLStronglyConvex, "shifted ball", **M, **G, **LAMBDA, **T),
    _case(DFTBLStronglyConvex, "l1", **M, **G, **LAMBDA, **T),
    _case(Flaxman, "ball", **M, **G, **T),
    _case(Flaxman, "box", **M, **G, **T),
    _case(DOGDSCTwoPoint, "ball", **LAMBDA, **G, **T),
    _case(DOGDSCTwoPoint, "box", **LAMBDA, **G, **T),
    _case(DOGDSCManyPoint, "shifted ball", **LAMBDA, **G, **T),
    _case(DOGDSCManyPoint, "l1", **LAMBDA, **G, **T),
    _case(AgarwalDekelXiao, "ball", **G, **T),
    _case(AgarwalDekelXiao, "ball", ", curved", **G, **T, **LAMBDA),
    _case(AgarwalDekelXiao, "box", **G, **T),
    _case(Shamir, "shifted ball", **G, **T),
    _case(Shamir, "l1", **G, **T),
]

# Exploration as far as the border of the set, so that nothing of it is left to move in.
FAR = [
    _case(GOLD, "ball", ", far", magnitude=5.0, **G),
    _case(Bistritz, "line", ", far", magnitude=50.0, **G, **TOLD),
    _case(DFTBL, "ball", ", far", magnitude=50.0, **G, **LATE),
    _case(DFTBLStronglyConvex, "l1", ", far", magnitude=50.0, **G, **LAMBDA, **T),
    _case(Flaxman, "box", ", far", magnitude=50.0, **G, rounds=2),
    _case(DOGDSCTwoPoint, "ball", ", far", **LAMBDA, **G, rounds=1),
    _case(DOGDSCManyPoint, "l1", ", far", **LAMBDA, **G, rounds=1),
    _case(AgarwalDekelXiao, "line", ", far", **G, rounds=1),
    _case(Shamir, "shifted ball", ", far", **G, rounds=3),
]

CASES: list[RivalCase] = [*FROM_GRADIENTS, *FROM_VALUES, *FAR]
