"""Laws that hold for every composition."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

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
    LIPSCHITZ,
    MAGNITUDE,
    RATES,
    REDUCTIONS,
    ROUNDS,
    SEED,
    SETS,
    SMOOTHINGS,
    Array,
    Composition,
    Drive,
    Row,
    codes,
    digest,
    events,
    fits,
    pairs,
)
from conftest import Python, everything, shortened
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
each_choice = of(ALL, [*COMPILED, *(each for each in ALL if each.has_user_code)])
"""For laws of how a learner is handled: every part once, and all parts of a user."""
PLAIN = [c for c in ALL if not c.has_user_code]


def with_life(composition: Composition, length: int | None = None) -> bl.Learner:
    """Return a learner that has lived through some events."""
    learner = composition.learner()
    Drive(composition, composition.answers())(learner, events()[:length])
    return learner


def good(composition: Composition) -> Any:
    """Return an answer that is accepted."""
    return composition.feedback(composition.answers()[0] * 0.1)


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


@pytest.fixture(scope="module")
def interpreted(python: Python) -> dict[str, str]:
    """Digests of every composition, from the source without a compiler."""
    digests: dict[str, str] = json.loads(python("compositions.py", BELATED_INTERPRETED="1"))
    return digests


@pytest.mark.needs_compiler
@every
def test_compiled_is_interpreted_bit_for_bit(
    composition: Composition, interpreted: dict[str, str]
) -> None:
    assert digest(composition) == interpreted[composition.name]


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


# --- Snapshots -----------------------------------------------------------------------------------


def restored(composition: Composition, blob: bytes) -> bl.Learner:
    spec = composition.spec() if composition.has_user_code else None
    return bl.Learner.restore(blob, spec)


@each_choice
def test_a_restored_learner_goes_on_as_if_nothing_had_happened(composition: Composition) -> None:
    answers, life = composition.answers(), events()
    whole = composition.learner()
    plays = Drive(composition, answers)(whole, life).plays
    first = composition.learner(strict=False)
    begun = Drive(composition, answers)
    step = 19 if everything() else 43
    for cut in range(0, len(life) + 1, step):
        blob = first.snapshot()
        second = restored(composition, blob)
        assert second.snapshot() == blob
        drive = Drive(composition, answers, begun.plays.copy())(second, life[cut:])
        assert np.array(drive.plays).tobytes() == np.array(plays).tobytes()
        assert second.snapshot() == whole.snapshot()
        assert second.report() == whole.report()
        assert first.snapshot() == blob  # untouched by its copy
        begun(first, life[cut : cut + step])


# --- Refusals ------------------------------------------------------------------------------------


def width_of(composition: Composition) -> int:
    """Return how many numbers an answer has."""
    return {"value": 1, "pair": 2}.get(composition.answer, composition.row.dim)


def bad_answers(composition: Composition) -> dict[str, Any]:
    """Return answers of the right kind that must be refused, by name."""
    width = width_of(composition)
    fine = np.full(width, 0.1)
    broken: dict[str, Any] = {
        "none": None,
        "too many": np.append(fine, 0.1),
        "too many in a list": [0.1] * (width + 1),
        "too deep": fine[None],
        "empty": np.array([]),
        "ragged": [[0.1], [0.1, 0.2]],
    }
    for name, value in (("nan", np.nan), ("inf", np.inf), ("-inf", -np.inf), ("1e200", 1e200)):
        for i in {0, width - 1}:
            broken[f"{name} at {i}"] = fine.copy()
            broken[f"{name} at {i}"][i] = value
    if width > 1:
        broken["a number"] = 0.1
        broken["too few"] = fine[1:]
    if composition.answer == "function":
        return {name: _returns(value) for name, value in broken.items()} | {"no function": fine}
    return broken


def _returns(value: Any) -> Callable[[Array], Any]:
    return lambda x: value


@each_choice
def test_a_refused_answer_changes_nothing(composition: Composition) -> None:
    learner = with_life(composition, shortened(75))
    ticket = learner.predict().ticket
    before = learner.snapshot()
    for name, answer in bad_answers(composition).items():
        with pytest.raises(BadFeedback, match="observe: "):
            learner.observe(ticket, answer)
        assert learner.snapshot() == before, name
    assert learner.observe(ticket, good(composition))


@each_choice
def test_any_array_of_numbers_will_do(composition: Composition) -> None:
    if composition.answer == "function":
        pytest.skip("answers are functions")
    answers = (composition.answers() * 0.5).astype(np.float32).astype(np.float64)
    width = answers.shape[1]
    gaps = np.zeros((2 * width, 2))
    forms: dict[str, Callable[[Array], Any]] = {
        "array": lambda v: v,
        "list": lambda v: v.tolist(),
        "tuple": lambda v: tuple(v.tolist()),
        "float32": lambda v: v.astype(np.float32),
        "big-endian": lambda v: v.astype(">f8"),
        "with gaps": lambda v: _into(gaps[::2, 1], v),
        "backwards": lambda v: v[::-1].copy()[::-1],
        "read-only": _read_only,
    }
    if width == 1:
        forms |= {
            "number": lambda v: v[0],
            "float": lambda v: float(v[0]),
            "0-d": lambda v: np.array(v[0]),
        }
    ends = {}
    for name, form in forms.items():
        learner = composition.learner()
        for kind, ticket in events(shortened(30), cancel=False):
            if kind == "predict":
                learner.predict()
                continue
            with composition.forgiving():
                learner.observe(ticket, form(answers[ticket]))
        ends[name] = learner.snapshot()
    assert {name for name, end in ends.items() if end != ends["array"]} == set()
    whole = composition.learner()
    learner = composition.learner()
    ticket = whole.predict().ticket
    learner.predict()
    whole.observe(ticket, np.ones(width, dtype=np.int64))
    learner.observe(ticket, np.ones(width))
    assert whole.snapshot() == learner.snapshot()


def _into(place: Array, value: Array) -> Array:
    place[:] = value
    return place


def _read_only(value: Array) -> Array:
    frozen = value.copy()
    frozen.flags.writeable = False
    return frozen


@each_choice
def test_strict_refuses_what_is_otherwise_counted(composition: Composition) -> None:
    size = {"value": 3 * MAGNITUDE, "pair": 1e3}.get(composition.answer, 3 * LIPSCHITZ)
    row = np.zeros_like(composition.answers()[0])
    row[0] = size
    if composition.answer in ("gradient", "function"):
        row /= composition.scale()
    large: Any = composition.feedback(row)
    if composition.answer == "function":
        large = _returns(row)
    lax, strict = composition.learner(), composition.learner(strict=True)
    assert (lax.strict, strict.strict) == (False, True)
    for learner in (lax, strict):
        learner.predict()
    before = strict.snapshot()
    if not composition.has_bound:
        assert strict.observe(0, large)
        assert strict.report().excess == 0
        return
    with pytest.raises(BadFeedback, match="exceeds the assumed bound"):
        strict.observe(0, large)
    assert strict.snapshot() == before
    assert lax.observe(0, large)
    assert (lax.report().excess, strict.report().excess) == (1, 0)
    assert strict.observe(0, good(composition))


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


@each_choice
def test_seeds(composition: Composition) -> None:
    life = events(shortened(ROUNDS))
    ends = [
        np.array(Drive(composition, composition.answers())(learner, life).plays).tobytes()
        for learner in map(composition.learner, (SEED, SEED, SEED + 1, SEED + 2**32))
    ]
    assert ends[0] == ends[1]
    assert len(set(ends)) == (3 if composition.explores else 1)


@each_choice
def test_the_play_is_the_callers_own(composition: Composition) -> None:
    tidy, messy = composition.learner(), composition.learner()
    answers = composition.answers()
    for kind, ticket in events(shortened(ROUNDS)):
        if kind == "predict":
            expected, x = tidy.predict().x, messy.predict().x
            assert x.flags.owndata or x.base is not None
            assert x.tobytes() == expected.tobytes()
            x[:] = np.nan
        else:
            Drive(composition, answers)(tidy, [(kind, ticket)])
            Drive(composition, answers)(messy, [(kind, ticket)])
    assert messy.snapshot() == tidy.snapshot()


@each_choice
def test_answers_are_neither_kept_nor_changed(composition: Composition) -> None:
    if composition.answer == "function":
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
        return
    learner, other = composition.learner(), composition.learner()
    answers = composition.answers()
    for kind, ticket in events(shortened(ROUNDS), cancel=False):
        if kind == "predict":
            learner.predict()
            other.predict()
            continue
        answer = answers[ticket].copy()
        with composition.forgiving():
            learner.observe(ticket, answer)
        assert answer.tobytes() == answers[ticket].tobytes()
        with composition.forgiving():
            other.observe(ticket, answer)
        answer[:] = np.nan
    assert learner.snapshot() == other.snapshot()
    assert learner.predict().x.tobytes() == other.predict().x.tobytes()


# --- Specs ---------------------------------------------------------------------------------------


@of(PLAIN)
def test_json_and_repr_bring_the_spec_back(composition: Composition) -> None:
    spec = composition.spec()
    assert bl.from_json(spec.to_json()) == spec
    assert bl.from_json(spec.to_json(indent=2)) == spec
    assert type(spec).from_json(spec.to_json()) == spec
    names: dict[str, Any] = {}
    exec("from belated import *", names)
    again = eval(repr(spec), names)
    assert again == spec
    assert hash(again) == hash(spec)
    assert repr(again) == repr(spec)
    assert composition.spec() is not spec
    assert composition.spec() == spec


@of([c for c in ALL if c.has_user_code])
def test_user_code_has_no_json(composition: Composition) -> None:
    with pytest.raises(bl.SpecError, match="no JSON form"):
        composition.spec().to_json()


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
