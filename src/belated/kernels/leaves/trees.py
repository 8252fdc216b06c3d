"""The source of a leaf as a tree, and which of its variables need a place in memory."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_Blocks = tuple[int, ...]
"""Numbers of the blocks around a place, the outermost first."""


class Tree(NamedTuple):
    """The body of a leaf."""

    parameters: list[str]
    body: list[ast.stmt]
    changing: frozenset[str]
    """Variables whose value depends on the way that was taken; others name one value at a time."""


def read(function: Callable[..., Any]) -> Tree:
    """Return the tree of a function; one that was made from text has it as ``source``."""
    source = getattr(function, "source", None)
    if source is None:
        code = function.__code__
        lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
        source = textwrap.dedent("".join(inspect.getblock(lines)))
    definition = ast.parse(source).body[0]
    assert isinstance(definition, ast.FunctionDef)
    parameters = [argument.arg for argument in definition.args.args]
    return Tree(parameters, definition.body, _changing(parameters, definition.body))


def _changing(parameters: list[str], body: list[ast.stmt]) -> frozenset[str]:
    """Return the variables that are set in two blocks, or read outside of the one that sets them.

    Within one block what was set last is what is read, so such a variable is only a name.
    """
    places: dict[str, _Blocks] = dict.fromkeys(parameters, (0,))
    read: list[tuple[str, _Blocks]] = []
    changing = set()
    for name, blocks, is_set in _uses(body):
        if not is_set:
            read.append((name, blocks))
        elif places.setdefault(name, blocks) != blocks:
            changing.add(name)
    for name, blocks in read:
        place = places.get(name)
        if place is not None and blocks[: len(place)] != place:
            changing.add(name)
    return frozenset(changing)


def _uses(body: list[ast.stmt]) -> Iterator[tuple[str, _Blocks, bool]]:
    """Go through all names: what is used, in which blocks, and whether it is set there."""
    numbers = iter(range(1 << 30))

    def walk(node: ast.AST, blocks: _Blocks) -> Iterator[tuple[str, _Blocks, bool]]:
        if isinstance(node, ast.Name):
            yield node.id, blocks, isinstance(node.ctx, ast.Store)
            return
        for field, inside in ast.iter_fields(node):
            if field in ("body", "orelse") and isinstance(inside, list):
                yield from block(inside, blocks, node.target if isinstance(node, ast.For) else None)
            elif isinstance(inside, list):
                for each in inside:
                    yield from walk(each, blocks)
            elif isinstance(inside, ast.AST) and not (
                isinstance(node, ast.For) and field == "target"
            ):
                yield from walk(inside, blocks)

    def block(
        statements: list[ast.stmt], around: _Blocks, target: ast.AST | None = None
    ) -> Iterator[tuple[str, _Blocks, bool]]:
        blocks = (*around, next(numbers))
        if target is not None:  # the variable of a loop is set in its body
            yield from walk(target, blocks)
        for statement in statements:
            yield from walk(statement, blocks)

    return block(body, ())
