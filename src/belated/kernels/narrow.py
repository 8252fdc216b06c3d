"""Numbers in half the room: words of 32 bits inside a vector of ints.

A number is the upper half of a float64: its sign, all of its exponent, and 20 bits after the point.
So it has the range of a float64, and rounding changes it by at most 2^-21 of itself. A count is a
whole number below 2^32. Words are numbered from the start of the vector, two to every int.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from belated.arrays import Ints
from belated.kernels.vectors import tagged

MOST = (1 << 32) - 1
"""The largest count."""
_HALF = 1 << 31  # of the last bit that is kept
_LONG, _WORD = ir.IntType(64), ir.IntType(32)


# --- Compiled ------------------------------------------------------------------------------------


def _place(context: Any, builder: Any, kind: Any, vector: Any, index: Any, word: Any) -> Any:
    """Return the address of a word; ``word`` is its type."""
    data = cgutils.create_struct_proxy(kind)(context, builder, value=vector).data
    return builder.gep(builder.bitcast(data, word.as_pointer()), [index])


def _tag(builder: Any, access: Any) -> Any:
    return tagged(builder, access, "narrow")


def _reads(word: Any, result: Any, turn: Callable[[Any, Any], Any]) -> Any:
    """Return what compiles (vector, index) -> a word, turned into what it stands for."""

    def typed(typing_context: Any, vector: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _place(context, builder, signature.args[0], arguments[0], arguments[1], word)
            return turn(builder, _tag(builder, builder.load(place)))

        return result(vector, types.intp), generate

    return typed


def _writes(word: Any, given: Any, turn: Callable[[Any, Any], Any]) -> Any:
    """Return what compiles (vector, index, value), which writes what the value is turned into."""

    def typed(typing_context: Any, vector: Any, index: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _place(context, builder, signature.args[0], arguments[0], arguments[1], word)
            _tag(builder, builder.store(turn(builder, arguments[2]), place))
            return context.get_dummy_value()

        return types.void(vector, types.intp, given), generate

    return typed


def _turns(given: Any, result: Any, turn: Callable[[Any, Any], Any]) -> Any:
    """Return what compiles (value) -> what it is turned into."""

    def typed(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return turn(builder, arguments[0])

        return result(given), generate

    return typed


def _as_float(builder: Any, bits: Any) -> Any:
    return builder.bitcast(bits, ir.DoubleType())


def _as_bits(builder: Any, number: Any) -> Any:
    return builder.bitcast(number, _LONG)


def _as_int(builder: Any, word: Any) -> Any:
    return builder.zext(word, _LONG)


def _as_word(builder: Any, number: Any) -> Any:
    return builder.trunc(number, _WORD)


def _widened(builder: Any, word: Any) -> Any:
    return _as_float(builder, builder.shl(_as_int(builder, word), ir.Constant(_LONG, 32)))


def _narrowed(builder: Any, number: Any) -> Any:
    bits = builder.add(_as_bits(builder, number), ir.Constant(_LONG, _HALF))
    return _as_word(builder, builder.lshr(bits, ir.Constant(_LONG, 32)))


def _same(builder: Any, bits: Any) -> Any:
    return bits


# --- Interpreted ---------------------------------------------------------------------------------


_DOUBLE, _QUAD, _PAIR = struct.Struct("<d"), struct.Struct("<q"), struct.Struct("<II")
_COUNT = struct.Struct("<I")  # reads a word in a quarter of the time that a view of them all takes


def _float_of(bits: int) -> float:
    number: float = _DOUBLE.unpack(_QUAD.pack(bits))[0]
    return number


def _bits_of(number: float) -> int:
    bits: int = _QUAD.unpack(_DOUBLE.pack(number))[0]
    return bits


def _count(vector: Any, index: int) -> int:
    count: int = _COUNT.unpack_from(vector, 4 * index)[0]
    return count


def _put_count(vector: Any, index: int, count: int) -> None:
    _COUNT.pack_into(vector, 4 * index, count)


def _number(vector: Any, index: int) -> float:
    number: float = _DOUBLE.unpack(_PAIR.pack(0, _COUNT.unpack_from(vector, 4 * index)[0]))[0]
    return number


def _put_number(vector: Any, index: int, number: float) -> None:
    _COUNT.pack_into(vector, 4 * index, (_bits_of(number) + _HALF) >> 32 & MOST)


def _bits(vector: Ints, index: int) -> int:
    return int(vector[index])


def _put_bits(vector: Ints, index: int, bits: int) -> None:
    vector[index] = bits


# --- Either --------------------------------------------------------------------------------------


def _either(plain: Any, typed: Any) -> Any:
    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


_REAL, _WHOLE = types.float64, types.int64

# The bits of a float64 as an int, and back.
bits_of: Callable[[float], int] = _either(_bits_of, _turns(_REAL, _WHOLE, _as_bits))
float_of: Callable[[int], float] = _either(_float_of, _turns(_WHOLE, _REAL, _as_float))
# Word ``index`` of a vector as a number or as a count.
number: Callable[[Ints, int], float] = _either(_number, _reads(_WORD, _REAL, _widened))
count: Callable[[Ints, int], int] = _either(_count, _reads(_WORD, _WHOLE, _as_int))
put_number: Callable[[Ints, int, float], None] = _either(
    _put_number, _writes(_WORD, _REAL, _narrowed)
)
put_count: Callable[[Ints, int, int], None] = _either(_put_count, _writes(_WORD, _WHOLE, _as_word))
# Int ``index`` of a vector as it is, for what shares two words in another way.
bits: Callable[[Ints, int], int] = _either(_bits, _reads(_LONG, _WHOLE, _same))
put_bits: Callable[[Ints, int, int], None] = _either(_put_bits, _writes(_LONG, _WHOLE, _same))
