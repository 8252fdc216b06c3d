"""Every family with every source on every set, wherever a game takes them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated import losses
from belated.domains import Domain
from belated.research.game.best import best_action
from belated.research.losses import Loss, Source
from conftest import INTERPRETED, Python, everything

DIM, ROUNDS = 2, 12
VECTORS = np.array([[0.6, -0.8], [1.0, 0.0], [0.0, -0.5]] * 4)
SIGNS = np.array([1.0, -1.0, 1.0] * 4)
SOURCES: dict[type[Source], Any] = {
    losses.Given: None,  # every family takes the arrays itself
    losses.Random: losses.Random(DIM),
    losses.Drifting: losses.Drifting(DIM, period=3),
    losses.Switching: losses.Switching(DIM, every=3),
    losses.Blocks: losses.Blocks(DIM, length=3),
    losses.Alternating: losses.Alternating(DIM),
    losses.Adaptive: losses.Adaptive(DIM),
}
FAMILIES: dict[type[Loss], bool] = {
    losses.Linear: False,
    losses.Quadratic: False,
    losses.Absolute: True,
    losses.Squared: True,
    losses.Logistic: True,
    losses.Hinge: True,
}
"""Whether a family has targets."""
CUSTOM = losses.Custom(
    DIM,
    lambda t, x: float(abs(x[0] - 0.3)),
    lambda t, x: np.array([np.sign(x[0] - 0.3), 0.0]),
    lipschitz=1.0,
    magnitude=2.0,
)
SETS: dict[type[Domain], Domain] = {
    bl.Ball: bl.Ball(DIM),
    bl.Box: bl.Box([-1.0, -2.0], [1.0, 1.0]),
    bl.Simplex: bl.Simplex(DIM),
    bl.L1Ball: bl.L1Ball(DIM),
    bl.ConvexSet: bl.ConvexSet(DIM, bl.Ball(DIM).project, diameter=2.0, outer_radius=1.0),
}


def public(room: Any, kind: type) -> set[type]:
    """All that a room shows of a kind."""
    shown = {getattr(room, name) for name in room.__all__}
    return {each for each in shown if isinstance(each, type) and issubclass(each, kind)} - {kind}


def test_none_is_forgotten() -> None:
    assert {*FAMILIES, losses.Custom} == public(losses, Loss)
    assert set(SOURCES) == public(losses, Source)
    assert set(SETS) == public(bl, Domain)


def made(family: Any, source: type[Source]) -> Loss:
    """Return a family with a source."""
    if source is losses.Given:
        arrays = (VECTORS, SIGNS) if FAMILIES[family] else (VECTORS,)
        loss: Loss = family(*arrays)
    else:
        loss = family(SOURCES[source])
    return loss


def all_losses() -> list[Loss]:
    """All that fit together; those that do not say so."""
    found: list[Loss] = [CUSTOM]
    for family, source in itertools.product(FAMILIES, SOURCES):
        if source is losses.Adaptive and family is not losses.Linear:
            with pytest.raises(bl.errors.SpecError, match=r"only losses\.Linear can be adaptive"):
                made(family, source)
        else:
            found.append(made(family, source))
    return found


def check(loss: Loss, domain: Domain) -> None:
    """Take losses and a set through constants, problem, play, best action and bound."""
    game = bl.Game(loss, bl.delays.constant(ROUNDS, 2))
    known = loss.constants(domain)
    assert known.lipschitz is not None
    assert known.magnitude is not None
    assert known.lipschitz > 0.0
    problem = game.problem(domain)
    assert problem.lipschitz == known.lipschitz
    run = bl.play(problem.learner("gradient", rate="paper"), game, record="detail")
    assert run.bound is not None
    comparator = np.array(domain.center)
    assert run.regret_against(comparator) <= run.bound.total
    if isinstance(domain, bl.ConvexSet):
        return
    best = run.best if loss.is_adaptive else best_action(loss, domain, ROUNDS)
    assert best.loss - best.gap <= run.loss - run.regret_against(comparator) + 1e-9
    assert best.how == ("closed form" if loss.form in ("linear", "quadratic") else "solver")
    assert run.regret <= run.bound.total


def check_all(every: int) -> None:
    """Check so many of them, one out of ``every`` in turns.

    Runs without a compiler, as each needs code of its own.
    """
    pairs = itertools.product(enumerate(all_losses()), enumerate(SETS.values()))
    wanted = [(loss, domain) for (i, loss), (j, domain) in pairs if (i + j) % every == 0]
    for loss, domain in wanted:
        check(loss, domain)
    print(len(wanted))


def test_all_go_through_all_places(python: Python, capsys: pytest.CaptureFixture[str]) -> None:
    """Every loss on every other set, and on all of them where all is asked for.

    The sets take turns, so that every family is on all of them either way.
    """
    every = 1 if everything() else 2
    if INTERPRETED:
        check_all(every)
        said = capsys.readouterr().out
    else:
        said = python(
            "-c", f"import test_families as t; t.check_all({every})", BELATED_INTERPRETED="1"
        )
    assert said == f"{(6 * 6 + 1 + 1) * len(SETS) // every}\n"
