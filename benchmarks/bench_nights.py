"""Labels that come at night, in one file that is sorted: ours against Vowpal Wabbit and a mean.

The worlds are those of :mod:`benchmarks.night_worlds`. Ours learns the labels of a night as a set,
whatever the file is sorted by; VW learns them one by one, in the order of the file, in five
ways; where labels are numbers, in two units each. Of these and of the mean of all labels known so
far, the best is chosen afterwards in every draw, for the first days (1 to 3; on day 0 nobody knows
anything) and for all later ones. A note has the errors of all, and of the means by store. Figures
are means over draws.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from belated.models.linear import LinearModel
from benchmarks import late_peers as peers
from benchmarks.night_worlds import DRAWS, SORTED, WORLDS, Shops, World
from benchmarks.seeds import seeds
from benchmarks.timing import Result

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Errors = dict[str, Floats]
"""By who it is of: the first days, and later ones."""

_FIRST = slice(1, 4)
_LATER = slice(4, None)


def main() -> Iterator[Result]:
    """Yield our errors over those of the best VW, or of the mean of labels."""
    has_vw = peers.has("vowpalwabbit")
    if not has_vw:
        print("vowpalwabbit is not installed, so it is left out", file=sys.stderr)
    for world in WORLDS:
        for order in SORTED:
            drawn = [_errors(world, order, seed, has_vw=has_vw) for seed in seeds("nights", DRAWS)]
            yield from _results(f"{world.name}, {order}", drawn, world)


def _results(name: str, drawn: list[Errors], world: World) -> Iterator[Result]:
    unit = "log loss" if world.loss == "logistic" else "sq. error"
    rivals = [who for who in drawn[0] if who == "mean" or who.startswith("VW")]
    floors = np.mean([np.min([each[who] for who in rivals], axis=0) for each in drawn], axis=0)
    errors = {who: np.mean([each[who] for each in drawn], axis=0) for who in drawn[0]}
    for days, place in (("days 1-3", 0), ("later", 1)):
        note = "; ".join(f"{who}: {found[place]:.5g}" for who, found in errors.items())
        floor = float(floors[place])
        ours = float(errors["ours"][place])
        yield Result(f"{name}, {days}", ours / floor, 1.0, ours, floor, unit, 0.0, note)


def _errors(world: World, order: str, seed: int, *, has_vw: bool) -> Errors:
    """Return the errors of everyone on one draw."""
    shops = world.drawn(seed, asked_by_store=order.startswith("as asked"))
    nights = shops.nights(order, seed)
    events = _events(nights)
    found = {
        "ours": _ours(shops, events),
        "mean": _means(shops, nights, np.zeros_like(shops.store)),
        "means by store": _means(shops, nights, shops.store),
    }
    if has_vw:
        found |= _vw(shops, events)
    return {who: _by_days(shops, values) for who, values in found.items()}


def _events(nights: list[Ints]) -> Ints:
    return np.concatenate([part for night in nights for part in (np.sort(night), ~night)])


def _ours(shops: Shops, events: Ints) -> Floats:
    model = LinearModel(shops.loss)
    return model.replay(model.hasher.table(shops.columns), shops.labels, events)


def _means(shops: Shops, nights: list[Ints], group: Ints) -> Floats:
    """Return the mean of labels so far by group; for answers with half a label of each kind."""
    prior = 0.5 if shops.loss == "logistic" else 0.0
    total, count = (np.zeros(int(group.max()) + 1) for _ in range(2))
    said = np.empty(shops.labels.size)
    for night in nights:
        known = (total + prior) / np.maximum(count + 2.0 * prior, 1.0)
        said[night] = known[group[night]]
        np.add.at(total, group[night], shops.labels[night])
        np.add.at(count, group[night], 1.0)
    return said


def _vw(shops: Shops, events: Ints) -> dict[str, Floats]:
    """Return what VW says in every way and unit; of log odds the probabilities."""
    logistic = shops.loss == "logistic"
    units = {"": 1.0} if logistic else {" (as is)": 1.0, " (per sd)": float(np.std(shops.labels))}
    names = list(shops.columns)
    cells = [column.tolist() for column in shops.columns.values()]
    texts = ["|" + "".join(map(_told, names, row)) for row in zip(*cells, strict=True)]
    found = {}
    for setting, arguments in peers.VW_SETTINGS.items():
        for unit, size in units.items():
            vw = peers.workspace(arguments, logistic=logistic)
            labels = peers.vw_labels(shops.labels / size, logistic=logistic)
            said = size * peers.vw_replay(vw, texts, labels, events)
            vw.finish()
            found[f"VW {setting}{unit}"] = 1.0 / (1.0 + np.exp(-said)) if logistic else said
    return found


def _told(name: str, cell: str | float) -> str:
    return f" {name}={cell}" if isinstance(cell, str) else f" {name}:{cell:.9g}"


def _by_days(shops: Shops, said: Floats) -> Floats:
    """Return the mean error of the first days, and of later ones."""
    y = shops.labels
    errors = (said - y) ** 2
    if shops.loss == "logistic":
        errors = -np.log(np.clip(np.where(y > 0.5, said, 1.0 - said), 1e-12, 1.0))
    by_day = errors.reshape(-1, shops.size).mean(axis=1)
    return np.array([by_day[_FIRST].mean(), by_day[_LATER].mean()])
