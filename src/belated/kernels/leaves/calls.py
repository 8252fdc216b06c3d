"""Leaves as functions that others call: other leaves, and entries, which numba compiles.

A leaf is emitted once for the kinds of its arguments, into a library of its own (``lean``), and is
called with registers. For numba it is an intrinsic, which emits that call.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core.typing import templates
from numba.extending import intrinsic

from belated.kernels.codes import Composition
from belated.kernels.leaves.arithmetic import layouts, value_of
from belated.kernels.leaves.expressions import WidenError
from belated.kernels.leaves.library import Leaf, Limb
from belated.kernels.leaves.statements import Emitter, result_of
from belated.kernels.leaves.trees import read
from belated.kernels.leaves.values import Operand, Register, Value, layout, packed, target, unpacked

_Source = Callable[..., Any]


class Emitted(NamedTuple):
    """A leaf for some kinds of arguments."""

    name: str
    kinds: tuple[Any, ...]
    result: Any
    library: Any


class Origin(NamedTuple):
    """What a leaf is made from: its source, by the kinds of the arguments, and its library."""

    choose: _Source
    library: Any


_EMITTED: dict[Any, Emitted] = {}
_NUMBERS = itertools.count()
_ORIGIN = "made_from"  # the attribute of a leaf that holds its origin


def make(source: _Source, *, is_limb: bool = False) -> Any:
    """Return a leaf made from a function; ``py_func`` is the function itself."""
    return _known_to_numba(Origin(lambda *kinds: source, Limb if is_limb else Leaf), source)


def make_choice(choose: _Source, name: _Source) -> Any:
    """Return a leaf whose source depends on the kinds of its arguments."""
    return _known_to_numba(Origin(choose, Leaf), name)


def _known_to_numba(origin: Origin, source: _Source) -> Any:
    def typed(typing_context: Any, *kinds: Any) -> Any:
        typed.__signature__ = _positional(1 + len(kinds))  # type: ignore[attr-defined]
        found = emitted(origin, tuple(map(_kind, kinds)))
        if found is None:
            return None

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Register:
            each = zip(found.kinds, arguments, strict=True)
            values = [unpacked(builder, kind, register) for kind, register in each]
            return packed(builder, _call(builder, context.active_code_library, found, values))

        as_given = [
            one if isinstance(kind, Composition) else kind
            for one, kind in zip(kinds, found.kinds, strict=True)
        ]
        return templates.signature(found.result, *as_given), generate

    made: Any = intrinsic(prefer_literal=True)(typed)
    made.__module__, made.__name__ = source.__module__, source.__name__
    made.__qualname__, made.__doc__ = source.__qualname__, source.__doc__
    made.py_func = source
    setattr(made, _ORIGIN, origin)
    return made


def _kind(given: Any) -> Any:
    """Return the kind of an argument; a tuple of constants is a code."""
    kinds = given.types if isinstance(given, types.BaseTuple) else ()
    if kinds and all(isinstance(kind, types.IntegerLiteral) for kind in kinds):
        return Composition(tuple(kind.literal_value for kind in kinds))
    return types.unliteral(given)


@functools.cache
def _positional(count: int) -> inspect.Signature:
    """Return the signature of a function of so many arguments, for numba to look at."""
    kind = inspect.Parameter.POSITIONAL_ONLY
    return inspect.Signature([inspect.Parameter(f"a{i}", kind) for i in range(count)])


def emitted(origin: Origin, kinds: tuple[Any, ...]) -> Emitted | None:
    """Return a leaf for some kinds of arguments, emitted the first time.

    None if they do not say which: numba also asks for a code that is no constant.
    """
    source = origin.choose(*kinds)
    if source is None:
        return None
    key = (source, kinds, origin.library)
    if key not in _EMITTED:
        _EMITTED[key] = _emit(source, kinds, origin.library)
    return _EMITTED[key]


def _emit(source: _Source, kinds: tuple[Any, ...], make_library: Any) -> Emitted:
    name = f"{source.__module__}.{source.__qualname__}.{next(_NUMBERS)}"
    tree, wide = read(source), dict[str, Any]()
    while True:
        library = make_library(target().codegen(), name)
        module = library.create_ir_module(name)
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), layouts(kinds)), name)
        if make_library is Leaf:
            function.attributes.add("alwaysinline")
        registers = iter(function.args)
        arguments: list[Operand] = [
            Value(kind, tuple(next(registers) for _ in layout(kind))) for kind in kinds
        ]

        def call(builder: Any, called: Any, operands: list[Operand]) -> Operand | None:
            origin = getattr(called, _ORIGIN, None)
            if origin is None:
                return None
            values = [value_of(operand) for operand in operands]
            found = emitted(origin, tuple(value.kind for value in values))
            if found is None:
                raise TypeError(f"{source.__qualname__}: the code of {called} is not a constant")
            return _call(builder, library, found, values)  # noqa: B023  # called at once

        try:
            with target().push_code_library(library):
                result = Emitter(source, tree, arguments, function, call, wide).emit()
        except WidenError as error:
            wide[error.name] = error.kind
            continue
        library.add_ir_module(module)
        library.finalize()
        return Emitted(name, kinds, result, library)


def _call(builder: Any, library: Any, found: Emitted, values: list[Value]) -> Value:
    """Emit the call of a leaf."""
    library.add_linking_library(found.library)
    parts = layout(found.result)
    function = builder.module.globals.get(found.name)
    if function is None:
        kind = ir.FunctionType(result_of(parts), layouts(found.kinds))
        function = ir.Function(builder.module, kind, found.name)
    register = builder.call(function, [part for value in values for part in value.parts])
    if len(parts) < 2:
        return Value(found.result, (register,) if parts else ())
    inside = tuple(builder.extract_value(register, number) for number in range(len(parts)))
    return Value(found.result, inside)
