"""Snapshots of all models: named fields and arrays; ``belated.sealed`` has the bytes.

A model says what belongs into its snapshot (``_contents``), and begins again from that (``_read``).
The schema of its component then checks every field, before any of them is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from belated import sealed
from belated.core.component import demand
from belated.errors import BelatedError, SnapshotError

if TYPE_CHECKING:
    from belated.files import StrPath
    from belated.models.online import Model

_UNREADABLE = (
    *(ArithmeticError, AttributeError, BelatedError, LookupError, TypeError),
    ValueError,
)
_HOMES = {
    "Chooser": "belated.models.chooser.chooser",
    "Intervals": "belated.models.intervals.intervals",
    "Knobs": "belated.models.knobs.knobs",
    "Learner": "belated.models.learner.learner",
    "LinearModel": "belated.models.linear.model",
}


class Contents(NamedTuple):
    """The content of a snapshot."""

    about: dict[str, Any]
    """The values of the header beside fields and keys: settings first."""
    state: dict[str, Any]
    """Fields and arrays, by name."""
    keys: dict[str, Any]
    models: Mapping[str, tuple[str, Contents]] = MappingProxyType({})
    """Kinds and contents of models inside, by name."""


def fields_of(contents: Contents) -> dict[str, Any]:
    """Return all fields, those of models inside with the name of the model in front."""
    found = dict(contents.state)
    for name, (_, inner) in contents.models.items():
        found |= {f"{name}.{field}": value for field, value in fields_of(inner).items()}
    return found


def pack(model: Model[Any, Any], secret: bytes | None) -> bytes:
    """Return the blob of a model."""
    contents = model._alone("snapshot", model._contents)
    return _sealed(model._kind_name, contents, secret)


def _sealed(kind: str, contents: Contents, secret: bytes | None = None) -> bytes:
    about, state, keys, models = contents
    blobs = {name: _sealed(*inner) for name, inner in models.items()}
    fields = {name: value for name, value in state.items() if not isinstance(value, np.ndarray)}
    arrays = {name: sealed.as_words(blob) for name, blob in blobs.items()}
    arrays |= {name: value for name, value in state.items() if name not in fields}
    sizes = [len(blob) for blob in blobs.values()]
    if sizes:
        about = {**about, "bytes": sizes if len(sizes) > 1 else sizes[0]}
    return sealed.seal(kind, {**about, "state": fields, **keys}, arrays, secret)


def unpack(model: Model[Any, Any], blob: bytes, parts: Any, secret: bytes | None) -> None:
    """Put what a snapshot holds into a model, or say what is wrong with it."""
    kind = model._kind_name
    about, arrays = sealed.unseal(kind, blob, None, secret)
    try:
        more, fields = model._read(about, arrays, parts), dict(about["state"])
        demand(not set(fields) & set(arrays), "a field that is there twice")
        state = {**fields, **arrays, **more}
        model._memory.check(state)
        model._verify(state)
        model._memory.restore(state)
    except SnapshotError:
        raise
    except MemoryError as error:
        raise SnapshotError("restore: the model is too large for this machine") from error
    except _UNREADABLE as error:
        raise SnapshotError(f"restore: the {kind} cannot be read ({error})") from error
    model._restore_keys(about)


def inner_models(
    about: dict[str, Any], arrays: dict[str, Any], names: tuple[str, ...], kind: Any
) -> list[Any]:
    """Take the models inside out of the arrays of a snapshot, and return them."""
    sizes = about["bytes"] if len(names) > 1 else [about["bytes"]]
    blobs = [
        sealed.from_words(arrays.pop(name), size) for name, size in zip(names, sizes, strict=True)
    ]
    return [kind.restore(blob) for blob in blobs]


def restore(blob: bytes, parts: Any = None, *, secret: bytes | None = None) -> Model[Any, Any]:
    """Return the model that a snapshot of any kind holds; see ``Model.restore``.

    >>> import belated as bl
    >>> bl.restore(bl.LinearModel(bits=4).snapshot())
    <LinearModel, squared loss: 0 rounds, 0 open>
    """
    kind = sealed.kind_of(blob, secret)
    if kind not in _HOMES:
        raise SnapshotError(f"restore: this is a snapshot of a {kind}; use its own restore")
    model: Any = getattr(importlib.import_module(_HOMES[kind]), kind)
    restored: Model[Any, Any] = model.restore(blob, parts, secret=secret)
    return restored


def load(path: StrPath, parts: Any = None, *, secret: bytes | None = None) -> Model[Any, Any]:
    """Return the model of any kind that a file holds; see ``Model.restore``."""
    with open(path, "rb") as file:
        return restore(file.read(), parts, secret=secret)


# --- What subclasses and users add to a model -----------------------------------------------------


def added_by_subclasses(model: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return attributes and slots that are not those of the model itself, as pickle takes them."""
    (ours,) = [cls for cls in type(model).__mro__ if "_kind_name" in cls.__dict__]
    below = [cls for cls in type(model).__mro__ if issubclass(cls, ours) and cls is not ours]
    names = [name for cls in below for name in _slots(cls) if hasattr(model, name)]
    attributes, slots = vars(model), {name: getattr(model, name) for name in names}
    return (attributes, slots) if attributes or slots else None


def _slots(cls: type) -> list[str]:
    """Return the names of the slots that a class adds, private ones as Python mangles them."""
    return [name for name, each in vars(cls).items() if isinstance(each, MemberDescriptorType)]
