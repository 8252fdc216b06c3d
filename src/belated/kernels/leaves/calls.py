"""Leaves as functions that others call: other leaves, and entries, which numba compiles.

A leaf is emitted once for the kinds of its arguments, into a library of its own, and is called with
registers. For numba it is an intrinsic, which emits that call.
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
from belated.kernels.leaves.arithmetic import value_of
from belated.kernels.leaves.expressions import WidenError
from belated.kernels.leaves.library import Leaf, Limb
from belated.kernels.leaves.statements import Emitter, result_of
from belated.kernels.leaves.trees import Tree, note, read, refused
from belated.kernels.leaves.values import (
    Operand,
    Register,
    Value,
    layout,
    layouts,
    packed,
    target,
    unpacked,
)

_Source = Callable[..., Any]


class Emitted(NamedTuple):
    """A leaf for some kinds of arguments."""

    name: str
    kinds: tuple[Any, ...]
    result: Any
    library: Any


class Origin(NamedTuple):
    """What a leaf is made from: its source and its library."""

    source: _Source
    library: Any


class Choice(NamedTuple):
    """What a choice is made from: which leaf it is, by the kinds of the arguments."""

    choose: Callable[..., Any]


_EMITTED: dict[Any, Emitted] = {}
_BEGUN: set[Any] = set()  # what is being emitted
_NUMBERS = itertools.count()
_ORIGIN = "made_from"  # the attribute of a leaf that holds its origin


def make(source: _Source, *, is_limb: bool = False) -> Any:
    """Return a leaf made from a function; ``py_func`` is the function itself."""
    note(source)
    return _known_to_numba(Origin(source, Limb if is_limb else Leaf), source)


def make_choice(choose: Callable[..., Any], name: _Source) -> Any:
    """Return a leaf that is another one, which the kinds of its arguments say."""
    return _known_to_numba(Choice(choose), name)


def _known_to_numba(origin: Origin | Choice, source: _Source) -> Any:
    def typed(typing_context: Any, *kinds: Any) -> Any:
        # numba then asks how many arguments there are, and knows no star.
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

    typed.__qualname__ = f"{source.__module__}.{source.__qualname__}"  # in Python's own errors
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


def emitted(origin: Origin | Choice, kinds: tuple[Any, ...]) -> Emitted | None:
    """Return a leaf for some kinds of arguments, emitted the first time.

    None if they do not say which: numba also asks for a code that is no constant.
    """
    if isinstance(origin, Choice):
        chosen = origin.choose(*kinds)
        return None if chosen is None else emitted(getattr(chosen, _ORIGIN), kinds)
    key = (origin, kinds)
    if key not in _EMITTED:
        if key in _BEGUN:
            raise refused(origin.source, "it calls itself")
        _BEGUN.add(key)
        try:
            _EMITTED[key] = _emit(origin.source, kinds, origin.library)
        finally:
            _BEGUN.remove(key)
    return _EMITTED[key]


def _emit(source: _Source, kinds: tuple[Any, ...], make_library: Any) -> Emitted:
    tree, wide = read(source), dict[str, Any]()
    if len(kinds) != len(tree.parameters):
        raise refused(source, f"it takes {len(tree.parameters)} arguments, not {len(kinds)}")
    while True:
        try:
            return _attempt(source, tree, kinds, make_library, wide)
        except WidenError as error:
            wide[error.name] = error.kind


def _attempt(
    source: _Source, tree: Tree, kinds: tuple[Any, ...], make_library: Any, wide: dict[str, Any]
) -> Emitted:
    """Emit a leaf, given the kinds of variables that turned out to be wider than they began."""
    name = f"{source.__module__}.{source.__qualname__}.{next(_NUMBERS)}"
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
            raise refused(source, f"the code of {called} is not a constant")
        return _call(builder, library, found, values)

    with target().push_code_library(library):
        result = Emitter(source, tree, arguments, function, call, wide).emit()
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
