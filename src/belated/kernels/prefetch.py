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

_WRITE, _STAY, _DATA = 1, 3, 1  # arguments of LLVM's prefetch: it will be written to, and used soon


def _asks(typing_context: Any, vector: Any, index: Any) -> Any:
    """Return the types of ``prefetch``, and what writes the instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        parts = cgutils.create_struct_proxy(signature.args[0])
        data = parts(context, builder, value=arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
        kind = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(ask, [place, word(_WRITE), word(_STAY), word(_DATA)])
        return context.get_dummy_value()

    return types.void(vector, types.intp), generate


def _nothing(vector: Array, index: int) -> None:
    """Stand in where the kernels are interpreted."""


# Bring ``vector[index]`` near. An index outside does no harm.
prefetch: Callable[[Array, int], None] = _nothing if numba.config.DISABLE_JIT else intrinsic(_asks)
