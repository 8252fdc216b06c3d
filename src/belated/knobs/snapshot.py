"""Snapshots of knobs; see ``belated.sealed`` for the bytes."""

from __future__ import annotations

from belated import sealed
from belated.errors import SnapshotError, SpecError
from belated.kernels.memory import PARTS
from belated.knobs.memory import KnobsMemory
from belated.knobs.settings import Settings, restored
from belated.learner.keys import Keys

_KIND = "Knobs"


def pack(settings: Settings, memory: KnobsMemory, keys: Keys, secret: bytes | None) -> bytes:
    """Return the blob."""
    about = {"settings": settings.to_dict(), **keys.about(memory.answerable)}
    return sealed.seal(_KIND, about, memory.parts(), secret)


def unpack(blob: bytes, secret: bytes | None) -> tuple[Settings, KnobsMemory, Keys]:
    """Read a blob, or say what is wrong with it."""
    about, parts = sealed.unseal(_KIND, blob, PARTS, secret)
    try:
        settings = restored(about["settings"])
        memory = KnobsMemory.restored(settings, parts)
        keys = Keys.restored(about, memory.answerable)
    except (AttributeError, KeyError, OverflowError, SpecError, TypeError, ValueError) as error:
        if isinstance(error, SnapshotError):
            raise
        raise SnapshotError(f"restore: the knobs cannot be read ({error})") from error
    return settings, memory, keys
