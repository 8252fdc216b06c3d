"""The source of a leaf as a tree, and which of its variables need a place in memory."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_Blocks = tuple[int, ...]
"""Numbers of the blocks around a place, the outermost first."""
_Use = tuple[str, _Blocks, bool]
"""A name, where it stands, and whether it is set there."""


class RefusedError(TypeError):
    """Something is no leaf; says which, and why."""


def refused(function: Callable[..., Any], why: str) -> RefusedError:
    """Return the error that refuses a leaf."""
    return RefusedError(f"{function.__module__}.{function.__qualname__}: {why}")


class Tree(NamedTuple):
    """The body of a leaf."""

    parameters: list[str]
    body: list[ast.stmt]
    variables: frozenset[str]
    """All names that are set somewhere: as in Python, none of them is then one from outside."""
    changing: frozenset[str]
    """Variables whose value depends on the way that was taken; others name one value at a time."""


def read(function: Callable[..., Any]) -> Tree:
    """Return the tree of a function; one that was made from text has it as ``source``."""
    definition = _definition(function)
    given = definition.args
    if given.defaults or given.kwonlyargs or given.vararg or given.kwarg:
        raise refused(function, "arguments of leaves have no defaults, no stars and no keywords")
    parameters = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    uses = list(_uses(definition.body))
    variables = frozenset(parameters).union(name for name, _, is_set in uses if is_set)
    return Tree(parameters, definition.body, variables, _changing(parameters, uses))


def _definition(function: Callable[..., Any]) -> ast.FunctionDef:
    source = getattr(function, "source", None) or _source(function)
    # One that stands inside of something else is indented, though not all of its lines need be.
    (statement,) = ast.parse(f"if 1:\n{source}" if source[0].isspace() else source).body
    definition = statement.body[0] if isinstance(statement, ast.If) else statement
    if not isinstance(definition, ast.FunctionDef):
        raise refused(function, "a leaf is a function that is defined with def")
    return definition


def _source(function: Callable[..., Any]) -> str:
    file, first = function.__code__.co_filename, function.__code__.co_firstlineno
    if _ON_DISK.get(file) != _state(file):
        raise refused(function, f"{file} has changed since it was imported; begin a new process")
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if not lines:
        raise refused(function, f"{file} is not there; with BELATED_PLAIN_LEAVES=1 it need not be")
    return "".join(inspect.getblock(lines[first - 1 :]))


_ON_DISK: dict[str, tuple[int, int] | None] = {}  # the files of leaves, as they were imported


def note(function: Callable[..., Any]) -> None:
    """Remember the file of a function: one that is edited, or upgraded in use, is not read."""
    file = function.__code__.co_filename
    _ON_DISK[file] = _state(file)


def _state(file: str) -> tuple[int, int] | None:
    """Return what tells a file from an edited one; None if it is not a file."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _changing(parameters: list[str], uses: list[_Use]) -> frozenset[str]:
    """Return the variables that are set in two blocks, or read outside of the one that sets them.

    Within one block what was set last is what is read, so such a variable is only a name.
    """
    places: dict[str, _Blocks] = dict.fromkeys(parameters, (0,))
    read: list[tuple[str, _Blocks]] = []
    changing = set()
    for name, blocks, is_set in uses:
        if not is_set:
            read.append((name, blocks))
        elif places.setdefault(name, blocks) != blocks:
            changing.add(name)
    for name, blocks in read:
        place = places.get(name)
        if place is not None and blocks[: len(place)] != place:
            changing.add(name)
    return frozenset(changing)


def _uses(body: list[ast.stmt]) -> Iterator[_Use]:
    """Go through all names."""
    numbers = iter(range(1 << 30))

    def walk(node: ast.AST, blocks: _Blocks) -> Iterator[_Use]:
        if isinstance(node, ast.Name):
            yield node.id, blocks, isinstance(node.ctx, ast.Store)
            return
        for field, inside in ast.iter_fields(node):
            if field in ("body", "orelse") and isinstance(inside, list):
                yield from block(inside, blocks, node.target if isinstance(node, ast.For) else None)
            elif isinstance(inside, list):
                for each in inside:
                    if isinstance(each, ast.AST):  # some statements have lists of names
                        yield from walk(each, blocks)
            elif isinstance(inside, ast.AST) and not (
                isinstance(node, ast.For) and field == "target"
            ):
                yield from walk(inside, blocks)

    def block(
        statements: list[ast.stmt], around: _Blocks, target: ast.AST | None = None
    ) -> Iterator[_Use]:
        blocks = (*around, next(numbers))
        if target is not None:  # the variable of a loop is set in its body
            yield from walk(target, blocks)
        for statement in statements:
            yield from walk(statement, blocks)

    return block(body, ())
