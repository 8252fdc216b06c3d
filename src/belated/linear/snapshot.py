"""Snapshots of linear models; see ``belated.sealed`` for the bytes."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from belated import sealed
from belated.arrays import Floats, Ints
from belated.errors import SnapshotError, SpecError
from belated.kernels.linear.layout import HUGE_WEIGHT
from belated.kernels.snapshot_checks import demand
from belated.learner.keys import Keys
from belated.linear.answer_set import AnswerSet
from belated.linear.losses import LOSSES
from belated.linear.memory import PARTS, ModelMemory
from belated.linear.settings import Settings, checked

_KIND = "LinearModel"
_ANSWERS = {"answered": "<i8", "answers": "<f8"}


def pack(
    settings: Settings,
    memory: ModelMemory,
    answers: AnswerSet | None,
    keys: Keys,
    secret: bytes | None,
) -> bytes:
    """Return the blob; answers that are not applied are part of it, in their order."""
    answers = AnswerSet(memory.rounds) if answers is None else answers
    closed = answers.closed
    tickets, *numbers = answers.arrays()
    arrays = memory.parts() | {"answered": tickets, "answers": np.column_stack(numbers)}
    columns = None if settings.columns is None else settings.columns.to_dict()
    told = {**dataclasses.asdict(settings), "columns": columns}
    about = {"settings": told, **keys.about(lambda: memory.answerable() - closed)}
    return sealed.seal(_KIND, about, arrays, secret)


def unpack(
    blob: bytes, secret: bytes | None
) -> tuple[Settings, ModelMemory, AnswerSet | None, Keys]:
    """Read a blob, or say what is wrong with it."""
    about, arrays = sealed.unseal(_KIND, blob, PARTS | _ANSWERS, secret)
    try:
        settings = checked(**about["settings"])
    except (KeyError, SpecError, TypeError) as error:
        raise SnapshotError(f"restore: the settings cannot be read ({error})") from error
    try:
        memory = ModelMemory.restored(settings, arrays)
    except MemoryError as error:
        raise SnapshotError("restore: the model is too large for this machine") from error
    answers = _restored(settings, memory, arrays["answered"], arrays["answers"])
    closed = set() if answers is None else answers.closed
    keys = Keys.restored(about, lambda: memory.answerable() - closed)
    return settings, memory, answers, keys


def _restored(
    settings: Settings, memory: ModelMemory, tickets: Ints, numbers: Floats
) -> AnswerSet | None:
    """Return the answers, or refuse those that cannot be."""
    demand(tickets.ndim == 1 and numbers.shape == (tickets.size, 3), "shapes of answers")
    if not tickets.size:
        return None
    answers = AnswerSet(memory.rounds)
    takes = LOSSES[settings.loss].labels.takes
    for ticket, (label, weight, last) in zip(tickets.tolist(), numbers.tolist(), strict=True):
        entry = memory.found(ticket)
        demand(entry >= 0 and ticket not in answers.closed, "answers to tickets that are closed")
        demand(takes(label) and 0.0 < weight <= HUGE_WEIGHT and last in (0.0, 1.0), "answers")
        is_open = memory.is_open_at(entry)
        is_first = settings.silence is None and math.isnan(memory.label(entry))
        is_first &= ticket not in answers.revised
        demand(weight == 1.0 or not is_open or (is_first and last == 1.0), "weights of answers")
        demand(is_open or last == 1.0, "answers that leave open what is closed")
        answers.answers.append((ticket, label, weight, last == 1.0, is_open))
    demand((answers.arrays()[0] == tickets).all(), "the order of answers")
    return answers
