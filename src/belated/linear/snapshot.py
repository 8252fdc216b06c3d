"""Snapshots of linear models; see ``belated.sealed`` for the bytes."""

from __future__ import annotations

import dataclasses

from belated import sealed
from belated.errors import SnapshotError, SpecError
from belated.learner.keys import Keys
from belated.linear.memory import PARTS, ModelMemory
from belated.linear.settings import Settings, checked

_KIND = "LinearModel"


def pack(settings: Settings, memory: ModelMemory, keys: Keys, secret: bytes | None) -> bytes:
    """Return the blob."""
    columns = None if settings.columns is None else settings.columns.to_dict()
    told = {**dataclasses.asdict(settings), "columns": columns}
    about = {"settings": told, **keys.about(memory.answerable)}
    return sealed.seal(_KIND, about, memory.parts(), secret)


def unpack(blob: bytes, secret: bytes | None) -> tuple[Settings, ModelMemory, Keys]:
    """Read a blob, or say what is wrong with it."""
    about, arrays = sealed.unseal(_KIND, blob, PARTS, secret)
    try:
        settings = checked(**about["settings"])
    except (KeyError, SpecError, TypeError) as error:
        raise SnapshotError(f"restore: the settings cannot be read ({error})") from error
    try:
        memory = ModelMemory.restored(settings, arrays)
    except MemoryError as error:
        raise SnapshotError("restore: the model is too large for this machine") from error
    return settings, memory, Keys.restored(about, memory.answerable)
