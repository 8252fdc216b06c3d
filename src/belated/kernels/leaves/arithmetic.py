"""What is emitted for operators and functions of numbers.

What numba would emit, so the bits are the same: arithmetic of floats and ints from the tables here,
anything else by asking numba for it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.registry import cpu_target

from belated.kernels.leaves.values import (
    NOTHING,
    REAL,
    TRUTH,
    WHOLE,
    Known,
    Operand,
    Register,
    Value,
    member,
    packed,
    target,
    unpacked,
)

_Emit = Callable[[Any, Register, Register], Register]  # (builder, a, b) -> register
_MOST = 1 << 63


def _calls(method: str, **options: Any) -> _Emit:
    """Return what emits an instruction by a method of the builder."""
    return lambda builder, a, b: getattr(builder, method)(a, b, **options)


def _compares(method: str, sign: str) -> _Emit:
    return lambda builder, a, b: getattr(builder, method)(sign, a, b)


_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=="}
_COMPARISONS = frozenset(getattr(operator, name) for name in (*_SIGNS, "ne"))
# By operator and kind of both sides. Only != holds for NaN; ints are trusted not to overflow.
_ARITHMETIC: dict[tuple[Any, Any], _Emit] = {
    (operator.ne, REAL): _compares("fcmp_unordered", "!="),
    (operator.ne, WHOLE): _compares("icmp_signed", "!="),
    (operator.truediv, REAL): _calls("fdiv"),
    (operator.and_, WHOLE): _calls("and_"),
    (operator.or_, WHOLE): _calls("or_"),
    (operator.xor, WHOLE): _calls("xor"),
    **{(getattr(operator, x), REAL): _calls(f"f{x}") for x in ("add", "sub", "mul")},
    **{(getattr(operator, x), WHOLE): _calls(x, flags=["nsw"]) for x in ("add", "sub", "mul")},
    **{(getattr(operator, x), REAL): _compares("fcmp_ordered", y) for x, y in _SIGNS.items()},
    **{(getattr(operator, x), WHOLE): _compares("icmp_signed", y) for x, y in _SIGNS.items()},
}
_NUMBERS = {REAL, WHOLE, TRUTH}


class Lanes(NamedTuple):
    """What is emitted for lanes of a kind: numbers like ``lane`` go into all of them."""

    lane: Any
    methods: Mapping[Any, str]
    spread: Callable[[Any, Register], Register]


LANES: dict[Any, Lanes] = {}
"""Lanes by kind. Numba would emit the same, but it takes long to find out what."""
# min and max return the second number where it compares so with the first, as Python's do.
_EXTREMES = {min: operator.lt, max: operator.gt}


def value_of(operand: Operand) -> Value:
    """Return an operand in registers."""
    if isinstance(operand, Value):
        return operand
    it = operand.it
    if isinstance(it, bool | np.bool_):
        return Value(TRUTH, (ir.Constant(ir.IntType(1), int(it)),))
    if isinstance(it, int | np.int64) and -_MOST <= it < _MOST:
        return Value(WHOLE, (ir.Constant(ir.IntType(64), int(it)),))
    if isinstance(it, float):
        return Value(REAL, (ir.Constant(ir.DoubleType(), float(it)),))
    if it is None:
        return NOTHING
    if isinstance(it, tuple):
        return tuple_of([Known(each) for each in it], type(it) if hasattr(it, "_fields") else None)
    raise TypeError(f"{it!r} cannot stand in a register")


def tuple_of(operands: list[Operand], kind: Any = None) -> Value:
    """Return a tuple of some operands; ``kind`` is that of a named one."""
    values = [value_of(operand) for operand in operands]
    made = types.BaseTuple.from_types([value.kind for value in values], kind)
    return Value(made, tuple(part for value in values for part in value.parts))


def cast(builder: Any, value: Value, kind: Any) -> Value:
    """Return a value as one of another kind."""
    if value.kind == kind:
        return value
    if (value.kind, kind) == (WHOLE, REAL):
        return Value(kind, (builder.sitofp(value.parts[0], ir.DoubleType()),))
    if isinstance(kind, types.BaseTuple) and isinstance(value.kind, types.BaseTuple):
        each = [cast(builder, member(value, i), inside) for i, inside in enumerate(kind.types)]
        return Value(kind, tuple(part for one in each for part in one.parts))
    made = target().cast(builder, packed(builder, value), value.kind, kind)
    return unpacked(builder, kind, made)


def common(kinds: list[Any]) -> Any:
    """Return the kind that values of some kinds can all have, or None."""
    first = kinds[0]
    for other in kinds[1:]:
        if other != first:
            first = cpu_target.typing_context.unify_pairs(first, other)
            if first is None or isinstance(first, types.Optional):
                return None
    return first


def binary(builder: Any, operation: Any, left: Operand, right: Operand) -> Operand:
    """Return what an operator makes of two numbers."""
    if isinstance(left, Known) and isinstance(right, Known):
        try:
            return Known(operation(left.it, right.it))
        except ArithmeticError:
            pass  # left to whoever runs it
    a, b = value_of(left), value_of(right)
    if a.kind in _NUMBERS and b.kind in _NUMBERS:
        divides = operation is operator.truediv
        kind = REAL if divides or REAL in (a.kind, b.kind) else WHOLE
        emit = _ARITHMETIC.get((operation, kind))
        if emit is not None and (a.kind, b.kind) != (TRUTH, TRUTH):
            register = emit(builder, *cast(builder, a, kind).parts, *cast(builder, b, kind).parts)
            return Value(TRUTH if operation in _COMPARISONS else kind, (register,))
    kind = a.kind if a.kind in LANES else b.kind
    lanes = LANES.get(kind)
    if lanes is not None and operation in lanes.methods and {a.kind, b.kind} <= {kind, lanes.lane}:
        both = [x.parts[0] if x.kind == kind else lanes.spread(builder, *x.parts) for x in (a, b)]
        return Value(kind, (getattr(builder, lanes.methods[operation])(*both),))
    return ask_numba(builder, operation, [a, b])


def extreme(builder: Any, function: Any, operands: list[Operand]) -> Operand:
    """Return the least or the greatest of some numbers."""
    if all(isinstance(operand, Known) for operand in operands):
        return Known(function(*(operand.it for operand in operands)))  # type: ignore[union-attr]
    values = [value_of(operand) for operand in operands]
    kind = common([value.kind for value in values])
    if len(values) < 2 or kind not in (REAL, WHOLE):
        raise TypeError("leaves compare two numbers or more, one by one")
    best = cast(builder, values[0], kind).parts[0]
    for value in values[1:]:
        other = cast(builder, value, kind).parts[0]
        wins = _ARITHMETIC[_EXTREMES[function], kind](builder, other, best)
        best = builder.select(wins, other, best)
    return Value(kind, (best,))


def truth(builder: Any, operand: Operand) -> Operand:
    """Return whether a number is not 0."""
    if isinstance(operand, Known):
        return Known(bool(operand.it))
    if operand.kind == TRUTH:
        return operand
    return binary(builder, operator.ne, operand, Known(0 if operand.kind == WHOLE else 0.0))


def number(builder: Any, function: Any, operand: Operand) -> Operand:
    """Return what ``int``, ``float`` or ``bool`` makes of a number."""
    if isinstance(operand, Known):
        return Known(function(operand.it))
    if function is bool:
        return truth(builder, operand)
    return cast(builder, operand, WHOLE if function is int else REAL)


@functools.cache
def _found(function: Any, kinds: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return the signature that numba has for a call, and what emits it."""
    typing = cpu_target.typing_context
    kind = typing.resolve_value_type(function)
    signature = kind.get_call_type(typing, kinds, {})
    if signature is None:
        raise TypeError(f"numba cannot call {function} with {kinds}")
    return signature, target().get_function(kind, signature)


def ask_numba(builder: Any, function: Any, operands: list[Operand]) -> Operand:
    """Emit a call of something that numba knows."""
    values = [value_of(operand) for operand in operands]
    signature, emit = _found(function, tuple(value.kind for value in values))
    given = [
        packed(builder, cast(builder, value, kind))
        for value, kind in zip(values, signature.args, strict=True)
    ]
    register = emit(builder, given)
    made = signature.return_type
    if isinstance(made, types.Literal):
        return Known(made.literal_value)
    return unpacked(builder, made, register)


def ask_attribute(builder: Any, owner: Value, name: str) -> Operand:
    """Emit what numba does for an attribute."""
    kind = cpu_target.typing_context.resolve_getattr(owner.kind, name)
    emit = target().get_getattr(owner.kind, name)
    register = emit(target(), builder, owner.kind, packed(builder, owner), name)
    return unpacked(builder, kind, register)
