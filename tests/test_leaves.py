"""Leaves give the same bits whichever way they are compiled; ``belated.kernels.leaves`` is one."""

from __future__ import annotations

import ast
import importlib
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import types
from numba.core.registry import cpu_target

from belated.arrays import Code
from belated.kernels import jit, leaves, stamps
from belated.kernels.choices import only, switch
from belated.kernels.codes import Composition
from belated.kernels.jit import entry, leaf, limb
from belated.kernels.leaves import calls, trees
from belated.kernels.leaves.library import Leaf, Limb
from belated.kernels.linear import entries
from belated.kernels.vectors import Vector
from conftest import Python


def test_leaves_mean_what_python_and_numba_mean(python: Python, tmp_path: Path) -> None:
    def values(name: str, **environment: str) -> str:
        cache = str(tmp_path / name)
        return python("leaf_values.py", NUMBA_CACHE_DIR=cache, **environment)

    emitted = values("emitted", BELATED_PLAIN_LEAVES="0")
    assert emitted == values("plain", BELATED_PLAIN_LEAVES="1")
    assert emitted == values("interpreted", NUMBA_DISABLE_JIT="1")


@pytest.mark.needs_compiler
@pytest.mark.compiled
@pytest.mark.skipif(not jit.EMITS, reason="numba says it in its own words")
def test_what_is_no_leaf_is_refused_in_words() -> None:
    @leaf
    def has_a_list(x: float) -> float:
        return sum([x, x])

    @leaf
    def has_two_kinds(x: float) -> float:
        y = (x, x)
        if x > 0.0:
            y = x  # type: ignore[assignment]
        return y[0]

    @leaf
    def may_return_nothing(x: float) -> float | None:
        return x if x > 0.0 else None

    for wrong, why in (
        (has_a_list, "leaves have no List"),
        (has_two_kinds, r"y is UniTuple\(float64 x 2\) and then float64"),
        (may_return_nothing, "x if x > 0.0 else None has two kinds"),
    ):
        with pytest.raises(TypeError, match=f"{wrong.__qualname__}: {why}"):
            calls.emitted(wrong.made_from, (types.float64,))  # type: ignore[attr-defined]


class _Pair(NamedTuple):
    left: float
    right: float


_REAL, _WHOLE, _CODE = types.float64, types.int64, Composition((0, 1))
_VECTOR, _PAIR = Vector(_REAL), types.NamedUniTuple(_REAL, 2, _Pair)
_HERE: dict[str, Any] = {
    "np": np,
    "pair_of": _Pair,
    "outside": 1.0,
    "text": "a",
    "unsigned": np.uint64(5),
}
# A body, what it is given, and words of the refusal; each would be a wrong result, or an error that
# says nothing of the leaf.
_REFUSED = (
    ("while x: continue", _REAL, "no Continue"),
    ("return x ** 2", _REAL, "no Pow"),
    ("x **= 2", _REAL, "no Pow"),
    ("return x is None", _REAL, "no Is"),
    ("return +x", _REAL, "no UAdd"),
    ("global outside", _REAL, "no Global"),
    ("return 'a' == x", _REAL, "'a' is no number"),
    ("return text", _REAL, "'a' cannot stand in a register"),
    ("return x + unsigned", _WHOLE, "cannot stand in a register"),
    ("return x or 5.0", _REAL, "x is neither true nor false"),
    ("a, b = x, x, x", _REAL, "3 members cannot be 2 variables"),
    ("a, b, c = x, x", _REAL, "2 members cannot be 3 variables"),
    ("return (x, x)[2]", _REAL, "out of range"),
    ("return (x, x)[x]", _REAL, "an int is wanted"),
    ("return x[-1]", _CODE, "a code has no slot -1"),
    ("return x[-1]", _VECTOR, "-1 is not inside of a vector"),
    ("return x[0:-1]", _VECTOR, "-1 is not inside of a vector"),
    ("return x[0:4:2]", _VECTOR, "has no step"),
    ("return x[1.0]", _VECTOR, "an int is wanted"),
    ("x[0] = None", _VECTOR, "x.0. = None"),
    ("x.left += 1.0", _PAIR, "cannot write to x.left"),
    ("return x.middle", _PAIR, "x.middle"),
    ("return x.nothing", _REAL, "x.nothing"),
    ("return pair_of(x).left", _REAL, "a named tuple with all its fields"),
    ("return pair_of(x, left=x).left", _REAL, "a named tuple with all its fields"),
    ("return pair_of(left=x, middle=x).left", _REAL, "a named tuple with all its fields"),
    ("return abs(x=x)", _REAL, "cannot call abs.x=x."),
    ("return min((x, 2.0))", _REAL, "two numbers or more"),
    ("return int(x, 2)", _REAL, "int.x, 2."),
    ("return np.float64(x, x)", _REAL, "numba cannot call"),
    ("return np.float64(x).view(np.uint64)", _REAL, "a view is"),
    ("for i in range(x): pass", _REAL, "an int is wanted"),
    ("for i in range(0, x, 0): pass", _WHOLE, "the step of a loop"),
    ("for i in range(0, 1, 2, 3): pass", _REAL, "one to three bounds"),
    ("for i in range(x): outside += 1.0", _WHOLE, "outside is read before it is set"),
    ("while True: x += 1.0", _REAL, "it never returns"),
    ("y = 1.0\n    if x: y = (x, x)", _REAL, "y is float64 and then"),
    ("if (x, x): pass", _REAL, "if .x, x.:"),
    ("return given(x)", _REAL, "it calls itself"),
    ("return given(x, x)", _REAL, "it takes 1 arguments, not 2"),
)


@pytest.mark.needs_compiler
@pytest.mark.compiled
@pytest.mark.skipif(not jit.EMITS, reason="numba says it in its own words")
def test_nothing_is_taken_for_something_else() -> None:
    cpu_target.typing_context.refresh()  # as numba does before it compiles an entry
    cpu_target.target_context.refresh()
    for body, kind, why in _REFUSED:
        with pytest.raises(TypeError, match=rf"here.given: (?s:.)*{why}"):
            calls.emitted(_made(f"def given(x):\n    {body}\n").made_from, (kind,))
    for arguments in ("x, y=1.0", "x, *y", "x, *, y", "x, **y"):
        with pytest.raises(TypeError, match=r"here.given: arguments of leaves have no"):
            calls.emitted(_made(f"def given({arguments}): return x").made_from, (_REAL,))


def _made(source: str) -> Any:
    names = {**_HERE, "__name__": "here"}
    exec(source, names)
    names["given"].source = source
    names["given"] = leaf(names["given"])
    return names["given"]


def test_the_source_is_that_which_was_imported(tmp_path: Path) -> None:
    file = tmp_path / "a_leaf.py"
    file.write_text(SOMEWHERE)
    found = _imported(file)["around"](3.0)
    trees.note(found)
    assert ast.unparse(trees.read(found).body[-1]) == "return x + k"
    file.write_text(SOMEWHERE.replace("x + k", "x - 1.0 * k"))
    with pytest.raises(TypeError, match=r"inside: .*a_leaf.py has changed since it was imported"):
        trees.read(found)
    file.unlink()
    trees.note(found)
    with pytest.raises(TypeError, match=r"inside: .*a_leaf.py is not there; with BELATED_PLAIN"):
        trees.read(found)
    trees.note(unnamed := lambda x: x)
    with pytest.raises(TypeError, match=r"lambda>: a leaf is a function that is defined with def"):
        trees.read(unnamed)


def test_sources_are_found_in_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("of_an_archive.py", "def given(x):\n    return x + 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path / "packed.zip"))
    module = importlib.import_module("of_an_archive")
    trees.note(module.given)
    assert ast.unparse(trees.read(module.given).body[0]) == "return x + 1.0"
    assert stamps.stamp(module.__name__) > 0


SOMEWHERE = """
def around(k):
\tdef inside(
\t\tx
\t):
\t\t'''Has lines that stand
outside.
\t\t'''
# And this one.
\t\treturn x + k
\treturn inside
"""


def _imported(file: Path) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names


@pytest.mark.needs_compiler
@pytest.mark.compiled
@pytest.mark.skipif(not jit.EMITS, reason="the room of leaves is then not used")
def test_entries_on_disk_depend_on_the_whole_room_of_leaves() -> None:
    """So an edit of it compiles anew, and plain leaves, which do without it, are kept apart."""
    room = {f"{leaves.__name__}.{file.stem}" for file in Path(leaves.__path__[0]).glob("[!_]*.py")}
    assert room <= stamps._below([entries.__name__])


@pytest.mark.needs_compiler
@pytest.mark.compiled
@pytest.mark.skipif(not jit.EMITS, reason="plain leaves leave that to LLVM")
def test_branches_that_a_code_does_not_take_are_never_typed() -> None:
    of_code, code = only(0, 1), (0, 1)

    @leaf
    def cannot_be_typed(x: float) -> float:
        return x.nothing  # type: ignore[attr-defined, no-any-return]

    @leaf
    def chosen(code: Code, x: float) -> float:
        if code[0] or code[1] == 2:
            return cannot_be_typed(x)
        if not code[1]:
            return cannot_be_typed(x)
        while code[0]:
            x = cannot_be_typed(x)
        return x + 1.0 if code[1] else cannot_be_typed(x)

    def run(x: float) -> float:
        return chosen(of_code(code), x)

    assert entry(run, "float64(float64)")(1.0) == 2.0


@pytest.mark.needs_compiler
@pytest.mark.compiled
@pytest.mark.skipif(not jit.EMITS, reason="numba keeps its own account of what is inlined")
def test_a_limb_that_is_chosen_stays_one() -> None:
    @leaf
    def small(code: Code, x: float) -> float:
        return x + 1.0

    @limb
    def large(code: Code, x: float) -> float:
        return x - 1.0

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    chosen: Any = switch(0, {0: small, 1: large})
    kept = [calls.emitted(chosen.made_from, (Composition((i,)), _REAL)) for i in (0, 1)]
    assert [type(found.library) for found in kept if found is not None] == [Leaf, Limb]
