"""Rows say what a contestant is told, and who loses least is read off them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import belated as bl
from belated import delays
from belated.research.rivals import WOFTRL
from belated.research.study import contestants
from belated.research.study.contestants import Contestant, Field
from belated.research.study.games import LOSSES

FIELDS: dict[str, tuple[Field, str]] = {
    "convex": (contestants.CONVEX, "linear"),
    "strongly convex": (contestants.STRONGLY_CONVEX, "quadratic"),
    "experts": (contestants.EXPERTS, "linear"),
    "arms": (contestants.ARMS, "linear"),
    "values": (contestants.VALUES, "linear"),
    "strongly convex values": (contestants.STRONGLY_CONVEX_VALUES, "quadratic"),
    "answers": (contestants.ANSWERS, "linear"),
    "curved answers": (contestants.CURVED_ANSWERS, "quadratic"),
}
EVERY = [
    pytest.param(each, loss, id=f"{name}, {each.name}")
    for name, (field, loss) in FIELDS.items()
    for each in field.values()
]


@pytest.mark.parametrize(("contestant", "loss"), EVERY)
def test_a_row_says_what_its_method_is_told(contestant: Contestant, loss: str) -> None:
    """What does not change with the horizon or the delays was not told them."""
    losses = LOSSES[loss](3, 0)
    probabilities = (*contestants.EXPERTS.values(), *contestants.ARMS.values())
    domain = bl.Simplex(3) if contestant in probabilities else bl.Ball(3)

    def made(timeline: bl.Timeline) -> object:
        return contestant.make(bl.Game(losses, timeline), domain)

    plain = made(delays.constant(400, 3))
    depends = {
        "T": made(bl.Timeline.from_delays([3] * 397 + [2, 1, 0] + [0] * 100)) != plain,
        "delays": made(delays.constant(400, 7)) != plain,
    }
    told = contestant.told.split(", ")
    assert depends["T"] == ("T" in told)
    assert depends["delays"] == bool({"d_tot", "d_max", "sigma_max"} & set(told))


# --- Two players of a matrix game: their regrets, by a slow version -------------------------------


Array = NDArray[np.float64]


def slow_regrets(
    a: Array, b: Array, delay: int, copies: int, mu: float, rounds: int
) -> list[float]:
    """Softmax of what was told, with copies of the newest; losses x' A y and x' B y."""
    told: list[list[Array]] = [[], []]
    plays: list[list[Array]] = [[], []]
    for t in range(rounds):
        for i in (0, 1):
            known = told[i][: max(0, t - delay)]
            total = np.sum(known, axis=0) if known else np.zeros(len(a))
            total = total + copies * (known[-1] if known else 0.0)
            weights = np.exp(-(total - total.min()) / mu)
            plays[i].append(weights / weights.sum())
        x, y = plays[0][t], plays[1][t]
        told[0].append(a @ y)
        told[1].append(x @ b)
    return [
        sum(float(g @ x) for g, x in zip(told[i], plays[i], strict=True))
        - float(np.sum(told[i], axis=0).min())
        for i in (0, 1)
    ]


def steps(delay: int, size: int, copies: int | None = None) -> WOFTRL:
    """Two players with four actions and payoffs in [-1, 1] have L = 2; the step is 1 / (L size)."""
    smoothness = 2.0 * size / ((delay + 1) * (delay + 2))
    return WOFTRL(bl.Simplex(4), smoothness, delay, mirror="entropy", copies=copies)


def regrets(spec: WOFTRL, a: Array, b: Array, delay: int, rounds: int) -> list[float]:
    """Let two learners play against each other, each told so many rounds late."""
    players = bl.Learner(spec), bl.Learner(spec)
    told: list[list[Array]] = [[], []]
    plays: list[list[Array]] = [[], []]
    for t in range(rounds):
        x, y = (player.predict().x for player in players)
        for i, (gradient, play) in enumerate(((a @ y, x), (x @ b, y))):
            told[i].append(gradient)
            plays[i].append(play)
            if t >= delay:
                players[i].observe(t - delay, told[i][t - delay])
    return [
        sum(float(g @ x) for g, x in zip(told[i], plays[i], strict=True))
        - float(np.sum(told[i], axis=0).min())
        for i in (0, 1)
    ]


@pytest.mark.parametrize(("delay", "copies"), [(0, 1), (1, 2), (3, 4), (3, 0), (3, 1)])
def test_regrets_are_those_of_the_slow_version(delay: int, copies: int) -> None:
    """With the step of WOFTRL's theorem, 1 / (2 (d + 1) (d + 2))."""
    draw = np.random.default_rng(delay)
    a, b = draw.uniform(-1.0, 1.0, (2, 4, 4))
    spec = steps(delay, (delay + 1) * (delay + 2), copies)
    ours = regrets(spec, a, b, delay, 60)
    theirs = slow_regrets(a, b, delay, copies, spec.strength, 60)
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)
    if copies == delay + 1:  # what it chooses by itself; at first fewer are missing
        own = steps(delay, (delay + 1) * (delay + 2))
        assert regrets(own, a, b, delay, 60) == pytest.approx(ours, rel=0.2)


@pytest.mark.slow
def test_weighted_optimism_keeps_the_sum_bounded_where_plain_methods_do_not() -> None:
    """Four times the rounds: less than a tenth more, and half as much again."""
    a = np.random.default_rng([0, 0]).uniform(-1.0, 1.0, (4, 4))
    grew = {}
    for copies in (None, 0):
        spec = steps(1, 2, copies)
        early, late = (sum(regrets(spec, a, -a, 1, t)) for t in (400, 1600))
        grew[copies] = late / early
    assert grew[None] < 1.1
    assert grew[0] > 1.5
