"""Snapshots of choosers: that of the model, and what is around it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from belated import sealed
from belated.arrays import Floats, Ints
from belated.decisions.kept import Kept
from belated.decisions.settings import checked, checked_mode
from belated.decisions.tally import MOST_NAMES, OfAction, Tally
from belated.errors import SnapshotError, SpecError
from belated.explore import Exploration
from belated.kernels.linear.layout import HUGE_VALUE
from belated.kernels.snapshot_checks import demand
from belated.learner.keys import Keys
from belated.linear.model import LinearModel

if TYPE_CHECKING:
    from belated.decisions.chooser import Chooser

_KIND = "Chooser"
_PARTS = {
    "model": "<i8",
    "tickets": "<i8",
    "numbers": "<f8",
    "indptr": "<i8",
    "indices": "<i8",
    "values": "<f8",
}
_LARGE = 1e120
_MOST = 1 << 62  # choices, so that a chooser can go on
_ROUNDING = 1.0 + 1e-9  # sums of probabilities may exceed their number by so much


def pack(chooser: Chooser, secret: bytes | None) -> bytes:
    """Return the blob."""
    model = chooser._model.snapshot()
    alive = chooser._model.answerable()
    kept = {t: k for t, k in sorted(chooser._kept.items()) if k.row or k.twin in alive}
    names = sorted({k.action for k in kept.values()})
    about = {
        "settings": chooser._settings.to_dict(),
        "mode": chooser._mode,
        "rounds": chooser._rounds,
        "bytes": len(model),
        "names": names,
        "tally": dataclasses.asdict(chooser._tally),
        **chooser._keys.about(lambda: set(kept)),
    }
    return sealed.seal(
        _KIND, about, {"model": sealed.as_words(model)} | _arrays(kept, names), secret
    )


def _arrays(kept: Mapping[int, Kept], names: list[str]) -> dict[str, NDArray[Any]]:
    place = {name: i for i, name in enumerate(names)}
    rows = [k.row for k in kept.values() if k.row is not None]
    tickets = [(t, k.twin, place[k.action]) for t, k in kept.items()]
    numbers = [(k.probability, k.reward, k.span) for k in kept.values()]
    return {
        "tickets": np.array(tickets, dtype=np.int64).reshape(-1, 3),
        "numbers": np.array(numbers, dtype=np.float64).reshape(-1, 3),
        "indptr": np.cumsum([0, *(row[0].size for row in rows)], dtype=np.int64),
        "indices": np.concatenate([np.empty(0, dtype=np.int64), *(row[0] for row in rows)]),
        "values": np.concatenate([np.empty(0), *(row[1] for row in rows)]),
    }


def unpack(chooser: Chooser, blob: bytes, secret: bytes | None, decide: Any) -> None:
    """Fill a chooser from a blob, or say what is wrong with it."""
    about, arrays = sealed.unseal(_KIND, blob, _PARTS, secret)
    try:
        model = LinearModel.restore(sealed.from_words(arrays["model"], int(about["bytes"])))
        told = dict(about["settings"])
        told["explore"] = Exploration.from_json(told["explore"])
        settings, mode = checked(**told), checked_mode(about["mode"])
        rounds, names = about["rounds"], about["names"]
        demand(type(rounds) is int and 0 <= rounds < _MOST, "counts")
        demand(isinstance(names, list) and all(type(name) is str for name in names), "names")
        kept = _kept(arrays, names, rounds, model)
        tally = _tally(about["tally"], rounds, sum(each.row is not None for each in kept.values()))
        chooser._connect(settings, model, Keys.restored(about, lambda: set(kept)), mode, decide)
    except (AttributeError, KeyError, OverflowError, SpecError, TypeError, ValueError) as error:
        if isinstance(error, SnapshotError):
            raise
        raise SnapshotError(f"restore: the chooser cannot be read ({error})") from error
    chooser._rounds, chooser._kept, chooser._tally = rounds, kept, tally
    chooser._hidden = {ticket: None for ticket, each in kept.items() if each.row is not None}
    chooser._most_kept = max(chooser._most_kept, 2 * len(kept))


def _tally(told: dict[str, Any], rounds: int, hidden: int) -> Tally:
    """Return the counts, or refuse them: every choice was shown, or withdrawn, or still hides."""
    actions = {str(name): OfAction(**counts) for name, counts in told["actions"].items()}
    tally = Tally(**{**told, "actions": actions})
    demand(len(actions) <= MOST_NAMES + 1, "counts")
    for counts in actions.values():
        demand(type(counts.chosen) is int and type(counts.answered) is int, "counts")
        demand(0 <= counts.answered <= counts.chosen, "counts")
        demand(type(counts.total) in (int, float) and abs(counts.total) <= _LARGE, "counts")
    for count in (tally.own, tally.compared, tally.withdrawn):
        demand(type(count) is int and 0 <= count <= rounds, "counts")
    shown = sum(counts.chosen for counts in actions.values())
    demand(shown + tally.withdrawn + hidden == rounds, "counts")
    for chance, most in ((tally.explored, rounds), (tally.agreed, tally.compared)):
        demand(type(chance) in (int, float) and 0.0 <= chance <= most * _ROUNDING, "counts")
    demand(type(tally.gain) in (int, float) and abs(tally.gain) <= _LARGE, "counts")
    return tally


def _kept(
    arrays: Mapping[str, NDArray[Any]], names: list[str], rounds: int, model: LinearModel
) -> dict[int, Kept]:
    """Return the choices that wait, or refuse them."""
    tickets, numbers, indptr = arrays["tickets"], arrays["numbers"], arrays["indptr"]
    demand(tickets.ndim == 2 and tickets.shape[1:] == (3,), "shapes")
    demand(numbers.shape == tickets.shape and indptr.ndim == 1 and indptr.size > 0, "shapes")
    order, twins, places = tickets[:, 0], tickets[:, 1], tickets[:, 2]
    demand((np.diff(order) > 0).all() and ((order >= 0) & (order < rounds)).all(), "tickets")
    demand(((places >= 0) & (places < len(names))).all(), "names")
    shown = twins[twins >= 0]
    demand((twins >= -1).all() and np.unique(shown).size == shown.size, "tickets")
    demand(set(shown.tolist()) <= model.answerable(), "tickets")
    demand(((numbers[:, 0] >= 0.0) & (numbers[:, 0] <= 1.0)).all(), "probabilities")
    demand(not (np.abs(numbers[:, 1]) > _LARGE).any(), "rewards")
    demand(not (numbers[:, 2] < 0.0).any(), "deadlines")
    rows = _rows(arrays, int((twins < 0).sum()), 1 << model.settings.bits)
    kept = {}
    for (ticket, twin, place), (p, reward, span) in zip(
        tickets.tolist(), numbers.tolist(), strict=True
    ):
        row = next(rows) if twin < 0 else None
        kept[ticket] = Kept(names[place], p, twin=twin, reward=reward, row=row, span=span)
    return kept


def _rows(
    arrays: Mapping[str, NDArray[Any]], count: int, coordinates: int
) -> Iterator[tuple[Ints, Floats]]:
    """Return the rows of choices that nobody was shown, or refuse them."""
    indptr, indices, values = arrays["indptr"], arrays["indices"], arrays["values"]
    demand(indices.ndim == 1 and indices.shape == values.shape, "shapes")
    demand(indptr.size == count + 1 and indptr[0] == 0 and indptr[-1] == indices.size, "rows")
    demand((np.diff(indptr) >= 0).all(), "rows")
    demand(((indices >= 0) & (indices < coordinates)).all(), "rows")
    demand((np.abs(values) <= HUGE_VALUE).all(), "rows")
    return ((indices[a:b], values[a:b]) for a, b in pairwise(indptr.tolist()))
