"""Four floats at a time: what processors do in one instruction.

A compiler finds such groups in loops and in sums that are written in four parts, but not always,
and it takes sums apart again at the end of every turn. A four is one register throughout. Every
lane does what a float would, so the bits are those of four floats. Interpreted, it is an array.

It offers ``+``, ``-``, ``*`` and ``/``, with another one or with a float, ``-x`` and ``abs``.
Never ``+=``, which would change an array in place.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

from belated.arrays import Floats
from belated.kernels.jit import leaf
from belated.kernels.vectors import tagged

Four = Any  # four floats: an array, or a register

# --- Compiled ------------------------------------------------------------------------------------

_LONG, _SHORT = ir.IntType(64), ir.IntType(32)
_LANES = ir.VectorType(ir.DoubleType(), 4)


class _Type(types.Type):  # type: ignore[misc]  # numba is not typed
    """The type of a four, for the compiler."""

    def __init__(self) -> None:
        super().__init__(name="Four")


_FOUR = _Type()


@register_model(_Type)
class _Model(models.PrimitiveModel):  # type: ignore[misc]  # numba is not typed
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _LANES)


def _spread(builder: Any, number: Any) -> Any:
    """Return a register with one number in all lanes."""
    alone = ir.Constant(ir.VectorType(number.type, 4), ir.Undefined)
    alone = builder.insert_element(alone, number, _SHORT(0))
    return builder.shuffle_vector(alone, alone, ir.Constant(ir.VectorType(_SHORT, 4), [0] * 4))


def _type_operator(context: Any) -> Any:
    def typed(left: Any, right: Any) -> Any:
        both = {left, right}
        return _FOUR if _FOUR in both and both <= {_FOUR, types.float64} else None

    return typed


def _lower_operator(method: str) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        both = [
            register if kind == _FOUR else _spread(builder, register)
            for kind, register in zip(signature.args, arguments, strict=True)
        ]
        return getattr(builder, method)(*both)

    return generate


for _name, _method in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    type_callable(getattr(operator, _name))(_type_operator)
    for _left, _right in ((_Type, _Type), (_Type, types.Float), (types.Float, _Type)):
        lower_builtin(getattr(operator, _name), _left, _right)(_lower_operator(_method))


def _type_alone(context: Any) -> Any:
    return lambda four: _FOUR if four == _FOUR else None


def _lower_negative(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.fneg(arguments[0])


def _lower_intrinsic(name: str) -> Any:
    """Return what emits a function of LLVM's with one argument."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_LANES, [_LANES])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v4f64")
        return builder.call(function, arguments)

    return generate


type_callable(operator.neg)(_type_alone)
lower_builtin(operator.neg, _Type)(_lower_negative)
type_callable(abs)(_type_alone)
lower_builtin(abs, _Type)(_lower_intrinsic("fabs"))


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return where the four begins that (vector, index) names."""
    data = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0]).data
    return builder.bitcast(builder.gep(data, [arguments[1]]), _LANES.as_pointer())


def _type_load(typing_context: Any, vector: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, signature, arguments)
        return tagged(builder, builder.load(place, align=8), str(types.float64))

    return _FOUR(vector, types.intp), generate


def _type_store(typing_context: Any, vector: Any, index: Any, four: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, signature, arguments)
        tagged(builder, builder.store(arguments[2], place, align=8), str(types.float64))
        return context.get_dummy_value()

    return types.void(vector, types.intp, _FOUR), generate


def _type_rest(typing_context: Any, vector: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, signature, arguments)
        whole = cgutils.create_struct_proxy(vector)(context, builder, value=arguments[0])
        there = _are_there(builder, builder.sub(whole.size, arguments[1]))
        kind = ir.FunctionType(_LANES, [place.type, _SHORT, there.type, _LANES])
        name = "llvm.masked.load.v4f64.p0v4f64"  # newer versions of LLVM shorten it
        load = cgutils.get_or_insert_function(builder.module, kind, name)
        zeros = ir.Constant(_LANES, [0.0] * 4)
        return tagged(builder, builder.call(load, [place, _SHORT(8), there, zeros]), "float64")

    return _FOUR(vector, types.intp), generate


def _type_floats(typing_context: Any, four: Any) -> Any:
    result = types.UniTuple(types.float64, 4)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        each = [builder.extract_element(arguments[0], _SHORT(lane)) for lane in range(4)]
        return context.make_tuple(builder, result, each)

    return result(_FOUR), generate


def _type_joined(typing_context: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = ir.Constant(_LANES, ir.Undefined)
        for lane, register in enumerate(arguments):
            made = builder.insert_element(made, register, _SHORT(lane))
        return made

    return _FOUR(*[types.float64] * 4), generate


def _are_there(builder: Any, count: Any) -> Any:
    """Return which of the lanes are among the first so many."""
    count = _spread(builder, count)
    return builder.icmp_signed(">", count, ir.Constant(count.type, [0, 1, 2, 3]))


def _type_first(typing_context: Any, four: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = ir.Constant(_LANES, [0.0] * 4)
        return builder.select(_are_there(builder, arguments[1]), arguments[0], zeros)

    return _FOUR(_FOUR, types.intp), generate


def _type_all(typing_context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _spread(builder, arguments[0])

    return _FOUR(types.float64), generate


def _type_roots(typing_context: Any, four: Any) -> Any:
    return _FOUR(_FOUR), _lower_intrinsic("sqrt")


def _type_above(typing_context: Any, x: Any, y: Any, then: Any, otherwise: Any) -> Any:
    given = (x, y, then, otherwise)
    kinds = [_FOUR if kind == _FOUR else types.float64 for kind in given]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if _FOUR in kinds:
            each = zip(kinds, arguments, strict=True)
            arguments = [a if kind == _FOUR else _spread(builder, a) for kind, a in each]
        x, y, then, otherwise = arguments
        return builder.select(builder.fcmp_ordered(">", x, y), then, otherwise)

    return (_FOUR if _FOUR in kinds else types.float64)(*kinds), generate


def _type_turned(typing_context: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    result = types.UniTuple(_FOUR, 4)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def shuffled(x: Any, y: Any, *lanes: int) -> Any:
            return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(_SHORT, 4), lanes))

        a, b, c, d = arguments
        low, high = shuffled(a, b, 0, 4, 2, 6), shuffled(a, b, 1, 5, 3, 7)
        low_, high_ = shuffled(c, d, 0, 4, 2, 6), shuffled(c, d, 1, 5, 3, 7)
        pairs = ((low, low_), (high, high_))
        first = [shuffled(x, y, 0, 1, 4, 5) for x, y in pairs]
        second = [shuffled(x, y, 2, 3, 6, 7) for x, y in pairs]
        return context.make_tuple(builder, result, [*first, *second])

    return result(*[_FOUR] * 4), generate


# --- Interpreted ---------------------------------------------------------------------------------


def _load(vector: Floats, index: int) -> Floats:
    found = vector[index : index + 4]
    return found.copy() if found.size == 4 else np.append(found, np.zeros(4 - found.size))


def _store(vector: Floats, index: int, four: Floats) -> None:
    part = vector[index : index + 4]
    np.copyto(part, four[0 : part.size])


def _floats(four: Floats) -> tuple[float, float, float, float]:
    a, b, c, d = four.tolist()
    return a, b, c, d


def _joined(a: float, b: float, c: float, d: float) -> Floats:
    return np.array([a, b, c, d])


def _first(four: Floats, count: int) -> Floats:
    return np.where(np.arange(4) < count, four, 0.0)


def _all(number: float) -> Floats:
    made = np.full(4, number)
    made.flags.writeable = False  # where sums begin: += would change all names of it at once
    return made


def _above(x: Any, y: Any, then: Any, otherwise: Any) -> Any:
    is_above = x > y
    if isinstance(is_above, np.ndarray):
        return np.where(is_above, then, otherwise)
    return then if is_above else otherwise


def _turned(a: Floats, b: Floats, c: Floats, d: Floats) -> tuple[Floats, ...]:
    return tuple(np.array([a, b, c, d]).T.copy())


# --- Either --------------------------------------------------------------------------------------


def _either(plain: Any, typed: Any) -> Any:
    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


# Entries i to i + 3 of a vector, and writing them. Behind one that ends before, there is room for
# them, which holds zeros.
four: Any = _either(_load, _type_load)
put: Any = _either(_store, _type_store)
# The same of a vector with nothing behind it; what is missing is 0.
rest: Any = _either(_load, _type_rest)
# The four numbers one by one; four numbers as one; one number four times.
floats: Any = _either(_floats, _type_floats)
joined: Any = _either(_joined, _type_joined)
all_of: Any = _either(_all, _type_all)
# The same with nothing but zeros after the first so many numbers.
first_of: Any = _either(_first, _type_first)
# The four square roots.
roots: Any = _either(np.sqrt, _type_roots)
# (x, y, then, otherwise): ``then`` where x > y, ``otherwise`` elsewhere; of fours or of floats.
above: Any = _either(_above, _type_above)
# Of four fours: their first numbers, their second ones, and so on.
turned: Any = _either(_turned, _type_turned)


# --- Functions of both -------------------------------------------------------------------------


@leaf
def most(x: Any, y: Any) -> Any:
    """Return max(x, y), of fours or of floats."""
    return above(y, x, y, x)


@leaf
def least(x: Any, y: Any) -> Any:
    """Return min(x, y), of fours or of floats."""
    return above(x, y, y, x)


# --- Sums ----------------------------------------------------------------------------------------


@leaf
def summed(x: Four) -> float:
    """Return the sum of the four numbers."""
    a, b, c, d = floats(x)
    return (a + b) + (c + d)


@leaf
def summed_with(x: Four, more: Four) -> float:
    """Return the sum with up to three more, added to the first number one after another."""
    a, b, c, d = floats(x)
    e, f, g, _ = floats(more)
    return (((a + e) + f) + g + b) + (c + d)
