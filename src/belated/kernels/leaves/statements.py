"""Emits a leaf: goes through the body once, in the order of the source."""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from belated.kernels.leaves import arithmetic
from belated.kernels.leaves.arithmetic import cast, common, value_of
from belated.kernels.leaves.expressions import INT, OPERATORS, Expressions
from belated.kernels.leaves.values import (
    WHOLE,
    Known,
    Operand,
    Register,
    Value,
    layout,
)


class Emitter(Expressions):
    """Emits one leaf into a function of LLVM's."""

    def __init__(self, *arguments: Any) -> None:
        """The arguments are those of ``Expressions``."""
        super().__init__(*arguments)
        self._returns: list[tuple[Any, Operand]] = []
        self._breaks: list[tuple[Any, list[Any]]] = []

    def emit(self) -> Any:
        """Emit the body; return the kind of the result."""
        if self._block(self._tree.body):
            self._returns.append((self.builder.block, Known(None)))
        kinds = [value_of(operand).kind for _, operand in self._returns]
        kind = common(kinds)
        if kind is None:
            raise self._error(f"it returns {set(kinds)}")
        self._set_result(layout(kind))
        for block, operand in self._returns:
            self.builder.position_at_end(block)
            self._return(cast(self.builder, value_of(operand), kind).parts)
        return kind

    def _set_result(self, parts: tuple[Any, ...]) -> None:
        """Say what the function returns, which is known only when it has been emitted."""
        made = result_of(parts)
        self._function.ftype = ir.FunctionType(made, self._function.ftype.args)
        self._function.return_value = ir.values.ReturnValue(self._function, made)

    def _return(self, parts: tuple[Register, ...]) -> None:
        if not parts:
            self.builder.ret_void()
        elif len(parts) == 1:
            self.builder.ret(parts[0])
        else:
            made: Register = ir.Constant(result_of([part.type for part in parts]), ir.Undefined)
            for number, part in enumerate(parts):
                made = self.builder.insert_value(made, part, number)
            self.builder.ret(made)

    # --- Statements ------------------------------------------------------------------------------

    def _block(self, statements: list[ast.stmt]) -> bool:
        """Emit statements until one goes elsewhere; tell whether the end is reached."""
        return all(self._visit(each) is not False for each in statements)

    def _Expr(self, node: ast.Expr) -> None:  # noqa: N802
        if not isinstance(node.value, ast.Constant):
            self.read(node.value)

    def _Pass(self, node: ast.Pass) -> None:  # noqa: N802
        pass

    def _Return(self, node: ast.Return) -> bool:  # noqa: N802
        operand = Known(None) if node.value is None else self.read(node.value)
        self._returns.append((self.builder.block, operand))
        return False

    def _Assign(self, node: ast.Assign) -> None:  # noqa: N802
        operand = self.read(node.value)
        for goal in node.targets:
            self._write(goal, operand)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:  # noqa: N802
        if node.value is not None:
            self._write(node.target, self.read(node.value))

    def _write(self, goal: ast.expr, operand: Operand) -> None:
        """Put a value where a name, an entry or several of them say."""
        if isinstance(goal, ast.Name):
            self._set(goal.id, operand)
        elif isinstance(goal, ast.Tuple):
            for number, each in enumerate(goal.elts):
                self._write(each, self._member(operand, number))
        elif isinstance(goal, ast.Subscript):
            self._store(self._place(goal), operand)
        else:
            raise self._error(f"cannot write to {ast.unparse(goal)}")

    def _AugAssign(self, node: ast.AugAssign) -> None:  # noqa: N802
        operation = OPERATORS[type(node.op)]
        if isinstance(node.target, ast.Name):
            old = self._Name(node.target)
            new = arithmetic.binary(self.builder, operation, old, self.read(node.value))
            self._set(node.target.id, new)
            return
        assert isinstance(node.target, ast.Subscript)
        place = self._place(node.target)
        old = self._load(place)
        self._store(place, arithmetic.binary(self.builder, operation, old, self.read(node.value)))

    def _If(self, node: ast.If) -> bool:  # noqa: N802
        condition = self._condition(node.test)
        if isinstance(condition, Known):
            return self._block(node.body if condition.it else node.orelse)
        then, after = self._new_block(), self._new_block()
        otherwise = self._new_block() if node.orelse else after
        self.builder.cbranch(condition.parts[0], then, otherwise)
        goes_on = not node.orelse
        for block, statements in ((then, node.body), (otherwise, node.orelse)):
            if statements:
                self.builder.position_at_end(block)
                names = dict(self._names)
                if self._block(statements):
                    self.builder.branch(after)
                    goes_on = True
                self._names = names
        if goes_on:
            self.builder.position_at_end(after)
        else:
            self._function.blocks.remove(after)
        return goes_on

    def _While(self, node: ast.While) -> bool:  # noqa: N802
        self._refuse_else(node)
        check, body, after = (self._new_block() for _ in range(3))
        self.builder.branch(check)
        self.builder.position_at_end(check)
        condition = self._condition(node.test)
        if isinstance(condition, Known) and condition.it:
            self.builder.branch(body)
            is_left = self._loop(node.body, body, after, check)
            if not is_left:
                self._function.blocks.remove(after)
            return is_left
        self.builder.cbranch(value_of(condition).parts[0], body, after)
        self._loop(node.body, body, after, check)
        return True

    def _refuse_else(self, node: ast.While | ast.For) -> None:
        if node.orelse:
            raise self._error("loops of leaves have no else")

    def _loop(self, statements: list[ast.stmt], body: Any, after: Any, again: Any) -> bool:
        """Emit the body of a loop, then stand after it; tell whether something breaks the loop."""
        self._breaks.append((after, []))
        self.builder.position_at_end(body)
        names = dict(self._names)
        if self._block(statements):
            self.builder.branch(again)
        self._names = names
        self.builder.position_at_end(after)
        return bool(self._breaks.pop()[1])

    def _For(self, node: ast.For) -> bool:  # noqa: N802
        self._refuse_else(node)
        if not (
            isinstance(node.iter, ast.Call)
            and isinstance(node.target, ast.Name)
            and self.read(node.iter.func) == Known(range)
        ):
            raise self._error("a loop goes over a range")
        bounds = [self.read(each) for each in node.iter.args]
        first = bounds[0] if len(bounds) > 1 else Known(0)
        step = bounds[2] if len(bounds) > 2 else Known(1)
        if not isinstance(step, Known):
            raise self._error("the step of a loop is not a constant")
        end, start = (
            cast(self.builder, value_of(bound), WHOLE).parts[0]
            for bound in (bounds[0] if len(bounds) == 1 else bounds[1], first)
        )
        before = self.builder.block
        check, body, again, after = (self._new_block() for _ in range(4))
        self.builder.branch(check)
        self.builder.position_at_end(check)
        counter = self.builder.phi(INT)
        counter.add_incoming(start, before)
        goes_on = self.builder.icmp_signed("<" if step.it > 0 else ">", counter, end)
        self.builder.cbranch(goes_on, body, after)
        self.builder.position_at_end(again)
        counter.add_incoming(self.builder.add(counter, INT(step.it), flags=["nsw"]), again)
        self.builder.branch(check)
        self.builder.position_at_end(body)
        self._set(node.target.id, Value(WHOLE, (counter,)))
        self._loop(node.body, body, after, again)
        return True

    def _Break(self, node: ast.Break) -> bool:  # noqa: N802
        after, ways = self._breaks[-1]
        ways.append(self.builder.block)
        self.builder.branch(after)
        return False


def result_of(parts: Any) -> Any:
    """Return the type of LLVM's for a result in some registers."""
    kinds = list(parts)
    if not kinds:
        return ir.VoidType()
    return kinds[0] if len(kinds) == 1 else ir.LiteralStructType(kinds)
