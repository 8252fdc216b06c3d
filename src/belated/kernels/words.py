"""Words of several rows at a time: lanes of floats and ints, as processors hold them in a register.

``narrow`` has the words of one row. Here the same int of four rows is one register, a column: it
has a lower and an upper word, which are numbers or counts. Every lane does what ``narrow`` would.
Interpreted, there is one lane, and it is a plain float or int: so interpreted kernels take one row
after the other, and compiled ones show that four at a time is the same.

Lanes of floats are fours, see ``fours``. Lanes of ints offer ``&``, ``|``, ``+``, ``-``, ``<<`` and
``>>``, with others or with an int.
"""

from __future__ import annotations

import struct
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from belated.arrays import Floats
from belated.kernels.fours import FOUR, all_of, floats, four, offer, put, spread
from belated.kernels.jit import leaf
from belated.kernels.vectors import tagged

Lanes = Any  # floats: a four, or one float
Bits = Any  # ints: a register, or one int

LANES = 1 if numba.config.DISABLE_JIT else 4
_LOWER = (1 << 32) - 1
_UPPER = ~_LOWER
_HALF = 1 << 31  # of the last bit that a number keeps
# A count below 2^52 is what the lower bits of 2^52 + count are.
_SHIFTED = 2.0**52
_SHIFTED_BITS = (1023 + 52) << 52

# --- Compiled ------------------------------------------------------------------------------------

_SHORT, _LONG = ir.IntType(32), ir.IntType(64)
_INTS = ir.VectorType(_LONG, 4)
_FLOATS = ir.VectorType(ir.DoubleType(), 4)
_TWO = ir.VectorType(_LONG, 2)
_ROWS = types.UniTuple(types.intp, 4)


class _Type(types.Type):  # type: ignore[misc]  # numba is not typed
    """The type of four ints, for the compiler."""

    def __init__(self) -> None:
        super().__init__(name="Bits")


_BITS = _Type()


@register_model(_Type)
class _Model(models.PrimitiveModel):  # type: ignore[misc]  # numba is not typed
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _INTS)


offer(
    _BITS,
    types.int64,
    {"and_": "and_", "or_": "or_", "add": "add", "sub": "sub", "lshift": "shl", "rshift": "ashr"},
)


def _type_turn(given: Any, result: Any, lanes: Any) -> Any:
    """Return what compiles (x) -> the same bits as something else."""

    def typed(typing_context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], lanes)

        return result(given), generate

    return typed


def _places(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """Return the addresses that (vector, rows, place) names, of two ints each."""
    data = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0]).data
    rows, place = cgutils.unpack_tuple(builder, arguments[1]), arguments[2]
    starts = [builder.gep(data, [builder.add(row, place)]) for row in rows]
    return [builder.bitcast(start, _TWO.as_pointer()) for start in starts]


def _shuffled(builder: Any, x: Any, y: Any, lanes: Any) -> Any:
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(_SHORT, len(lanes)), list(lanes)))


def _zipped(builder: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return lanes 0 and 2 of both in turns, and lanes 1 and 3."""
    return _shuffled(builder, x, y, (0, 4, 2, 6)), _shuffled(builder, x, y, (1, 5, 3, 7))


def _type_columns(typing_context: Any, vector: Any, rows: Any, place: Any) -> Any:
    result = types.UniTuple(_BITS, 2)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        places = _places(context, builder, signature, arguments)
        a, b, c, d = (tagged(builder, builder.load(at, align=8), "narrow") for at in places)
        even, odd = (_shuffled(builder, *both, range(4)) for both in ((a, c), (b, d)))
        return context.make_tuple(builder, result, _zipped(builder, even, odd))

    return result(vector, _ROWS, types.intp), generate


def _type_put_columns(
    typing_context: Any, vector: Any, rows: Any, place: Any, first: Any, second: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        *_, first, second = arguments
        both = _zipped(builder, first, second)
        for row, at in enumerate(_places(context, builder, signature, arguments)):
            lane = row - row % 2
            part = _shuffled(builder, both[row % 2], both[row % 2], (lane, lane + 1))
            tagged(builder, builder.store(part, at, align=8), "narrow")
        return context.get_dummy_value()

    return types.void(vector, _ROWS, types.intp, _BITS, _BITS), generate


def _type_weighed(
    typing_context: Any, sums: Any, vector: Any, rows: Any, place: Any, x: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, *where, x = arguments
        wide = ir.VectorType(_LONG, 4)
        shift = ir.Constant(wide, [32] * 4)
        places = _places(context, builder, signature.return_type(*signature.args[1:4]), where)
        for lane, at in enumerate(places):
            words = builder.bitcast(at, ir.VectorType(_SHORT, 4).as_pointer())
            words = tagged(builder, builder.load(words, align=8), "narrow")
            bits = builder.shl(builder.zext(words, wide), shift)
            numbers = builder.bitcast(bits, ir.VectorType(ir.DoubleType(), 4))
            factor = spread(builder, builder.extract_element(x, _SHORT(lane)))
            sums = builder.fadd(sums, builder.fmul(numbers, factor))
        return sums

    return FOUR(FOUR, vector, _ROWS, types.intp, FOUR), generate


def _type_in_turn(typing_context: Any, total: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        total, x = arguments
        for lane in range(4):
            total = builder.fadd(total, builder.extract_element(x, _SHORT(lane)))
        return total

    return types.float64(types.float64, FOUR), generate


def _address(context: Any, builder: Any, signature: Any, arguments: Any, kind: Any) -> Any:
    """Return where (vector, index) is, as the place of something of a kind."""
    data = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0]).data
    return builder.bitcast(builder.gep(data, [arguments[1]]), kind.as_pointer())


def _type_rows(typing_context: Any, vector: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = _address(context, builder, signature, arguments, _LONG)
        each = [builder.gep(start, [_LONG(lane)]) for lane in range(4)]
        loads = [tagged(builder, builder.load(at), str(types.float64)) for at in each]
        return context.make_tuple(builder, _ROWS, loads)

    return _ROWS(vector, types.intp), generate


def _type_differ(typing_context: Any, vector: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _address(context, builder, signature, arguments, _INTS)
        rows = tagged(builder, builder.load(place, align=8), str(types.float64))
        others = (_shuffled(builder, rows, rows, lanes) for lanes in ((1, 2, 3, 0), (2, 3, 0, 1)))
        next_one, across = (builder.icmp_signed("==", rows, other) for other in others)
        found = builder.bitcast(builder.or_(next_one, across), ir.IntType(4))
        return builder.icmp_unsigned("==", found, ir.Constant(found.type, 0))

    return types.boolean(vector, types.intp), generate


def _type_mixed(lanes: Any, others: Any) -> Any:
    """Return what compiles (x, y) -> two fours with lanes of both."""

    def typed(typing_context: Any, x: Any, y: Any) -> Any:
        result = types.UniTuple(FOUR, 2)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            x, y = arguments
            made = [_shuffled(builder, x, y, which) for which in (lanes, others)]
            return context.make_tuple(builder, result, made)

        return result(FOUR, FOUR), generate

    return typed


def _type_first(typing_context: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.extract_element(arguments[0], _SHORT(0))

    return types.float64(FOUR), generate


@leaf
def whole_floats(ints: Bits) -> Lanes:
    """Return ints from 0 to 2^52 as floats."""
    return floats_in(ints | _SHIFTED_BITS) - _SHIFTED


@leaf
def whole_ints(numbers: Lanes) -> Bits:
    """Return whole numbers from 0 to 2^52 as ints."""
    return bits_in(numbers + _SHIFTED) - _SHIFTED_BITS


@leaf
def _read_upper(bits: Bits) -> Lanes:
    return floats_in(bits & _UPPER)


@leaf
def _read_lower(bits: Bits) -> Lanes:
    return floats_in(bits << 32)


@leaf
def _read_counts(bits: Bits) -> Lanes:
    return floats_in((bits & _LOWER) | _SHIFTED_BITS) - _SHIFTED


@leaf
def _write_counts(bits: Bits, counts: Lanes) -> Bits:
    return (bits & _UPPER) | (bits_in(counts + _SHIFTED) & _LOWER)


@leaf
def _write_upper(bits: Bits, numbers: Lanes) -> Bits:
    return (bits & _LOWER) | ((bits_in(numbers) + _HALF) & _UPPER)


@leaf
def _write_lower(bits: Bits, numbers: Lanes) -> Bits:
    return (bits & _UPPER) | (((bits_in(numbers) + _HALF) >> 32) & _LOWER)


@leaf
def _write_both(lower: Lanes, upper: Lanes) -> Bits:
    return _write_upper((bits_in(lower) + _HALF) >> 32, upper)


# --- Interpreted ---------------------------------------------------------------------------------

_DOUBLE, _QUAD = struct.Struct("<d"), struct.Struct("<Q")
_PAIR, _FOUR_WORDS, _EIGHT_WORDS = (struct.Struct(f"<{kinds}") for kinds in ("QQ", "4I", "8I"))
_TWO_DOUBLES, _FOUR_DOUBLES = struct.Struct("<dd"), struct.Struct("<4d")
_ALL = (1 << 64) - 1
_HIGH = _ALL - _LOWER


def _bits_in(number: float) -> int:
    bits: int = _QUAD.unpack(_DOUBLE.pack(number))[0]
    return bits


def _floats_in(bits: int) -> float:
    number: float = _DOUBLE.unpack(_QUAD.pack(bits & _ALL))[0]
    return number


def _upper(bits: int) -> float:
    number: float = _DOUBLE.unpack(_QUAD.pack(bits & _HIGH))[0]
    return number


def _lower(bits: int) -> float:
    number: float = _DOUBLE.unpack(_QUAD.pack((bits & _LOWER) << 32))[0]
    return number


def _counted(bits: int) -> float:
    return float(bits & _LOWER)


def _with_counts(bits: int, counts: float) -> int:
    return (bits & _HIGH) | int(counts)


def _with_upper(bits: int, number: float) -> int:
    rounded: int = _QUAD.unpack(_DOUBLE.pack(number))[0] + _HALF
    return (bits & _LOWER) | (rounded & _HIGH)


def _with_lower(bits: int, number: float) -> int:
    rounded: int = _QUAD.unpack(_DOUBLE.pack(number))[0] + _HALF
    return (bits & _HIGH) | (rounded >> 32 & _LOWER)


def _packed(lower: float, upper: float) -> int:
    first, second = _PAIR.unpack(_TWO_DOUBLES.pack(lower, upper))
    rounded: int = (first + _HALF) >> 32 & _LOWER
    return rounded | ((second + _HALF) & _HIGH)


def _columns(vector: Any, rows: tuple[int], place: int) -> Any:
    return _PAIR.unpack_from(vector, 8 * (rows[0] + place))


def _put_columns(vector: Any, rows: tuple[int], place: int, first: int, second: int) -> None:
    _PAIR.pack_into(vector, 8 * (rows[0] + place), first & _ALL, second & _ALL)


def _four_times(number: float) -> tuple[float, ...]:
    return number, number, number, number


def _each(sums: tuple[float, ...]) -> tuple[float, ...]:
    return sums


def _weighed(sums: tuple[float, ...], vector: Any, rows: Any, place: int, x: float) -> Any:
    a, b, c, d = _FOUR_WORDS.unpack_from(vector, 8 * (rows[0] + place))
    a, b, c, d = _FOUR_DOUBLES.unpack(_EIGHT_WORDS.pack(0, a, 0, b, 0, c, 0, d))
    return sums[0] + a * x, sums[1] + b * x, sums[2] + c * x, sums[3] + d * x


def _in_turn(total: float, x: float) -> float:
    return total + x


def _kept(vector: Floats, index: int) -> float:
    return vector.item(index)


def _keep(vector: Floats, index: int, x: float) -> None:
    vector[index] = x


def _rows(vector: Any, index: int) -> tuple[Any, ...]:
    return _QUAD.unpack_from(vector, 8 * index)


# --- Either --------------------------------------------------------------------------------------


def _either(plain: Any, typed: Any) -> Any:
    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


def one_or_four(plain: Any, compiled: Any) -> Any:
    """Return what is for one lane where kernels are interpreted, and else what is for four."""
    return plain if numba.config.DISABLE_JIT else compiled


# The bits of floats, and back.
bits_in: Any = _either(_bits_in, _type_turn(FOUR, _BITS, _INTS))
floats_in: Any = _either(_floats_in, _type_turn(_BITS, FOUR, _FLOATS))
# Of ints: the numbers in their upper words, those in their lower words, the counts in these.
upper: Any = one_or_four(_upper, _read_upper)
lower: Any = one_or_four(_lower, _read_lower)
counted: Any = one_or_four(_counted, _read_counts)
# (ints, x): the ints with other counts, or with other numbers, in those words.
with_counts: Any = one_or_four(_with_counts, _write_counts)
with_upper: Any = one_or_four(_with_upper, _write_upper)
with_lower: Any = one_or_four(_with_lower, _write_lower)
# (x, y): ints with the numbers x in the lower and y in the upper words.
packed: Any = one_or_four(_packed, _write_both)
# (vector, i): the lanes that were kept from entry i on; (vector, i, x): keeping them.
kept: Any = one_or_four(_kept, four)
keep: Any = one_or_four(_keep, put)
# (vector, i): where rows begin, a tuple, of which the bits were kept; whether they all differ.
rows_kept: Any = _either(_rows, _type_rows)
rows_differ: Any = intrinsic(_type_differ)
# (x, y): their lanes in turns, x before y, as two fours; (x, y): every second lane of both, one
# after the other, and the others.
in_turns: Any = intrinsic(_type_mixed((0, 4, 1, 5), (2, 6, 3, 7)))
apart: Any = intrinsic(_type_mixed((0, 2, 4, 6), (1, 3, 5, 7)))
# The number of the first lane.
first_lane: Any = intrinsic(_type_first)
# (vector, rows, place): that int of every row, and the one after it; writing both.
columns: Any = _either(_columns, _type_columns)
put_columns: Any = _either(_put_columns, _type_put_columns)
# (total, x): the sum with all lanes added, one after the other.
in_turn: Any = _either(_in_turn, _type_in_turn)
# Four sums that begin with a number, and each of them.
four_sums: Any = one_or_four(_four_times, all_of)
each_sum: Any = one_or_four(_each, floats)
# (sums, vector, rows, place, x): sums with the four numbers that begin with that int of every row
# added, one row after the other, each times its lane of x.
weighed: Any = _either(_weighed, _type_weighed)
