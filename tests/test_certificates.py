"""Certificates while delays and losses are chosen to hurt: no regret exceeds them, at any moment.

Losses are known through their gradients c_t at the plays x_t alone, so the regret is that of the
hardest losses with these gradients: <c_t, x>, and (lambda / 2) |x - x_t|^2 more for strongly convex
ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.bases import Base
from belated.bounds.unanswered import stand_in, worst_round
from belated.errors import BadFeedback
from belated.models.learner.report import allowed
from belated.research.rivals import SkippingExp3
from compositions import Array, Event, events
from conftest import examples, shortened
from naive_game import answered
from naive_portfolio import LeaderConfig, NaiveLeader
from test_leader import bowls, surrogate_regret
from test_theorems import (
    SLACK,
    TINY,
    Adversary,
    adversaries,
    all_delays,
    all_signs,
    linear_regret,
    patterns,
)

G, LAM = 1.4, 0.7
CURVED = bl.rates.StronglyConvex(LAM, G)
BALL, SIMPLEX = bl.Ball(2), bl.Simplex(3)

BASES: dict[str, Base] = {
    "P-FTRL": bl.PFTRL(BALL, CURVED),
    "OMD": bl.OMD(BALL, CURVED),
    "leader": bl.Leader(BALL, CURVED),
    "leader with a short reach": bl.Leader(BALL, CURVED, 5),
    "leader on a simplex": bl.Leader(SIMPLEX, CURVED),
    "P-FTRL on a simplex": bl.PFTRL(SIMPLEX, CURVED),
    "P-FTRL, steep bowls": bl.PFTRL(SIMPLEX, bl.rates.StronglyConvex(G * 1.4, G)),
    "leader on an L1 ball": bl.Leader(bl.L1Ball(2), CURVED),
    "convex, tight": bl.PFTRL(BALL, bl.rates.Tight(G)),
    "convex, delay adaptive": bl.OMD(BALL, bl.rates.DelayAdaptive(G)),
    "convex, gradient adaptive": bl.PFTRL(bl.Box(-1.0, 1.0, dim=2), bl.rates.GradientAdaptive(G)),
}


def curvature_of(base: Base) -> float:
    return base.rate.curvature if isinstance(base.rate, bl.rates.StronglyConvex) else 0.0


class Game:
    """A learner, and the gradients that it gets at the points that it plays."""

    def __init__(self, base: Base, adversary: Adversary, *, skip: bool = False) -> None:
        inner = bl.FirstOrder(base)
        self.base, self.adversary = base, adversary
        self.learner = bl.Learner(bl.Skip(inner) if skip else inner)
        self.plays: list[Array] = []
        self.gradients: list[Array] = []

    def event(self, kind: str, ticket: int) -> None:
        if kind == "predict":
            self.plays.append(self.learner.predict().x)
            self.gradients.append(self.adversary(ticket, self.plays[-1]))
        elif kind == "cancel":
            self.learner.cancel(ticket)
        else:
            self.learner.observe(ticket, self.gradients[ticket])

    @property
    def regret(self) -> float:
        """The regret of all rounds so far, answered or not."""
        curvature = curvature_of(self.base)
        if curvature:
            return surrogate_regret(self.base.domain, self.plays, self.gradients, curvature)
        return linear_regret(self.base.domain, self.plays, self.gradients)

    def check(self) -> None:
        """No regret exceeds what is allowed, vacuous or not."""
        found = allowed(self.base, self.learner._player, G)
        if found is not None:
            assert self.regret <= found.total + TINY * (1.0 + abs(found.total))


def harmful(base: Base, seed: int) -> dict[str, Adversary]:
    dim = base.domain.dim
    fits = base.domain == BALL and curvature_of(base) == LAM
    return adversaries(dim, G, seed) | (bowls(dim, seed + 1) if fits else {})


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("name", BASES)
def test_lives(name: str, skip: bool) -> None:
    """Answers out of order, late, lost and cancelled; every moment is a moment to look."""
    base = BASES[name]
    cancelled = skipped = late = 0
    for seed, adversary in enumerate(harmful(base, 70).values()):
        game = Game(base, adversary, skip=skip)
        for event in events(shortened(60), seed):
            game.event(*event)
            game.check()
        report = game.learner.report()
        cancelled += report.cancelled
        skipped += report.skipped
        late += report.late
    assert cancelled > 0
    assert (skipped > 0) == (late > 0) == skip


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("name", BASES)
def test_patterns(name: str, skip: bool) -> None:
    base = BASES[name]
    for timeline in patterns(shortened(80), 71).values():
        for adversary in harmful(base, 72).values():
            game = Game(base, adversary, skip=skip)
            for event in answered(timeline):
                game.event("predict" if event >= 0 else "observe", max(event, ~event))
            game.check()


def nearest(game: Game, waiting: list[int]) -> int:
    """Answer first what was played nearest to where the learner is now: what it knows already."""
    now = game.learner._player.base.point
    return min(waiting, key=lambda t: float(np.linalg.norm(game.plays[t] - now)))


def farthest(game: Game, waiting: list[int]) -> int:
    now = game.learner._player.base.point
    return max(waiting, key=lambda t: float(np.linalg.norm(game.plays[t] - now)))


def worst(game: Game, waiting: list[int]) -> int:
    """Keep back what would help most: answer the smallest <c, x> first."""
    return min(waiting, key=lambda t: float(game.gradients[t] @ game.plays[t]))


def oldest(_: Game, waiting: list[int]) -> int:
    return waiting[0]


def newest(_: Game, waiting: list[int]) -> int:
    return waiting[-1]


CHOICES: list[Callable[[Game, list[int]], int]] = [nearest, farthest, worst, oldest, newest]


@given(
    name=st.sampled_from(sorted(BASES)),
    skip=st.booleans(),
    moves=st.lists(
        st.tuples(st.sampled_from(["predict", "observe", "cancel"]), st.sampled_from(CHOICES)),
        max_size=70,
    ),
    seed=st.integers(0, 1000),
)
def test_delays_that_depend_on_the_plays(
    name: str, skip: bool, moves: list[tuple[str, Callable[..., int]]], seed: int
) -> None:
    """Whoever chooses the delays sees all plays and gradients, and may lose answers."""
    base = BASES[name]
    choices = list(harmful(base, seed).values())
    game = Game(base, choices[seed % len(choices)], skip=skip)
    waiting: list[int] = []
    for kind, choose in moves:
        if kind == "predict" or not waiting:
            waiting.append(len(game.plays))
            game.event("predict", waiting[-1])
        else:
            ticket = choose(game, waiting)
            waiting.remove(ticket)
            game.event(kind, ticket)
        game.check()


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("kind", [bl.PFTRL, bl.OMD, bl.Leader])
def test_exhaustive(kind: type[bl.PFTRL | bl.OMD | bl.Leader], skip: bool) -> None:
    """All delays with T <= 4 and all costs, as bent as can be."""
    ball = bl.Ball(1)
    base = kind(ball, bl.rates.StronglyConvex(G, G))
    spec = bl.Skip(bl.FirstOrder(base)) if skip else bl.FirstOrder(base)
    skipped = 0
    for delays in all_delays(4):
        happening = np.array(answered(bl.Timeline.from_delays(delays)))
        for signs in all_signs(len(delays)):
            costs = G * signs
            learner = bl.Learner(spec)
            plays = learner.replay(happening, costs)
            regret = surrogate_regret(ball, list(plays), list(costs), G)
            found = allowed(base, learner._player, G)
            assert found is not None
            assert regret <= found.total + TINY, (delays, signs.T)
            skipped += learner.report().skipped
    assert (skipped > 0) == skip


# --- Leader --------------------------------------------------------------------------------------


def quadratics(slow: NaiveLeader) -> Iterator[tuple[Array, Array]]:
    """The (c_n, y_n) that make h_n."""
    return zip(slow.history.costs, slow.about, strict=True)


def value(z: Array, terms: list[tuple[Array, Array]]) -> float:
    """Sum of <c, z> + (lambda / 2) |z - y|^2."""
    return math.fsum(float(c @ z + 0.5 * LAM * (z - y) @ (z - y)) for c, y in terms)


@given(
    rounds=st.integers(1, 60),
    seed=st.integers(0, 10**6),
    dim=st.integers(1, 3),
    reach=st.sampled_from([1, 5, 20, 1000]),
)
def test_the_sums_of_a_leader(rounds: int, seed: int, dim: int, reach: int) -> None:
    """They are what the slow version says, with every point at hand."""
    life: list[Event] = events(rounds, seed)
    rng = np.random.default_rng(seed)
    costs = [G * v / np.linalg.norm(v) for v in rng.standard_normal((rounds, dim))]
    fast = bl.Learner(bl.FirstOrder(bl.Leader(bl.Ball(dim), CURVED, reach)))
    slow = NaiveLeader(LeaderConfig(dim=dim, rate="strongly-convex", curvature=LAM, reach=reach))
    for kind, ticket in life:
        if kind == "predict":
            np.testing.assert_allclose(fast.predict().x, slow.predict()[1], atol=1e-12)
        elif kind == "cancel":
            fast.cancel(ticket)
            slow.cancel(ticket)
        else:
            fast.observe(ticket, costs[ticket])
            slow.observe(ticket, costs[ticket])
    terms, points = list(quadratics(slow)), slow.history.points
    lead = fast._player.base
    steps = list(itertools.pairwise(points))
    learning = [value(a, terms[:n]) - value(b, terms[:n]) for n, (a, b) in enumerate(steps, 1)]
    drift = [
        value(term[1], [term]) - value(z, [term]) for term, z in zip(terms, points, strict=False)
    ]
    assert lead.learning == pytest.approx(math.fsum(learning), abs=1e-9)
    assert lead.drift == pytest.approx(math.fsum(drift), abs=1e-9)
    unsure = math.fsum(
        e * (float(np.linalg.norm(c)) + LAM * (2.0 - e / 2.0))
        for (c, _), e in zip(terms, slow.unsure, strict=True)
    )
    assert lead.unsure == pytest.approx(unsure, abs=1e-9)
    assert min(learning, default=0.0) >= -TINY


# --- Rounds without an answer --------------------------------------------------------------------


@given(
    lipschitz=st.floats(0.1, 10.0),
    diameter=st.floats(0.1, 10.0),
    share=st.floats(0.0, 1.0),
    radius=st.floats(0.0, 1.0),
)
def test_a_round_costs_at_most_g_d(
    lipschitz: float, diameter: float, share: float, radius: float
) -> None:
    """With lambda D <= 2 G, and where something stood in for it with R <= (sqrt 3 / 2) D."""
    curvature = 2.0 * share * lipschitz / diameter
    most = worst_round(lipschitz, diameter, curvature)
    distances = np.linspace(0.0, diameter, 400)
    tried = lipschitz * distances - 0.5 * curvature * distances**2
    assert tried.max() <= most * SLACK
    assert most <= tried.max() + 0.5 * lipschitz * diameter / 399
    reach = math.sqrt(0.75) * radius * diameter
    assert most + stand_in(curvature, reach) <= lipschitz * diameter * SLACK


@pytest.mark.parametrize(
    "domain", [bl.Ball(3), bl.Box(0.0, 9.0, dim=4), bl.L1Ball(5), bl.Simplex(2), bl.Simplex(50)]
)
def test_every_built_in_set_is_round_enough(domain: bl.domains.Domain) -> None:
    assert domain.outer_radius is not None
    assert domain.outer_radius <= math.sqrt(0.75) * domain.diameter


def test_the_price_of_given_up_rounds() -> None:
    """G D for convex losses; less for strongly convex ones, and more where something stood in."""
    for rate, price, stood_in in ((bl.rates.Tight(G), 2.0 * G, 0.0), (CURVED, G, LAM / 2.0)):
        learner = bl.Learner(bl.FirstOrder(bl.PFTRL(BALL, rate)))
        for t in range(1000):
            learner.predict()
            if t == 3:
                learner.cancel(t)
            elif t < 995:
                learner.observe(t, [0.01, 0.0])
        assert worst_round(G, 2.0, learner._player.base.curvature) == pytest.approx(price)
        found = learner.report().certificate
        assert found is not None
        assert found.unanswered == pytest.approx(6 * price + stood_in)


# --- Refusals in words ---------------------------------------------------------------------------

NOTES: list[tuple[Any, str]] = [
    (
        bl.FirstOrder(bl.OMD(bl.Simplex(3, 0.1), CURVED, "entropy")),
        "no certificate: the strongly convex case needs Euclidean distances, not entropy",
    ),
    (bl.TwoPoint(bl.Leader(BALL, CURVED)), "the two-point guarantee holds in expectation"),
]


@pytest.mark.parametrize(("spec", "note"), NOTES)
def test_why_there_is_none(spec: Any, note: str) -> None:
    learner = bl.Learner(spec)
    for _ in range(50):
        ticket, _ = learner.predict()
        learner.observe(ticket, [0.1, 0.0] if isinstance(spec, bl.TwoPoint) else [0.1, 0.0, 0.0])
    report = learner.report()
    assert report.certificate is None
    assert note in report.certificate_note


# --- Answers larger than assumed, and answers that nobody saw: what a certificate may still sa ---


LINE = bl.Ball(1)
TIGHT = bl.rates.Tight(1.0)
VALUES = bl.PFTRL(LINE, bl.rates.DelayAdaptive(1.0))


def constantly(gradient: float) -> Any:
    return lambda x: np.array([gradient])


KINDS: list[tuple[str, Any, Any, Any]] = [
    ("gradient", bl.FirstOrder(bl.PFTRL(LINE, TIGHT)), [0.5], [1000.0]),
    ("portfolio", bl.FirstOrder(bl.Portfolio([bl.PFTRL(LINE, TIGHT)])), [0.5], [1000.0]),
    ("box", bl.FirstOrder(bl.OMD(bl.Box(0.0, 4.0), TIGHT)), [0.25], [0.75]),
    ("function", bl.FullInformation(bl.PFTRL(LINE, TIGHT)), constantly(0.5), constantly(1000.0)),
    ("value", bl.OnePoint(VALUES, 1.0), [0.5], [1000.0]),
    ("two values", bl.TwoPoint(VALUES), [0.0, 0.0], [1000.0, 0.0]),
]
WORDS = pytest.mark.parametrize(
    ("spec", "small", "large"), [case[1:] for case in KINDS], ids=[case[0] for case in KINDS]
)


def after_a_skip(spec: Any, small: Any, strict: bool = False, rounds: int = 30) -> bl.Learner:
    """Return a learner that has given up on ticket 0 and has the answers to all others."""
    learner = bl.Learner(bl.Skip(spec), strict=strict)
    learner.predict()
    for t in range(1, rounds):
        learner.predict()
        learner.observe(t, small)
    assert learner.report().skipped == 1
    return learner


@WORDS
def test_a_late_answer_to_a_skipped_ticket_is_counted_before_it_is_dropped(
    spec: Any, small: Any, large: Any
) -> None:
    learner = after_a_skip(spec, small)
    assert not learner.observe(0, large)
    report = learner.report()
    assert (report.excess, report.late, report.observed) == (1, 1, 29)
    usual = after_a_skip(spec, small)
    assert not usual.observe(0, small)
    assert usual.report().excess == 0
    assert usual.predict().x.tolist() == learner.predict().x.tolist()


@WORDS
def test_a_strict_learner_refuses_it(spec: Any, small: Any, large: Any) -> None:
    learner = after_a_skip(spec, small, strict=True)
    before = learner.snapshot()
    with pytest.raises(BadFeedback, match="exceeds the assumed bound"):
        learner.observe(0, large)
    assert learner.snapshot() == before
    assert not learner.observe(0, small)


def test_games_count_it_too() -> None:
    """A game and its own learner, event by event, agree on what was larger than assumed."""
    delays = [40, *(0,) * 59]
    timeline = bl.Timeline.from_delays(delays)
    losses = bl.losses.Linear([[1000.0], *([0.5],) * 59])
    for spec in (
        bl.Skip(bl.FirstOrder(bl.PFTRL(LINE, TIGHT))),
        bl.Skip(bl.FullInformation(bl.PFTRL(LINE, TIGHT))),
        bl.Skip(bl.TwoPoint(VALUES)),
    ):
        report = bl.play(spec, bl.Game(losses, timeline)).report
        assert (report.skipped, report.late, report.excess) == (1, 1, 1)


def test_rivals_count_what_they_gave_up_on() -> None:
    learner = bl.Learner(SkippingExp3(2, rounds=60, total_delay=0))
    learner.predict()
    for t in range(1, 60):
        learner.predict()
        learner.observe(t, [0.5])
    assert learner.report().skipped
    assert not learner.observe(0, [1000.0])
    assert learner.report().excess == 1


def test_the_certificate_knows_of_it() -> None:
    """The skipped round alone costs 1000 per unit, against 1 that was assumed."""
    learner = bl.Learner(bl.Skip(bl.FirstOrder(bl.PFTRL(LINE, TIGHT))))
    gradients, plays = np.array([1000.0, *(0.0,) * 3000]), []
    for t in range(3001):
        plays.append(learner.predict().x[0])
        if t:
            learner.observe(t, [gradients[t]])
    promised = learner.report().certificate
    assert promised is not None
    learner.observe(0, [1000.0])
    regret = float(gradients @ plays) + abs(float(gradients.sum()))
    report = learner.report()
    assert report.certificate is not None
    assert promised.total < regret <= report.certificate.total
    assert report.certificate.unanswered == 2.0 * 1000.0
    assert "1 gradients exceeded lipschitz" in report.certificate_note


# ---- gradients that nobody saw ------------------------------------------------------------------


def many_rounds(spec: Any, answer: Any, rounds: int = 2000) -> bl.Learner:
    learner = bl.Learner(spec)
    for t in range(rounds):
        learner.predict()
        learner.observe(t, answer)
    return learner


BLIND = bl.FirstOrder(bl.PFTRL(LINE, bl.rates.GradientAdaptive()))


@pytest.mark.parametrize("spec", [BLIND, bl.FirstOrder(bl.Portfolio([BLIND.base] * 2))])  # type: ignore[list-item]
def test_without_lipschitz_an_unanswered_ticket_ends_the_certificate(spec: Any) -> None:
    learner = many_rounds(spec, [1.0])
    assert learner.report().certificate is not None
    ticket, _ = learner.predict()
    for what in ("open", "cancelled"):
        report = learner.report()
        assert report.certificate is None
        assert "lipschitz was not given" in report.certificate_note
        assert "open, skipped or cancelled (1)" in report.certificate_note
        assert getattr(report, what) == 1
        if what == "open":
            learner.cancel(ticket)


def test_a_lipschitz_that_did_not_hold_bounds_nothing_unseen() -> None:
    learner = many_rounds(bl.FirstOrder(bl.PFTRL(LINE, TIGHT)), [1.5])
    assert learner.report().certificate is not None
    ticket, _ = learner.predict()
    report = learner.report()
    assert report.certificate is None
    assert "exceeded lipschitz, so nothing bounds" in report.certificate_note
    learner.observe(ticket, [1.0])
    assert learner.report().certificate is not None


def test_of_whole_losses_the_gradient_at_the_play_is_not_seen() -> None:
    """(3 x)^2 / 2 at the current point says nothing about its slope at the point played."""
    blind = bl.FullInformation(bl.PFTRL(LINE, bl.rates.GradientAdaptive()))
    learner = many_rounds(blind, constantly(1.0))
    assert learner.report().certificate is not None
    first, _ = learner.predict()
    second, _ = learner.predict()
    learner.observe(second, constantly(1.0))
    learner.observe(first, constantly(1.0))
    report = learner.report()
    assert report.certificate is None
    assert "nothing bounds the gradients at the points played" in report.certificate_note


@examples(20)
@given(
    lipschitz=st.none() | st.floats(0.1, 3.0),
    skip=st.booleans(),
    seed=st.integers(0, 10_000),
    loud=st.floats(0.0, 0.02),
)
def test_certificates_hold_in_lives_with_surprises(
    lipschitz: float | None, skip: bool, seed: int, loud: float
) -> None:
    """Gradients of any size; open, skipped and cancelled tickets have theirs too.

    A lipschitz that does not hold is only found out by an answer, so until then the promise is
    about gradients that keep to it.
    """
    spec: Any = bl.FirstOrder(bl.PFTRL(LINE, bl.rates.GradientAdaptive(lipschitz)))
    learner = bl.Learner(bl.Skip(spec) if skip else spec)
    rng = np.random.default_rng(seed)
    rounds = 400
    gradients = rng.choice([-1.0, 1.0], rounds, p=[0.2, 0.8]) * rng.uniform(0.5, 1.0, rounds)
    gradients[rng.random(rounds) < loud] *= 100.0
    plays, waiting = np.zeros(rounds), []
    for t in range(rounds):
        plays[t] = learner.predict().x[0]
        waiting.append(t)
        while waiting and rng.random() < 0.7:
            ticket = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.01:
                learner.cancel(ticket)
            else:
                learner.observe(ticket, [gradients[ticket]])
        if t % 40 == 39:
            report = learner.report()
            so_far = slice(0, t + 1)
            loss = float(gradients[so_far] @ plays[so_far])
            regret = loss + abs(float(gradients[so_far].sum()))
            keeps = lipschitz is not None and np.abs(gradients[so_far]).max() > lipschitz
            if report.certificate is not None and not (keeps and not report.excess):
                assert regret <= report.certificate.total * (1.0 + 1e-9)
