"""Snapshots of learners; see ``belated.sealed`` for the bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from belated import sealed
from belated.errors import BelatedError, SnapshotError
from belated.kernels.slots import code as C
from belated.kernels.slots import kinds as K
from belated.learner import sound
from belated.learner.keys import Keys
from belated.learner.program import Method, Playable, Program, compile_spec, numbers_kept
from belated.learner.state import PARTS, Memory
from belated.learner.user_parts import restore_base
from belated.reductions import Reduction, Wrapper
from belated.spec import from_json

_KIND = "Learner"


class Content(NamedTuple):
    """What a snapshot holds."""

    spec: str | None
    """The spec as JSON; None when it contains Python objects."""
    code: tuple[int, ...] | None
    """What tells compositions apart where there is no spec to tell them."""
    parts: dict[str, NDArray[Any]]
    base: bytes | None
    """What a user's base saved of itself."""


def pack(
    program: Program, memory: Memory, keys: Keys | None, base: bytes | None, secret: bytes | None
) -> bytes:
    """Return the blob."""
    spec = None if program.has_user_parts else program.spec.to_json()
    code = program.code if program.has_user_parts else None
    about = {
        "spec": spec,
        "code": code,
        "base": None if base is None else base.hex(),
        **(Keys() if keys is None else keys).about(memory.answerable),
    }
    return sealed.seal(_KIND, about, memory.parts(), secret)


def unpack(
    blob: bytes, spec: Playable | None, secret: bytes | None
) -> tuple[Program, Memory, Keys | None]:
    """Read a blob, or say what is wrong with it; ``spec`` is that of a learner with user parts."""
    about, arrays = sealed.unseal(_KIND, blob, PARTS, secret)
    content = Content(*_read(about), arrays, _saved(about))
    room = arrays["f"].size + arrays["copy_f"].size
    stored = spec if content.spec is None else _stored_spec(content.spec, room)
    if stored is None:
        raise SnapshotError(
            "restore: this learner has Python objects inside; pass its spec as well"
        )
    if spec is not None and spec != stored:
        raise SnapshotError("restore: the snapshot is of another spec")
    program = _compiled(stored)
    if not _belongs(content, program):
        raise SnapshotError("restore: the snapshot is of another composition than spec")
    try:
        memory = sound.restored(program, arrays, program.fresh(0, False, capacity=1))
    except MemoryError as error:
        raise SnapshotError("restore: the learner is too large for this machine") from error
    keys = Keys.restored(about, memory.answerable)
    _load(program, content.base)
    return program, memory, keys if keys else None


def _read(about: dict[str, Any]) -> tuple[str | None, tuple[int, ...] | None]:
    """Return spec and code, each of the kind that it should be."""
    try:
        spec, code = about["spec"], about["code"]
        if not (spec is None or isinstance(spec, str)):
            raise ValueError("the spec is no text")
        return spec, None if code is None else tuple(code)
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(f"restore: the header cannot be read ({error})") from error


def _saved(about: dict[str, Any]) -> bytes | None:
    """Return what a user's base saved."""
    try:
        return None if about["base"] is None else bytes.fromhex(about["base"])
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(f"restore: the header cannot be read ({error})") from error


def _stored_spec(text: str, room: int) -> Playable:
    """Return the spec of a snapshot; it cannot be larger than the ``room`` of its numbers."""
    try:
        spec = from_json(text, limit=room)
        is_learner = isinstance(spec, Reduction | Wrapper | Method)
        too_large = isinstance(spec, Reduction | Wrapper | Method) and numbers_kept(spec) > room
    except (ArithmeticError, BelatedError) as error:
        raise SnapshotError(
            f"restore: the spec in the snapshot cannot be read ({error})"
        ) from error
    if not is_learner:
        raise SnapshotError(f"restore: the snapshot is of a {spec.kind}, which is no learner")
    if too_large:
        raise SnapshotError("restore: the snapshot is of another composition than spec")
    return spec  # type: ignore[return-value]  # as was seen above


def _compiled(spec: Playable) -> Program:
    try:
        return compile_spec(spec)
    except MemoryError as error:
        raise SnapshotError("restore: the spec is too large for this machine") from error
    except (ArithmeticError, BelatedError) as error:
        raise SnapshotError(f"restore: the spec in the snapshot cannot run ({error})") from error


def _belongs(content: Content, program: Program) -> bool:
    """Tell whether what a header says agrees with the program."""
    code = program.code if program.has_user_parts else None
    has_base = program.code[C.BASE] == K.USER_BASE
    return content.code == code and (content.base is not None) == has_base


def _load(program: Program, saved: bytes | None) -> None:
    try:
        restore_base(program, saved)
    except Exception as error:  # of the user's own code, about bytes that may be anything
        raise SnapshotError(
            f"restore: {type(program.base).__name__} cannot load what the snapshot holds ({error})"
        ) from error
