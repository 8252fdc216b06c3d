"""Emits the expressions of a leaf: names, operators, entries of vectors, calls."""

from __future__ import annotations

import ast
import builtins
import operator
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import NumbaError

from belated.kernels.codes import Composition
from belated.kernels.leaves import arithmetic
from belated.kernels.leaves.arithmetic import cast, common, value_of
from belated.kernels.leaves.trees import RefusedError, Tree, refused
from belated.kernels.leaves.values import (
    REAL,
    TRUTH,
    WHOLE,
    Known,
    Operand,
    Register,
    Value,
    layout,
    member,
)
from belated.kernels.vectors import Vector, tagged

OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
}
_CONVERSIONS: dict[Any, type] = {
    int: int,
    float: float,
    bool: bool,
    np.int64: int,
    np.float64: float,
}
INT = ir.IntType(64)
# What Python and numba raise about something that a leaf cannot do.
_WRONG = (NumbaError, NotImplementedError, TypeError, ValueError, LookupError, AttributeError)


class WidenError(Exception):
    """A variable that began as an int becomes a float later; says which, and what it has to be."""

    def __init__(self, name: str, kind: Any) -> None:
        super().__init__(name)
        self.name, self.kind = name, kind


class Expressions:
    """Emits the expressions of one leaf into a function of LLVM's."""

    def __init__(
        self,
        source: Callable[..., Any],
        tree: Tree,
        arguments: list[Operand],
        function: Any,
        call: Callable[[Any, Any, list[Operand]], Operand | None],
        wide: dict[str, Any],
    ) -> None:
        """``call`` emits the call of another leaf; ``wide`` has kinds that variables must have."""
        self.builder = ir.IRBuilder(function.append_basic_block())
        self._call_leaf = call
        self._function = function
        self._source = source
        self._tree = tree
        self._wide = wide
        self._names: dict[str, Operand] = {}
        self._slots: dict[str, tuple[Any, list[Register]]] = {}
        self._outer = _outer_names(source)
        for name, argument in zip(tree.parameters, arguments, strict=True):
            self._set(name, argument)

    # --- Names -----------------------------------------------------------------------------------

    def _set(self, name: str, operand: Operand) -> None:
        """Let a name stand for a value."""
        if name not in self._tree.changing:
            self._names[name] = operand
            return
        value = value_of(operand)
        if name not in self._slots:
            kind = self._wide.get(name, value.kind)
            with self.builder.goto_entry_block():
                self._slots[name] = (kind, [self.builder.alloca(part) for part in layout(kind)])
        kind, places = self._slots[name]
        if kind != value.kind:
            wide = common([kind, value.kind])
            if wide is None:
                raise self._error(f"{name} is {kind} and then {value.kind}")
            if wide != kind:
                raise WidenError(name, wide)
        for place, part in zip(places, cast(self.builder, value, kind).parts, strict=True):
            self.builder.store(part, place)

    def _Name(self, node: ast.Name) -> Operand:  # noqa: N802  # methods are named after nodes
        if node.id in self._names:
            return self._names[node.id]
        if node.id in self._slots:
            kind, places = self._slots[node.id]
            return Value(kind, tuple(self.builder.load(place) for place in places))
        if node.id in self._tree.variables:
            raise self._error(f"{node.id} is read before it is set")
        if node.id in self._outer:
            return Known(self._outer[node.id])
        raise self._error(f"{node.id} is not known")

    def _error(self, why: str) -> RefusedError:
        return refused(self._source, why)

    # --- Expressions -----------------------------------------------------------------------------

    def _visit(self, node: ast.AST) -> Any:
        visit = getattr(self, f"_{type(node).__name__}", None)
        if visit is None:
            raise self._error(f"leaves have no {type(node).__name__}: {_first_line(node)}")
        try:
            return visit(node)
        except RefusedError:
            raise
        except _WRONG as error:
            raise self._error(f"{_first_line(node)}: {error}") from error

    def _new_block(self) -> Any:
        return self._function.append_basic_block()

    def read(self, node: ast.expr) -> Operand:
        """Emit what an expression needs, and return its value."""
        found: Operand = self._visit(node)
        return found

    def _Constant(self, node: ast.Constant) -> Operand:  # noqa: N802
        if not isinstance(node.value, int | float | None):
            raise self._error(f"{node.value!r} is no number")
        return Known(node.value)

    def _Attribute(self, node: ast.Attribute) -> Operand:  # noqa: N802
        owner = self.read(node.value)
        if isinstance(owner, Known):
            return Known(getattr(owner.it, node.attr))
        if isinstance(owner.kind, types.BaseNamedTuple):
            return member(owner, owner.kind.fields.index(node.attr))
        if isinstance(owner.kind, Vector) and node.attr == "size":
            return Value(WHOLE, (owner.parts[1],))
        return arithmetic.ask_attribute(self.builder, owner, node.attr)

    def _Tuple(self, node: ast.Tuple) -> Operand:  # noqa: N802
        return arithmetic.tuple_of([self.read(each) for each in node.elts])

    def _BinOp(self, node: ast.BinOp) -> Operand:  # noqa: N802
        left, right = self.read(node.left), self.read(node.right)
        return arithmetic.binary(self.builder, self._operation(node.op), left, right)

    def _operation(self, sign: ast.AST) -> Any:
        if type(sign) not in OPERATORS:
            raise self._error(f"leaves have no {type(sign).__name__}")
        return OPERATORS[type(sign)]

    def _UnaryOp(self, node: ast.UnaryOp) -> Operand:  # noqa: N802
        if isinstance(node.op, ast.Not):
            holds = self._condition(node.operand)
            if isinstance(holds, Known):
                return Known(not holds.it)
            return Value(TRUTH, (self.builder.not_(holds.parts[0]),))
        operand, operation = self.read(node.operand), self._operation(node.op)
        if isinstance(operand, Known):
            return Known(operation(operand.it))
        return arithmetic.ask_numba(self.builder, operation, [operand])

    def _condition(self, node: ast.expr) -> Operand:
        if isinstance(node, ast.BoolOp):
            return self._any_or_all(node, self._condition)
        return arithmetic.truth(self.builder, self.read(node))

    def _Compare(self, node: ast.Compare) -> Operand:  # noqa: N802
        sides = [self.read(node.left)]

        def holds(number: int) -> Operand:
            sides.append(self.read(node.comparators[number]))
            operation = self._operation(node.ops[number])
            return arithmetic.binary(self.builder, operation, sides[number], sides[number + 1])

        return self._until(False, [partial(holds, number) for number in range(len(node.ops))])

    def _BoolOp(self, node: ast.BoolOp) -> Operand:  # noqa: N802
        return self._any_or_all(node, self._is_true)

    def _is_true(self, node: ast.expr) -> Operand:
        """Emit what is true or false; of numbers, Python's ``and`` and ``or`` return one."""
        operand = self.read(node)
        if value_of(operand).kind != TRUTH:
            raise self._error(f"{ast.unparse(node)} is neither true nor false, and no condition")
        return operand

    def _any_or_all(self, node: ast.BoolOp, of_each: Callable[[ast.expr], Operand]) -> Operand:
        conditions = [partial(of_each, each) for each in node.values]
        return self._until(isinstance(node.op, ast.Or), conditions)

    def _until(self, stop: bool, conditions: Sequence[Callable[[], Operand]]) -> Operand:
        """Return ``stop`` as soon as a condition is that, or else that none was."""
        after: Any = None
        ways: list[tuple[Any, Register]] = []
        last: Operand = Known(not stop)
        for number, condition in enumerate(conditions):
            last = condition()
            if isinstance(last, Known):
                if last.it == stop:
                    break
                continue
            if number + 1 < len(conditions):
                after = after or self._new_block()
                ways.append((self.builder.block, last.parts[0]))
                go_on = self._new_block()
                self.builder.cbranch(last.parts[0], *((after, go_on) if stop else (go_on, after)))
                self.builder.position_at_end(go_on)
        if after is None:
            return last
        ways.append((self.builder.block, value_of(last).parts[0]))
        self.builder.branch(after)
        self.builder.position_at_end(after)
        return Value(TRUTH, (self._either(ways),))

    def _either(self, ways: list[tuple[Any, Register]]) -> Register:
        """Return the register of the way that was taken."""
        met = self.builder.phi(ways[0][1].type)
        for block, register in ways:
            met.add_incoming(register, block)
        return met

    def _IfExp(self, node: ast.IfExp) -> Operand:  # noqa: N802
        condition = self._condition(node.test)
        if isinstance(condition, Known):
            return self.read(node.body if condition.it else node.orelse)
        then, otherwise, after = (self._new_block() for _ in range(3))
        self.builder.cbranch(condition.parts[0], then, otherwise)
        ends = []
        for block, each in ((then, node.body), (otherwise, node.orelse)):
            self.builder.position_at_end(block)
            value = value_of(self.read(each))
            ends.append((self.builder.block, value))
        kind = common([value.kind for _, value in ends])
        if kind is None:
            raise self._error(f"{ast.unparse(node)} has two kinds")
        ways = []
        for block, value in ends:
            self.builder.position_at_end(block)
            ways.append((block, cast(self.builder, value, kind).parts))
            self.builder.branch(after)
        self.builder.position_at_end(after)
        each_part = range(len(layout(kind)))
        return Value(
            kind,
            tuple(self._either([(block, parts[i]) for block, parts in ways]) for i in each_part),
        )

    # --- Entries of vectors, members of tuples ---------------------------------------------------

    def _Subscript(self, node: ast.Subscript) -> Operand:  # noqa: N802
        owner = self.read(node.value)
        if isinstance(node.slice, ast.Slice):
            return self._part(value_of(owner), node.slice)
        index = self.read(node.slice)
        if isinstance(owner, Known) and isinstance(index, Known):
            return Known(owner.it[index.it])
        owner = value_of(owner)
        if isinstance(owner.kind, Vector):
            return self._load(self._entry(owner, index))
        if isinstance(index, Known) and isinstance(owner.kind, types.BaseTuple | Composition):
            return self._member(owner, index.it)
        if isinstance(owner.kind, types.UniTuple):
            return self._choice(owner, index)
        return arithmetic.ask_numba(self.builder, operator.getitem, [owner, index])

    def _choice(self, owner: Value, index: Operand) -> Operand:
        """Return the member of a tuple whose number is found out while running."""
        place = self._whole(index)
        is_from_end = self.builder.icmp_signed("<", place, INT(0))
        from_end = self.builder.add(place, INT(owner.kind.count))
        place = self.builder.select(is_from_end, from_end, place)
        chosen = member(owner, 0)
        for number in range(1, owner.kind.count):
            is_it = self.builder.icmp_signed("==", place, INT(number))
            each = zip(member(owner, number).parts, chosen.parts, strict=True)
            parts = tuple(self.builder.select(is_it, new, old) for new, old in each)
            chosen = Value(chosen.kind, parts)
        return chosen

    def _member(self, operand: Operand, number: int) -> Operand:
        """Return one member of a tuple, or what a slot of a code holds."""
        if isinstance(operand, Known):
            return Known(operand.it[number])
        if isinstance(operand.kind, Composition):
            return Known(operand.kind.at(number))
        if isinstance(operand.kind, types.BaseTuple):
            return member(operand, range(len(operand.kind.types))[number])
        raise self._error(f"{operand.kind} has no members")

    def _place(self, node: ast.Subscript) -> tuple[Any, Register]:
        """Return the kind and the address of an entry."""
        owner = value_of(self.read(node.value))
        if not isinstance(owner.kind, Vector):
            raise self._error(f"cannot write to an entry of {owner.kind}")
        return self._entry(owner, self.read(node.slice))

    def _entry(self, vector: Value, index: Operand) -> tuple[Any, Register]:
        place = self._inside(index)
        return vector.kind.dtype, self.builder.gep(vector.parts[0], [place])

    def _whole(self, operand: Operand) -> Register:
        """Return an int; no float is cut off where Python would refuse it."""
        value = value_of(operand)
        if not isinstance(value.kind, types.Integer | types.Boolean):
            raise self._error(f"{value.kind} stands where an int is wanted")
        return cast(self.builder, value, WHOLE).parts[0]

    def _inside(self, operand: Operand) -> Register:
        """Return an index or a bound; vectors do not count from their end."""
        if isinstance(operand, Known) and operand.it < 0:
            raise self._error(f"{operand.it} is not inside of a vector")
        return self._whole(operand)

    def _load(self, place: tuple[Any, Register]) -> Operand:
        kind, address = place
        return Value(kind, (tagged(self.builder, self.builder.load(address), str(kind)),))

    def _store(self, place: tuple[Any, Register], operand: Operand) -> None:
        kind, address = place
        value = cast(self.builder, value_of(operand), kind)
        tagged(self.builder, self.builder.store(value.parts[0], address), str(kind))

    def _part(self, vector: Value, bounds: ast.Slice) -> Operand:
        """v[a:b]: the part from a up to b, both inside."""
        if not isinstance(vector.kind, Vector) or bounds.upper is None or bounds.step:
            raise self._error("a part is one of a vector, says where it ends, and has no step")
        start = self._inside(Known(0) if bounds.lower is None else self.read(bounds.lower))
        stop = self._inside(self.read(bounds.upper))
        place = self.builder.gep(vector.parts[0], [start])
        return Value(vector.kind, (place, self.builder.sub(stop, start, flags=["nsw"])))

    # --- Calls -----------------------------------------------------------------------------------

    def _Call(self, node: ast.Call) -> Operand:  # noqa: N802
        if isinstance(node.func, ast.Attribute) and node.func.attr == "view":
            return self._view(self.read(node.func.value), self.read(node.args[0]))
        called = self.read(node.func)
        if not isinstance(called, Known):
            raise self._error(f"cannot call {ast.unparse(node)}")
        function = called.it
        if isinstance(function, type) and issubclass(function, tuple):
            return self._named_tuple(node, function)
        if node.keywords:
            raise self._error(f"cannot call {ast.unparse(node)}")
        operands = [self.read(each) for each in node.args]
        made = self._call_leaf(self.builder, function, operands)
        if made is not None:
            return made
        if hasattr(function, "slots"):
            return self._cleared(operands[0], function.slots)
        if function in (min, max):
            return arithmetic.extreme(self.builder, function, operands)
        if function in _CONVERSIONS and len(operands) == 1:
            return arithmetic.number(self.builder, _CONVERSIONS[function], operands[0])
        return arithmetic.ask_numba(self.builder, function, operands)

    def _named_tuple(self, node: ast.Call, kind: type) -> Operand:
        """Return a named tuple, whose fields are given in their order, by their names, or both."""
        fields = getattr(kind, "_fields", ())
        given = [self.read(each) for each in node.args]
        named = {each.arg: self.read(each.value) for each in node.keywords}
        rest = fields[len(given) :]
        if len(given) > len(fields) or named.keys() != set(rest):
            raise self._error(f"{ast.unparse(node)} is not a named tuple with all its fields")
        return arithmetic.tuple_of([*given, *(named[field] for field in rest)], kind)

    def _cleared(self, code: Operand, slots: tuple[int, ...]) -> Operand:
        """Return a code without its other slots; see ``choices.only``."""
        held = [self._slot(code, slot) if slot in slots else 0 for slot in range(max(slots) + 1)]
        return Value(Composition(tuple(held)), ())

    def _slot(self, code: Operand, slot: int) -> int:
        found = self._member(code, slot)
        if not isinstance(found, Known):
            raise self._error("a code is not a constant")
        return int(found.it)

    def _view(self, operand: Operand, kind: Operand) -> Operand:
        """x.view(np.int64): the bits of a float as an int, or the other way round."""
        value = value_of(operand)
        if value.kind not in (WHOLE, REAL) or kind not in (Known(np.int64), Known(np.float64)):
            raise self._error("a view is one of an int or a float, as np.int64 or np.float64")
        made = WHOLE if kind == Known(np.int64) else REAL
        (register,) = value.parts
        return Value(made, (self.builder.bitcast(register, *layout(made)),))


def _first_line(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0]


def _outer_names(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return all that a function sees around it."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    inner = {name: cell.cell_contents for name, cell in cells}
    return ChainMap(inner, function.__globals__, vars(builtins))
