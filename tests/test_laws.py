"""Laws that hold for every composition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import belated as bl
from belated.errors import BadFeedback
from compositions import (
    ALL,
    BASES,
    COMPILED,
    COMPOSITIONS,
    COVERING,
    FEW,
    RATES,
    REDUCTIONS,
    SETS,
    SMOOTHINGS,
    Array,
    Composition,
    Drive,
    Row,
    codes,
    events,
    fits,
    pairs,
)
from held import held


def of(
    compositions: list[Composition], quick: list[Composition] | None = None
) -> pytest.MarkDecorator:
    """Run a test for these compositions; for some of them it also runs compiled.

    Where ``quick`` ones are named, the others only run if all is asked for.
    """
    rows = []
    for each in compositions:
        marks = [pytest.mark.compiled] * (each in COMPILED)
        marks += [pytest.mark.slow] * (quick is not None and each not in quick)
        rows.append(pytest.param(each, id=each.name, marks=marks))
    return pytest.mark.parametrize("composition", rows)


every = of(ALL)


def with_life(composition: Composition, length: int | None = None) -> bl.Learner:
    """Return a learner that has lived through some events."""
    learner = composition.learner()
    Drive(composition, composition.answers())(learner, events()[:length])
    return learner


# --- The table -----------------------------------------------------------------------------------


def test_the_table_covers_every_pair_of_parts() -> None:
    plain = [name for name in SMOOTHINGS if "horizon" not in name and "corollary" not in name]
    rates = [name for name in RATES if name not in ("scaled", "unscaled")]
    wanted = set().union(
        *(
            pairs(row)
            for parts in itertools.product(
                REDUCTIONS, BASES, SETS, rates, ["", *plain], (False, True), (2,)
            )
            if fits(row := Row(*parts))
        )
    )
    assert all(fits(row) for row in COVERING)
    assert set().union(*(pairs(row) for row in COVERING)) == wanted
    assert len(COMPOSITIONS) == len(ALL)
    assert {c.row.dim for c in ALL} == {1, 2, 3, 7}


# --- One algorithm, many ways to run it ----------------------------------------------------------


@every
def test_batch_is_live_bit_for_bit(composition: Composition) -> None:
    life, answers = events(cancel=False), composition.answers()
    live = composition.learner()
    plays = Drive(composition, answers)(live, life).plays
    batch = composition.learner()
    if composition.answer == "function":
        with pytest.raises(BadFeedback, match="gradient function"):
            batch.replay(codes(life), answers)
        return
    assert batch.replay(codes(life), answers).tobytes() == np.array(plays).tobytes()
    assert batch.snapshot() == live.snapshot()
    assert batch.report() == live.report()


@every
def test_agrees_with_the_slow_reference(composition: Composition) -> None:
    answers, life = composition.answers(), events()
    fast, slow = composition.learner(), composition.reference()
    quick = Drive(composition, answers)(fast, life)
    patient = Drive(composition, answers)(slow, life)
    assert quick.used == patient.used
    scale = float(np.abs(np.array(patient.plays)).max())
    np.testing.assert_allclose(quick.plays, patient.plays, rtol=1e-9, atol=1e-9 * scale)
    report, counters = fast.report(), slow.counters()
    for name in ("rounds", "observed", "skipped", "cancelled", "open", "late"):
        assert getattr(report, name) == getattr(counters, name), name
    for name in ("total_delay", "max_backlog", "max_dual_delay"):
        assert getattr(report, name) == getattr(counters, name), name
    waiting = [slow._since(ticket, "predict") for ticket in slow.open_tickets()]
    assert report.max_delay == max([counters.max_delay, *waiting])
    if composition.row.base == "adagrad":
        assert report.rate is None
        return
    assert report.rate == pytest.approx(slow.rate, rel=1e-9)
    assert fast._player.base.sums.learned == pytest.approx(slow.learning, rel=1e-9)
    assert fast._player.base.sums.drifted == pytest.approx(slow.drift, rel=1e-9)


@every
def test_giving_up_happens_in_the_rows_that_give_up(composition: Composition) -> None:
    learner = with_life(composition)
    report = learner.report()
    assert (report.skipped > 0) == composition.row.gives_up
    at_once = composition.row.wrapper == "hasty deadline"
    assert (report.late > 0) == (composition.row.gives_up and not at_once)
    assert report.cancelled > 0
    assert (learner._player.tickets.forgotten > 0) == composition.forgets


# --- Plays ---------------------------------------------------------------------------------------


@every
def test_plays_stay_in_the_set(composition: Composition) -> None:
    config, domain = composition.config(), composition.domain()
    learner = composition.learner()
    wild = 20.0 * composition.answers()
    for x in Drive(composition, wild)(learner, events()).plays:
        for row in np.atleast_2d(x):
            if isinstance(domain, bl.Box):
                low, high = domain.bounds
                assert (row >= low).all()
                assert (row <= high).all()
                continue
            y = row if config.center is None else row - config.center
            size = 1.0 if config.center is None else 1.0 + float(np.abs(config.center).max())
            assert config.domain.violation(y) <= 1e-12 * size * max(1.0, config.radius)


@of([c for c in ALL if not c.explores and not c.row.gives_up])
def test_plays_stand_still_between_observations(composition: Composition) -> None:
    learner = composition.learner()
    answers = composition.answers()
    last: bytes | None = None
    moved = 0
    for kind, ticket in events():
        if kind == "predict":
            x = learner.predict().x.tobytes()
            assert last in (None, x)
            last = x
        else:
            Drive(composition, answers)(learner, [(kind, ticket)])
            moved += last is not None
            last = None
    assert moved


@of([c for c in ALL if c.answer == "function"])
def test_points_that_are_shown_to_a_gradient_are_copies(composition: Composition) -> None:
    """What becomes of arrays that users give is in ``test_arrays``."""
    given: list[Array] = []

    def gradient(x: Array) -> Array:
        given.append(x)
        x[:] = np.nan
        return np.full(composition.row.dim, 0.1)

    learner, other = composition.learner(), composition.learner()
    for one in (learner, other):
        one.predict()
    learner.observe(0, gradient)
    other.observe(0, lambda x: np.full(composition.row.dim, 0.1))
    given[0][:] = 7.0
    assert learner.snapshot() == other.snapshot()


# --- Memory --------------------------------------------------------------------------------------


@pytest.mark.needs_compiler
@of(FEW)
def test_an_open_ticket_costs_no_vector(composition: Composition) -> None:
    waiting = 5_000
    learner = bl.Learner(composition.spec(dim=1000))
    empty = held(learner)
    if composition.row.gives_up:
        learner = bl.Learner(composition.spec(dim=1000).learner)  # type: ignore[union-attr]
    for _ in range(waiting):
        learner.predict()
    assert learner.open == waiting
    assert held(learner) - empty <= 100 * waiting
    assert len(learner.snapshot()) <= empty + 100 * waiting
