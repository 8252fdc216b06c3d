"""Arrays in every layout, type and shape, given to everything that takes arrays.

What has the right numbers is taken like a plain array, whatever its layout. All else is refused
with an error of ours, and changes nothing. Arrays are the caller's again as soon as a call is over:
they are as they were, and what is written to them later changes nothing either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import belated as bl
from belated.errors import BelatedError
from conftest import examples

pytestmark = pytest.mark.compiled
Array = np.ndarray[Any, Any]
Shaped = Callable[[Array], Any]


class Sub(np.ndarray[Any, Any]):
    """A subclass of arrays."""


class Own:
    """What is no array, but becomes one."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.array.astype(dtype or self.array.dtype)


def unaligned(array: Array) -> Array:
    """Return a copy whose numbers stand one byte off."""
    found: Array = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def strided(array: Array) -> Array:
    """Return a copy with gaps between all numbers."""
    room = np.full([2 * size + 1 for size in array.shape], 77, dtype=array.dtype)
    found: Array = room[tuple(slice(1, None, 2) for _ in array.shape)]
    found[...] = array
    return found


def backwards(array: Array) -> Array:
    """Return a copy that lies in memory from its end to its begin."""
    turned = tuple(slice(None, None, -1) for _ in array.shape)
    return array[turned].copy()[turned]


def read_only(array: Array) -> Array:
    """Return a copy that cannot be written."""
    found = array.copy()
    found.flags.writeable = False
    return found


def swapped(array: Array) -> Array:
    """Return a copy whose bytes stand in the other order."""
    return array.astype(array.dtype.newbyteorder())


def narrow(array: Array) -> Array:
    """Return a copy in fewer bytes, which hold the numbers of these tests."""
    return array.astype(np.float32 if array.dtype.kind == "f" else np.int16)


def masked(array: Array) -> Array:
    """Return a copy with a mask that hides nothing."""
    return array.copy() if array.dtype.kind == "i" else np.ma.MaskedArray(array.copy())


LAYOUTS: dict[str, Shaped] = {
    "plain": np.copy,
    "unaligned": unaligned,
    "strided": strided,
    "backwards": backwards,
    "read-only": read_only,
    "fortran": lambda array: np.array(array, order="F"),
    "swapped": swapped,
    "unaligned, swapped": lambda array: unaligned(swapped(array)),
    "narrow": narrow,
    "subclass": lambda array: array.copy().view(Sub),
    "masked": masked,
    "list": np.ndarray.tolist,
    "own": lambda array: Own(array.copy()),
    "buffer": lambda array: array.copy().data,
}
"""Ways to give the same numbers."""


def with_second(array: Array, value: float) -> Array:
    """Return numbers of which the second is another one."""
    return np.where(np.arange(array.size).reshape(array.shape) == 1, value, array)


WRONG: dict[str, Shaped] = {
    "complex": lambda array: array.astype(complex),
    "text": lambda array: array.astype(str),
    "objects": lambda array: np.full(array.shape, object(), dtype=object),
    "durations": lambda array: np.full(array.shape, 1, "timedelta64[s]"),
    "records": lambda array: np.zeros(array.shape, [("a", float), ("b", int)]),
    "words": lambda array: "numbers",
}
"""What is never right."""

STRANGE: dict[str, Shaped] = {
    "ragged": lambda array: [[1.0], [2.0, 3.0]],
    "none": lambda array: None,
    "mapping": lambda array: {"a": 1.0},
    "another axis": lambda array: array[None],
    "an axis behind": lambda array: array[..., None],
    "many axes": lambda array: array.reshape(*array.shape, *[1] * 9),
    "one number": lambda array: array.ravel()[0],
    "empty": lambda array: array[:0],
    "no columns": lambda array: array[..., :0],
    "shorter": lambda array: array[:-1],
    "fewer columns": lambda array: array[..., :-1],
    "longer": lambda array: np.concatenate([array, array]),
    "wider": lambda array: np.concatenate([array, array], axis=-1),
    "turned": np.transpose,
    "flat": np.ravel,
    "missing": lambda array: with_second(array, np.nan),
    "infinite": lambda array: with_second(array, -np.inf),
    "huge": lambda array: array * 1e100 if array.dtype.kind == "f" else array + 2**62,
    "negative": lambda array: -1 - array,
    "halves": lambda array: array + 0.5,
    "truth": lambda array: array > 0,
    "unsigned": lambda array: array.astype(np.int64).astype(np.uint64),
}
"""What is right in some places, and refused in all others."""


class Use:
    """Calls functions with arrays; this one as they are."""

    calls = 0

    def __call__(self, work: Callable[..., Any], *arrays: Array) -> Any:
        self.calls += 1
        return work(*(array.copy() for array in arrays))

    def shaped(self, array: Array) -> Any:
        """Return an array as a function of a user gives it back."""
        return array.copy()


class UseLayouts(Use):
    """Arrays in other layouts, which are overwritten when a call is over."""

    def __init__(self, layouts: list[str]) -> None:
        self.layouts = [LAYOUTS[name] for name in layouts]

    def shaped(self, array: Array) -> Any:
        self.layouts.append(self.layouts.pop(0))
        return self.layouts[-1](array)

    def __call__(self, work: Callable[..., Any], *arrays: Array) -> Any:
        lent = [self.shaped(array) for array in arrays]
        found = super().__call__(lambda *_: work(*lent), *arrays)
        for array, before in zip(lent, arrays, strict=True):
            array = array.array if isinstance(array, Own) else np.asarray(array)
            np.testing.assert_array_equal(array, before)
            if array.flags.writeable:
                array[...] = 99
        return found


class Accepted(Exception):
    """What was not right in other places was so here."""


class UseWrong(Use):
    """Before a call with plain arrays, one with something wrong, which changes nothing."""

    def __init__(self, wrong: Shaped, place: int) -> None:
        self.wrong, self.place = wrong, place

    def __call__(self, work: Callable[..., Any], *arrays: Array) -> Any:
        if self.calls >= self.place:
            for number, array in enumerate(arrays):
                if not array.size:
                    continue
                given = [each.copy() for each in arrays]
                given[number] = self.wrong(array)
                try:
                    work(*given)
                except BelatedError:
                    continue
                raise Accepted
        return super().__call__(work, *arrays)


# --- Lives with arrays --------------------------------------------------------------------------

Life = Callable[[np.random.Generator, Use], Any]


def eighths(rng: np.random.Generator, *shape: int) -> Array:
    """Return numbers that few bits hold."""
    return rng.integers(-16, 17, shape) / 8


def events(rounds: int, delay: int) -> Array:
    """Return the events of tickets that are answered so many rounds later."""
    both = [(t, ~(t - delay)) if t >= delay else (t,) for t in range(rounds)]
    return np.array([event for each in both for event in each])


def some_set(rng: np.random.Generator) -> Any:
    dim = int(rng.integers(1, 12))
    return [bl.Ball(dim), bl.Box([0.0] * dim, [1.5] * dim), bl.L1Ball(dim)][rng.integers(3)]


def pftrl(domain: Any) -> Any:
    return bl.PFTRL(domain, bl.rates.DelayAdaptive(1.0))


def live(spec: Any, size: int, rng: np.random.Generator, use: Use, wraps: bool = False) -> Any:
    learner, plays, delay = bl.Learner(spec), [], int(rng.integers(0, 12))
    for ticket in range(24):
        x = learner.predict().x
        plays.append(x.tobytes())
        x[...] = np.nan  # a play is the caller's
        for late in range(ticket - delay, ticket - delay + 1)[: ticket >= delay]:

            def observe(answer: Any, late: int = late) -> None:
                learner.observe(late, (lambda x: answer) if wraps else answer)

            use(observe, eighths(rng, size))
    return plays, learner.snapshot()


def gradients(rng: np.random.Generator, use: Use) -> Any:
    domain = some_set(rng)
    return live(bl.FirstOrder(pftrl(domain)), domain.dim, rng, use)


def gradients_of_a_portfolio(rng: np.random.Generator, use: Use) -> Any:
    domain = some_set(rng)
    return live(bl.Problem(domain, lipschitz=9.0).learner(skip=True), domain.dim, rng, use)


def values(rng: np.random.Generator, use: Use) -> Any:
    return live(bl.OnePoint(pftrl(bl.Ball(3)), magnitude=2.0), 1, rng, use)


def pairs_of_values(rng: np.random.Generator, use: Use) -> Any:
    return live(bl.TwoPoint(pftrl(bl.Ball(3))), 2, rng, use)


def functions(rng: np.random.Generator, use: Use) -> Any:
    domain = some_set(rng)
    return live(bl.FullInformation(pftrl(domain)), domain.dim, rng, use, wraps=True)


def runs(rng: np.random.Generator, use: Use) -> Any:
    domain, rounds = some_set(rng), int(rng.integers(2, 90))
    learner = bl.Learner(bl.FirstOrder(pftrl(domain)))
    plays = use(learner.replay, events(rounds, 1), eighths(rng, rounds, domain.dim))
    return plays.tobytes(), learner.snapshot()


def knobs(rng: np.random.Generator, use: Use) -> Any:
    tuned, rounds = bl.Knobs({"rate": (0.0, 1.0), "size": (1, 9)}), int(rng.integers(2, 12))
    log = events(rounds, 1)
    times = np.where(np.arange(log.size) < 2, np.nan, np.arange(log.size) * 0.5)
    settings = use(
        lambda log, costs, at: tuned.replay(None, costs, log, at=at),
        log,
        eighths(rng, rounds),
        times,
    )
    return settings, tuned.snapshot()


def model(rng: np.random.Generator) -> bl.LinearModel:
    return bl.LinearModel("squared", bits=8, wait=["adaptive", None][rng.integers(2)])


def table_of(given: Any) -> Any:
    """Return a table as what tables may be, an array or a list."""
    return given if isinstance(given, list) else np.asanyarray(given)


def vectors(rng: np.random.Generator, use: Use) -> Any:
    linear, said = model(rng), []
    for ticket in range(12):
        said += [use(linear.peek, eighths(rng, 5))]
        said += [use(linear.predict, eighths(rng, int(rng.integers(1, 150)))).value]
        if ticket > 3:
            linear.observe(ticket - 3, 1.0)
    return said, linear.snapshot()


def indices_and_numbers(rng: np.random.Generator, use: Use) -> Any:
    linear, said = model(rng), []
    for ticket in range(12):
        size = int(rng.integers(1, 90))
        indices, numbers = rng.permutation(256)[:size], eighths(rng, size)
        said += [use(lambda i, x: linear.predict((i, x)).value, indices, numbers)]
        if ticket > 3:
            linear.observe(ticket - 3, 1.0)
    return said, linear.snapshot()


def many_rows(rng: np.random.Generator, use: Use) -> Any:
    linear, said = model(rng), []
    for _ in range(3):
        rows, columns = (int(n) for n in rng.integers(2, 20, 2))
        tickets, found = use(
            lambda table: linear.predict_many(table_of(table)), eighths(rng, rows, columns)
        )
        labels, weights = eighths(rng, rows), 1.0 + rng.integers(0, 3, rows)
        use(lambda *told: linear.observe_many(*told[:2], weights=told[2]), tickets, labels, weights)
        said += [found, use(linear.losses, labels, eighths(rng, rows))]
        ends = np.cumsum([0, *rng.integers(1, 6, rows)])
        sparse = ends, rng.integers(0, 256, ends[-1]), eighths(rng, ends[-1])
        said += [use(lambda *rows: linear.peek_many(rows), *sparse)]
        said += [use(lambda *rows: linear.predict_many(rows)[1], *sparse)]
    return np.concatenate(said).tobytes(), linear.snapshot()


def replays(rng: np.random.Generator, use: Use) -> Any:
    linear, rows = bl.LinearModel("squared", bits=8, deadline=30.0), int(rng.integers(2, 60))
    log = events(rows, 1)
    found = use(
        lambda table, labels, log, weights, at: linear.replay(
            table_of(table), labels, log, weights=weights, at=at
        ),
        eighths(rng, rows, 4),
        eighths(rng, rows),
        log,
        1.0 + rng.integers(0, 3, rows),
        np.where(np.arange(log.size) % 5 == 3, np.nan, np.arange(log.size) * 0.5),
    )
    return found.tobytes(), linear.snapshot()


def intervals(rng: np.random.Generator, use: Use) -> Any:
    around, said = bl.Intervals(model(rng)), []
    for ticket in range(12):
        said += [use(around.peek, eighths(rng, 5)), use(around.predict, eighths(rng, 5))]
        if ticket > 3:
            around.observe(ticket - 3, 1.0)
    return repr(said), around.snapshot()


def games(rng: np.random.Generator, use: Use) -> Any:
    dim, rounds = (int(n) for n in rng.integers(2, 20, 2))
    losses = use(bl.losses.Squared, eighths(rng, rounds, dim), eighths(rng, rounds))
    game = bl.Game(losses, use(bl.Timeline.from_delays, rng.integers(0, 5, rounds)))
    run = bl.play(bl.FirstOrder(pftrl(bl.Ball(dim))), game)
    return run.loss, use(run.regret_against, eighths(rng, dim) / 16.0), run.loss_curve.tobytes()


def timelines(rng: np.random.Generator, use: Use) -> Any:
    rounds = int(rng.integers(2, 50))
    issued, late = np.sort(eighths(rng, rounds)), eighths(rng, rounds) ** 2
    timeline = use(bl.Timeline.from_intervals, issued, issued + late)
    return timeline.events.tobytes(), timeline.delay.tobytes()


def points(rng: np.random.Generator, use: Use) -> Any:
    return [use(domain.project, 3.0 * eighths(rng, 3)).tobytes() for domain in SETS]


SETS = (bl.Ball(3), bl.Box(0.0, 1.0, dim=3), bl.Simplex(3), bl.L1Ball(3))


def parts_of_users(rng: np.random.Generator, use: Use) -> Any:
    class Steps:
        def start(self) -> Any:
            return use.shaped(eighths(rng, 3))

        def update(self, cost: Array, lag: int, open_lags: int) -> Any:
            return use.shaped(np.round(cost))

    def gradient(t: int, x: Array) -> Any:
        return use.shaped(np.round(8.0 * x) / 8.0)

    losses = bl.losses.Custom(3, lambda t, x: float(x @ x) / 2, gradient)
    return bl.play(bl.FirstOrder(Steps()), bl.Game(losses, bl.delays.constant(20, 2))).loss


LIVES: dict[str, Life] = {
    work.__name__.replace("_", " "): work
    for work in (
        *(gradients, gradients_of_a_portfolio, values, pairs_of_values, functions, runs, knobs),
        *(vectors, indices_and_numbers, many_rows, replays, intervals),
        *(games, timelines, points, parts_of_users),
    )
}


# --- Laws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LIVES)
@settings(examples(5), phases=[Phase.generate])
@given(seed=st.integers(0, 2**32), layouts=st.lists(st.sampled_from([*LAYOUTS]), min_size=5))
def test_layouts_change_nothing(name: str, seed: int, layouts: list[str]) -> None:
    expected = LIVES[name](np.random.default_rng(seed), Use())
    assert LIVES[name](np.random.default_rng(seed), UseLayouts(layouts)) == expected


@pytest.mark.parametrize("kind", [*WRONG, *STRANGE])
@pytest.mark.parametrize("name", [name for name in LIVES if name != "parts of users"])
def test_what_is_wrong_is_refused_and_changes_nothing(name: str, kind: str) -> None:
    place = len(kind) % 6  # how many calls are right before
    expected = LIVES[name](np.random.default_rng(place), Use())
    use = UseWrong((WRONG | STRANGE)[kind], place)
    try:
        assert LIVES[name](np.random.default_rng(place), use) == expected
    except Accepted:
        assert kind in STRANGE
