"""Shortcuts through numba's front end, for the leaves that ``lean`` compiles.

Three quarters of a cold start is Python of numba's own, which types and lowers leaves. They are
many and short and put the same few questions again and again, so answers are remembered, and
arithmetic of floats and ints is emitted at once. What is generated is what numba would generate, so
the bits are the same; a linear model is ready in 2.7 s of processor time instead of 4.0 s.

Like ``lean`` this rests on parts of numba that are not public, and is used where that is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import lowering, typed_passes, typing
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.ir_utils import build_definitions
from numba.core.rewrites.static_getitem import RewriteConstGetitems, RewriteConstSetitems
from numba.core.ssa import reconstruct_ssa
from numba.core.transforms import canonicalize_cfg

_REAL, _WHOLE = types.float64, types.int64
_Emit = Callable[[Any, Any, Any], Any]  # (builder, a, b) -> value


# --- What numba emits ----------------------------------------------------------------------------


def _calls(method: str, **options: Any) -> _Emit:
    """Return what emits an instruction by a method of the builder."""
    return lambda builder, a, b: getattr(builder, method)(a, b, **options)


def _compares(method: str, sign: str) -> _Emit:
    return lambda builder, a, b: getattr(builder, method)(sign, a, b)


_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=="}
# By operator and type of both sides. Only != holds for NaN; ints are trusted not to overflow.
_ARITHMETIC: dict[tuple[Any, Any], _Emit] = {
    (operator.ne, _REAL): _compares("fcmp_unordered", "!="),
    (operator.ne, _WHOLE): _compares("icmp_signed", "!="),
    **{(getattr(operator, x), _REAL): _calls(f"f{x}") for x in ("add", "sub", "mul")},
    **{(getattr(operator, x), _WHOLE): _calls(x, flags=["nsw"]) for x in ("add", "sub", "mul")},
    **{(getattr(operator, x), _REAL): _compares("fcmp_ordered", y) for x, y in _SIGNS.items()},
    **{(getattr(operator, x), _WHOLE): _compares("icmp_signed", y) for x, y in _SIGNS.items()},
}
# min and max return the second number where it compares so with the first, as Python's do.
_EXTREMES = {min: operator.lt, max: operator.gt}


def _builtin(function: Any, arguments: Any) -> Any:
    """Return the signature of a call that is emitted here, or None.

    numba compiles min, max and int as functions, down to machine code.
    """
    name = getattr(function, "typing_key", None)
    kinds = tuple(types.unliteral(kind) for kind in arguments)
    if name in _EXTREMES and kinds in ((_REAL, _REAL), (_WHOLE, _WHOLE)):
        return typing.signature(kinds[0], *kinds)
    if name is int and kinds in ((_REAL,), (_WHOLE,)):
        return typing.signature(_WHOLE, *kinds)
    return None


class _Lower(lowering.Lower):  # type: ignore[misc]  # numba is not typed
    """Generates the code of a leaf."""

    def lower_binop(self, kind: Any, expression: Any, operation: Any) -> Any:
        """Emit arithmetic; numba looks for it up to four times."""
        signature = self.fndesc.calltypes[expression]
        left, right = signature.args
        emit = _ARITHMETIC.get((operation, left)) if left == right else None
        if emit is None:
            return super().lower_binop(kind, expression, operation)
        a, b = self._cast_var(expression.lhs, left), self._cast_var(expression.rhs, right)
        value = emit(self.builder, a, b)
        return self.context.cast(self.builder, value, signature.return_type, kind)

    def _lower_call_normal(self, function: Any, expression: Any, signature: Any) -> Any:
        if _builtin(function, signature.args) is None:
            return super()._lower_call_normal(function, expression, signature)
        kind = signature.args[0]
        values = [self._cast_var(argument, kind) for argument in expression.args]
        if function.typing_key is int:
            return self.context.cast(self.builder, values[0], kind, _WHOLE)
        a, b = values
        wins = _ARITHMETIC[_EXTREMES[function.typing_key], kind](self.builder, b, a)
        return self.builder.select(wins, b, a)


@register_pass(mutates_CFG=True, analysis_only=False)
class Lowering(typed_passes.BaseNativeLowering):  # type: ignore[misc]  # numba is not typed
    """Lowers a leaf."""

    _name = "lowering_of_leaves"

    @property
    def lowering_class(self) -> Any:
        """Return what does it."""
        return _Lower


# --- What numba finds out ------------------------------------------------------------------------

# Four of numba's passes end with a look at where every variable lives, an eighth of its part of a
# cold start. Only reference counts and generators ask for that, and leaves have neither.


@register_pass(mutates_CFG=True, analysis_only=False)
class Preparing(FunctionPass):  # type: ignore[misc]  # numba is not typed
    """Gives every loop one way back, and constant indices to entries of vectors and of codes."""

    _name = "preparing_of_leaves"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Prepare a leaf for typing."""
        function = state.func_ir
        function.blocks = canonicalize_cfg(function.blocks)
        for rewrite in (RewriteConstGetitems(state), RewriteConstSetitems(state)):
            for label, block in list(function.blocks.items()):
                if rewrite.match(function, block, state.typemap, state.calltypes):
                    function.blocks[label] = rewrite.apply()
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class Naming(FunctionPass):  # type: ignore[misc]  # numba is not typed
    """Gives every assignment a variable of its own."""

    _name = "naming_of_leaves"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Name the variables of a leaf."""
        state.func_ir = reconstruct_ssa(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class Stripping(typed_passes.PreLowerStripPhis):  # type: ignore[misc]  # numba is not typed
    """Takes out the choices between variables of different ways."""

    _name = "stripping_of_leaves"

    def run_pass(self, state: Any) -> bool:
        """Strip a leaf before it is lowered."""
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


# --- What numba is asked -------------------------------------------------------------------------

_SIGNATURES: dict[Any, Any] = {}
_ATTRIBUTES: dict[Any, Any] = {}


class Remembering:
    """A typing context that remembers its answers, which depend on nothing but the types.

    numba tries a dozen templates for every ``+``, and inspects the signature of most of them.
    """

    def __init__(self, context: Any, *, emits: bool) -> None:
        """``emits`` says that ``Lowering`` will emit the calls which it can."""
        self._context = context
        self._emits = emits

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, arguments: Any, keywords: Any) -> Any:
        """Return the signature of a call; a refusal is not remembered.

        A leaf that is called with constants is compiled once for all of them: it is inlined anyway.
        """
        if isinstance(function, types.Dispatcher):
            arguments = tuple(getattr(kind, "literal_type", kind) for kind in arguments)
        key = (function, arguments, tuple(keywords.items()), self._emits)
        if key not in _SIGNATURES:
            emitted = self._emits and not keywords
            signature = _builtin(function, arguments) if emitted else None
            if signature is None:
                signature = self._context.resolve_function_type(function, arguments, keywords)
            if signature is None:
                return None
            _SIGNATURES[key] = signature
        return _SIGNATURES[key]

    def resolve_getattr(self, kind: Any, name: str) -> Any:
        """Return the type of an attribute."""
        key = (kind, name)
        if key not in _ATTRIBUTES:
            found = self._context.resolve_getattr(kind, name)
            if found is None:
                return None
            _ATTRIBUTES[key] = found
        return _ATTRIBUTES[key]


class Passes(PassManager):  # type: ignore[misc]  # numba is not typed
    """Runs the passes of a leaf; numba also times, announces and checks each."""

    def _runPass(self, index: int, step: Any, state: Any) -> None:  # noqa: N802  # numba's name
        step.analysis = self._analysis
        step.run_pass(state)
