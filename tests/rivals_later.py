"""Cases of the first-order rivals that were published last, with their slow versions."""

from __future__ import annotations

from typing import Any

import belated as bl
import naive_later_rivals as slow
from belated import rates, rivals
from belated.research.rivals.base import Mirror
from rival_case import RivalCase
from rivals_first_order import CURVATURE, LIPSCHITZ, ROUNDS, SETS

# --- Weighted optimism ---------------------------------------------------------------------------


def _woftrl(
    place: str, mirror: Mirror = "euclidean", copies: int | None = None, delay: int = 2
) -> RivalCase:
    domain, chart = SETS[place]
    fields: dict[str, Any] = {"smoothness": 0.5, "delay": delay, "mirror": mirror, "copies": copies}
    spec = rivals.WOFTRL(domain, lipschitz=LIPSCHITZ, **fields)
    prompt = rivals.ODFTRL(domain, spec.strength, mirror, "recent")
    return RivalCase(
        f"WOFTRL, {place}, {mirror}, copies {copies}",
        spec,
        lambda seed: slow.NaiveWOFTRL(domain=chart, **fields, seed=seed),
        "gradient",
        ancestor=prompt if copies in (None, 1) else None,
    )


def _learned_hints(place: str, mirror: Mirror = "euclidean") -> RivalCase:
    domain, chart = SETS[place]
    fields: dict[str, Any] = {"strength": 1.5 if mirror == "entropy" else 6.0, "mirror": mirror}
    return RivalCase(
        f"LearnedHints, {place}, {mirror}",
        rivals.LearnedHints(domain, lipschitz=LIPSCHITZ, **fields),
        lambda seed: slow.NaiveLearnedHints(domain=chart, **fields, seed=seed),
        "gradient",
    )


# --- Asynchronous SGD ----------------------------------------------------------------------------


def _descent(place: str, step: float) -> bl.FirstOrder:
    """Return what all steps of the same size are without delay."""
    return bl.FirstOrder(bl.OMD(SETS[place][0], rates.Constant(step)))


def _koloskova(place: str) -> RivalCase:
    domain, chart = SETS[place]
    fields: dict[str, Any] = {"step": 0.2, "smoothness": 1.2, "workers": 2}
    return RivalCase(
        f"KoloskovaStichJaggi, {place}",
        rivals.KoloskovaStichJaggi(domain, **fields),
        lambda seed: slow.NaiveKoloskovaStichJaggi(domain=chart, **fields, seed=seed),
        "gradient",
        ancestor=_descent(place, 0.2),
    )


def _ringmaster(place: str) -> RivalCase:
    domain, chart = SETS[place]
    fields: dict[str, Any] = {"step": 0.15, "stalest": 2}
    return RivalCase(
        f"Ringmaster, {place}",
        rivals.Ringmaster(domain, **fields),
        lambda seed: slow.NaiveRingmaster(domain=chart, **fields, seed=seed),
        "gradient",
        ancestor=_descent(place, 0.15),
    )


# --- Frank-Wolfe ---------------------------------------------------------------------------------


def _frank_wolfe(place: str) -> RivalCase:
    domain, chart = SETS[place]
    fields: dict[str, Any] = {"lipschitz": LIPSCHITZ, "rounds": ROUNDS}
    return RivalCase(
        f"DelayedFrankWolfe, {place}",
        rivals.DelayedFrankWolfe(domain, **fields),
        lambda seed: slow.NaiveDelayedFrankWolfe(domain=chart, **fields, seed=seed),
        "gradient",
    )


def _curved_frank_wolfe(place: str) -> RivalCase:
    domain, chart = SETS[place]
    return RivalCase(
        f"DelayedFrankWolfeStronglyConvex, {place}",
        rivals.DelayedFrankWolfeStronglyConvex(domain, CURVATURE, LIPSCHITZ),
        lambda seed: slow.NaiveDelayedFrankWolfeStronglyConvex(
            domain=chart, curvature=CURVATURE, seed=seed
        ),
        "gradient",
    )


# --- The online Newton step ----------------------------------------------------------------------


def _newton(place: str, exp_concavity: float = 0.2) -> RivalCase:
    domain, chart = SETS[place]
    fields: dict[str, Any] = {"lipschitz": LIPSCHITZ, "exp_concavity": exp_concavity}
    return RivalCase(
        f"DelayedONS, {place}",
        rivals.DelayedONS(domain, **fields),
        lambda seed: slow.NaiveDelayedONS(domain=chart, **fields, seed=seed),
        "gradient",
    )


CASES: list[RivalCase] = [
    _woftrl("shifted ball"),
    _woftrl("box", copies=2),
    _woftrl("simplex", "entropy"),
    _woftrl("raised simplex", "entropy", copies=1),
    _learned_hints("shifted ball"),
    _learned_hints("box"),
    _learned_hints("raised simplex", "entropy"),
    _koloskova("shifted ball"),
    _koloskova("box"),
    _ringmaster("l1"),
    _ringmaster("box"),
    *(_newton(place) for place in ("shifted ball", "box", "raised simplex")),
    _newton("l1", 0.02),
    *(_frank_wolfe(place) for place in ("shifted ball", "box", "raised simplex", "l1")),
    *(_curved_frank_wolfe(place) for place in ("shifted ball", "box", "simplex", "l1")),
]
