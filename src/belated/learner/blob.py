"""Snapshots of learners: named fields and arrays; see ``belated.sealed`` for the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from belated import sealed
from belated.core.bases import UserBase
from belated.core.component import demand
from belated.errors import BelatedError, SnapshotError
from belated.learner.compose import numbers_kept
from belated.learner.program import Method, Playable
from belated.reductions import Reduction, Wrapper
from belated.spec import from_json

if TYPE_CHECKING:
    from belated.learner.learner import Learner

SAVED = "base.saved"
"""What a user's base saved of itself."""
_ABOUT = {"spec", "components", "seed", "strict", "state", "base", "keys"}


def pack(learner: Learner, secret: bytes | None) -> bytes:
    """Return the blob."""
    player = learner._player
    state, keys = learner._state("snapshot")
    saved = state.pop(SAVED, None)
    if not isinstance(saved, bytes | None):
        name = type(saved).__name__
        raise SnapshotError(f"snapshot: {name} has no save() -> bytes and load(bytes)")
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    about = {
        "spec": None if player.has_user_parts else learner.spec.to_json(),
        "components": player.components(),
        "seed": learner.seed,
        "strict": learner.strict,
        "state": {name: value for name, value in state.items() if name not in arrays},
        "base": None if saved is None else saved.hex(),
        **keys,
    }
    return sealed.seal("Learner", about, arrays, secret)


def unpack(content: sealed.Content, spec: Playable | None, learner: Learner) -> None:
    """Put what a snapshot holds into a learner, or say what is wrong with it."""
    about, arrays = content
    stored = _spec_of(about, sum(array.size for array in arrays.values()), spec)
    demand({"keys", *about} == _ABOUT, "the header")
    fields, saved = _fields(about)
    seed: Any = about.get("seed")
    strict: Any = about.get("strict")
    demand(type(seed) is int and 0 <= seed < 1 << 64 and type(strict) is bool, "the seed")
    try:
        learner._take(stored, seed, strict)
        player = learner._player
        if about.get("components") != player.components():
            raise SnapshotError("restore: the snapshot is of another composition than spec")
        state = {**fields, **arrays}
        demand(len(state) == len(fields) + len(arrays), "a field that is there twice")
        if saved is not None:
            base = getattr(player, "base", None)
            demand(isinstance(base, UserBase), "what a user's base saved")
            state[SAVED] = saved
        player.check(state)
    except MemoryError as error:
        raise SnapshotError("restore: the learner is too large for this machine") from error
    except SnapshotError:
        raise
    except (ArithmeticError, BelatedError) as error:
        raise SnapshotError(f"restore: the spec in the snapshot cannot run ({error})") from error
    try:
        player.restore(state)
    except Exception as error:  # of the user's own code, about bytes that may be anything
        name = type(player.base.base).__name__ if SAVED in state else "the learner"
        raise SnapshotError(
            f"restore: {name} cannot load what the snapshot holds ({error})"
        ) from error
    learner._keys.restore(about)


def _spec_of(about: dict[str, Any], room: int, spec: Playable | None) -> Playable:
    """Return the spec to restore with; a stored one cannot be larger than the arrays."""
    text = about.get("spec")
    stored: Any = spec
    if text is not None:
        try:
            demand(isinstance(text, str), "the spec is no text")
            stored = from_json(text, limit=room)
            is_learner = isinstance(stored, Reduction | Wrapper | Method)
            too_large = is_learner and numbers_kept(stored) > room
        except (ArithmeticError, BelatedError) as error:
            raise SnapshotError(
                f"restore: the spec in the snapshot cannot be read ({error})"
            ) from error
        if not is_learner:
            raise SnapshotError(f"restore: the snapshot is of a {stored.kind}, which is no learner")
        if too_large:
            raise SnapshotError("restore: the snapshot is of another composition than spec")
        if spec is not None and spec != stored:
            raise SnapshotError("restore: the snapshot is of another spec")
    if stored is None:
        raise SnapshotError(
            "restore: this learner has Python objects inside; pass its spec as well"
        )
    if not isinstance(stored, Reduction | Wrapper | Method):
        raise SnapshotError("restore: the snapshot is of another composition than spec")
    return stored


def _fields(about: dict[str, Any]) -> tuple[dict[str, Any], bytes | None]:
    """Return the fields that are numbers, and what a user's base saved."""
    try:
        saved = about["base"]
        return dict(about["state"]), None if saved is None else bytes.fromhex(saved)
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(f"restore: the header cannot be read ({error})") from error
