"""Made-up shops whose labels come at night, in one file that is sorted by something.

Every store asks for every product once a day, and at night one file has what was sold of each, or
whether anything was. There are 60 days. Labels are a level of the store, one of the product, one of
the weekday, and two numbers, all of which are features; with noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Loss = Literal["squared", "logistic"]

DAYS = 60
DRAWS = 3
SORTED = ("at random", "by store", "by product", "by size", "as asked, by store")
"""How files are sorted. Tickets are asked at random, but by store where the file is as asked."""


@dataclass(frozen=True)
class Shops:
    """A draw of a world: features and labels in order of prediction, ``size`` of them a day."""

    loss: Loss
    size: int
    store: Ints
    product: Ints
    numbers: Floats
    labels: Floats

    @property
    def day(self) -> Ints:
        """The day of every row."""
        return np.arange(self.labels.size) // self.size

    @property
    def columns(self) -> dict[str, Any]:
        """The features by name."""
        words = {"store": self.store, "product": self.product, "weekday": self.day % 7}
        texts = {name: _texts(name, values) for name, values in words.items()}
        return {**texts, "price": self.numbers[:, 0], "offer": self.numbers[:, 1]}

    def nights(self, order: str, seed: int) -> list[Ints]:
        """Return the tickets of every file, in its order."""
        rng = np.random.default_rng([6, seed])
        keys = {
            "at random": rng.random(self.labels.size),
            "by store": self.store,
            "by product": self.product,
            "by size": self.labels,
            "as asked, by store": np.arange(self.labels.size),
        }
        days = np.arange(self.labels.size).reshape(DAYS, self.size)
        return [day[np.argsort(keys[order][day], kind="stable")] for day in days]


@dataclass(frozen=True)
class World:
    """Stores and products, and how far levels of stores are from each other."""

    stores: int
    products: int
    levels: float
    loss: Loss = "squared"

    @property
    def name(self) -> str:
        """What it is called."""
        what = "sold or not" if self.loss == "logistic" else f"levels of {self.levels:g}"
        return f"nights, {self.stores} x {self.products}, {what}"

    def drawn(self, seed: int, *, asked_by_store: bool) -> Shops:
        """Return a draw of it."""
        rng = np.random.default_rng([8, seed, self.stores, self.products])
        store_levels = self.levels * rng.standard_normal(self.stores)
        product_levels = 3.0 * rng.standard_normal(self.products)
        weekdays = 2.0 * rng.standard_normal(7)
        size = self.stores * self.products
        shelves = np.arange(size)
        asked = [shelves if asked_by_store else rng.permutation(size) for _ in range(DAYS)]
        store, product = np.divmod(np.concatenate(asked), self.products)
        rows = DAYS * size
        numbers = np.column_stack([rng.standard_normal(rows), rng.random(rows) < 0.2])
        level = store_levels[store] + product_levels[product]
        score = level + weekdays[np.arange(rows) // size % 7] + numbers @ [-1.5, 3.0]
        if self.loss == "squared":
            labels = 20.0 + score + 2.0 * rng.standard_normal(rows)
        else:
            chance = 1.0 / (1.0 + np.exp(1.0 - 0.25 * score))
            labels = (rng.random(rows) < chance).astype(np.float64)
        return Shops(self.loss, size, store, product, numbers.astype(np.float64), labels)


WORLDS = (World(5, 50, 15.0), World(20, 10, 4.0), World(10, 20, 4.0, "logistic"))


def _texts(name: str, values: Ints) -> NDArray[np.object_]:
    return np.array([f"{name[0]}{value}" for value in values.tolist()], dtype=object)
