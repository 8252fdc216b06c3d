"""Labels of a set are learned in an order that depends on their tickets alone."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.models.linear import LinearModel
from conftest import examples
from naive_linear import learning_order

TICKETS = st.lists(st.integers(0, 299), unique=True, max_size=60)


@functools.cache
def asked(rounds: int) -> bytes:
    """Return a model that waits for so many labels."""
    model = LinearModel(bits=1, wait=None)
    model.predict_many(np.ones((rounds, 1)))
    return model.snapshot()


def order_of(tickets: Any, rounds: int) -> list[int]:
    """Return tickets in the order in which labels are learned that came for them."""
    model = LinearModel.restore(asked(rounds))
    model.observe_many(tickets, np.zeros(len(tickets)))
    found: list[int] = model._linear.state()["answers.numbers"].tolist()
    return found


@given(tickets=TICKETS)
@examples(100)
def test_fast_and_slow_agree(tickets: list[int]) -> None:
    array = np.array(tickets, dtype=np.int64)
    assert order_of(array, 300) == [tickets[place] for place in learning_order(tickets)]


def test_fast_and_slow_agree_on_many() -> None:
    tickets = np.random.default_rng(0).permutation(3000)[:2500].tolist()
    assert order_of(tickets, 3000) == [tickets[place] for place in learning_order(tickets)]


@given(tickets=TICKETS, seed=st.integers(0, 99))
@examples(100)
def test_the_given_order_says_nothing(tickets: list[int], seed: int) -> None:
    array = np.array(tickets, dtype=np.int64)
    other = np.random.default_rng(seed).permutation(array)
    assert order_of(array, 300) == order_of(other, 300)


def test_few_tickets_are_mixed_and_many_keep_their_age() -> None:
    """Ranks of neighbours have nothing to do with each other; those of far ones have."""
    few, many = (np.argsort(order_of(np.arange(n), n)) for n in (200, 20_000))
    assert abs(np.corrcoef(few, np.arange(200))[0, 1]) < 0.3
    assert abs(np.corrcoef(many[:500], np.arange(500))[0, 1]) < 0.15
    assert 0.65 < np.corrcoef(many, np.arange(20_000))[0, 1] < 0.75
    parts = many.reshape(10, -1).mean(axis=1)
    assert (np.diff(parts) > 0.0).all()
    assert parts[-1] - parts[0] > 8_000


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


def test_a_store_logs_labels_as_they_are_given(tmp_path: Path) -> None:
    """The log has no order of its own: whoever plays it finds the same."""
    x, y = _rows(40)
    keys = [f"order-{i}" for i in range(40)]
    twin = LinearModel(bits=3)
    twin.predict_many(x, keys=keys)
    twin.observe_many(np.arange(20), y[:20], weights=y[:20] ** 2 + 0.5)
    used = twin.observe_many(keys[:19:-1], y[:19:-1])
    with bl.open(tmp_path / "a.store") as store:
        model = store.model("m", LinearModel(bits=3))
        model.predict_many(x, keys=keys)
        model.observe_many(range(20), y[:20].tolist(), weights=(y[:20] ** 2 + 0.5).tolist())
        assert model.observe_many(keys[:19:-1], y[:19:-1]).tolist() == used.tolist()
        told = [line.ticket for line in store.log("m") if line.verb == "observe"]
        assert told == [*range(20), *range(39, 19, -1)]
        assert model.snapshot() == twin.snapshot()
        assert store.rebuild("m", LinearModel(bits=3)).snapshot() == twin.snapshot()
        store.compact("m")
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
    for is_sorted in (True, False):
        model = LinearModel()
        said = []
        for night in range(0, 800, 200):
            tickets, values = model.predict_many(rows[night : night + 200])
            order = np.arange(200) if is_sorted else rng.permutation(200)
            for place in order.tolist():
                model.observe(int(tickets[place]), float(y[night + place]))
            said.append(values)
        errors[is_sorted] = np.mean((np.concatenate(said) - y)[200:] ** 2)
    assert errors[True] == errors[False]
    assert errors[True] < 0.1 * np.var(y)


def _rows(count: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    rng = np.random.default_rng(8)
    x = rng.standard_normal((count, 3))
    return x, x @ [1.0, -2.0, 0.5] + rng.standard_normal(count)
