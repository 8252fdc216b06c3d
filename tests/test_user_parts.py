"""Parts that users write behave as built-in ones do, and leave nothing behind when they fail.

Every kind is run live, over a log, in games and through snapshots. ``TROUBLE`` stands in all of
them: it raises, or returns nonsense, at a call of choice. It is global, as learners copy objects.
"""

from __future__ import annotations

import copy
import math
import pickle
import signal
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import belated as bl
from belated.errors import BusyError, SnapshotError, SpecError
from belated.rates import Counts
from belated.reductions import Reduction, Wrapper
from belated.research.losses.base import Loss

pytestmark = pytest.mark.compiled

Array = npt.NDArray[np.float64]
Spec = Reduction | Wrapper
DIM, ROUNDS = 3, 40
TIMELINE = bl.delays.uniform(ROUNDS, 0, 7, seed=5)
ANSWERED = TIMELINE.rounds + int(np.count_nonzero(TIMELINE.observed))
EVENTS: list[int] = TIMELINE.events[:ANSWERED].tolist()
LOSSES = bl.losses.Quadratic(bl.losses.Random(DIM, noise=0.3, seed=2), curvature=0.7)
BALL = bl.Ball(DIM)


class Trouble:
    """What goes wrong: at call number ``at`` (or at every one) there is an action or a value."""

    def __init__(self) -> None:
        self.calm()

    def calm(self) -> None:
        """Let nothing go wrong, and count from 0."""
        self.calls, self.at = 0, 0
        self.action: Callable[[], object] | None = None
        self.value: Any = None

    def plan(self, at: int, action: Callable[[], object] | None = None, value: Any = None) -> None:
        """Plan an action, or that a value is returned."""
        self.calls, self.at, self.action, self.value = 0, at, action, value

    def __call__(self, found: Any) -> Any:
        """Return what was found, unless it is time for trouble."""
        self.calls += 1
        if self.at not in (self.calls, -1):
            return found
        if self.action is None:
            return self.value
        self.action()
        return found


TROUBLE = Trouble()


@pytest.fixture(autouse=True)
def calm() -> Iterator[None]:
    """Begin and end without trouble."""
    TROUBLE.calm()
    yield
    TROUBLE.calm()


# --- The parts, and what each is a copy of -------------------------------------------------------


def squares(v: Any) -> float:
    """|v|^2, summed as the core does it in up to 3 dimensions."""
    total = 0.0
    for entry in v:
        total += float(entry) * float(entry)
    return total


def onto_ball(v: Array) -> Array:
    """v min(1, 1 / |v|)."""
    length = math.sqrt(squares(v))
    return np.asarray(TROUBLE((1.0 / length if length > 1.0 else 1.0) * v))


@dataclass
class Tight:
    """``rates.Tight`` for G = 1 on the unit ball."""

    gain: float = 1.0

    def step_size(self, counts: Counts, norm: float) -> float:
        eta = self.gain / math.sqrt(0.5 * (counts.arrivals + 2.0 * counts.backlogs))
        return TROUBLE(eta)  # type: ignore[no-any-return]


class Adaptive:
    """``rates.GradientAdaptive`` for G = 1 on the unit ball, which remembers a sum."""

    spread = 0.0

    def step_size(self, counts: Counts, norm: float) -> float:
        self.spread += 0.5 * norm * norm + 1.0 * counts.waiting * norm
        eta = 1.0 / math.sqrt(self.spread) if self.spread > 0.0 else 0.0
        return TROUBLE(eta)  # type: ignore[no-any-return]

    def save(self) -> bytes:
        return struct.pack("d", self.spread)

    def load(self, saved: bytes) -> None:
        (self.spread,) = struct.unpack("d", saved)


class Proximal:
    """``PFTRL`` with ``rates.Tight`` for G = 1 on the unit ball."""

    domain = BALL

    def start(self) -> Array:
        self.z, self.p, self.n, self.late = np.zeros(DIM), np.zeros(DIM), 0, 0
        return self.z

    def update(self, cost: Array, lag: int, open_lags: int) -> Array:
        self.n, self.late = self.n + 1, self.late + open_lags
        eta = 1.0 / math.sqrt(0.5 * (self.n + 2.0 * self.late))
        if squares(cost) > 0.0:
            v = self.z + eta * (self.p - cost)
            length = math.sqrt(squares(v))
            self.z = (1.0 / length if length > 1.0 else 1.0) * v
            self.p = (v - self.z) * (1.0 / eta)
        return np.asarray(TROUBLE(self.z))

    def save(self) -> bytes:
        return np.concatenate([self.z, self.p, [self.n, self.late]]).tobytes()

    def load(self, saved: bytes) -> None:
        numbers = np.frombuffer(saved).copy()
        self.z, self.p = numbers[:DIM], numbers[DIM : 2 * DIM]
        self.n, self.late = (int(count) for count in numbers[2 * DIM :])


def root(t: int) -> float:
    """1 / sqrt(t)."""
    return TROUBLE(1.0 / math.sqrt(t))  # type: ignore[no-any-return]


def value_of(t: int, x: Array) -> float:
    """The value of a quadratic loss."""
    return TROUBLE(LOSSES.value(t, x))  # type: ignore[no-any-return]


def gradient_of(t: int, x: Array) -> Array:
    return LOSSES.gradient(t, x)


class Kind(NamedTuple):
    """A learner with a part of a user, the same without, and what the part must not return."""

    own: Spec
    built_in: Spec
    name: str
    nonsense: tuple[tuple[Any, str], ...]


NO_NUMBERS: tuple[tuple[Any, str], ...] = (
    (None, "must return a number"),
    ("fast", "must return a number"),
    (True, "must return a number"),
    ([0.1], "must return a number"),
    (math.nan, "must return a finite number"),
    (math.inf, "must return a finite number"),
)
NO_VECTORS: tuple[tuple[Any, str], ...] = (
    (None, "must return a vector of numbers"),
    ("left", "must return a vector of numbers"),
    (0.5, "must return a vector of 3 numbers"),
    ([0.1, 0.2], "must return a vector of 3 numbers"),
    ([0.1, 0.2, math.nan], "must return finite numbers"),
)
RATE = (*NO_NUMBERS, (0.0, "must return a positive number"), (-1.0, "a positive number, got -1.0"))
RADIUS = (*NO_NUMBERS, (0.0, "a radius above 0"), (1.5, "at most the inner radius of the set, 1.0"))
TIGHT = bl.PFTRL(BALL, bl.rates.Tight(1.0))
DELAYED = bl.PFTRL(BALL, bl.rates.DelayAdaptive(1.0))
OWN_RATE = bl.PFTRL(BALL, bl.rates.Custom(Tight(), lipschitz=1.0))
OWN_SET = bl.PFTRL(bl.ConvexSet(DIM, onto_ball, 2.0, 1.0, 1.0), bl.rates.Tight(1.0))
OWN_RADII = bl.smoothing.Custom(root)

KINDS = {
    "rate": Kind(bl.FirstOrder(OWN_RATE), bl.FirstOrder(TIGHT), "Tight.step_size", RATE),
    "rate that remembers": Kind(
        bl.FirstOrder(bl.OMD(BALL, bl.rates.Custom(Adaptive(), 1.0))),
        bl.FirstOrder(bl.OMD(BALL, bl.rates.GradientAdaptive(1.0))),
        "Adaptive.step_size",
        RATE,
    ),
    "rate, skip": Kind(
        bl.Skip(bl.FirstOrder(OWN_RATE)), bl.Skip(bl.FirstOrder(TIGHT)), "Tight.step_size", RATE
    ),
    "rate, capacity": Kind(
        bl.Capacity(bl.FirstOrder(OWN_RATE), 16),
        bl.Capacity(bl.FirstOrder(TIGHT), 16),
        "Tight.step_size",
        RATE,
    ),
    "set": Kind(
        bl.FirstOrder(OWN_SET),
        bl.FirstOrder(TIGHT),
        "ConvexSet: project",
        (*NO_VECTORS, ([1.5, 1.5, 1.5], "must return points of the set")),
    ),
    "base": Kind(
        bl.FirstOrder(Proximal()),
        bl.FirstOrder(TIGHT),
        "Proximal.update",
        (*NO_VECTORS, ([1.0, 1.0, 1.0], "must return a point of its domain")),
    ),
    "base, deadline": Kind(
        bl.Deadline(bl.FirstOrder(Proximal()), 4, forget=3),
        bl.Deadline(bl.FirstOrder(TIGHT), 4, forget=3),
        "Proximal.update",
        NO_VECTORS,
    ),
    "exploration, one point": Kind(
        bl.OnePoint(DELAYED, 1.0, OWN_RADII),
        bl.OnePoint(DELAYED, 1.0, bl.smoothing.InverseRoot()),
        "smoothing.Custom: function",
        RADIUS,
    ),
    "exploration, two points": Kind(
        bl.TwoPoint(DELAYED, OWN_RADII),
        bl.TwoPoint(DELAYED, bl.smoothing.InverseRoot()),
        "smoothing.Custom: function",
        RADIUS,
    ),
    "everything": Kind(
        bl.Skip(
            bl.TwoPoint(bl.PFTRL(OWN_SET.domain, bl.rates.Custom(Tight(), 1.0)), OWN_RADII),
            forget=9,
        ),
        bl.Skip(
            bl.TwoPoint(bl.PFTRL(BALL, bl.rates.DelayAdaptive(1.0)), bl.smoothing.InverseRoot()),
            forget=9,
        ),
        "",
        (),
    ),
}
SAME = [name for name in KINDS if name != "everything"]
FAILING = [name for name in KINDS if KINDS[name].nonsense]


# --- Driving -------------------------------------------------------------------------------------


def answer(spec: Spec, t: int, x: Array) -> Any:
    """What the losses answer to a play."""
    inside = spec.learner if isinstance(spec, Wrapper) else spec
    if isinstance(inside, bl.FirstOrder):
        return LOSSES.gradient(t, x)
    return np.array([LOSSES.value(t, row) for row in np.atleast_2d(x)])


def step(learner: bl.Learner, event: int, plays: dict[int, Array]) -> None:
    """Predict, or observe unless the ticket is forgotten."""
    if event >= 0:
        ticket, x = learner.predict()
        plays[ticket] = x.copy()
    elif ~event in learner._answerable():
        learner.observe(~event, answer(learner.spec, ~event, plays[~event]))  # type: ignore[arg-type]


def live(spec: Spec, events: list[int] = EVENTS) -> tuple[bl.Learner, Array]:
    """Return a learner after some events, and its plays."""
    learner, plays = bl.Learner(spec, seed=7), dict[int, Array]()
    for event in events:
        step(learner, event, plays)
    return learner, np.array([plays[t] for t in sorted(plays)])


def log_of(spec: Spec, plays: Array) -> Array:
    """Return the answers to plays, one row each."""
    return np.array([answer(spec, t, x) for t, x in enumerate(plays)]).reshape(ROUNDS, -1)


def game(losses: Loss = LOSSES) -> bl.Game:
    """Return the game that the timeline and the losses make."""
    return bl.Game(losses, TIMELINE)


def played(spec: Spec, losses: Loss = LOSSES) -> bl.reports.Run:
    """Return a whole game with all plays."""
    run = bl.play(spec, game(losses), seed=7, record="plays")
    assert isinstance(run, bl.reports.Run)
    return run


def bits(run: bl.reports.Run) -> bytes:
    """Return the plays of a run."""
    assert run.plays is not None
    return run.plays.tobytes()


# --- Results -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAME)
def test_a_users_part_gives_the_bits_of_the_built_in_one(name: str) -> None:
    own, built_in, *_ = KINDS[name]
    learner, plays = live(own)
    expected, other_plays = live(built_in)
    assert plays.tobytes() == other_plays.tobytes()
    report, other = learner.report().to_dict(), expected.report().to_dict()
    if "base" in name:  # its steps are its own affair, and there is no theorem about it
        for each in (report, other):
            del each["rate"], each["certificate"], each["certificate_note"]
    assert report == other
    assert played(own).loss == played(built_in).loss


def test_a_users_loss_gives_the_bits_of_the_built_in_one() -> None:
    losses = bl.losses.Custom(DIM, value_of, gradient_of, lipschitz=2.0, magnitude=3.0)
    for spec in (kind.own for kind in KINDS.values()):
        own, built_in = played(spec, losses), played(spec)
        assert bits(own) == bits(built_in)
        assert own.loss == built_in.loss
        assert own.losses is not None
        assert built_in.losses is not None
        assert own.losses.tobytes() == built_in.losses.tobytes()


# --- Snapshots -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_snapshots_go_on_with_the_spec(name: str) -> None:
    spec = KINDS[name].own
    learner, plays = live(spec, EVENTS[:30])
    blob = learner.snapshot()
    copies = [
        bl.Learner.restore(blob, spec),
        copy.deepcopy(learner),
        pickle.loads(pickle.dumps(learner)),
    ]
    known = dict(enumerate(plays))
    for each in copies:
        assert each.snapshot() == blob
        assert each.report() == learner.report()
    for each in (learner, *copies):
        seen = dict(known)
        for event in EVENTS[30:]:
            step(each, event, seen)
        assert np.array([seen[t] for t in sorted(seen)]).tobytes() == live(spec)[1].tobytes()
    with pytest.raises(SnapshotError, match=r"Python objects inside, .* pass its spec as well"):
        bl.Learner.restore(blob)


def test_a_snapshot_is_refused_for_a_spec_with_other_numbers_or_objects() -> None:
    blob = live(KINDS["rate"].own)[0].snapshot()
    others: list[Any] = [
        bl.FirstOrder(bl.PFTRL(BALL, bl.rates.Custom(Tight(), lipschitz=2.0))),
        bl.FirstOrder(bl.PFTRL(bl.Ball(DIM, 2.0), bl.rates.Custom(Tight(), lipschitz=1.0))),
        bl.FirstOrder(bl.PFTRL(BALL, bl.rates.Custom(Adaptive(), lipschitz=1.0))),
        bl.FirstOrder(TIGHT),
        BALL,
    ]
    for other in others:
        with pytest.raises(SnapshotError, match="the snapshot is of another spec"):
            bl.Learner.restore(blob, other)


class Counting(Tight):
    """A rate that remembers something and cannot save it."""

    def step_size(self, counts: Counts, norm: float) -> float:
        """Look the number of calls up in its own count."""
        self.calls = getattr(self, "calls", 0) + 1
        return super().step_size(counts, norm)


class Slotted:
    """A rate with slots."""

    __slots__ = ("calls",)

    def __init__(self) -> None:
        self.calls = 0

    def step_size(self, counts: Counts, norm: float) -> float:
        self.calls += 1
        return 0.1


@pytest.mark.parametrize("rule", [Counting(), Slotted()], ids=lambda rule: type(rule).__name__)
def test_what_remembers_needs_save_and_load_for_snapshots(rule: Any) -> None:
    learner = bl.Learner(bl.FirstOrder(bl.OMD(BALL, bl.rates.Custom(rule))))
    learner.predict()
    assert bl.Learner.restore(learner.snapshot(), learner.spec).rounds == 1
    learner.observe(0, [0.1, 0.0, 0.0])
    name = type(rule).__name__
    with pytest.raises(SnapshotError, match=rf"{name} has no save\(\) and load\(\), .*; add save"):
        learner.snapshot()
    learner.predict()
    assert learner.observe(1, [0.1, 0.0, 0.0])


# --- Failures ------------------------------------------------------------------------------------


def fail() -> None:
    raise RuntimeError("out of order")


def interrupt() -> None:
    """Raise what a signal raises."""
    raise KeyboardInterrupt


def send_signal() -> None:
    signal.raise_signal(signal.SIGINT)


def end() -> None:
    """Raise what ends a program."""
    raise SystemExit(3)


ERRORS = (RuntimeError, KeyboardInterrupt, SystemExit)


@pytest.mark.parametrize("action", [fail, interrupt, send_signal, end], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", KINDS)
def test_an_event_that_fails_has_not_happened(name: str, action: Callable[[], object]) -> None:
    spec = KINDS[name].own
    expected, _ = live(spec)
    for at in (1, 2, 9, 20):
        learner, plays = bl.Learner(spec, seed=7), dict[int, Array]()
        TROUBLE.plan(at, action)
        failures = 0
        for event in EVENTS:
            before = learner.snapshot() if TROUBLE.calls >= at - 8 else b""
            try:
                step(learner, event, plays)
            except ERRORS:
                failures += 1
                assert learner.snapshot() == before
                step(learner, event, plays)
        assert failures == 1
        assert learner.snapshot() == expected.snapshot()


def test_a_cancellation_that_fails_has_not_happened() -> None:
    learner, _ = live(KINDS["base"].own, EVENTS[:12])
    before, ticket = learner.snapshot(), min(learner._answerable())
    TROUBLE.plan(1, fail)
    with pytest.raises(RuntimeError, match="out of order"):
        learner.cancel(ticket)
    assert learner.snapshot() == before
    learner.cancel(ticket)


@pytest.mark.parametrize("action", [fail, interrupt, send_signal], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", KINDS)
def test_a_run_that_fails_has_not_happened(name: str, action: Callable[[], object]) -> None:
    spec = KINDS[name].own
    expected, plays = live(spec)
    answers = log_of(spec, plays)
    learner, first = live(spec, EVENTS[:12])
    before = learner.snapshot()
    for at in (1, 5, 11):
        TROUBLE.plan(at, action)
        with pytest.raises(ERRORS):
            learner.replay(np.array(EVENTS[12:]), answers)
        assert learner.snapshot() == before
    TROUBLE.calm()
    rest = learner.replay(np.array(EVENTS[12:]), answers)
    assert learner.snapshot() == expected.snapshot()
    assert np.concatenate([first, rest]).tobytes() == plays.tobytes()


@pytest.mark.parametrize("name", FAILING)
def test_what_cannot_be_used_is_refused_by_name(name: str) -> None:
    kind = KINDS[name]
    learner, plays = live(kind.own, EVENTS[:12])
    for value, message in kind.nonsense:
        before, failures = learner.snapshot(), []
        TROUBLE.plan(-1, value=value)
        for event in EVENTS[12:20]:
            try:
                step(learner, event, plays_of(plays))
            except SpecError as error:
                failures.append(str(error))
                assert learner.snapshot() == before
            before = learner.snapshot()
        assert failures, value
        assert all(kind.name in text and message in text for text in failures), failures
        TROUBLE.calm()
        learner, plays = live(kind.own, EVENTS[:12])


def plays_of(plays: Array) -> dict[int, Array]:
    """Return plays by ticket, and zeros for later ones."""
    return {t: plays[t] if t < len(plays) else 0.1 * np.ones_like(plays[0]) for t in range(ROUNDS)}


@pytest.mark.parametrize("name", FAILING)
def test_a_game_says_what_failed(name: str) -> None:
    kind = KINDS[name]
    value, message = kind.nonsense[0]
    for at in (1, 3):
        TROUBLE.plan(at, value=value)
        with pytest.raises(SpecError, match=message):
            played(kind.own)
        TROUBLE.plan(at, interrupt)
        with pytest.raises(KeyboardInterrupt):
            played(kind.own)
        TROUBLE.plan(-1, fail)
        runs = bl.play_many([kind.own, kind.built_in], game(), [7], engine="serial", progress=False)
        assert [failure.error for failure in runs.failures] == ["RuntimeError: out of order"]
        assert len(runs) == 1
    TROUBLE.calm()
    assert bits(played(kind.own)) == live(kind.own)[1].tobytes()


@pytest.mark.parametrize("name", KINDS)
def test_a_part_cannot_call_its_own_learner(name: str) -> None:
    learner, plays = live(KINDS[name].own, EVENTS[:12])
    before, seen = learner.snapshot(), dict(enumerate(plays))
    failures = 0
    for event in EVENTS[12:20]:
        TROUBLE.plan(1, learner.predict)
        try:
            step(learner, event, seen)
        except BusyError:
            failures += 1
            assert learner.snapshot() == before
            TROUBLE.calm()
            step(learner, event, seen)
        before = learner.snapshot()
    assert failures


def test_steps_must_not_increase() -> None:
    class Rising:
        def step_size(self, counts: Counts, norm: float) -> float:
            return counts.arrivals

    learner = bl.Learner(bl.FirstOrder(bl.PFTRL(BALL, bl.rates.Custom(Rising()))))
    for ticket in range(2):
        learner.predict()
        assert ticket or learner.observe(ticket, [0.1, 0.0, 0.0])
    before = learner.snapshot()
    message = r"Rising\.step_size must not return more than before, 1\.0, got 2\.0: .* the smaller"
    with pytest.raises(SpecError, match=message):
        learner.observe(1, [0.1, 0.0, 0.0])
    assert learner.snapshot() == before


def test_objects_must_allow_to_be_copied() -> None:
    class Guarded(Tight):
        def __init__(self) -> None:
            self.lock = threading.Lock()

    class GuardedBase(Guarded, Proximal):
        pass

    for spec in (bl.OMD(BALL, bl.rates.Custom(Guarded())), GuardedBase()):
        with pytest.raises(SpecError, match=r"Learner: Guarded.* cannot be copied \(.*lock"):
            bl.Learner(bl.FirstOrder(spec))


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ([1.0, 1.0, 1.0], r"Lost\.start must return a point of its domain: project on that"),
        ([0.0, 0.0], r"Lost\.start must return a vector of 3 numbers, got shape \(2,\)"),
    ],
)
def test_a_base_starts_in_its_domain(first: list[float], message: str) -> None:
    class Lost(Proximal):
        def start(self) -> Any:
            return first

    for spec in (bl.FirstOrder(Lost()), bl.OnePoint(Lost(), 1.0, OWN_RADII), bl.TwoPoint(Lost())):
        with pytest.raises(SpecError, match=message):
            bl.Learner(spec)


def test_a_base_without_a_domain_starts_anywhere() -> None:
    class Far(Proximal):
        domain: Any = None

        def start(self) -> Any:
            super().start()
            return [1.0, 1.0, 1.0]

    learner = bl.Learner(bl.FirstOrder(Far()))
    again = bl.Learner.restore(learner.snapshot(), bl.FirstOrder(Far()))
    for each in (learner, again):
        assert each.predict().x.tolist() == [1.0, 1.0, 1.0]
