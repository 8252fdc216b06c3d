"""Who takes part in the studies: our learners and their rivals.

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
from belated.reductions import FirstOrder, LearnerSpec
from belated.research import rivals
from belated.research.game import Game
from belated.research.losses import Squared
from belated.research.rivals import Rival
from belated.research.study.paper import Answer, paper_learner
from belated.timeline import Timeline

Maker = Callable[[Game, Domain], LearnerSpec]
_SYMBOLS = {"rounds": "T", "total_delay": "d_tot", "max_delay": "d_max", "delay": "d_max"}


@dataclass(frozen=True)
class Contestant:
    """One who takes part: a name, how to make it for a game, and what it is told in advance."""

    name: str
    make: Maker
    told: str = "nothing"
    in_order: bool = False
    """Whether it takes answers in the order of the tickets only."""
    is_ours: bool = False
    """Whether it is one of ours, in whatever variant."""

    @property
    def is_adaptive(self) -> bool:
        """Whether it is told neither the horizon nor anything about the delays."""
        return self.told == "nothing"


Field = Mapping[str, Contestant]


def _field(*contestants: Contestant) -> Field:
    return MappingProxyType({each.name: each for each in contestants})


def _ours(
    name: str, answer: Answer = "gradient", *, convex: bool = False, **parts: Any
) -> Contestant:
    """The paper's algorithm, or a variant of it."""
    return Contestant(
        name,
        lambda game, domain: paper_learner(game.problem(domain, convex=convex), answer, **parts),
        is_ours=True,
    )


def _default(convex: bool) -> Contestant:
    """What someone gets who asks for a learner and says nothing else."""
    return Contestant(
        DEFAULT, lambda game, domain: game.problem(domain, convex=convex).learner(), is_ours=True
    )


def _rival(kind: type[Rival], *, convex: bool = False, in_order: bool = False) -> Contestant:
    """A rival that needs the constants of the losses, and is told the facts that it needs."""

    def make(game: Game, domain: Domain) -> LearnerSpec:
        return _assuming(kind, game.problem(domain, convex=convex)).told(
            cast(Timeline, game.timeline)
        )

    example = Problem(Ball(1), lipschitz=1.0, magnitude=1.0, curvature=0.0 if convex else 1.0)
    return Contestant(kind.title, make, _told(_assuming(kind, example).needs), in_order)


def _assuming(kind: type[Rival], problem: Problem) -> Rival:
    """Return a rival with those of the constants that it has a field for."""
    names = {field.name for field in dataclasses.fields(cast(Any, kind))}
    known = {"lipschitz": problem.lipschitz, "magnitude": problem.magnitude}
    if problem.curvature:
        known["curvature"] = problem.curvature
    given = {name: value for name, value in known.items() if name in names}
    return cast(Rival, cast(Any, kind)(problem.domain, **given))


def _told(facts: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(_SYMBOLS[name] for name in facts)) or "nothing"


def _gold() -> tuple[Contestant, Contestant]:
    """GOLD, told that delays do not grow with time, as someone would who knows nothing of them.

    Its paper leaves the constant of its radii open. Beside the one that balances the terms of its
    bound there is delta = r, with less exploration and smaller steps.
    """

    def make(game: Game, domain: Domain) -> LearnerSpec:
        spec = cast(rivals.GOLD, _assuming(rivals.GOLD, game.problem(domain)))
        return dataclasses.replace(spec, smoothing=cast(float, domain.inner_radius))

    balanced = dataclasses.replace(_rival(rivals.GOLD), told="a = 0")
    return balanced, Contestant(GOLD_R, make, balanced.told)


# ---- methods with numbers of their own ---------------------------------------------------------


def _strength(game: Game, lipschitz: float, largest: float) -> float:
    """Minimise strength * largest + G^2 (T / 2 + d_tot) / strength."""
    timeline = cast(Timeline, game.timeline)
    return lipschitz * math.sqrt((timeline.rounds / 2 + timeline.total_delay) / largest)


def _regularised(kind: Any) -> Contestant:
    """DOOMD or ODFTRL, with the strength that its bound asks for."""

    def make(game: Game, domain: Domain) -> LearnerSpec:
        lipschitz = game.problem(domain, convex=True).lipschitz
        largest = (domain.diameter / 2.0) ** 2 / 2.0
        strength = _strength(game, lipschitz, largest)
        return cast(LearnerSpec, kind(domain, strength=strength, lipschitz=lipschitz))

    return Contestant(kind.title, make, "T, d_tot")


def _entropic(kind: Any) -> Contestant:
    """DOOMD or ODFTRL with the entropy, for experts."""

    def make(game: Game, domain: Domain) -> LearnerSpec:
        lipschitz = game.problem(domain, convex=True).lipschitz
        strength = _strength(game, lipschitz, math.log(domain.dim))
        return cast(LearnerSpec, kind(domain, strength=strength, mirror="entropy"))

    return Contestant(kind.title, make, "T, d_tot")


def _arms(kind: Any) -> Contestant:
    """A method for experts, which takes their number."""
    return Contestant(kind.title, lambda game, domain: cast(LearnerSpec, kind(domain.dim)))


def _bandit(kind: Any, name: str = "", **fields: Any) -> Contestant:
    """A method that hears the loss of the arm it drew, and is told the facts that it needs."""

    def make(game: Game, domain: Domain) -> LearnerSpec:
        return cast(LearnerSpec, kind(domain.dim, **fields).told(cast(Timeline, game.timeline)))

    return Contestant(name or kind.title, make, _told(kind(2, **fields).needs))


def _copies(kind: Any, curved: bool) -> Contestant:
    """A method that copies a learner for games without delay."""

    def make(game: Game, domain: Domain) -> LearnerSpec:
        problem = game.problem(domain, convex=not curved)
        rate: rates.Rate = (
            rates.StronglyConvex(problem.curvature, problem.lipschitz)
            if curved
            else rates.DelayAdaptive(problem.lipschitz)
        )
        return cast(LearnerSpec, kind(FirstOrder(OMD(domain, rate))).told(game.timeline))

    return Contestant(kind.title, make, _told(kind.facts()))


def _ada_delay(game: Game, domain: Domain) -> LearnerSpec:
    """Steps that start like D / (G sqrt n)."""
    known = game.constants(domain)
    assert known.lipschitz is not None
    steep = known.lipschitz / domain.diameter
    return rivals.AdaDelay(domain, smoothness=known.curvature or steep, scale=steep)


def _for_workers(game: Game, domain: Domain) -> tuple[int, float]:
    """Return sigma_max + 1 workers, and the step that suits them in T rounds."""
    timeline = cast(Timeline, game.timeline)
    workers = timeline.max_backlog + 1
    lipschitz = game.problem(domain, convex=True).lipschitz
    return workers, domain.diameter / (lipschitz * math.sqrt(workers * timeline.rounds))


def _delay_adaptive_sgd(game: Game, domain: Domain) -> LearnerSpec:
    workers, step = _for_workers(game, domain)
    return rivals.DelayAdaptiveSGD(domain, step=step, workers=workers)


def _koloskova_stich_jaggi(game: Game, domain: Domain) -> LearnerSpec:
    """Take the same step, and the largest smoothness that allows it."""
    workers, step = _for_workers(game, domain)
    return rivals.KoloskovaStichJaggi(domain, step, smoothness=0.25 / step, workers=workers)


def _ringmaster(game: Game, domain: Domain) -> LearnerSpec:
    """Take the same step, and gradients no staler than there are workers."""
    workers, step = _for_workers(game, domain)
    return rivals.Ringmaster(domain, step, stalest=workers)


def _woftrl(game: Game, domain: Domain) -> LearnerSpec:
    """Take the strength that suits ODFTRL: that for games in which all learn is of no use here."""
    lipschitz = game.problem(domain, convex=True).lipschitz
    strength = _strength(game, lipschitz, (domain.diameter / 2.0) ** 2 / 2.0)
    late = cast(Timeline, game.timeline).max_delay
    return rivals.WOFTRL(domain, smoothness=strength / ((late + 1) * (late + 2)), delay=late)


def _newton(game: Game, domain: Domain) -> LearnerSpec:
    """Take the exp-concavity that follows from the bounds of the losses.

    lambda / G^2 where they are strongly convex; 1 / (2 M) for squared losses, whose errors are at
    most sqrt(2 M); 1 / (e^M - 1) for logistic ones, whose margins are at least -ln(e^M - 1).
    """
    problem = game.problem(domain)
    known = game.constants(domain)
    assert known.magnitude is not None
    if problem.curvature:
        alpha = problem.curvature / problem.lipschitz**2
    elif isinstance(game.losses, Squared):
        alpha = 0.5 / known.magnitude
    else:
        alpha = 1.0 / math.expm1(known.magnitude)
    return rivals.DelayedONS(domain, problem.lipschitz, alpha)


# ---- who plays where ---------------------------------------------------------------------------

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
    _default(convex=True),
    _ours(OURS, convex=True),
    _ours(TIGHT, convex=True, rate=rates.Tight),
    _ours(GRADIENT, convex=True, rate=rates.GradientAdaptive),
    _ours(OURS_OMD, convex=True, base=OMD),
    _rival(rivals.Zinkevich),
    _copies(rivals.WeinbergerOrdentlich, curved=False),
    _rival(rivals.LangfordSmolaZinkevich, convex=True, in_order=True),
    Contestant(rivals.AdaGrad.title, lambda game, domain: rivals.AdaGrad(domain)),
    _copies(rivals.BOLD, curved=False),
    Contestant(rivals.AdaptiveRevision.title, lambda game, domain: rivals.AdaptiveRevision(domain)),
    _rival(rivals.QuanrudKhashabi),
    _rival(rivals.QuanrudKhashabiDoubling),
    _rival(rivals.SOLID),
    Contestant(rivals.AdaDelay.title, _ada_delay),
    _rival(rivals.FTDRL),
    _rival(rivals.DMD, convex=True),
    _rival(rivals.SDMD, convex=True),
    _regularised(rivals.ODFTRL),
    _regularised(rivals.DOOMD),
    Contestant(rivals.DelayAdaptiveSGD.title, _delay_adaptive_sgd, "T, sigma_max"),
    Contestant(rivals.KoloskovaStichJaggi.title, _koloskova_stich_jaggi, "T, sigma_max"),
    Contestant(rivals.Ringmaster.title, _ringmaster, "T, sigma_max"),
    _rival(rivals.DelayedFrankWolfe, convex=True),
    _regularised(rivals.LearnedHints),
    Contestant(rivals.WOFTRL.title, _woftrl, "T, d_tot, d_max"),
    Contestant(rivals.DelayedONS.title, _newton),
    _rival(rivals.DelayedDualAveraging),
    _rival(rivals.DelayedOGD),
    _rival(rivals.MildOGD),
)
"""Gradients of convex losses, on a ball."""

WITH_SKIP: Final = _ours(SKIPPING, convex=True, skip=True)
"""The paper's algorithm, giving up on late answers."""

STRONGLY_CONVEX: Final[Field] = _field(
    _default(convex=False),
    _ours(OURS),
    _ours(OURS_OMD, base=OMD),
    _rival(rivals.HazanAgarwalKale),
    _rival(rivals.LangfordSmolaZinkevich, in_order=True),
    _copies(rivals.BOLD, curved=True),
    _rival(rivals.DMD),
    _rival(rivals.SDMD),
    _rival(rivals.DOGDSC),
    _rival(rivals.QiuEspositoZhang),
    _rival(rivals.DelayedFrankWolfeStronglyConvex),
    Contestant(rivals.DelayedONS.title, _newton),
)
"""Gradients of strongly convex losses, on a ball."""

EXPERTS: Final[Field] = _field(
    _ours(OURS, convex=True),
    _ours(TIGHT, convex=True, rate=rates.Tight),
    _ours(GRADIENT, convex=True, rate=rates.GradientAdaptive),
    _arms(rivals.DORM),
    _arms(rivals.DORMPlus),
    _arms(rivals.AdaHedgeD),
    _arms(rivals.DUB),
    _entropic(rivals.ODFTRL),
    _entropic(rivals.DOOMD),
    _entropic(rivals.LearnedHints),
)
"""Vectors of linear losses, on the simplex."""

ARMS: Final[Field] = _field(
    _bandit(rivals.DelayedExp3),
    _bandit(rivals.SkippingExp3),
    _bandit(rivals.AnytimeExp3),
    _bandit(rivals.ZimmertSeldin),
    _bandit(rivals.ZimmertSeldin, "Zimmert-Seldin, skipping", skipping=True),
    _bandit(rivals.MasoudianZimmertSeldin),
    _bandit(rivals.BankerTINF),
    _bandit(rivals.BankerSFTINF),
)
"""Losses of the arm drawn."""

VALUES: Final[Field] = _field(
    _ours(OURS, "value", convex=True),
    _rival(rivals.Flaxman),
    *_gold(),
    _rival(rivals.Bistritz),
    _rival(rivals.BistritzDoubling),
    _rival(rivals.DFTBL),
)
"""Single values of convex losses."""

STRONGLY_CONVEX_VALUES: Final[Field] = _field(
    _ours(OURS, "value"),
    *_gold(),
    _rival(rivals.Bistritz),
    _rival(rivals.BistritzDoubling),
    _rival(rivals.DFTBLStronglyConvex),
)
"""Single values of strongly convex losses; some have no version of their own for these."""

ANSWERS: Final[Field] = _field(
    _ours("one-point", "value", convex=True),
    _ours("two-point", "two-values", convex=True),
    _ours("gradient", convex=True),
    _rival(rivals.AgarwalDekelXiao, convex=True),
    _rival(rivals.Shamir),
)
"""The same convex losses, seen through one value, two values or a gradient."""

CURVED_ANSWERS: Final[Field] = _field(
    _ours("one-point", "value"),
    _ours("two-point", "two-values"),
    _ours("gradient"),
    _rival(rivals.AgarwalDekelXiao),
    _rival(rivals.DOGDSCTwoPoint),
    _rival(rivals.DOGDSCManyPoint),
)
"""The same for strongly convex losses."""
