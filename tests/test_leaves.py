"""Leaves give the same bits whichever way they are compiled; ``belated.kernels.lean`` has one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


def test_arithmetic_of_leaves_is_pythons_and_numbas(python: Python, tmp_path: Path) -> None:
    def values(name: str, **environment: str) -> str:
        cache = str(tmp_path / name)
        return python("shortcut_values.py", NUMBA_CACHE_DIR=cache, **environment)

    lean = values("lean", BELATED_PLAIN_LEAVES="0")
    assert lean == values("plain", BELATED_PLAIN_LEAVES="1")
    assert lean == values("interpreted", NUMBA_DISABLE_JIT="1")
