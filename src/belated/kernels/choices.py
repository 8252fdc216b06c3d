"""Choices by code: made while compiling where they can be, so that only what is used is compiled.

A code is a tuple of ints. Inside an entry ``only`` turns it into a type that has the ints in its
name and no value at all: ``code[C.RATE]`` is a constant wherever it stands, and a branch that a
composition does not take is gone before anything is optimised. Interpreted, it stays a tuple.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.core.typing import templates
from numba.extending import (
    intrinsic,
    lower_builtin,
    overload,
)

from belated.arrays import Code
from belated.kernels.codes import Composition
from belated.kernels.jit import EMITS, LEAF, leaf

if EMITS:
    from belated.kernels.leaves import calls

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Slot(templates.AbstractTemplate):  # type: ignore[misc]  # numba is not typed
    """The type of ``code[slot]``: a constant."""

    key = "static_getitem"

    def generic(self, arguments: Any, keywords: Any) -> Any:
        """Return the types of the call."""
        code, slot = arguments
        if isinstance(code, Composition) and isinstance(slot, int):
            return templates.signature(types.literal(code.at(slot)), *arguments)
        return None


def _get(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return context.get_constant(types.intp, signature.return_type.literal_value)


templates.infer(_Slot)
lower_builtin("static_getitem", Composition, types.IntegerLiteral)(_get)


def _held(code: Any, slot: int) -> int | None:
    """Return what a slot of a code holds, given its type; None if that does not say."""
    if isinstance(code, Composition):
        return code.at(slot)
    return cast("int | None", getattr(code[slot], "literal_value", None))


def only(*slots: int) -> Callable[[Code], Code]:
    """Return a function that clears all slots of a code but these.

    Leaves are compiled for every code that they are called with. One that is called with the slots
    that it looks at, and no others, is compiled once for all compositions that share them.
    """

    def typed(typing_context: Any, code: Any) -> Any:
        held = [_held(code, slot) if slot in slots else 0 for slot in range(max(slots) + 1)]
        if None in held:
            return None  # numba also asks for plain ints; there is nothing to choose then
        return Composition(cast(Code, tuple(held)))(
            code
        ), lambda context, *_: context.get_dummy_value()

    def cleared(code: Code) -> Code:
        """Stand in where kernels are interpreted: a slot that is left out is missed there too."""
        return tuple(value if slot in slots else 0 for slot, value in enumerate(code))

    if numba.config.DISABLE_JIT:
        return functools.cache(cleared)
    made = intrinsic(prefer_literal=True)(typed)
    made.__module__ = sys._getframe(1).f_globals["__name__"]  # for ``stamps``
    made.slots = slots  # for leaves
    return cast(Callable[[Code], Code], made)


def switch(slot: int, choices: Mapping[int, _Function]) -> _Function:
    """Return a leaf that calls ``choices[code[slot]]``, ``code`` being its first argument.

    The choice is made while compiling, and what a composition does not use is never compiled for
    it. Choices may be added to the mapping until then. A limb that is chosen stays one.
    """

    def chosen(code: Code, *arguments: Any) -> Any:
        return choices[code[slot]](code, *arguments)

    chosen.__module__ = sys._getframe(1).f_globals["__name__"]  # for ``stamps``

    def choose(code: Any, *arguments: Any) -> Any:
        value = _held(code, slot)
        if value is not None and value not in choices:
            raise LookupError(f"{chosen.__module__}: slot {slot} has no choice {value}")
        return None if value is None else choices[value]

    if EMITS:
        return cast(_Function, calls.make_choice(choose, chosen))

    def choose_source(code: Any, *arguments: Any) -> Any:
        found = choose(code, *arguments)
        if found is None or found.targetoptions["forceinline"]:
            return getattr(found, "py_func", None)

        def call(code: Any, *arguments: Any) -> Any:  # which is inlined in its place
            return found(code, *arguments)

        return call

    # numba asks for the constants first; asked for plain ints, there is nothing to choose.
    overload(chosen, prefer_literal=True, strict=False, jit_options=LEAF)(choose_source)
    return cast(_Function, chosen)


def select(
    choices: Mapping[int, Callable[..., Any]], arguments: str, otherwise: str
) -> Callable[..., Any]:
    """Return a leaf (number, arguments) that calls ``choices[number]``, found out while running.

    ``otherwise`` is what it returns for any other number.
    """
    lines = [f"def selected(number, {arguments}):"]
    for number in choices:
        lines.append(f"    if number == {number}:\n        return choice_{number}({arguments})")
    source = "\n".join([*lines, f"    return {otherwise}"])
    names: dict[str, Any] = {f"choice_{number}": choice for number, choice in choices.items()}
    names.update(math=math, __name__=sys._getframe(1).f_globals["__name__"])
    exec(source, names)
    names["selected"].source = source
    return cast(Callable[..., Any], leaf(names["selected"]))
