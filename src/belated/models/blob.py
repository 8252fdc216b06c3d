"""Snapshots of learners: named fields and arrays; see ``belated.sealed`` for the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from belated import sealed
from belated.compose import numbers_kept
from belated.core.component import demand
from belated.core.learner import Player
from belated.core.user_parts import UserObject
from belated.errors import BelatedError, SnapshotError
from belated.reductions import LearnerSpec, Method, Reduction, Wrapper
from belated.spec import from_json, outline

if TYPE_CHECKING:
    from belated.models.learner.learner import Learner

_ABOUT = {"spec", "components", "seed", "strict", "state", "base", "keys"}


def pack(learner: Learner, secret: bytes | None) -> bytes:
    """Return the blob.

    Of a spec with Python objects it has the outline, and of objects that remember something what
    they save.
    """
    player, spec = learner._player, learner.spec
    state, keys = learner._state("snapshot")
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    objects = {name: value for name, value in state.items() if isinstance(value, UserObject)}
    fields = {name: state[name] for name in state if name not in arrays and name not in objects}
    about = {
        "spec": {"outline": outline(spec)} if player.has_user_parts else spec.to_json(),
        "components": player.components(),
        "seed": learner.seed,
        "strict": learner.strict,
        "state": fields,
        "base": {name: value.save() for name, value in objects.items()} or None,
        **keys,
    }
    return sealed.seal("Learner", about, arrays, secret)


def unpack(blob: bytes, spec: LearnerSpec | None, secret: bytes | None, learner: Learner) -> None:
    """Put what a snapshot holds into a learner, or say what is wrong with it."""
    about, arrays = sealed.unseal("Learner", blob, None, secret)
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
        state |= _loaded(player, saved)
        player.check(state)
    except MemoryError as error:
        raise SnapshotError("restore: the learner is too large for this machine") from error
    except SnapshotError:
        raise
    except (ArithmeticError, BelatedError) as error:
        raise SnapshotError(f"restore: the spec in the snapshot cannot run ({error})") from error
    player.restore(state)
    learner._keys.restore(about)


def _loaded(player: Player, saved: dict[str, Any]) -> dict[str, UserObject]:
    """Return copies of the objects of a user that have loaded what they saved, by name."""
    copies = player.state().items()
    objects = {name: value for name, value in copies if isinstance(value, UserObject)}
    demand(saved.keys() == objects.keys(), "what objects of a user saved")
    for name, value in objects.items():
        value.load(saved[name])
    return objects


def _spec_of(about: dict[str, Any], room: int, spec: LearnerSpec | None) -> LearnerSpec:
    """Return the spec to restore with; a stored one cannot be larger than the arrays."""
    text = about.get("spec")
    if isinstance(text, dict):
        return _told_again(text, spec)
    try:
        demand(isinstance(text, str), "the spec is no text")
        stored: Any = from_json(str(text), limit=room)
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
    learner: LearnerSpec = stored
    return learner


def _told_again(about: dict[str, Any], spec: LearnerSpec | None) -> LearnerSpec:
    """Return the spec that was passed, if it is the one with Python objects that was stored."""
    if spec is None:
        raise SnapshotError(
            "restore: this learner has Python objects inside, which a snapshot cannot hold; pass "
            "its spec as well"
        )
    is_learner = isinstance(spec, Reduction | Wrapper | Method)
    if not is_learner or outline(spec) != about.get("outline"):
        raise SnapshotError("restore: the snapshot is of another spec")
    return spec


def _fields(about: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields that are numbers, and what objects of a user saved."""
    try:
        saved = {} if about["base"] is None else about["base"]
        demand(isinstance(saved, dict), "what objects of a user saved")
        return dict(about["state"]), saved
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(f"restore: the header cannot be read ({error})") from error
