"""The base of all specs: a frozen value with checks, a repr that is its source, and JSON.

A spec says *what* to run; it holds numbers and other specs and does no arithmetic on vectors.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import Field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from belated.errors import SpecError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

JSON_VERSION = 1
"""Version of the JSON form. It changes only when an older reader would misread a newer text."""

LIMIT = 1_000_000
"""How many coordinates all sets in a text may have together, unless another limit is given."""

LARGEST = 1e100
"""Numbers beyond this, or below its inverse, would overflow or vanish when squared."""

_REGISTRY: dict[str, type[Spec]] = {}
_DEEPEST = 32  # parts within parts; the specs that can be built have less than ten
_SIZES = ("dim", "arms")
_BITS = 63


class Spec:
    """Base of all specs: equality by value, readable repr, JSON both ways.

    Subclasses are frozen dataclasses and register themselves under :attr:`kind`.
    """

    kind: ClassVar[str]
    """Name in repr and JSON, as one would type it after ``from belated import *``."""

    def __init_subclass__(cls, *, module: str = "", **kwargs: Any) -> None:
        """Register the subclass under its public name (``rates.Constant``, ``Ball``)."""
        super().__init_subclass__(**kwargs)
        if not cls.__name__.startswith("_"):
            cls.kind = f"{module}.{cls.__name__}" if module else cls.__name__
            _REGISTRY[cls.kind] = cls

    def __repr__(self) -> str:
        """Return source that builds an equal spec; fields left at their default are omitted."""
        defaults = {field.name: field.default for field in _fields(self)}
        shown = [f"{k}={v!r}" for k, v in self._arguments().items() if v != defaults[k]]
        return f"{self.kind}({', '.join(shown)})"

    def _arguments(self) -> dict[str, Any]:
        """Return constructor arguments that build an equal spec (shortest form)."""
        return {field.name: getattr(self, field.name) for field in _fields(self)}

    def to_json(self, indent: int | None = None) -> str:
        """Return the spec as JSON, with a version number.

        >>> from belated import Ball
        >>> Ball(3).to_json()
        '{"belated": 1, "spec": {"type": "Ball", "dim": 3, "radius": 1.0, "center": null}}'
        """
        import json  # most importers of specs do not need it

        return json.dumps(
            {"belated": JSON_VERSION, "spec": _encode(self, self.kind)}, indent=indent
        )

    @classmethod
    def from_json(cls, text: str, *, limit: int | None = LIMIT) -> Self:
        """Read what :meth:`to_json` wrote; every check of the constructor runs again.

        ``limit`` is that of :func:`from_json`.

        >>> from belated import Ball, Box
        >>> Ball.from_json(Ball(3).to_json()) == Ball(3)
        True
        """
        spec = from_json(text, limit=limit)
        if not isinstance(spec, cls):
            raise SpecError(f"{cls.__name__}.from_json: the text holds a {spec.kind}")
        return spec


def from_json(text: str, *, limit: int | None = LIMIT) -> Spec:
    """Read any spec from the JSON that :meth:`Spec.to_json` wrote.

    Whatever the text is, there is a spec or a ``SpecError``, and soon: a few letters can ask for a
    set that fills the memory, so all sets in a text may have ``limit`` coordinates together. A text
    from people whom you trust may have more: pass another number, or None for any.

    >>> from belated import Simplex, from_json
    >>> from_json(Simplex(4).to_json())
    Simplex(dim=4)
    """
    import json

    try:
        document = json.loads(text, parse_int=_int)
    except SpecError:
        raise
    except (RecursionError, TypeError, ValueError) as error:
        raise SpecError(f"from_json: not JSON ({error})") from error
    if not isinstance(document, dict) or "belated" not in document or "spec" not in document:
        raise SpecError("from_json: not a belated spec: the keys 'belated' and 'spec' are missing")
    version = document["belated"]
    if isinstance(version, bool) or version != JSON_VERSION:
        raise SpecError(
            f"from_json: written in format {version}, this version reads format "
            f"{JSON_VERSION}; use the belated version that wrote it"
        )
    _check_sizes(document["spec"], limit)
    spec = _decode(document["spec"])
    if not isinstance(spec, Spec):
        raise SpecError(f"from_json: 'spec' must be an object with a type, got {spec!r}")
    return spec


def python_objects(spec: Spec) -> dict[str, Any]:
    """Return the Python objects that a user put into a spec, by where they stand."""
    found: dict[str, Any] = {}
    _encode(spec, spec.kind, found)
    return found


def outline(spec: Spec) -> str:
    """Return the JSON of a spec with the names of Python objects in their places.

    Specs that differ in anything but these objects have other outlines.
    """
    import json

    return json.dumps(_encode(spec, spec.kind, {}))


def _fields(spec: Spec) -> tuple[Field[Any], ...]:
    return fields(cast("DataclassInstance", spec))


def _encode(value: Any, path: str, objects: dict[str, Any] | None = None) -> Any:
    """Turn a field into JSON data, or say which part has no JSON form.

    With ``objects`` such a part is added to these, and its name takes its place.
    """
    if isinstance(value, Spec):
        members = {k: _encode(v, f"{path}.{k}", objects) for k, v in value._arguments().items()}
        return {"type": value.kind, **members}
    if isinstance(value, tuple):
        return [_encode(item, path, objects) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if objects is not None:
        objects[path] = value
        return {"python": getattr(value, "__name__", type(value).__name__)}
    raise SpecError(
        f"to_json: {path} is a Python object ({type(value).__name__}) and has no JSON form; "
        "keep it in code and pass the spec again where it is needed"
    )


def _int(digits: str) -> int:
    """Read a whole number of at most 64 bits, as seeds have; texts have no longer ones."""
    if len(digits) > 20 or abs(int(digits)) >> 64:
        raise SpecError(f"from_json: whole numbers have at most 64 bits, got {digits[:20]}...")
    return int(digits)


def _check_sizes(document: Any, limit: int | None) -> None:
    """Refuse what is nested too deep or asks for too much, before anything is built."""
    layer, depth, size = [document], 0, 0
    while layer:
        depth += 1
        if depth > _DEEPEST:
            raise SpecError(f"from_json: parts within parts within parts, {_DEEPEST} deep")
        parts = [part for part in layer if isinstance(part, dict)]
        asked = [part[name] for part in parts for name in _SIZES if isinstance(part.get(name), int)]
        size += sum(number for number in asked if number > 0)
        if limit is not None and size > limit:
            raise SpecError(
                f"from_json: the sets have {size} coordinates together, more than the limit of "
                f"{limit}; if you trust the text, pass limit=None"
            )
        lists = [part for part in layer if isinstance(part, list)]
        layer = [item for part in parts for item in part.values() if _is_nested(item)]
        layer += [item for part in lists for item in part if _is_nested(item)]


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list)


def _decode(value: Any) -> Any:
    """Inverse of :func:`_encode`."""
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    arguments = dict(value)
    kind = arguments.pop("type", None)
    _load(kind)
    spec = _REGISTRY.get(kind) if isinstance(kind, str) else None
    if spec is None or not is_dataclass(spec):
        known = sorted(name for name, each in _REGISTRY.items() if is_dataclass(each))
        raise SpecError(f"from_json: unknown type {kind!r}; known: {', '.join(known)}")
    try:
        return spec(**{name: _decode(item) for name, item in arguments.items()})
    except SpecError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise SpecError(f"from_json: {kind}: {error}") from error


def _load(kind: Any) -> None:
    """Import the module that registers a kind, where ``import belated`` does not do it."""
    module = kind.partition(".")[0] if isinstance(kind, str) else ""
    if module in ("losses", "rivals", "worlds"):
        importlib.import_module(f"belated.research.{module}")


def number(owner: str, name: str, value: Any) -> float:
    """Return ``value`` as a finite float, or refuse it by name."""
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    try:
        if isinstance(value, bool | str | bytes | bytearray) or kind not in "fiu":
            raise TypeError("true, false and texts are no numbers")
        result = float(value)
    except OverflowError as error:
        raise SpecError(f"{owner}: {name} must be finite, got a number beyond 1e308") from error
    except (TypeError, ValueError) as error:
        raise SpecError(f"{owner}: {name} must be a number, got {value!r}") from error
    if not math.isfinite(result):
        raise SpecError(f"{owner}: {name} must be finite, got {value!r}")
    return result


def positive(owner: str, name: str, value: Any) -> float:
    """Return ``value`` as a finite float above zero, or refuse it by name."""
    result = number(owner, name, value)
    if result <= 0.0:
        raise SpecError(f"{owner}: {name} must be positive, got {value!r}")
    if not 1.0 / LARGEST <= result <= LARGEST:
        raise SpecError(
            f"{owner}: {name} must be between 1e-100 and 1e100 to compute with, got {value!r}"
        )
    return result


def whole(owner: str, name: str, value: Any, *, least: int = 1, bits: int = _BITS) -> int:
    """Return ``value`` as an int of at least ``least`` with so many bits, or refuse it by name."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise SpecError(f"{owner}: {name} must be a whole number, got {value!r}")
    result = int(value.__index__())
    if result < least:
        raise SpecError(f"{owner}: {name} must be at least {least}, got {value!r}")
    if result > 0 and result >> bits:
        raise SpecError(f"{owner}: {name} must be below 2^{bits}, got a number that is not")
    return result


def vector(owner: str, name: str, value: Any, dim: int | None = None) -> tuple[float, ...]:
    """Return a sequence (list, tuple, array) as a tuple of finite floats."""
    raw = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(raw, list | tuple):
        raise SpecError(f"{owner}: {name} must be a sequence of numbers, got {value!r}")
    result = tuple(number(owner, f"{name}[{i}]", item) for i, item in enumerate(raw))
    if dim is not None and len(result) != dim:
        raise SpecError(f"{owner}: {name} must have {dim} entries, got {len(result)}")
    return result
