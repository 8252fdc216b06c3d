"""Single events of linear models that are called directly do what they do the usual way."""

from __future__ import annotations

import copy
import functools
import gc
import math
import pickle
import sys
import threading
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.kernels import direct
from belated.kernels.direct import objects
from belated.kernels.linear import direct as of_linear
from belated.linear.memory import ModelMemory

pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]


class Usual(bl.LinearModel):
    """A model that takes the usual way only."""

    def _reach(self, grown: ModelMemory) -> None:
        super()._reach(grown)
        self._issue_now = self._hear_now = None


@pytest.fixture(autouse=True)
def _called_directly() -> None:
    if not direct.IS_KNOWN:
        pytest.skip("nothing is called directly here")


WAYS: list[dict[str, Any]] = [
    {},
    {"loss": "logistic", "bits": 4},
    {"loss": "logistic", "silence": 0, "bits": 6},
    {"intercept": False, "max_open": 20, "bits": 5},
    {"deadline": 30, "bits": 5},
    {"wait": {"predictions": 10}, "loss": "absolute"},
]


def _life(model: bl.LinearModel) -> list[Any]:
    """Return all answers of a life with rows of many lengths, and how the model ends."""
    rng, answers, size = np.random.default_rng(0), [], 1 << model.settings.bits
    for ticket in range(400):
        count = int(rng.integers(12)) if ticket % 50 else 3 * ticket
        values = rng.standard_normal(count)
        row: Any = (rng.integers(size, size=count), values)
        if ticket % 3 == 0 and count <= size:
            row = values
        answers.append(model.predict(row))
        late = ticket - int(rng.integers(60))
        kinds: list[Any] = [float, int, np.float64, bool, Fraction]
        label = kinds[ticket % 5](rng.random() < 0.5)
        weight = 1.0 if model.settings.silence is not None else [1.0, 2.5, 2][ticket % 3]
        answers.append(_outcome(functools.partial(model.observe, late, label, weight)))
    return [*answers, model.snapshot()]


def _outcome(call: Callable[[], Any]) -> Any:
    """Return what a call returns, or what it raises."""
    try:
        answer = call()
    except Exception as error:
        return type(error), str(error)
    return type(answer), answer


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_life_is_the_same_either_way(way: dict[str, Any]) -> None:
    model = bl.LinearModel(**way)
    assert model._hear_now is not None
    assert (model._issue_now is None) == ("deadline" in way)
    assert _life(model) == _life(Usual(**way))


def _rows() -> dict[str, Any]:
    """Return rows that are plain, strange, or wrong."""
    three, places = np.array([1.0, -2.0, 3.0]), np.array([2, 0, 1])
    frozen = three.copy()
    frozen.setflags(write=False)
    odd = np.frombuffer(bytes(33), dtype=np.uint8)[1:25].view(np.float64)
    mine = type("Mine", (np.ndarray,), {})
    pair = type("Pair", (tuple,), {})
    return {
        "plain": (places, three),
        "vector": three,
        "empty": (places[:0], three[:0]),
        "empty vector": three[:0],
        "longest": np.ones(of_linear.LONGEST),
        "longer": np.ones(of_linear.LONGEST + 1),
        "gaps": (np.arange(6)[::2], np.arange(6.0)[::2]),
        "backwards": (places[::-1], three[::-1]),
        "frozen": (places, frozen),
        "not aligned": odd,
        "swapped": (places.astype(">i8"), three.astype(">f8")),
        "other ints": (places.astype(np.int32), three),
        "same ints by another name": (places.astype(np.longlong), three),
        "other floats": (places, three.astype(np.float32)),
        "ints as values": (places, places),
        "floats as places": (three, three),
        "objects": (places, three.astype(object)),
        "text": (places, np.array(["a", "b", "c"])),
        "complex": (places, three.astype(complex)),
        "times": (places, three.astype("M8[s]")),
        "fields": np.zeros(3, dtype=[("a", "f8")]),
        "subclass": (places.view(mine), three.view(mine)),
        "masked": np.ma.masked_array(three, [True, False, False]),
        "memory map": three.view(np.memmap),
        "two dimensions": three.reshape(3, 1),
        "none": np.array(1.0),
        "wide pair": (places.reshape(3, 1), three.reshape(3, 1)),
        "lengths": (places, three[:2]),
        "lists": ([0, 1], [1.0, 2.0]),
        "list": [1.0, 2.0],
        "list of two": [places, three],
        "own pair": pair((places, three)),
        "one part": (places,),
        "three parts": (places, three, three),
        "no parts": (),
        "nothing": None,
        "number": 3.0,
        "words": "abc",
        "dict": {"a": 1.0, "b": "x"},
        "below": (np.array([-1]), np.ones(1)),
        "beyond": (np.array([1 << 20]), np.ones(1)),
        "far beyond": (np.array([(1 << 63) - 1]), np.ones(1)),
        "not finite": np.array([1.0, math.nan]),
        "infinite": (places, np.array([1.0, math.inf, 0.0])),
        "huge": np.array([1e101]),
        "view of the model": bl.LinearModel()._memory.pool[:9],
        "type": np.ndarray,
        "kind": np.dtype(float),
        "fake": type("ndarray", (), {"dtype": np.dtype(float), "ndim": 1, "shape": (3,)})(),
    }


@pytest.mark.parametrize("name", _rows())
def test_whatever_a_row_is_both_ways_do_the_same(name: str) -> None:
    ours, usual = bl.LinearModel(), Usual()
    for model in (ours, usual):
        model.predict(np.arange(5.0))
        model.observe(0, 1.0)
    row = _rows()[name]
    for _ in range(2):
        assert _outcome(lambda: ours.predict(row)) == _outcome(lambda: usual.predict(row))
    assert ours.snapshot() == usual.snapshot()


TICKETS = [0, -1, 7, 1 << 62, 1 << 63, 1 << 64, -(1 << 70), True, 1.0, "0", None, np.int64(0)]
LABELS = [1.0, 1, 0, -1.0, -1, True, np.float64(0.5), np.float32(0.5), np.int8(1), math.nan]
LABELS += [math.inf, 1e60, 10**400, 1 << 53, "1", b"1", None, [1.0], np.ones(1), np.array(1.0)]
WEIGHTS = [1.0, 2, 0.0, -1.0, math.nan, 1e20, np.float64(1.0), True, "1", None, np.ones(2)]


@pytest.mark.parametrize("way", WAYS[:3], ids=str)
def test_whatever_a_label_is_both_ways_do_the_same(way: dict[str, Any]) -> None:
    given: list[Any] = [(0, label, 1.0) for label in LABELS] + [
        (0, 1.0, weight) for weight in WEIGHTS
    ]
    for ticket, label, weight in given + [(ticket, 1.0, 1.0) for ticket in TICKETS]:
        ours, usual = bl.LinearModel(**way), Usual(**way)
        for model in (ours, usual):
            model.predict_many(np.ones((2, 3)))
            model.observe(1, 1.0)
        answer, wanted = (
            _outcome(functools.partial(model.observe, ticket, label, weight))
            for model in (ours, usual)
        )
        assert answer == wanted, (ticket, label, weight)
        assert ours.snapshot() == usual.snapshot()


@pytest.mark.parametrize("arguments", [(), (1, 2), (1, 2.0, 1.0, 4), (None,) * 5])
def test_any_other_number_of_arguments_is_declined(arguments: tuple[Any, ...]) -> None:
    model = bl.LinearModel()
    assert model._issue_now is not None
    assert model._hear_now is not None
    assert model._issue_now(*arguments) is None
    assert model._hear_now(*arguments) is None
    with pytest.raises(TypeError, match="keyword"):
        model._issue_now(features=np.ones(3))
    assert model.rounds == 0


def _begun() -> list[tuple[Any, ...]]:
    """Return arrays that begin with a row, and its length, that cannot be taken."""
    places, numbers = np.arange(5), np.ones(5)
    return [
        (places, numbers, 6),
        (places[:2], numbers, 3),
        (places, numbers[:2], 3),
        (places, numbers, -1),
        (places, numbers, 1 << 62),
        (places, numbers, 1 << 64),
        (places, numbers, 2.0),
        (places, numbers, True),
        (places, places, 2),
        (numbers, numbers, 2),
        (list(places), numbers, 2),
        (places, None, 2),
        (places[::2], numbers[::2], 2),
        (np.arange(300), np.ones(300), 300),
    ]


def test_a_row_that_arrays_begin_with() -> None:
    model, usual = bl.LinearModel(bits=8), Usual(bits=8)
    issue = model._issue_now
    assert issue is not None
    assert issue(np.arange(5), np.ones(5), 3) is None  # the turn is there, so nobody has it
    turn = model._turn.pop()
    assert issue(np.ones(3)) is None
    for given in _begun():
        assert issue(*given) is None, given
    assert issue(np.arange(400), np.ones(300), 2) == (0, 0.0)
    assert issue(np.arange(0), np.ones(3), 0) == (1, 0.0)
    model._turn.append(turn)
    for row in (np.ones(2), np.ones(0)):
        usual.predict(row)
    assert model.snapshot() == usual.snapshot()


def test_a_label_that_whoever_has_the_turn_tells() -> None:
    model, usual = bl.LinearModel(bits=8), Usual(bits=8)
    hear = model._hear_now
    assert hear is not None
    for each in (model, usual):
        each.predict(np.ones(2))
    assert hear(0, 1.0, 1.0, None) is None  # the turn is there, so nobody has it
    turn = model._turn.pop()
    assert hear(0, 1.0, 1.0) is None
    assert hear(7, 1.0, 1.0, None) is None
    assert hear(0, 1.0, 1.0, None) is True
    model._turn.append(turn)
    usual.observe(0, 1.0)
    assert model.snapshot() == usual.snapshot()


@pytest.mark.parametrize("key", [None, "given"])
def test_dicts_do_the_same(key: str | None) -> None:
    models: list[bl.LinearModel] = [bl.LinearModel(bits=8), Usual(bits=8)]
    lives = []
    for model in models:
        rows = [{f"f{i % 7}": float(i), "word": f"w{i % 5}"} for i in range(300)]
        rows += [{f"g{i}": 1.0 for i in range(count)} for count in (0, 3, 255, 256, 257, 600)]
        answers: list[Any] = [
            model.predict(row, key=key and f"{key} {i}") for i, row in enumerate(rows)
        ]
        answers.append(_outcome(functools.partial(model.predict, {"a": math.nan})))
        lives.append([*answers, model.snapshot()])
    assert lives[0] == lives[1]
    assert all(type(answer) is bl.linear.Forecast for answer in lives[0][:-2])


def test_keys_are_not_passed_over() -> None:
    model = bl.LinearModel()
    model.predict(np.ones(2), key="a")
    assert model.observe("a", 1.0)
    model.predict(np.ones(2))
    assert model.observe(1, 1.0)
    with pytest.raises(bl.UnknownTicket):
        model.observe("1", 1.0)


def test_one_at_a_time() -> None:
    model = bl.LinearModel()
    model.predict(np.ones(2))
    before = model.snapshot()
    turn = model._turn.pop()
    with pytest.raises(bl.BusyError):
        model.predict(np.ones(2))
    with pytest.raises(bl.BusyError):
        model.observe(0, 1.0)
    model._turn.append(turn)
    assert model.snapshot() == before
    assert model.observe(0, 1.0)


def test_threads_lose_nothing() -> None:
    model, tickets, rows = bl.LinearModel(), list[int](), [np.ones(300), np.ones(30)]

    def work() -> None:
        for i in range(2000):
            try:
                tickets.append(model.predict(rows[i % 2]).ticket)
            except bl.BusyError:
                continue

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(tickets) == list(range(model.rounds))
    assert model.open == len(tickets)


def test_arrays_live_as_long_as_what_points_into_them() -> None:
    model = bl.LinearModel(bits=8)
    issue, hear = model._issue_now, model._hear_now
    assert issue is not None
    assert hear is not None
    del model
    gc.collect()
    assert [issue(np.ones(3)).ticket for _ in range(9)] == list(range(9))  # type: ignore[union-attr]
    assert [hear(ticket, 1.0, 1.0) for ticket in range(9)] == [True] * 9


def test_a_finaliser_may_ask_in_between() -> None:
    model, asked = bl.LinearModel(bits=8), []

    class Circle:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            asked.append(model.predict(np.ones(3)).ticket)

    tickets = []
    for _ in range(3000):
        Circle()
        tickets.append(model.predict(np.ones(3)).ticket)
    gc.collect()
    assert len(asked) == 3000
    assert sorted(tickets + asked) == list(range(model.rounds))


def test_nothing_is_left_behind() -> None:
    model, row = bl.LinearModel(bits=8), (np.arange(5), np.ones(5))
    counted = [None, True, False, row, *row, bl.linear.Forecast, model._turn]

    def live(rounds: int) -> None:
        for _ in range(rounds):
            ticket, _ = model.predict(row)
            model.observe(ticket, 10**6)
            assert model._hear_now is not None
            assert model._issue_now is not None
            model._hear_now(1 << 80, 1.0, 1.0)
            model._hear_now(0, 10**400, 1.0)
            model._issue_now([])

    live(2000)
    tracemalloc.start()
    before, memory = [sys.getrefcount(each) for each in counted], tracemalloc.get_traced_memory()[0]
    live(5000)
    after, grown = [sys.getrefcount(each) for each in counted], tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 100
    assert grown - memory < 20_000


def test_copies_and_pickles_have_their_own() -> None:
    model = bl.LinearModel(bits=8)
    model.predict(np.ones(3))
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.fresh()):
        assert other._issue_now is not None
        assert other._issue_now is not model._issue_now
        other.predict(np.ones(3))
    assert model.rounds == 1


def test_long_rows_take_the_usual_way_from_then_on() -> None:
    model = bl.LinearModel()
    model.predict(np.ones(of_linear.LONGEST))
    assert model._hear_now is not None
    model.predict(np.ones(3 * of_linear.LONGEST))
    assert model._hear_now is None
    assert model._issue_now is not None
    assert model.observe(0, 1.0)


def test_forecasts_are_forecasts() -> None:
    forecast = bl.LinearModel().predict(np.ones(3))
    assert type(forecast) is bl.linear.Forecast
    assert (type(forecast.ticket), type(forecast.value)) == (int, float)
    assert gc.is_tracked(forecast)


def test_nothing_is_made_where_objects_are_not_as_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    assert objects._are_known()
    for name in ("TYPE", "DATA", "RANK", "KIND", "FLAGS", "PLAIN"):
        with monkeypatch.context() as context:
            context.setattr(objects, name, getattr(objects, name) - 8)
            assert not objects._are_known(), name
    monkeypatch.setattr(direct, "IS_KNOWN", False)
    model = bl.LinearModel()
    assert model._issue_now is None
    assert model._hear_now is None
    assert model.observe(model.predict(np.ones(3)).ticket, 1.0)


def test_nothing_is_made_of_entries_that_are_called_otherwise() -> None:
    model = bl.LinearModel()
    assert of_linear._address(model._observe, of_linear._PREDICT) is None
    assert of_linear.predict(model._observe, model._arrays, model._turn, tuple) is None
    assert of_linear.observe(model._predict, model._arrays, model._turn, takes_weights=True) is None
