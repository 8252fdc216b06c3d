"""Branches that a composition does not take, taken out of a leaf before anything is typed.

LLVM would drop them too, since ``code[slot]`` is a constant, but only after numba has typed and
lowered them, and compiled every leaf that is called there and nowhere else.

Like ``lean``, which it is a part of, this rests on parts of numba that are not public.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import ConstantInferenceError
from numba.core.ir_utils import build_definitions, get_definition, guard
from numba.extending import models, register_model


class Composition(types.Type):  # type: ignore[misc]  # numba is not typed
    """The type of a code, for the compiler; slots after the last one that is not 0 are 0."""

    def __init__(self, values: tuple[int, ...]) -> None:
        last = max((slot for slot, value in enumerate(values) if value), default=-1)
        self.values = values[: last + 1]
        super().__init__(name=f"C{'_'.join(map(str, self.values))}")

    def at(self, slot: int) -> int:
        """Return what a slot holds."""
        return self.values[slot] if slot < len(self.values) else 0


register_model(Composition)(models.OpaqueModel)


@register_pass(mutates_CFG=True, analysis_only=False)
class Pruning(FunctionPass):  # type: ignore[misc]  # numba is not typed
    """Turns branches on a constant of the code into jumps, and drops what is out of reach then."""

    _name = "pruning_of_leaves"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Prune a leaf; tell whether anything changed."""
        function, pruned = state.func_ir, False
        for block in function.blocks.values():
            branch = block.body[-1]
            known = _known(function, state.args, branch.cond) if _is_branch(branch) else None
            if known is not None:
                block.body[-1] = ir.Jump(branch.truebr if known else branch.falsebr, branch.loc)
                pruned = True
        if pruned:
            for label in compute_cfg_from_blocks(function.blocks).dead_nodes():
                del function.blocks[label]
            function._definitions = build_definitions(function.blocks)
        return pruned


def _is_branch(statement: Any) -> bool:
    return isinstance(statement, ir.Branch)


def _known(function: Any, arguments: Any, variable: Any) -> Any:
    """Return the value of a variable where the code says it, or else None."""
    found = guard(get_definition, function, variable)
    if not isinstance(found, ir.Expr):
        return _constant(function, variable)
    if found.op == "call":
        called = guard(get_definition, function, found.func)
        is_bool = isinstance(called, ir.Global) and called.value is bool
        return _known(function, arguments, found.args[0]) if is_bool else None
    if found.op == "getitem":
        code = guard(get_definition, function, found.value)
        slot = _constant(function, found.index)
        kind = arguments[code.index] if isinstance(code, ir.Arg) else None
        return kind.at(slot) if isinstance(kind, Composition) and isinstance(slot, int) else None
    if found.op == "binop":
        left = _known(function, arguments, found.lhs)
        right = _known(function, arguments, found.rhs)
        if left is None or right is None:
            return None
        try:
            return found.fn(left, right)
        except (ArithmeticError, TypeError):  # left to whoever runs it
            return None
    return _constant(function, variable)


def _constant(function: Any, variable: Any) -> Any:
    """Return the value of a variable that has one whatever the code, or else None."""
    try:
        return function.infer_constant(variable)
    except ConstantInferenceError:
        return None
