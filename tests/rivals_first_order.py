"""Cases of the rivals that learn from gradients, functions or coefficients, and of those that copy.

Sets come with the same thing in the words of ``naive``, which works in the chart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import belated as bl
import naive_rivals as slow
from belated import rates
from belated.domains import Domain
from belated.reductions import FirstOrder, OnePoint, Reduction, TwoPoint
from belated.research.rivals import (
    BOLD,
    DMD,
    FTDRL,
    SOLID,
    AdaptiveRevision,
    DelayedDualAveraging,
    LangfordSmolaZinkevich,
    MildOGD,
    QiuEspositoZhang,
    QuanrudKhashabi,
    QuanrudKhashabiDoubling,
    WeinbergerOrdentlich,
)
from naive import ChartSet, NaiveConfig
from rival_case import RivalCase

ROUNDS = 40
TOTAL_DELAY = 90
MAX_DELAY = 8
FIXED_DELAY = 3
LIPSCHITZ = 1.5
CURVATURE = 0.6

# Every set as the library knows it, and its chart.
SETS: dict[str, tuple[Domain, ChartSet]] = {
    "ball": (bl.Ball(3, radius=1.25), ChartSet("ball", 3, radius=1.25)),
    "shifted ball": (
        bl.Ball(4, radius=0.8, center=(1.0, -2.0, 0.5, 3.0)),
        ChartSet("ball", 4, radius=0.8),
    ),
    "box": (bl.Box([-1.0, 2.0, 10.0], [4.0, 2.5, 200.0]), ChartSet("box", 3)),
    "simplex": (bl.Simplex(5), ChartSet("simplex", 5)),
    "raised simplex": (bl.Simplex(4, floor=0.05), ChartSet("simplex", 4, floor=0.05)),
    "l1": (bl.L1Ball(4, radius=1.5), ChartSet("l1", 4, radius=1.5)),
}


def _set(name: str) -> Domain:
    return SETS[name][0]


def _chart(name: str) -> ChartSet:
    return SETS[name][1]


TOLD: dict[str, Any] = {"rounds": ROUNDS, "total_delay": TOTAL_DELAY}


def _omd(place: str, step: float) -> Reduction:
    """Return mirror descent with a fixed step."""
    return FirstOrder(bl.OMD(_set(place), rates.Constant(step)))


# --- Gradients and functions ---------------------------------------------------------------------


def _solid(place: str) -> RivalCase:
    spec = SOLID(_set(place), LIPSCHITZ, **TOLD)
    return RivalCase(
        f"SOLID, {place}",
        spec,
        lambda seed: slow.NaiveSOLID(domain=_chart(place), lipschitz=LIPSCHITZ, **TOLD, seed=seed),
        "gradient",
        ancestor=_omd(place, spec.step),
    )


def _solid_of_functions(place: str) -> RivalCase:
    spec = SOLID(_set(place), LIPSCHITZ, **TOLD, feedback="function")
    return RivalCase(
        f"SOLID of functions, {place}",
        spec,
        lambda seed: slow.NaiveSOLID(
            domain=_chart(place), lipschitz=LIPSCHITZ, **TOLD, feedback="function", seed=seed
        ),
        "function",
        ancestor=bl.FullInformation(bl.OMD(_set(place), rates.Constant(spec.step))),
    )


def _langford(place: str, curvature: float = 0.0, delay: int = FIXED_DELAY) -> RivalCase:
    immediate = delay == 0 and curvature > 0.0
    return RivalCase(
        f"LangfordSmolaZinkevich, {place}, delay {delay}, curvature {curvature}",
        LangfordSmolaZinkevich(_set(place), LIPSCHITZ, delay, curvature),
        lambda seed: slow.NaiveLangfordSmolaZinkevich(
            domain=_chart(place),
            lipschitz=LIPSCHITZ,
            delay=delay,
            curvature=curvature,
            seed=seed,
        ),
        "gradient",
        ancestor=FirstOrder(bl.OMD(_set(place), rates.StronglyConvex(curvature)))
        if immediate
        else None,
        delay=delay,
    )


def _adaptive_revision(place: str, scale: float = 1.0, offset: float = 1.0) -> RivalCase:
    return RivalCase(
        f"AdaptiveRevision, {place}",
        AdaptiveRevision(_set(place), scale, offset),
        lambda seed: slow.NaiveAdaptiveRevision(
            domain=_chart(place), scale=scale, offset=offset, seed=seed
        ),
        "gradient",
    )


def _quanrud_khashabi(place: str) -> RivalCase:
    spec = QuanrudKhashabi(_set(place), LIPSCHITZ, **TOLD)
    return RivalCase(
        f"QuanrudKhashabi, {place}",
        spec,
        lambda seed: slow.NaiveQuanrudKhashabi(
            domain=_chart(place), lipschitz=LIPSCHITZ, **TOLD, seed=seed
        ),
        "gradient",
        ancestor=_omd(place, spec.step),
    )


def _doubling(place: str) -> RivalCase:
    return RivalCase(
        f"QuanrudKhashabiDoubling, {place}",
        QuanrudKhashabiDoubling(_set(place), LIPSCHITZ),
        lambda seed: slow.NaiveQuanrudKhashabiDoubling(
            domain=_chart(place), lipschitz=LIPSCHITZ, seed=seed
        ),
        "gradient",
    )


def _dual_averaging(place: str) -> RivalCase:
    return RivalCase(
        f"DelayedDualAveraging, {place}",
        DelayedDualAveraging(_set(place), LIPSCHITZ),
        lambda seed: slow.NaiveDelayedDualAveraging(
            domain=_chart(place), lipschitz=LIPSCHITZ, seed=seed
        ),
        "gradient",
    )


def _qiu_esposito_zhang(place: str) -> RivalCase:
    return RivalCase(
        f"QiuEspositoZhang, {place}",
        QiuEspositoZhang(_set(place), CURVATURE),
        lambda seed: slow.NaiveQiuEspositoZhang(
            domain=_chart(place), curvature=CURVATURE, seed=seed
        ),
        "gradient",
        ancestor=FirstOrder(bl.PFTRL(_set(place), rates.StronglyConvex(CURVATURE))),
    )


def _dmd(place: str, curvature: float = 0.0) -> RivalCase:
    facts = TOLD if curvature == 0.0 else {}
    spec = DMD(_set(place), LIPSCHITZ, **facts, curvature=curvature)
    rate = rates.StronglyConvex(curvature) if curvature > 0.0 else rates.Constant(spec.step)
    return RivalCase(
        f"DMD, {place}, curvature {curvature}",
        spec,
        lambda seed: slow.NaiveDMD(
            domain=_chart(place), lipschitz=LIPSCHITZ, **facts, curvature=curvature, seed=seed
        ),
        "function",
        ancestor=bl.FullInformation(bl.OMD(_set(place), rate)),
    )


def _entropic_dmd(place: str, curvature: float = 0.0) -> RivalCase:
    facts = TOLD if curvature == 0.0 else {"rounds": ROUNDS}
    spec = DMD(_set(place), LIPSCHITZ, **facts, curvature=curvature, mirror="entropy")
    ancestor = None
    if curvature == 0.0:
        base = bl.OMD(_set(place), rates.Constant(spec.step), mirror="entropy")
        ancestor = bl.FullInformation(base)
    return RivalCase(
        f"DMD with entropy, {place}, curvature {curvature}",
        spec,
        lambda seed: slow.NaiveDMD(
            domain=_chart(place),
            lipschitz=LIPSCHITZ,
            **facts,
            curvature=curvature,
            mirror="entropy",
            seed=seed,
        ),
        "function",
        ancestor=ancestor,
    )


def _ftdrl(place: str) -> RivalCase:
    return RivalCase(
        f"FTDRL, {place}",
        FTDRL(_set(place), LIPSCHITZ, **TOLD),
        lambda seed: slow.NaiveFTDRL(domain=_chart(place), lipschitz=LIPSCHITZ, **TOLD, seed=seed),
        "coefficients",
    )


def _mild_ogd(place: str, *, in_order: bool = False) -> RivalCase:
    facts: dict[str, Any] = {"total_delay": TOTAL_DELAY} if in_order else {"max_delay": MAX_DELAY}
    return RivalCase(
        f"MildOGD, {place}{', in order' if in_order else ''}",
        MildOGD(_set(place), LIPSCHITZ, rounds=ROUNDS, in_order=in_order, **facts),
        lambda seed: slow.NaiveMildOGD(
            domain=_chart(place),
            lipschitz=LIPSCHITZ,
            rounds=ROUNDS,
            in_order=in_order,
            seed=seed,
            **facts,
        ),
        "gradient",
    )


# --- Copies --------------------------------------------------------------------------------------


# A base as the library knows it, its kind of answer, and the same for ``naive``.
BASES: dict[str, tuple[Reduction, Any, NaiveConfig]] = {
    "gradients, ball": (
        FirstOrder(bl.OMD(_set("ball"), rates.DelayAdaptive(1.0))),
        "gradient",
        NaiveConfig(dim=3, base="omd", radius=1.25),
    ),
    "curved gradients, box": (
        FirstOrder(bl.PFTRL(_set("box"), rates.StronglyConvex(CURVATURE))),
        "gradient",
        NaiveConfig(dim=3, set_kind="box", rate="strongly-convex", curvature=CURVATURE),
    ),
    "entropy": (
        FirstOrder(bl.OMD(_set("raised simplex"), rates.DelayAdaptive(1.0), mirror="entropy")),
        "gradient",
        NaiveConfig(dim=4, base="entropy-omd", set_kind="simplex", floor=0.05),
    ),
    "tight, l1": (
        FirstOrder(bl.PFTRL(_set("l1"), rates.Tight(1.0))),
        "gradient",
        NaiveConfig(dim=4, set_kind="l1", radius=1.5, rate="tight"),
    ),
    "table": (
        FirstOrder(bl.OMD(_set("shifted ball"), rates.Table([0.5, 0.4, 0.3, 0.1]))),
        "gradient",
        NaiveConfig(dim=4, base="omd", radius=0.8, rate="table", table=(0.5, 0.4, 0.3, 0.1)),
    ),
    "values, shifted ball": (
        OnePoint(bl.PFTRL(_set("shifted ball"), rates.DelayAdaptive(1.0)), 1.0, baseline="mean"),
        "value",
        NaiveConfig(dim=4, reduction="one-point", radius=0.8, baseline=True),
    ),
    "two values, box": (
        TwoPoint(bl.PFTRL(_set("box"), rates.DelayAdaptive(1.0))),
        "pair",
        NaiveConfig(dim=3, reduction="two-point", set_kind="box", smoothing="inverse-root"),
    ),
}


def _bold(name: str) -> RivalCase:
    base, answer, config = BASES[name]
    return RivalCase(
        f"BOLD, {name}",
        BOLD(base),
        lambda seed: slow.NaiveBOLD(base=config, seed=seed),
        answer,
        ancestor=base,
    )


def _weinberger_ordentlich(name: str, delay: int = FIXED_DELAY) -> RivalCase:
    base, answer, config = BASES[name]
    return RivalCase(
        f"WeinbergerOrdentlich, {name}, delay {delay}",
        WeinbergerOrdentlich(base, delay),
        lambda seed: slow.NaiveWeinbergerOrdentlich(base=config, delay=delay, seed=seed),
        answer,
        ancestor=base if delay == 0 else None,
        delay=delay,
    )


def _each(make: Callable[[str], RivalCase], *names: str) -> list[RivalCase]:
    return [make(name) for name in names]


CASES: list[RivalCase] = [
    *_each(_solid, "ball", "box"),
    *_each(_solid_of_functions, "shifted ball", "box"),
    *_each(_langford, "ball", "box"),
    _langford("l1", CURVATURE),
    _langford("simplex", CURVATURE, delay=0),
    _langford("ball", delay=0),
    *_each(_adaptive_revision, "shifted ball", "box"),
    _adaptive_revision("simplex", scale=0.5, offset=0.1),
    *_each(_quanrud_khashabi, "ball", "box", "l1"),
    *_each(_doubling, "shifted ball", "box", "simplex"),
    *_each(_dual_averaging, "shifted ball", "box", "simplex", "l1"),
    *_each(_qiu_esposito_zhang, "shifted ball", "box", "simplex"),
    *_each(_dmd, "shifted ball", "box"),
    _dmd("l1", CURVATURE),
    *_each(_entropic_dmd, "simplex", "raised simplex"),
    _entropic_dmd("simplex", CURVATURE),
    *_each(_ftdrl, "ball", "simplex", "l1"),
    *_each(_mild_ogd, "shifted ball", "box"),
    _mild_ogd("simplex", in_order=True),
    *_each(_bold, *BASES),
    *_each(_weinberger_ordentlich, *BASES),
    _weinberger_ordentlich("values, shifted ball", delay=0),
]
