"""The methods in the studies: our learners and their rivals.

A rival that must be told facts about the future is told the true ones, and its row says which; all
are told the constants of the losses, G, M and lambda, as ours are. Where a method leaves a
number open, it gets the one that minimises its own bound, or where it has no bound on regret a
choice that its maker below explains; facts that this takes are counted as told.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, cast

from belated import rates
from belated.bases import OMD
from belated.domains import Ball, Domain
from belated.problem import Problem
from belated.reductions import LearnerSpec
from belated.research import rivals
from belated.research.game import Game
from belated.research.losses import Squared
from belated.research.rivals import Rival
from belated.research.rivals.choice import assuming
from belated.research.study.games import Answer, paper_learner
from belated.timeline import Timeline

Maker = Callable[[Problem, Game], LearnerSpec]
_SYMBOLS = {"rounds": "T", "total_delay": "d_tot", "max_delay": "d_max", "delay": "d_max"}


@dataclass(frozen=True)
class Contestant:
    """A method in a study: a name, how to make it for a game, and what it is told in advance."""

    name: str
    maker: Maker
    told: str = "nothing"
    curved: bool = False
    """Whether it uses that losses are strongly convex."""
    in_order: bool = False
    """Whether it takes answers in the order of the tickets only."""
    is_ours: bool = False
    """Whether it is one of ours, in whatever variant."""

    @property
    def is_adaptive(self) -> bool:
        """Whether it is told neither the horizon nor anything about the delays."""
        return self.told == "nothing"

    @property
    def is_adaptive_rival(self) -> bool:
        """Whether it is that, and none of ours."""
        return self.is_adaptive and not self.is_ours

    def make(self, game: Game, domain: Domain) -> LearnerSpec:
        """Return it for a game."""
        problem = game.problem(domain, convex=not self.curved)
        return self.maker(problem, game)


Field = Mapping[str, Contestant]


def _field(*contestants: Contestant) -> Field:
    return MappingProxyType({each.name: each for each in contestants})


def _ours(
    name: str, answer: Answer = "gradient", *, curved: bool = False, **parts: Any
) -> Contestant:
    """The paper's algorithm, or a variant of it."""
    return Contestant(
        name,
        lambda problem, game: paper_learner(problem, answer, **parts),
        curved=curved,
        is_ours=True,
    )


def _default(curved: bool) -> Contestant:
    """The learner of a problem without further arguments."""
    return Contestant(DEFAULT, lambda problem, game: problem.learner(), curved=curved, is_ours=True)


def _rival(kind: type[Rival], *, curved: bool = False, in_order: bool = False) -> Contestant:
    """A rival that needs the constants of the losses, and is told the facts that it needs."""
    example = Problem(Ball(1), lipschitz=1.0, magnitude=1.0, curvature=float(curved))
    told = _told(assuming(kind, example).needs)
    return Contestant(
        kind.title,
        lambda problem, game: assuming(kind, problem).told(_late(game)),
        *(told, curved, in_order),
    )


def _late(game: Game) -> Timeline:
    return cast(Timeline, game.timeline)


def _told(facts: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(_SYMBOLS[name] for name in facts)) or "nothing"


def _gold() -> tuple[Contestant, Contestant]:
    """GOLD, told that delays do not grow with time, as without knowledge of them.

    Its paper leaves the constant of its radii open. Beside the one that balances the terms of its
    bound there is delta = r, with less exploration and smaller steps.
    """
    balanced = dataclasses.replace(_rival(rivals.GOLD), told="a = 0")

    def with_inner_radius(problem: Problem, game: Game) -> LearnerSpec:
        spec = cast(rivals.GOLD, assuming(rivals.GOLD, problem))
        return dataclasses.replace(spec, smoothing=cast(float, problem.domain.inner_radius))

    return balanced, Contestant(GOLD_R, with_inner_radius, balanced.told)


# ---- methods with numbers of their own ---------------------------------------------------------


def _numbered(
    kind: Any, numbers: Callable[[Problem, Timeline], dict[str, Any]], told: str = "nothing"
) -> Contestant:
    """A method whose numbers are computed for the game."""
    return Contestant(
        kind.title,
        lambda problem, game: kind(problem.domain, **numbers(problem, _late(game))),
        told,
    )


def _strength(problem: Problem, late: Timeline, largest: float) -> float:
    """Minimise strength * largest + G^2 (T / 2 + d_tot) / strength."""
    return problem.lipschitz * math.sqrt((late.rounds / 2 + late.total_delay) / largest)


def _regularised(problem: Problem, late: Timeline) -> dict[str, Any]:
    """The strength that the bound of ODFTRL asks for."""
    largest = (problem.domain.diameter / 2.0) ** 2 / 2.0
    return {"strength": _strength(problem, late, largest), "lipschitz": problem.lipschitz}


def _entropic(problem: Problem, late: Timeline) -> dict[str, Any]:
    """The same with the entropy, for experts."""
    largest = math.log(problem.domain.dim)
    return {"strength": _strength(problem, late, largest), "mirror": "entropy"}


def _bandit(kind: Any, name: str = "", **fields: Any) -> Contestant:
    """A method for experts, or one that hears the loss of the arm it drew, told what it needs."""
    return Contestant(
        name or kind.title,
        lambda problem, game: cast(
            LearnerSpec, kind(problem.domain.dim, **fields).told(_late(game))
        ),
        _told(kind(2, **fields).needs),
    )


def _copies(kind: Any, curved: bool = False) -> Contestant:
    """A method that copies a learner for games without delay."""
    return Contestant(
        kind.title,
        lambda problem, game: cast(
            LearnerSpec, kind(paper_learner(problem, base=OMD)).told(_late(game))
        ),
        *(_told(kind.facts()), curved),
    )


def _ada_delay(problem: Problem, late: Timeline) -> dict[str, Any]:
    """Steps that start like D / (G sqrt n)."""
    steep = problem.lipschitz / problem.domain.diameter
    return {"smoothness": steep, "scale": steep}


def _of_workers(kind: Any) -> Contestant:
    """A method for sigma_max + 1 workers, with the step that suits them in T rounds.

    Both get the same one, and gradients are no staler than there are workers.
    """
    names = {field.name for field in dataclasses.fields(kind)}

    def numbers(problem: Problem, late: Timeline) -> dict[str, Any]:
        count = late.max_backlog + 1
        step = problem.domain.diameter / (problem.lipschitz * math.sqrt(count * late.rounds))
        known = {"step": step, "workers": count, "threshold": count + 1}
        return {name: known[name] for name in names & known.keys()}

    return _numbered(kind, numbers, "T, sigma_max")


def _woftrl(problem: Problem, late: Timeline) -> dict[str, Any]:
    """Take the strength that suits ODFTRL: that for games in which all learn is of no use here."""
    delay, strength = late.max_delay, _regularised(problem, late)["strength"]
    return {"smoothness": strength / ((delay + 1) * (delay + 2)), "delay": delay}


def _newton(problem: Problem, game: Game) -> LearnerSpec:
    """Take the exp-concavity that follows from the bounds of the losses.

    lambda / G^2 where they are strongly convex; 1 / (2 M) for squared losses, whose errors are at
    most sqrt(2 M); 1 / (e^M - 1) for logistic ones, whose margins are at least -ln(e^M - 1).
    """
    assert problem.magnitude is not None
    if problem.curvature:
        alpha = problem.curvature / problem.lipschitz**2
    elif isinstance(game.losses, Squared):
        alpha = 0.5 / problem.magnitude
    else:
        alpha = 1.0 / math.expm1(problem.magnitude)
    return rivals.DelayedONS(problem.domain, problem.lipschitz, alpha)


# ---- methods by game ---------------------------------------------------------------------------

GOLD_R: Final = "GOLD, delta = r"
"""GOLD with the inner radius for its constant."""
OURS: Final = "Ours"
"""The paper's algorithm."""
DEFAULT: Final = "Ours, default"
TIGHT: Final = "Ours, tight"
GRADIENT: Final = "Ours, gradient-adaptive"
OURS_OMD: Final = "Ours, OMD"
SKIPPING: Final = "Ours, skipping"

CONVEX: Final[Field] = _field(
    _default(curved=False),
    _ours(OURS),
    _ours(TIGHT, rate=rates.Tight),
    _ours(GRADIENT, rate=rates.GradientAdaptive),
    _ours(OURS_OMD, base=OMD),
    _rival(rivals.Zinkevich),
    _copies(rivals.WeinbergerOrdentlich),
    _rival(rivals.LangfordSmolaZinkevich, in_order=True),
    _numbered(rivals.AdaGrad, lambda problem, late: {}),
    _copies(rivals.BOLD),
    _numbered(rivals.AdaptiveRevision, lambda problem, late: {}),
    _rival(rivals.QuanrudKhashabi),
    _rival(rivals.SOLID),
    _numbered(rivals.AdaDelay, _ada_delay),
    _rival(rivals.DMD),
    _numbered(rivals.ODFTRL, _regularised, "T, d_tot"),
    _of_workers(rivals.DelayAdaptiveSGD),
    _of_workers(rivals.Ringmaster),
    _rival(rivals.DelayedFrankWolfe),
    _numbered(rivals.WOFTRL, _woftrl, "T, d_tot, d_max"),
    Contestant(rivals.DelayedONS.title, _newton, curved=True),
    _rival(rivals.DelayedDualAveraging),
    _rival(rivals.MildOGD),
)
"""Gradients of convex losses, on a ball."""

WITH_SKIP: Final = _ours(SKIPPING, skip=True)
"""The paper's algorithm, giving up on late answers."""

STRONGLY_CONVEX: Final[Field] = _field(
    _default(curved=True),
    _ours(OURS, curved=True),
    _ours(OURS_OMD, curved=True, base=OMD),
    _rival(rivals.HazanAgarwalKale, curved=True),
    _rival(rivals.LangfordSmolaZinkevich, curved=True, in_order=True),
    _copies(rivals.BOLD, curved=True),
    _rival(rivals.DMD, curved=True),
    _rival(rivals.DOGDSC, curved=True),
    _rival(rivals.QiuEspositoZhang, curved=True),
    _rival(rivals.DelayedFrankWolfeStronglyConvex, curved=True),
    Contestant(rivals.DelayedONS.title, _newton, curved=True),
)
"""Gradients of strongly convex losses, on a ball."""

EXPERTS: Final[Field] = _field(
    _ours(OURS),
    _ours(TIGHT, rate=rates.Tight),
    _ours(GRADIENT, rate=rates.GradientAdaptive),
    _bandit(rivals.DORM),
    _bandit(rivals.AdaHedgeD),
    _numbered(rivals.ODFTRL, _entropic, "T, d_tot"),
)
"""Vectors of linear losses, on the simplex."""

ARMS: Final[Field] = _field(
    _bandit(rivals.DelayedExp3),
    _bandit(rivals.SkippingExp3),
    _bandit(rivals.ZimmertSeldin),
    _bandit(rivals.ZimmertSeldin, "Zimmert-Seldin, skipping", skipping=True),
    _bandit(rivals.MasoudianZimmertSeldin),
    _bandit(rivals.BankerTINF),
)
"""Losses of the arm drawn."""

VALUES: Final[Field] = _field(
    _ours(OURS, "value"),
    _rival(rivals.Flaxman),
    *_gold(),
    _rival(rivals.Bistritz),
    _rival(rivals.DFTBL),
)
"""Single values of convex losses."""

STRONGLY_CONVEX_VALUES: Final[Field] = _field(
    _ours(OURS, "value", curved=True),
    *_gold(),
    _rival(rivals.Bistritz, curved=True),
    _rival(rivals.DFTBLStronglyConvex, curved=True),
)
"""Single values of strongly convex losses; some have no version of their own for these."""

ANSWERS: Final[Field] = _field(
    _ours("one-point", "value"),
    _ours("two-point", "two-values"),
    _ours("gradient"),
    _rival(rivals.AgarwalDekelXiao),
    _rival(rivals.Shamir),
)
"""The same convex losses, seen through one value, two values or a gradient."""

CURVED_ANSWERS: Final[Field] = _field(
    _ours("one-point", "value", curved=True),
    _ours("two-point", "two-values", curved=True),
    _ours("gradient", curved=True),
    _rival(rivals.AgarwalDekelXiao, curved=True),
    _rival(rivals.DOGDSCTwoPoint, curved=True),
    _rival(rivals.DOGDSCManyPoint, curved=True),
)
"""The same for strongly convex losses."""
