"""Four floats at a time: what processors do in one instruction.

A compiler finds such groups in loops and in sums that are written in four parts, but not always,
and it takes sums apart again at the end of every turn. A four is one register throughout. Every
lane does what a float would, so the bits are those of four floats. Interpreted, it is an array.

It offers ``+``, ``-``, ``*`` and ``/``, with another one or with a float, ``-x`` and ``abs``.
Never ``+=``, which would change an array in place.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

from belated.arrays import Floats
from belated.kernels.jit import EMITS, leaf
from belated.kernels.vectors import tagged

if EMITS:
    from belated.kernels.leaves import arithmetic

Four = Any  # four floats: an array, or a register

# --- Compiled ------------------------------------------------------------------------------------

_LONG, _SHORT = ir.IntType(64), ir.IntType(32)
_ONE = ir.DoubleType()
_LANES = ir.VectorType(_ONE, 4)


class _Type(types.Type):  # type: ignore[misc]  # numba is not typed
    """The type of a four, for the compiler."""

    def __init__(self) -> None:
        super().__init__(name="Four")


FOUR = _Type()
"""The type itself."""


@register_model(_Type)
class _Model(models.PrimitiveModel):  # type: ignore[misc]  # numba is not typed
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _LANES)


def spread(builder: Any, number: Any) -> Any:
    """Return a register with one number in all lanes."""
    alone = ir.Constant(ir.VectorType(number.type, 4), ir.Undefined)
    alone = builder.insert_element(alone, number, _SHORT(0))
    return builder.shuffle_vector(alone, alone, ir.Constant(ir.VectorType(_SHORT, 4), [0] * 4))


def offer(group: Any, lane: Any, methods: dict[str, str]) -> None:
    """Let lanes have operators, with their like or with one number for all lanes.

    ``methods`` has what emits them by the names that ``operator`` has.
    """

    def type_operator(context: Any) -> Any:
        def typed(left: Any, right: Any) -> Any:
            both = {left, right}
            return group if group in both and both <= {group, lane} else None

        return typed

    def lower_operator(method: str) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            both = [
                register if kind == group else spread(builder, register)
                for kind, register in zip(signature.args, arguments, strict=True)
            ]
            return getattr(builder, method)(*both)

        return generate

    for name, method in methods.items():
        type_callable(getattr(operator, name))(type_operator)
        for pair in ((group, group), (group, lane), (lane, group)):
            lower_builtin(getattr(operator, name), *pair)(lower_operator(method))
    if EMITS:
        by_operator = {getattr(operator, name): method for name, method in methods.items()}
        arithmetic.LANES[group] = arithmetic.Lanes(lane, by_operator, spread)


offer(FOUR, types.float64, {"add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "fdiv"})


def _type_alone(context: Any) -> Any:
    return lambda four: FOUR if four == FOUR else None


def _lower_negative(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.fneg(arguments[0])


def _lower_intrinsic(name: str) -> Any:
    """Return what emits a function of LLVM's with one argument."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        of, ending = (_LANES, "v4f64") if signature.args[0] == FOUR else (_ONE, "f64")
        kind = ir.FunctionType(of, [of])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.{ending}")
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

    return FOUR(vector, types.intp), generate


def _type_store(typing_context: Any, vector: Any, index: Any, four: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, signature, arguments)
        tagged(builder, builder.store(arguments[2], place, align=8), str(types.float64))
        return context.get_dummy_value()

    return types.void(vector, types.intp, FOUR), generate


def _type_floats(typing_context: Any, four: Any) -> Any:
    result = types.UniTuple(types.float64, 4)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        each = [builder.extract_element(arguments[0], _SHORT(lane)) for lane in range(4)]
        return context.make_tuple(builder, result, each)

    return result(FOUR), generate


def _type_all(typing_context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return spread(builder, arguments[0])

    return FOUR(types.float64), generate


def _type_each(name: str) -> Any:
    """Return what compiles (x) -> a function of LLVM's, of a four or of a float."""

    def typed(typing_context: Any, x: Any) -> Any:
        kind = FOUR if x == FOUR else types.float64
        return kind(kind), _lower_intrinsic(name)

    return typed


def _type_any_above(typing_context: Any, x: Any, y: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        is_above = builder.fcmp_ordered(">", *arguments)
        found = builder.bitcast(is_above, ir.IntType(4))
        return builder.icmp_unsigned("!=", found, ir.Constant(found.type, 0))

    return types.boolean(FOUR, FOUR), generate


def _type_above(typing_context: Any, x: Any, y: Any, then: Any, otherwise: Any) -> Any:
    given = (x, y, then, otherwise)
    kinds = [FOUR if kind == FOUR else types.float64 for kind in given]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if FOUR in kinds:
            each = zip(kinds, arguments, strict=True)
            arguments = [a if kind == FOUR else spread(builder, a) for kind, a in each]
        x, y, then, otherwise = arguments
        return builder.select(builder.fcmp_ordered(">", x, y), then, otherwise)

    return (FOUR if FOUR in kinds else types.float64)(*kinds), generate


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


def _all(number: float) -> Floats:
    made = np.full(4, number)
    made.flags.writeable = False  # where sums begin: += would change all names of it at once
    return made


_WHOLE = 2.0**52  # floats from here on have nothing after the point


def _roots(x: Any) -> Any:
    return np.sqrt(x) if isinstance(x, np.ndarray) else math.sqrt(x)


def _truncated(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return np.trunc(x)
    return math.copysign(abs(x) // 1.0, x) if abs(x) < _WHOLE else x


def _any_above(x: Any, y: Any) -> bool:
    is_above = x > y
    return bool(is_above.any()) if isinstance(is_above, np.ndarray) else bool(is_above)


def _above(x: Any, y: Any, then: Any, otherwise: Any) -> Any:
    is_above = x > y
    if isinstance(is_above, np.ndarray):
        return np.where(is_above, then, otherwise)
    return then if is_above else otherwise


# --- Either --------------------------------------------------------------------------------------


def _either(plain: Any, typed: Any) -> Any:
    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


# Entries i to i + 3 of a vector, and writing them. Behind one that ends before, there is room for
# them, which holds zeros.
four: Any = _either(_load, _type_load)
put: Any = _either(_store, _type_store)
# The four numbers one by one; one number four times.
floats: Any = _either(_floats, _type_floats)
all_of: Any = _either(_all, _type_all)
# The square roots, and what is left without what is after the point; of a four or of a float.
roots: Any = _either(_roots, _type_each("sqrt"))
truncated: Any = _either(_truncated, _type_each("trunc"))
# (x, y, then, otherwise): ``then`` where x > y, ``otherwise`` elsewhere; of fours or of floats.
above: Any = _either(_above, _type_above)
# (x, y): whether x > y anywhere.
any_above: Any = _either(_any_above, _type_any_above)


# --- Functions of both -------------------------------------------------------------------------


@leaf
def most(x: Any, y: Any) -> Any:
    """Return max(x, y), of fours or of floats."""
    return above(y, x, y, x)


@leaf
def least(x: Any, y: Any) -> Any:
    """Return min(x, y), of fours or of floats."""
    return above(x, y, y, x)
