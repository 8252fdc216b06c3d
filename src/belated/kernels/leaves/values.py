"""What stands for a value while a leaf is emitted.

Something known while compiling (a number of the source, a code's slot, a module, another leaf) is
kept as it is. Anything else is a list of registers with its kind, one of numba's types: a vector is
an address and a size, a tuple the registers of all its members, and a code or None no register at
all. So reading a field costs no instruction, and leaves pass each other registers only.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import callconv, cgutils
from numba.core.registry import cpu_target

from belated.kernels.codes import Composition
from belated.kernels.vectors import Vector

REAL, WHOLE, TRUTH = types.float64, types.int64, types.boolean
Register = Any  # a value of llvmlite's


class Known(NamedTuple):
    """Something that is known while compiling."""

    it: Any


class Value(NamedTuple):
    """Something that is found out while running."""

    kind: Any
    parts: tuple[Register, ...]


Operand = Known | Value
NOTHING = Value(types.none, ())


@functools.cache
def target() -> Any:
    """Return numba's target: this processor, where a division by 0 is no error."""
    plain = cpu_target.target_context
    return plain.subtarget(error_model=callconv.create_error_model("numpy", plain))


@functools.cache
def layout(kind: Any) -> tuple[Any, ...]:
    """Return the types of the registers of a kind, as LLVM has them."""
    if isinstance(kind, Vector):
        return (target().get_data_type(kind.dtype).as_pointer(), ir.IntType(64))
    if isinstance(kind, types.BaseTuple):
        return tuple(part for member in kind.types for part in layout(member))
    return (
        () if isinstance(kind, Composition | types.NoneType) else (target().get_value_type(kind),)
    )


def member(value: Value, number: int) -> Value:
    """Return one member of a tuple."""
    kinds = value.kind.types
    first = sum(len(layout(kind)) for kind in kinds[:number])
    return Value(kinds[number], value.parts[first : first + len(layout(kinds[number]))])


def packed(builder: Any, value: Value) -> Register:
    """Return a value as numba has it, in one register."""
    kind = value.kind
    if isinstance(kind, Vector):
        made = cgutils.create_struct_proxy(kind)(target(), builder)
        made.data, made.size = value.parts
        return made._getvalue()
    if isinstance(kind, types.BaseTuple):
        inside = [packed(builder, member(value, number)) for number in range(len(kind.types))]
        return target().make_tuple(builder, kind, inside)
    return value.parts[0] if value.parts else target().get_dummy_value()


def unpacked(builder: Any, kind: Any, register: Register) -> Value:
    """Return what numba has in one register."""
    if isinstance(kind, Vector):
        return Value(kind, tuple(builder.extract_value(register, i) for i in range(2)))
    if isinstance(kind, types.BaseTuple):
        parts: list[Register] = []
        for number, inside in enumerate(kind.types):
            parts += unpacked(builder, inside, builder.extract_value(register, number)).parts
        return Value(kind, tuple(parts))
    return Value(kind, (register,) if layout(kind) else ())
