"""What leaves see of an array: a pointer and a length.

An array of numba's is seven numbers, with a view of it in every argument list, every call and every
index; nine of them make a state. Leaves need an address and a size. Inside an entry ``vector``
turns the arguments into that, which halves what the compiler reads. Interpreted, a vector is the
array itself.

A vector offers ``v[i]``, ``v[i] = x``, ``v[a:b]`` and ``v.size``. Nothing is checked: indices and
bounds are inside, and a part says where it ends. So its size is b - a and nothing else, which a
compiler sees through: all vectors of a state have the same size to it, and loops over them the same
number of turns.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing import templates
from numba.extending import (
    intrinsic,
    lower_builtin,
    make_attribute_wrapper,
    models,
    register_model,
    type_callable,
)


class Vector(types.Type):  # type: ignore[misc]  # numba is not typed
    """The type of a vector, for the compiler."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"V{dtype}")


@register_model(Vector)
class _Model(models.StructModel):  # type: ignore[misc]  # numba is not typed
    def __init__(self, manager: Any, vector: Vector) -> None:
        members = [("data", types.CPointer(vector.dtype)), ("size", types.intp)]
        super().__init__(manager, vector, members)


make_attribute_wrapper(Vector, "size", "size")


def _type_getitem(context: Any) -> Any:
    def typed(vector: Any, index: Any) -> Any:
        if isinstance(vector, Vector) and isinstance(index, types.Integer):
            return vector.dtype
        if isinstance(vector, Vector) and isinstance(index, types.SliceType):
            return vector
        return None

    return typed


def _type_setitem(context: Any) -> Any:
    def typed(vector: Any, index: Any, value: Any) -> Any:
        numbers = isinstance(index, types.Integer) and isinstance(value, types.Number)
        return types.void if isinstance(vector, Vector) and numbers else None

    return typed


class _StaticGet(templates.AbstractTemplate):  # type: ignore[misc]  # numba is not typed
    """``v[3]``: found at once, where ``v[i]`` is looked for among all that can be indexed."""

    key = "static_getitem"

    def generic(self, arguments: Any, keywords: Any) -> Any:
        """Return the types of the call."""
        vector, index = arguments
        if isinstance(vector, Vector) and isinstance(index, int):
            return templates.signature(vector.dtype, vector, index)
        return None


class _StaticSet(templates.AbstractTemplate):  # type: ignore[misc]  # numba is not typed
    """``v[3] = x``."""

    key = "static_setitem"

    def generic(self, arguments: Any, keywords: Any) -> Any:
        """Return the types of the call."""
        vector, index, value = arguments
        if isinstance(vector, Vector) and isinstance(index, int):
            return templates.signature(types.void, vector, types.literal(index), value)
        return None


def _place(context: Any, builder: Any, types_: Any, vector: Any, index: Any) -> Any:
    """Return the address of an entry."""
    parts = cgutils.create_struct_proxy(types_[0])(context, builder, value=vector)
    return builder.gep(parts.data, [context.cast(builder, index, types_[1], types.intp)])


def tagged(builder: Any, access: Any, name: str) -> Any:
    """Say that memory of different names is never shared, so that counters can stay in registers.

    Floats and ints are two names, that of their type; ``narrow`` has one of its own.
    """
    module, zero = builder.module, ir.Constant(ir.IntType(64), 0)
    kind = module.add_metadata([name, module.add_metadata(["belated"]), zero])
    access.set_metadata("tbaa", module.add_metadata([kind, kind, zero]))
    return access


def _get(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    place = _place(context, builder, signature.args, *arguments)
    return tagged(builder, builder.load(place), str(signature.args[0].dtype))


def _set(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    vector, _, kind = signature.args
    place = _place(context, builder, signature.args, *arguments[:2])
    value = context.cast(builder, arguments[2], kind, vector.dtype)
    tagged(builder, builder.store(value, place), str(vector.dtype))
    return context.get_dummy_value()


def _static_place(context: Any, builder: Any, vector: Any, value: Any, index: Any) -> Any:
    parts = cgutils.create_struct_proxy(vector)(context, builder, value=value)
    return builder.gep(parts.data, [context.get_constant(types.intp, index)])


def _static_get(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    vector, index = signature.args[0], arguments[1]
    place = _static_place(context, builder, vector, arguments[0], index)
    return tagged(builder, builder.load(place), str(vector.dtype))


def _static_set(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    vector, index, kind = signature.args
    place = _static_place(context, builder, vector, arguments[0], index.literal_value)
    value = context.cast(builder, arguments[2], kind, vector.dtype)
    tagged(builder, builder.store(value, place), str(vector.dtype))
    return context.get_dummy_value()


def _cut(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """v[a:b]: the part from a up to b, both inside."""
    vector, bounds = signature.args
    whole = cgutils.create_struct_proxy(vector)(context, builder, value=arguments[0])
    cut = context.make_helper(builder, bounds, arguments[1])
    part = cgutils.create_struct_proxy(vector)(context, builder)
    part.data = builder.gep(whole.data, [cut.start])
    part.size = builder.sub(cut.stop, cut.start, flags=["nsw"])
    return part._getvalue()


templates.infer(_StaticGet)
templates.infer(_StaticSet)
lower_builtin("static_getitem", Vector, types.IntegerLiteral)(_static_get)
lower_builtin("static_setitem", Vector, types.IntegerLiteral, types.Any)(_static_set)
type_callable(operator.getitem)(_type_getitem)
type_callable(operator.setitem)(_type_setitem)
lower_builtin(operator.getitem, Vector, types.Integer)(_get)
lower_builtin(operator.setitem, Vector, types.Integer, types.Any)(_set)
lower_builtin(operator.getitem, Vector, types.SliceType)(_cut)


def _from_array(typing_context: Any, array: Any) -> Any:
    """Return the types of ``vector``, and what makes one."""
    if isinstance(array, Vector):
        return array(array), lambda context, builder, signature, arguments: arguments[0]
    if not isinstance(array.dtype, types.Integer | types.Float):
        raise TypeError(f"a vector has floats or ints, not {array.dtype}")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = context.make_array(signature.args[0])(context, builder, arguments[0])
        made = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        made.data = whole.data
        made.size = whole.nitems
        return made._getvalue()

    return Vector(array.dtype)(array), generate


def _same(array: Any) -> Any:
    """Stand in where the kernels are interpreted."""
    return array


# The vector of an array without gaps; a vector is its own.
vector: Any = _same if numba.config.DISABLE_JIT else intrinsic(_from_array)
