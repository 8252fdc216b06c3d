"""Labels of one call are learned in an order that depends on their tickets alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.errors import AlreadyObserved
from belated.linear import LinearModel
from belated.linear.order import order_of
from conftest import examples
from naive_linear import learning_order

TICKETS = st.lists(st.integers(0, 2**62), unique=True, max_size=60)


@given(tickets=TICKETS)
@examples(200)
def test_fast_and_slow_agree(tickets: list[int]) -> None:
    array = np.array(tickets, dtype=np.int64)
    assert array[order_of(array)].tolist() == learning_order(tickets)


def test_fast_and_slow_agree_on_many() -> None:
    tickets = np.random.default_rng(0).permutation(3000)[:2500]
    assert tickets[order_of(tickets)].tolist() == learning_order(tickets.tolist())


@given(tickets=TICKETS, seed=st.integers(0, 99))
@examples(100)
def test_the_given_order_says_nothing(tickets: list[int], seed: int) -> None:
    array = np.array(tickets, dtype=np.int64)
    other = np.random.default_rng(seed).permutation(array)
    assert array[order_of(array)].tolist() == other[order_of(other)].tolist()


def test_few_tickets_are_mixed_and_many_keep_their_age() -> None:
    """Ranks of neighbours have nothing to do with each other; those of far ones have."""
    few, many = (np.argsort(order_of(np.arange(n))) for n in (200, 100_000))
    assert abs(np.corrcoef(few, np.arange(200))[0, 1]) < 0.3
    assert abs(np.corrcoef(many[:500], np.arange(500))[0, 1]) < 0.15
    assert 0.65 < np.corrcoef(many, np.arange(100_000))[0, 1] < 0.75
    parts = many.reshape(10, -1).mean(axis=1)
    assert (np.diff(parts) > 0.0).all()
    assert parts[-1] - parts[0] > 40_000


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("silence", [None, 0.0])
def test_a_file_is_learned_the_same_however_it_is_sorted(loss: Any, silence: Any) -> None:
    x, y = _rows(60)
    y = y if loss == "squared" else (y > 0.0).astype(float)
    models = [
        LinearModel(loss, bits=3, silence=silence, wait={"predictions": 40}) for _ in range(4)
    ]
    orders = [np.argsort(y), np.arange(60), np.argsort(-x[:, 0])]
    for model, order in zip(models[1:], orders, strict=True):
        tickets, _ = model.predict_many(x)
        used = model.observe_many(tickets[order], y[order])
        assert used[np.argsort(order)].tolist() == [t >= 19 for t in range(60)]  # wait=40
    one = models[0]
    one.predict_many(x)
    for ticket in learning_order(list(range(60))):
        one.observe(ticket, y[ticket])
    assert len({model.snapshot() for model in models}) == 1


def test_in_order_is_as_it_is_given() -> None:
    x, y = _rows(50)
    weights = np.linspace(0.5, 2.0, 50)
    many, one = LinearModel(bits=3), LinearModel(bits=3)
    tickets, _ = many.predict_many(x)
    one.predict_many(x)
    many.observe_many(tickets[::-1], y[::-1], weights[::-1], in_order=True)
    for ticket in range(49, -1, -1):
        one.observe(ticket, y[ticket], weights[ticket])
    assert many.snapshot() == one.snapshot()


def test_what_is_refused_changes_nothing() -> None:
    x, y = _rows(20)
    model = LinearModel(bits=3)
    tickets, _ = model.predict_many(x)
    model.observe(3, 1.0)
    before = model.snapshot()
    with pytest.raises(AlreadyObserved, match="observe_many: position 3: ticket 3 "):
        model.observe_many(tickets, y)
    assert model.snapshot() == before


def test_a_store_logs_labels_as_they_were_learned(tmp_path: Path) -> None:
    """So that its log, also one of before there was an order, is played as it stands."""
    x, y = _rows(40)
    twin = LinearModel(bits=3)
    twin.predict_many(x)
    twin.observe_many(np.arange(20), y[:20], y[:20] ** 2 + 0.5)
    twin.observe_many(np.arange(39, 19, -1), y[:19:-1], in_order=True)
    with bl.open(tmp_path / "a.store") as store:
        model = store.model("m", LinearModel(bits=3))
        model.predict_many(x)
        model.observe_many(range(20), y[:20].tolist(), (y[:20] ** 2 + 0.5).tolist())
        model.observe_many(np.arange(39, 19, -1), y[:19:-1], in_order=True)
        told = [line.ticket for line in store.log("m") if line.verb == "observe"]
        assert told == [*learning_order(list(range(20))), *range(39, 19, -1)]
        assert model.snapshot() == twin.snapshot()
        assert store.rebuild("m", LinearModel(bits=3)).snapshot() == twin.snapshot()
        store.compact("m")
    with bl.open(tmp_path / "a.store") as store:
        assert store.model("m").snapshot() == twin.snapshot()


def test_a_store_logs_keys_beside_what_they_were_learned_as(tmp_path: Path) -> None:
    x, y = _rows(30)
    keys = [f"order-{i}" for i in range(30)]
    twin = LinearModel(bits=3)
    twin.predict_many(x, keys=keys)
    used = twin.observe_many(keys[::-1], y[::-1])
    with bl.open(tmp_path / "a.store") as store:
        model = store.model("m", LinearModel(bits=3))
        model.predict_many(x, keys=keys)
        assert model.observe_many(keys[::-1], y[::-1]).tolist() == used.tolist()
        told = [(line.ticket, line.key) for line in store.log("m") if line.verb == "observe"]
        assert told == [(t, keys[t]) for t in learning_order(list(range(30)))]
        assert model.snapshot() == twin.snapshot()
    with bl.open(tmp_path / "a.store") as store:
        assert store.model("m").snapshot() == twin.snapshot()


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("seed", range(3))
def test_a_sorted_file_costs_nothing(seed: int) -> None:
    """Of five shops with levels of their own, the file of a night is sorted by shop."""
    rng = np.random.default_rng([41, seed])
    shop = np.tile(np.repeat(np.arange(5), 40), 4)
    y = 10.0 * rng.standard_normal(5)[shop] + rng.standard_normal(800)
    rows = [{"shop": f"s{s}"} for s in shop.tolist()]
    errors = {}
    for in_order in (True, False):
        model = LinearModel()
        said = []
        for night in range(0, 800, 200):
            tickets, values = model.predict_many(rows[night : night + 200])
            model.observe_many(tickets, y[night : night + 200], in_order=in_order)
            said.append(values)
        errors[in_order] = np.mean((np.concatenate(said) - y)[200:] ** 2)
    assert errors[False] < 0.7 * errors[True]


def _rows(count: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    rng = np.random.default_rng(8)
    x = rng.standard_normal((count, 3))
    return x, x @ [1.0, -2.0, 0.5] + rng.standard_normal(count)
