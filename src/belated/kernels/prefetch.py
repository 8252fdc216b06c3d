"""Ask for memory before it is needed; nothing is read, and no result depends on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from belated.arrays import Array

# Arguments of LLVM's prefetch: whether it will be written to, how near it should come, what it is.
_WRITE, _READ, _NEAREST, _NEAR, _DATA = 1, 0, 3, 2, 1


def _type_asks(purpose: int, place: int) -> Any:
    """Return what types (vector, index), and writes the instruction."""

    def typed(typing_context: Any, vector: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
            parts = cgutils.create_struct_proxy(signature.args[0])
            data = parts(context, builder, value=arguments[0]).data
            where = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
            kind = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
            ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            builder.call(ask, [where, word(purpose), word(place), word(_DATA)])
            return context.get_dummy_value()

        return types.void(vector, types.intp), generate

    return typed


def _either(purpose: int, place: int) -> Callable[[Array, int], None]:
    asks: Any = intrinsic(_type_asks(purpose, place))
    return _nothing if numba.config.DISABLE_JIT else asks


def _nothing(vector: Array, index: int) -> None:
    """Stand in where the kernels are interpreted."""


# Bring ``vector[index]`` into the first cache, to write to it. An index outside does no harm.
prefetch = _either(_WRITE, _NEAREST)
# Bring it into the second, which can wait for many more at a time: a line of memory comes every 4
# nanoseconds when 48 are asked for ahead, and into the first one every 7, however many are.
fetch_early = _either(_READ, _NEAR)
