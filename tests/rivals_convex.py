"""Cases of the rivals on convex sets, which learn from gradients, functions, values, or by copies.

The fields of a method have the same names in its slow version, so a case gives them once. Sets come
with the same thing in the words of ``naive``, which works in the chart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import belated as bl
import naive_later_rivals
import naive_rivals
from belated import rates, rivals
from belated.domains import Domain
from belated.rates import Rate
from belated.reductions import FirstOrder, LearnerSpec, OnePoint, Reduction, TwoPoint
from belated.research.rivals.base import Mirror, Rival
from naive import ChartSet, NaiveConfig

Answer = Literal["gradient", "function", "value", "pair", "values", "arm"]


@dataclass(frozen=True)
class RivalCase:
    """One rival on one set.

    ``slow(seed)`` makes the slow version of ``spec``. ``ancestor`` is the no-delay method that it
    must equal when every answer comes at once, if that is another spec. ``in_order`` says that
    only in-order answers after exactly ``delay`` rounds are taken, ``loses`` that a ticket may be
    cancelled.
    """

    name: str
    spec: LearnerSpec
    slow: Callable[[int], Any]
    answer: Answer
    ancestor: LearnerSpec | None = None
    delay: int | None = None
    loses: bool = True
    tolerance: float = 1e-9


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
FIXED_DELAY = 3

_ANSWERS: dict[str, Answer] = {"value": "value", "two values": "pair", "k + 1 values": "values"}


def _case(
    kind: type[Rival],
    place: str,
    remark: str = "",
    ancestor: LearnerSpec | None = None,
    *,
    title: str = "",
    answer: Answer | None = None,
    **fields: Any,
) -> RivalCase:
    """Return the case of a method on a set, with these fields."""
    domain, chart = SETS[place]
    name = f"Naive{kind.__name__}"
    naive = getattr(naive_rivals, name, None) or getattr(naive_later_rivals, name)
    return RivalCase(
        name=f"{title or kind.__name__}, {place}{remark}",
        spec=kind(domain=domain, **fields),  # type: ignore[call-arg]
        slow=lambda seed: naive(domain=chart, **fields, seed=seed),
        answer=answer or _ANSWERS.get(kind.answers, "gradient"),
        ancestor=ancestor,
        delay=fields.get("delay") if kind is rivals.LangfordSmolaZinkevich else None,
    )


def _each(
    kind: type[Rival],
    *places: str,
    without_delay: Callable[[str], LearnerSpec] | None = None,
    **more: Any,
) -> list[RivalCase]:
    """Return the cases of a method on some sets, with its ancestor on each."""
    return [
        _case(kind, place, ancestor=without_delay(place) if without_delay else None, **more)
        for place in places
    ]


def _domain(place: str) -> Domain:
    return SETS[place][0]


def _omd(place: str, rate: Rate, mirror: Mirror = "euclidean") -> FirstOrder:
    """Return mirror descent fed with gradients."""
    return FirstOrder(bl.OMD(_domain(place), rate, mirror))


def _steady(step: float) -> Callable[[str], FirstOrder]:
    """Return what makes mirror descent with steps of one size."""
    return lambda place: _omd(place, rates.Constant(step))


def _tuned(place: str) -> FirstOrder:
    """Return mirror descent with the step that many methods take."""
    return _omd(place, rates.Constant(rivals.SOLID(_domain(place), **G, **TOLD).step))


def _curved(place: str) -> FirstOrder:
    """Return mirror descent for strongly convex losses."""
    return _omd(place, rates.StronglyConvex(**LAMBDA))


# --- Gradients and functions ---------------------------------------------------------------------


def _langford(place: str, delay: int = FIXED_DELAY, curvature: float = 0.0) -> RivalCase:
    immediate = delay == 0 and curvature > 0.0
    return _case(
        rivals.LangfordSmolaZinkevich,
        place,
        f", delay {delay}, curvature {curvature}",
        _omd(place, rates.StronglyConvex(curvature)) if immediate else None,
        **G,
        delay=delay,
        curvature=curvature,
    )


def _dmd(place: str, curvature: float = 0.0, mirror: Mirror = "euclidean") -> RivalCase:
    entropic = mirror == "entropy"
    facts = TOLD if curvature == 0.0 else T if entropic else {}
    fields: Fields = {**G, **facts, "curvature": curvature, "mirror": mirror}
    rate: Rate = rates.StronglyConvex(curvature or 1.0)
    if curvature == 0.0:
        rate = rates.Constant(rivals.DMD(_domain(place), **fields).step)
    ancestor: LearnerSpec | None = None
    if not (entropic and curvature):
        ancestor = bl.FullInformation(_omd(place, rate, mirror).base)
    return _case(
        rivals.DMD,
        place,
        f", curvature {curvature}",
        ancestor,
        title="DMD with entropy" if entropic else "",
        answer="function",
        **fields,
    )


def _woftrl(place: str, mirror: Mirror = "euclidean", copies: int | None = None) -> RivalCase:
    fields: Fields = {**G, "smoothness": 0.5, "delay": 2, "mirror": mirror, "copies": copies}
    domain = _domain(place)
    prompt = rivals.ODFTRL(domain, rivals.WOFTRL(domain, **fields).strength, mirror, "recent")
    ancestor = prompt if copies in (None, 1) else None
    return _case(rivals.WOFTRL, place, f", {mirror}, copies {copies}", ancestor, **fields)


FROM_GRADIENTS = [
    *_each(rivals.SOLID, "ball", "box", without_delay=_tuned, **G, **TOLD),
    *_each(
        rivals.SOLID,
        *("shifted ball", "box"),
        without_delay=lambda place: bl.FullInformation(_tuned(place).base),
        title="SOLID of functions",
        answer="function",
        feedback="function",
        **G,
        **TOLD,
    ),
    _langford("ball"),
    _langford("box"),
    _langford("l1", curvature=0.6),
    _langford("simplex", 0, 0.6),
    _langford("ball", 0),
    *_each(rivals.AdaptiveRevision, "shifted ball", "box"),
    _case(rivals.AdaptiveRevision, "simplex", scale=0.5, offset=0.1),
    *_each(rivals.QuanrudKhashabi, "ball", "box", "l1", without_delay=_tuned, **G, **TOLD),
    *_each(rivals.DelayedDualAveraging, "shifted ball", "box", "simplex", "l1", **G),
    *_each(
        rivals.QiuEspositoZhang,
        *("shifted ball", "box", "simplex"),
        without_delay=lambda place: FirstOrder(
            bl.PFTRL(_domain(place), rates.StronglyConvex(**LAMBDA))
        ),
        **LAMBDA,
    ),
    _dmd("shifted ball"),
    _dmd("box"),
    _dmd("l1", 0.6),
    _dmd("simplex", mirror="entropy"),
    _dmd("raised simplex", mirror="entropy"),
    _dmd("simplex", 0.6, "entropy"),
    *_each(rivals.MildOGD, "shifted ball", "box", **G, **LATE),
    _case(rivals.MildOGD, "simplex", ", in order", in_order=True, **G, **TOLD),
    *_each(
        rivals.Zinkevich,
        *("ball", "box"),
        without_delay=lambda place: _omd(place, rates.DelayAdaptive(**G)),
        **G,
    ),
    *_each(rivals.HazanAgarwalKale, "ball", "simplex", without_delay=_curved, **LAMBDA),
    *_each(
        rivals.AdaGrad,
        *("shifted ball", "box"),
        without_delay=lambda place: _omd(place, rates.GradientAdaptive()),
    ),
    *_each(
        rivals.DelayAdaptiveSGD,
        *("shifted ball", "box"),
        without_delay=_steady(0.3),
        step=0.3,
        workers=2,
    ),
    *_each(rivals.AdaDelay, "ball", "l1", smoothness=2.0, scale=0.4),
    *_each(rivals.DOGDSC, "ball", "box", without_delay=_curved, **LAMBDA),
    _woftrl("shifted ball"),
    _woftrl("box", copies=2),
    _woftrl("simplex", "entropy"),
    _woftrl("raised simplex", "entropy", copies=1),
    *_each(rivals.Ringmaster, "l1", "box", without_delay=_steady(0.15), step=0.15, threshold=2),
    *_each(rivals.DelayedONS, "shifted ball", "box", "raised simplex", **G, exp_concavity=0.2),
    _case(rivals.DelayedONS, "l1", **G, exp_concavity=0.02),
    *_each(rivals.DelayedFrankWolfe, "shifted ball", "box", "raised simplex", "l1", **G, **T),
    *_each(
        rivals.DelayedFrankWolfeStronglyConvex,
        *("shifted ball", "box", "simplex", "l1"),
        **LAMBDA,
        **G,
    ),
]

# --- Values --------------------------------------------------------------------------------------

FROM_VALUES = [
    _case(rivals.GOLD, "ball", **M, **G),
    _case(rivals.GOLD, "ball", ", growth", **M, **G, growth=0.6),
    _case(rivals.GOLD, "box", **M, **G),
    _case(rivals.GOLD, "l1", ", little smoothing", **M, **G, smoothing=0.1),
    _case(rivals.Bistritz, "ball", **M, **G, **TOLD),
    _case(rivals.Bistritz, "ball", ", prompt", **M, **G, rounds=40, total_delay=0),
    _case(rivals.Bistritz, "l1", **M, **G, **TOLD),
    _case(rivals.Bistritz, "box", **M, **G, **TOLD),
    _case(rivals.DFTBL, "ball", **M, **G, **LATE),
    _case(rivals.DFTBL, "box", **M, **G, **LATE),
    _case(rivals.DFTBLStronglyConvex, "shifted ball", **M, **G, **LAMBDA, **T),
    _case(rivals.DFTBLStronglyConvex, "l1", **M, **G, **LAMBDA, **T),
    _case(rivals.Flaxman, "ball", **M, **G, **T),
    _case(rivals.Flaxman, "box", **M, **G, **T),
    _case(rivals.DOGDSCTwoPoint, "ball", **LAMBDA, **G, **T),
    _case(rivals.DOGDSCTwoPoint, "box", **LAMBDA, **G, **T),
    _case(rivals.DOGDSCManyPoint, "shifted ball", **LAMBDA, **G, **T),
    _case(rivals.DOGDSCManyPoint, "l1", **LAMBDA, **G, **T),
    _case(rivals.AgarwalDekelXiao, "ball", **G, **T),
    _case(rivals.AgarwalDekelXiao, "ball", ", curved", **G, **T, **LAMBDA),
    _case(rivals.AgarwalDekelXiao, "box", **G, **T),
    _case(rivals.Shamir, "shifted ball", **G, **T),
    _case(rivals.Shamir, "l1", **G, **T),
]

# Exploration as far as the border of the set, so that nothing of it is left to move in.
FAR = [
    _case(rivals.GOLD, "ball", ", far", magnitude=5.0, **G),
    _case(rivals.Bistritz, "line", ", far", magnitude=50.0, **G, **TOLD),
    _case(rivals.DFTBL, "ball", ", far", magnitude=50.0, **G, **LATE),
    _case(rivals.DFTBLStronglyConvex, "l1", ", far", magnitude=50.0, **G, **LAMBDA, **T),
    _case(rivals.Flaxman, "box", ", far", magnitude=50.0, **G, rounds=2),
    _case(rivals.DOGDSCTwoPoint, "ball", ", far", **LAMBDA, **G, rounds=1),
    _case(rivals.DOGDSCManyPoint, "l1", ", far", **LAMBDA, **G, rounds=1),
    _case(rivals.AgarwalDekelXiao, "line", ", far", **G, rounds=1),
    _case(rivals.Shamir, "shifted ball", ", far", **G, rounds=3),
]

# --- Copies --------------------------------------------------------------------------------------


# A base as the library knows it, its kind of answer, and the same for ``naive``.
BASES: dict[str, tuple[Reduction, Any, NaiveConfig]] = {
    "gradients, ball": (
        FirstOrder(bl.OMD(_domain("ball"), rates.DelayAdaptive(1.0))),
        "gradient",
        NaiveConfig(dim=3, base="omd", radius=1.25),
    ),
    "curved gradients, box": (
        FirstOrder(bl.PFTRL(_domain("box"), rates.StronglyConvex(0.6))),
        "gradient",
        NaiveConfig(dim=3, set_kind="box", rate="strongly-convex", curvature=0.6),
    ),
    "entropy": (
        FirstOrder(bl.OMD(_domain("raised simplex"), rates.DelayAdaptive(1.0), mirror="entropy")),
        "gradient",
        NaiveConfig(dim=4, base="entropy-omd", set_kind="simplex", floor=0.05),
    ),
    "tight, l1": (
        FirstOrder(bl.PFTRL(_domain("l1"), rates.Tight(1.0))),
        "gradient",
        NaiveConfig(dim=4, set_kind="l1", radius=1.5, rate="tight"),
    ),
    "table": (
        FirstOrder(bl.OMD(_domain("shifted ball"), rates.Table([0.5, 0.4, 0.3, 0.1]))),
        "gradient",
        NaiveConfig(dim=4, base="omd", radius=0.8, rate="table", table=(0.5, 0.4, 0.3, 0.1)),
    ),
    "values, shifted ball": (
        OnePoint(bl.PFTRL(_domain("shifted ball"), rates.DelayAdaptive(1.0)), 1.0, baseline="mean"),
        "value",
        NaiveConfig(dim=4, reduction="one-point", radius=0.8, baseline=True),
    ),
    "two values, box": (
        TwoPoint(bl.PFTRL(_domain("box"), rates.DelayAdaptive(1.0))),
        "pair",
        NaiveConfig(dim=3, reduction="two-point", set_kind="box", smoothing="inverse-root"),
    ),
}


def _bold(name: str) -> RivalCase:
    base, answer, config = BASES[name]
    return RivalCase(
        f"BOLD, {name}",
        rivals.BOLD(base),
        lambda seed: naive_rivals.NaiveBOLD(base=config, seed=seed),
        answer,
        ancestor=base,
    )


def _weinberger_ordentlich(name: str, delay: int = FIXED_DELAY) -> RivalCase:
    base, answer, config = BASES[name]
    return RivalCase(
        f"WeinbergerOrdentlich, {name}, delay {delay}",
        rivals.WeinbergerOrdentlich(base, delay),
        lambda seed: naive_rivals.NaiveWeinbergerOrdentlich(base=config, delay=delay, seed=seed),
        answer,
        ancestor=base if delay == 0 else None,
        delay=delay,
    )


CASES: list[RivalCase] = [
    *FROM_GRADIENTS,
    *FROM_VALUES,
    *FAR,
    *map(_bold, BASES),
    *map(_weinberger_ordentlich, BASES),
    _weinberger_ordentlich("values, shifted ball", delay=0),
]
