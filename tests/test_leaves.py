"""Leaves give the same bits whichever way they are compiled; ``belated.kernels.leaves`` is one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from numba import types

from belated.arrays import Code
from belated.kernels import jit
from belated.kernels.choices import only
from belated.kernels.jit import entry, leaf
from belated.kernels.leaves import calls
from compositions import FEW
from conftest import Python

NAMES = [FEW[2].name]  # one that draws directions


@pytest.mark.needs_compiler  # the usual way is that of the laws, too
@pytest.mark.parametrize("plain", ["0", pytest.param("1", marks=pytest.mark.compiled)])
def test_both_ways_are_interpreted_bit_for_bit(plain: str, python: Python, tmp_path: Path) -> None:
    compiled = python(
        "compositions.py",
        *NAMES,
        NUMBA_CACHE_DIR=str(tmp_path),
        BELATED_PLAIN_LEAVES=plain,
    )
    interpreted = python("compositions.py", *NAMES, NUMBA_DISABLE_JIT="1")
    assert json.loads(compiled) == json.loads(interpreted)


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
        (has_two_kinds, "y is UniTuple"),
        (may_return_nothing, "x if x > 0.0 else None has two kinds"),
    ):
        with pytest.raises(TypeError, match=f"{wrong.__qualname__}: {why}"):
            calls.emitted(wrong.made_from, (types.float64,))  # type: ignore[attr-defined]


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
        return x + 1.0 if code[1] else cannot_be_typed(x)

    def run(x: float) -> float:
        return chosen(of_code(code), x)

    assert entry(run, "float64(float64)")(1.0) == 2.0
