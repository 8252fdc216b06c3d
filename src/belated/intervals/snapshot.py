"""Snapshots of intervals: those of two models, and what is between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated import sealed
from belated.errors import SnapshotError, SpecError
from belated.intervals.state import FEW, Issued, State
from belated.intervals.window import LENGTH
from belated.kernels.snapshot_checks import demand
from belated.linear.model import LinearModel

_KIND = "Intervals"
_PARTS = {
    "model": "<i8",
    "scores": "<i8",
    "counts": "<i8",
    "sums": "<f8",
    "floors": "<f8",
    "sizes": "<i8",
    "flags": "<i8",
    "tickets": "<i8",
    "issued": "<f8",
}
_WORD = 8
_WORDS = -(-LENGTH // (8 * _WORD))  # that hold the flags of a window
_LARGE = 1e120

Join = Callable[[LinearModel, LinearModel, float], State]


def pack(state: State, secret: bytes | None) -> bytes:
    """Return the blob."""
    model, scores = state.model.snapshot(), state.scores.snapshot()
    rule, kept = state.threshold, sorted(state.kept.items())
    about: dict[str, Any] = {"coverage": state.coverage, "bytes": [len(model), len(scores)]}
    if rule.unbounded:  # older snapshots have none
        about["unbounded"] = rule.unbounded
    if state.late != _late(state):  # older snapshots do not say
        about["late"] = state.late
    counts = [rule.arrived, rule.missed, rule.most_open]
    arrays: dict[str, NDArray[Any]] = {
        "model": sealed.as_words(model),
        "scores": sealed.as_words(scores),
        "counts": np.array([*counts, state.window.worst, state.rounds, state.most_kept]),
        "sums": np.array([rule.total, rule.largest, rule.top, state.widths]),
        "floors": np.array(rule.floors, dtype=np.float64),
        "sizes": np.array(sorted(rule.sizes.items()), dtype=np.int64).reshape(-1, 2),
        "flags": sealed.as_words(
            np.packbits(np.frombuffer(state.window.flags, np.uint8)).tobytes()
        ),
        "tickets": np.array([(t, i.twin) for t, i in kept], dtype=np.int64).reshape(-1, 2),
        "issued": np.array([i[1:] for _, i in kept], dtype=np.float64).reshape(-1, 2),
    }
    return sealed.seal(_KIND, about, arrays, secret)


def unpack(blob: bytes, secret: bytes | None, join: Join) -> State:
    """Read a blob, or say what is wrong with it; ``join`` makes a state of two models."""
    about, arrays = sealed.unseal(_KIND, blob, _PARTS, secret)
    try:
        coverage, lengths = float(about["coverage"]), [int(size) for size in about["bytes"]]
        inner = [
            sealed.from_words(arrays[name], size)
            for name, size in zip(_PARTS, lengths, strict=False)
        ]
        model, scores = (LinearModel.restore(each) for each in inner)
        state = join(model, scores, coverage)
    except (KeyError, OverflowError, SpecError, TypeError, ValueError) as error:
        if isinstance(error, SnapshotError):
            raise
        raise SnapshotError(f"restore: the models cannot be read ({error})") from error
    _check(arrays)
    unbounded = about.get("unbounded", 0)
    demand(type(unbounded) is int and 0 <= unbounded <= model.rounds, "counts")
    state.threshold.unbounded = unbounded
    _fill(state, arrays)
    state.late = about.get("late", _late(state))
    _check_state(state)
    return state


def _late(state: State) -> int:
    """Return how many labels were late if all that the model has heard late are of intervals."""
    return min(state.model.report().late, state.threshold.heard)


def _fill(state: State, arrays: Mapping[str, NDArray[Any]]) -> None:
    rule = state.threshold
    counts = arrays["counts"].tolist()
    rule.arrived, rule.missed, rule.most_open, worst, state.rounds, state.most_kept = counts
    rule.total, rule.largest, rule.top, state.widths = arrays["sums"].tolist()
    rule.floors = arrays["floors"].tolist()
    rule.sizes = dict(arrays["sizes"].tolist())
    state.window.refill(_flags(arrays["flags"])[:LENGTH].tobytes(), worst)
    pairs = zip(arrays["tickets"].tolist(), arrays["issued"].tolist(), strict=True)
    state.kept = {ticket: Issued(twin, *numbers) for (ticket, twin), numbers in pairs}
    rule.refresh()


def _check(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Demand that arrays have their shapes, and numbers their ranges."""
    sizes, tickets, words = arrays["sizes"], arrays["tickets"], arrays["flags"]
    demand(arrays["counts"].shape == (6,) and arrays["sums"].shape == (4,), "shapes")
    demand(arrays["floors"].ndim == 1 and words.shape == (_WORDS,), "shapes")
    demand(sizes.ndim == 2 and sizes.shape[1] == 2, "shapes")
    demand(tickets.ndim == 2 and arrays["issued"].shape == tickets.shape, "shapes")
    demand(tickets.shape[1] == 2, "shapes")
    values, thresholds = arrays["issued"].T
    bounded = {"values": values, "thresholds": thresholds[thresholds != np.inf]}
    for name, array in (*bounded.items(), *((name, arrays[name]) for name in ("sums", "floors"))):
        demand((np.abs(array) <= _LARGE).all(), f"{name} too large to compute with")
    for name in ("sums", "floors", "counts"):
        demand((arrays[name] >= 0).all(), f"{name} below 0")
    demand(not _flags(words)[LENGTH:].any(), "misses")
    demand(_ascends(sizes[:, 0]) and (np.abs(sizes[:, 0]) < 1 << 13).all(), "sizes of scores")
    demand((sizes[:, 1] > 0).all(), "sizes of scores")
    demand(_ascends(tickets[:, 0]) and np.unique(tickets[:, 1]).size == len(tickets), "tickets")


def _check_state(state: State) -> None:
    """Demand that what was counted adds up."""
    rule, window = state.threshold, state.window
    demand(rule.missed <= rule.arrived and rule.unbounded <= state.rounds, "counts")
    demand(rule.heard <= state.rounds <= state.model.rounds, "counts")
    demand(type(state.late) is int and 0 <= state.late <= rule.heard, "counts")
    demand(state.rounds <= state.scores.rounds, "counts")
    demand(len(rule.floors) == rule.arrived.bit_length(), "steps")
    demand(rule.most_open <= state.rounds and (rule.most_open > 0) == (rule.heard > 0), "counts")
    demand(sum(rule.sizes.values()) <= rule.arrived, "sizes of scores")
    demand(bool(rule.sizes) <= (rule.total > 0.0) == (rule.largest > 0.0), "scores")
    demand(bool(rule.unbounded) or bool(rule.sizes) == (rule.total > 0.0), "scores")
    demand(rule.top <= rule.largest <= rule.total, "scores")
    demand(sum(window.flags) <= rule.missed, "misses")
    demand(not any(window.flags[rule.arrived :]), "misses")
    demand(rule.arrived < LENGTH or sum(window.flags) <= window.worst <= LENGTH, "misses")
    demand(rule.arrived >= LENGTH or window.worst == 0, "misses")
    demand(state.most_kept >= FEW and len(state.kept) <= state.most_kept, "tickets")
    demand(len(state.kept) + rule.heard <= state.rounds, "tickets")
    for ticket, issued in state.kept.items():
        demand(0 <= ticket < state.model.rounds, "tickets")
        demand(0 <= issued.twin < state.scores.rounds, "tickets")


def _ascends(column: NDArray[Any]) -> bool:
    return bool((np.diff(column) > 0).all())


def _flags(words: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bits of words, one by one."""
    return np.unpackbits(np.frombuffer(words.astype("<i8").tobytes(), dtype=np.uint8))
