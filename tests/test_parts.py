"""Every part that is declared is known everywhere, and nothing else is taken for one.

A part that somebody forgets to join, to cover or to refuse fails here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import belated as bl
import compositions
from belated import rates, reductions, smoothing
from belated.bases import Base
from belated.errors import SpecError
from belated.spec import Spec

G = 2.0


class Root:
    """A user's rate."""

    def step_size(self, counts: rates.Counts, norm: float) -> float:
        """1 / sqrt(n + sum s*)."""
        return float(1.0 / np.sqrt(counts.arrivals + counts.backlogs))


EXAMPLES: dict[str, Spec] = {
    spec.kind: spec
    for spec in (
        rates.DelayAdaptive(G),
        rates.Tight(G),
        rates.GradientAdaptive(G),
        rates.StronglyConvex(0.5, G),
        rates.Constant(0.1, G),
        rates.InverseRoot(0.5, G),
        rates.Table([0.5, 0.25], G),
        rates.Custom(Root(), G),
        smoothing.Convex(0.5),
        smoothing.StronglyConvex(0.5),
        smoothing.InverseRoot(),
        smoothing.Inverse(),
        smoothing.Constant(0.1),
        smoothing.Custom(lambda t: 0.5 / t),
        bl.Ball(2),
        bl.Box(-1.0, 1.0, dim=2),
        bl.Simplex(2, floor=0.1),
        bl.L1Ball(2),
        bl.ConvexSet(2, bl.Ball(2).project, 2.0, 1.0, 1.0),
    )
}
BALL = bl.Ball(2)


def subclasses(kind: type[Spec]) -> Iterator[type[Spec]]:
    """Go through all specs below a class that have a name of their own."""
    for each in kind.__subclasses__():
        if not each.__name__.startswith("_"):
            yield each
        yield from subclasses(each)


def kinds(base: type[Spec], module: str) -> set[str]:
    """Return the kinds of specs that belated itself declares."""
    return {each.kind for each in subclasses(base) if each.__module__.startswith(module)}


def lives(spec: reductions.Reduction | reductions.Wrapper) -> None:
    """Go through two rounds with an answer and a lost one, and on from a snapshot."""
    learner = bl.Learner(spec)
    for _ in range(2):
        assert np.isfinite(learner.predict().x).all()
    width = {bl.OnePoint: 1, bl.TwoPoint: 2}.get(type(spec), 2)
    learner.observe(1, np.full(width, 0.1))
    learner.cancel(0)
    again = bl.Learner.restore(learner.snapshot(), spec)
    x = learner.predict().x
    assert np.isfinite(x).all()
    assert learner.report().observed == 1
    np.testing.assert_array_equal(again.predict().x, x)


@pytest.mark.parametrize("kind", sorted(kinds(rates.Rate, "belated.rates")))
def test_every_rate_runs_or_is_refused_with_a_reason(kind: str) -> None:
    if kind == "rates.Mixed":
        with pytest.raises(SpecError, match="rate must come from"):
            bl.PFTRL(BALL, rates.Mixed())
        return
    rate = EXAMPLES[kind]
    assert isinstance(rate, rates.Rate)
    for base in (bl.PFTRL(BALL, rate), bl.OMD(BALL, rate), bl.DualAveraging(BALL, rate)):
        lives(bl.FirstOrder(base))
        if rate.for_members:
            lives(bl.FirstOrder(bl.Portfolio([base, bl.PFTRL(BALL, rates.Tight(G))])))
        else:
            with pytest.raises(SpecError, match="a member cannot have"):
                bl.Portfolio([base])
        if rate.not_for_values:
            with pytest.raises(SpecError, match=rate.not_for_values):
                bl.TwoPoint(base)
        else:
            lives(bl.OnePoint(base, 1.0, smoothing.Convex(0.5)))
            lives(bl.TwoPoint(base))


@pytest.mark.parametrize("kind", sorted(kinds(Base, "belated.bases")))
def test_every_base_says_whether_it_is_certified(kind: str) -> None:
    tight, curved = rates.Tight(G), rates.StronglyConvex(0.5, G)
    made: dict[str, Base] = {
        "PFTRL": bl.PFTRL(BALL, tight),
        "OMD": bl.OMD(BALL, tight),
        "DualAveraging": bl.DualAveraging(BALL, tight),
        "Leader": bl.Leader(BALL, curved),
        "Portfolio": bl.Portfolio([bl.PFTRL(BALL, tight)]),
    }
    spec = bl.FirstOrder(made[kind])
    lives(spec)
    learner = bl.Learner(spec)
    for ticket in range(400):
        learner.predict()
        learner.observe(ticket, [0.1, 0.0])
    report = learner.report()
    assert (report.certificate is None) == bool(made[kind].uncertified)
    assert made[kind].uncertified in report.certificate_note


def test_every_rate_and_smoothing_is_compared_with_its_slow_version() -> None:
    """One that is missing in ``compositions`` would be compared with nothing."""
    covered = [part.spec(2) for part in compositions.RATES.values()]
    radii = [part.spec(2) for part in compositions.SMOOTHINGS.values()]
    kinds = {spec.kind for spec in (*covered, *radii) if spec is not None}
    examples = {kind for kind in EXAMPLES if kind.startswith(("rates.", "smoothing."))}
    assert examples - {"rates.Custom", "smoothing.Custom"} <= kinds


def test_an_unknown_part_is_an_error() -> None:
    class Sudden(rates.Rate, module="rates"):
        lipschitz = G

    with pytest.raises(SpecError, match=r"no rate of the core is known for rates\.Sudden"):
        bl.Learner(bl.FirstOrder(bl.PFTRL(BALL, Sudden())))

    class Shifty(bl.losses.Source, module="losses"):
        dim, rounds, is_adaptive = 2, None, False

    with pytest.raises(SpecError, match=r"no source of the core is known for losses\.Shifty"):
        bl.losses.Linear(Shifty()).in_core()
