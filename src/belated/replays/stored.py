"""Logs of stores, as replays take them: with the loss, silence and deadline that the model had."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from belated.errors import LogError
from belated.keys import Key
from belated.logs import Log
from belated.models.linear.losses import Loss
from belated.models.linear.settings import Settings
from belated.replays.labels import Labels
from belated.replays.saving import keys_of
from belated.replays.silence import Silence, in_unit

if TYPE_CHECKING:
    from belated.replays.task import Asked
    from belated.store.as_log import StoredLog

TARGET = "the label"
"""What the target of such a log is called; a feature may well be called ``label``."""


def log_of(stored: StoredLog, asked: Asked, said: Silence) -> Log:
    """Return the log of a store with its labels and features."""
    span = math.inf
    if said.value is not None and said.deadline is not None:
        log = stored.log()
        span = in_unit(said.deadline, log.unit, has_dates=log.has_dates)
    wanted = None if asked.features == "all" else [*asked.features, *asked.slices]
    features = stored.features(wanted)
    for name in asked.kinds:
        if features.pop(name, None) is None:
            listed = ", ".join(map(repr, features)) or "none"
            raise LogError(f"replay: {stored.name} has no feature {name!r}; it has {listed}")
    log = stored.log(span)
    notes = (*log.notes, *_notes(stored, said))
    return replace(log, features=features, notes=notes)


def keys_in(stored: StoredLog, asked: Asked) -> list[Key] | None:
    """Return the key of every row where the keys of the store are asked for; None: others are.

    They are no column, so that a feature of the same name stays one.
    """
    from belated.store.as_log import KEY  # which is loaded by now, as its log is there

    return keys_of(stored.keys(), KEY) if asked.key == KEY else None


def labels_of(stored: StoredLog, how: Labels, loss: Loss | None) -> tuple[Labels, Loss | None]:
    """Return how labels are learned: as the model did, where nothing else is said."""
    told = stored.settings
    if not isinstance(told, Settings):
        return how, loss
    if loss is not None or how.is_binary or how.clip is not None:
        return how, loss
    how = replace(how, loss=told.loss, quantile=told.quantile, delta=told.delta)
    return how, told.loss


def silence_of(stored: StoredLog, said: Silence) -> Silence:
    """Return what no answer means: what it meant to the model, where nothing else is said."""
    told = stored.settings
    if said.answered_only or told is None or told.silence is None:
        return said
    value = told.silence if said.value is None else said.value
    deadline = stored.told_deadline if said.deadline is None else said.deadline
    return Silence(value, deadline)


def _notes(stored: StoredLog, said: Silence) -> list[str]:
    """Say what of the model is left out."""
    told = stored.settings
    is_asked = told is None or told.silence is None
    is_asked = is_asked or (said.deadline is None and said.value is not None)
    return [stored.left_out] if is_asked and stored.left_out else []


def check(stored: StoredLog, asked: Asked) -> None:
    """Refuse what is no log of labels, and columns of what the log has without them."""
    kind = stored.kind
    if kind == "Chooser":
        raise LogError(
            f"replay: {stored.name} is the log of a Chooser: belated evaluate says what other "
            "policies would have earned in it"
        )
    if kind not in (None, "LinearModel", "Intervals"):
        raise LogError(
            f"replay: {stored.name} is the log of a model of kind {kind}, whose answers are no "
            "labels; Store.replay builds one with other settings from it"
        )
    names = ("target", "predicted", "observed", "weight", "dates", "tz", "unit", "encoding")
    given: list[Any] = [name for name in (*names, "missing") if getattr(asked, name)]
    given += [what for what in asked.kinds.values() if what != "ignore"]
    if given:
        raise LogError(
            f"replay: {stored.name} is the log of a store, which has its times, labels and "
            f"features; leave out {', '.join(given)}"
        )
