"""Compiled code on disk: found again, replaced when stale, and never in the way.

Every process here runs a private copy of the package with a private cache.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import belated
from conftest import Python

pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]

SCRIPT = """
import json, sys, warnings
warnings.simplefilter("default")
with warnings.catch_warnings(record=True) as caught:
    import numpy as np
    import belated as bl
    from belated.kernels import walk_entries
    parts = [walk_entries.predict(), walk_entries.observe(), walk_entries.cancel()]
    z = np.zeros(2)
    parts[1](z, np.array([0.5, 0.25]))
    parts[2](z)
    x = [parts[0](z, i) for i in range(2)]
hits = sum(sum(getattr(p, "stats").cache_hits.values()) for p in parts if hasattr(p, "stats"))
print(json.dumps({
    "x": x,
    "hits": hits,
    "warnings": [w.category.__name__ for w in caught],
    "text": " ".join(str(w.message) for w in caught),
    "file": bl.__file__,
    "scipy": "scipy.linalg" in sys.modules,
}))
"""
PLAY = [-0.25, -0.125]

LEAVES = '''
"""A leaf, in another file than the entries that call it."""
from belated.kernels.jit import leaf


@leaf
def moved(x: float, cost: float) -> float:
    return x - 0.5 * cost
'''

ENTRIES = '''
"""Three entries."""
from belated.kernels.jit import entry
from belated.kernels.stamps import stamp
from belated.kernels.walk import moved


def predict():
    code = stamp(__name__)

    def predict(z, i):
        return z[i] if code else 0.0

    return entry(predict, "float64(float64[::1], int64)")


def observe():
    code = stamp(__name__)

    def observe(z, cost):
        for i in range(z.size):
            z[i] = moved(z[i], cost[i]) if code else 0.0

    return entry(observe, "void(float64[::1], float64[::1])")


def cancel():
    code = stamp(__name__)

    def cancel(z):
        return z.size if code else 0

    return entry(cancel, "int64(float64[::1])")
'''


class Copy:
    """A private copy of the package and its cache."""

    def __init__(self, folder: Path, python: Python) -> None:
        self.source = folder / "src"
        self.cache = folder / "cache"
        self.python = python
        package = Path(belated.__file__).parent
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package, self.source / "belated", ignore=ignored)
        self.leaves = self.source / "belated" / "kernels" / "walk.py"
        self.leaves.write_text(LEAVES)
        self.leaves.with_name("walk_entries.py").write_text(ENTRIES)

    def run(self, before: str = "", after: str = "", **environment: str | None) -> dict[str, Any]:
        """Call three entries in a fresh process."""
        settings: dict[str, str | None] = {
            "PYTHONPATH": str(self.source),
            "NUMBA_CACHE_DIR": str(self.cache),
            "NUMBA_DISABLE_JIT": None,
            **environment,
        }
        result: dict[str, Any] = json.loads(self.python("-c", before + SCRIPT + after, **settings))
        assert result["file"].startswith(str(self.source))
        return result

    def files(self, suffix: str) -> dict[Path, bytes]:
        """Return the cache files of a kind, with their content."""
        return {file: file.read_bytes() for file in sorted(self.cache.rglob(f"*{suffix}"))}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, python: Python) -> Copy:
    """A copy that has run once, to be copied again."""
    copy = Copy(tmp_path_factory.mktemp("filled"), python)
    first = copy.run()
    assert first["x"] == PLAY
    assert first["hits"] == 0
    assert first["warnings"] == []
    return copy


@pytest.fixture
def copy(filled: Copy) -> Iterator[Copy]:
    """The filled copy; the cache is put back afterwards (its place is part of numba's key)."""
    kept = filled.cache.with_name("kept")
    shutil.copytree(filled.cache, kept)
    yield filled
    shutil.rmtree(filled.cache)
    kept.rename(filled.cache)


def test_a_second_process_compiles_nothing(copy: Copy) -> None:
    before = copy.files(".nbc")
    assert before
    again = copy.run()
    assert again["x"] == PLAY
    assert again["hits"] == 3
    assert copy.files(".nbc") == before
    assert not again["scipy"]


DOT = """
import numba, numpy as np
product = numba.njit(lambda a, b: np.dot(a, b))
assert product(np.ones((2, 3)), np.ones((3, 2))).tolist() == [[3.0, 3.0], [3.0, 3.0]]
assert "scipy.linalg" in sys.modules
"""


@pytest.mark.slow
def test_matrices_can_still_be_multiplied(copy: Copy) -> None:
    """Kernels do not look for a BLAS; other code of the process finds it."""
    assert copy.run(after=DOT)["x"] == PLAY


def test_an_edited_leaf_is_compiled_anew(copy: Copy) -> None:
    """The leaf stands in another file than the entries, which numba alone would not notice."""
    before = copy.files(".nbc")
    try:
        copy.leaves.write_text(LEAVES.replace("0.5", "1.0"))
        edited = copy.run()
        assert edited["x"] == [2.0 * value for value in PLAY]
        assert edited["hits"] == 0
        assert len(copy.files(".nbc")) > len(before)
        assert copy.run()["hits"] == 3
    finally:
        copy.leaves.write_text(LEAVES)
    assert copy.run()["x"] == PLAY


@pytest.mark.parametrize("suffix", [pytest.param(".nbi", marks=pytest.mark.slow), ".nbc"])
def test_a_torn_file_is_replaced(copy: Copy, suffix: str) -> None:
    """One is empty, one ends early, and one holds something else."""
    files = copy.files(suffix)
    assert len(files) > 2
    for number, (file, content) in enumerate(files.items()):
        other = b"\x80\x05" + b"garbage" * 10 + content[:20]
        file.write_bytes([b"", content[:11], other][number % 3])
    survived = copy.run()
    assert survived["x"] == PLAY
    assert survived["warnings"] == []
    repaired = copy.run()
    assert repaired["x"] == PLAY
    assert repaired["hits"] == 3


@pytest.mark.slow
def test_a_torn_file_of_one_entry_leaves_the_others(copy: Copy) -> None:
    torn = [file for file in copy.files(".nbc") if ".observe" in file.name]
    assert torn
    kept = {file: text for file, text in copy.files(".nbc").items() if file not in torn}
    for file in torn:
        file.write_bytes(b"")
    assert copy.run()["x"] == PLAY
    assert {file: text for file, text in copy.files(".nbc").items() if file in kept} == kept


READ_ONLY = """
import os, pathlib
import numba.core.caching as caching
def nowhere(*arguments, **keywords):
    raise OSError(30, "Read-only file system")
caching._CacheLocator.ensure_cache_path = nowhere
for kind in caching.CacheImpl._locator_classes:
    kind.ensure_cache_path = nowhere
"""


def test_nothing_writable_is_said_once(copy: Copy) -> None:
    """No file can be written beside the package, and there is no home and no cache folder."""
    outcome = copy.run(READ_ONLY, NUMBA_CACHE_DIR=None)
    assert outcome["x"] == PLAY
    assert outcome["warnings"] == ["CacheWarning"]
    assert "NUMBA_CACHE_DIR" in outcome["text"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_install(copy: Copy, tmp_path: Path) -> None:
    kernels = copy.source / "belated" / "kernels"
    kernels.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        outcome = copy.run(NUMBA_CACHE_DIR=None, HOME=str(tmp_path / "nobody"))
    finally:
        kernels.chmod(stat.S_IRWXU)
    assert outcome["x"] == PLAY


FULL_DISK = """
import numba.core.caching as caching
def full(self, *arguments, **keywords):
    raise OSError(28, "No space left on device")
caching.IndexDataCacheFile.save = full
"""


def test_a_full_disk_is_survived(copy: Copy) -> None:
    shutil.rmtree(copy.cache)
    outcome = copy.run(FULL_DISK)
    copy.cache.mkdir(exist_ok=True)
    assert outcome["x"] == PLAY
    assert set(outcome["warnings"]) <= {"CacheWarning"}
    assert outcome["warnings"]


def test_interpreted_needs_no_cache(copy: Copy) -> None:
    before = copy.files(".nb*")
    assert copy.run(NUMBA_DISABLE_JIT="1")["x"] == PLAY
    assert copy.files(".nb*").keys() == before.keys()
