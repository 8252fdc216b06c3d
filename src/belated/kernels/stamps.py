"""Which sources compiled code depends on, as one number.

numba notices an edit only in an entry's own file. So an entry carries a digest of every source with
leaves below it; the digest is part of the key under which it is kept on disk. An edit, or another
release, compiles anew what has that file below it.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

_ROOM = "belated.kernels."


@functools.cache
def stamp(*modules: str) -> int:
    """Return a digest of these modules and of everything with leaves that they import."""
    digest = hashlib.sha256()
    for name in sorted(_below(modules)):
        module = sys.modules[name]
        loader: Any = module.__loader__  # which knows how to read it, be it in an archive
        digest.update(loader.get_data(module.__file__))
    return int.from_bytes(digest.digest()[:7], "big")


def _below(modules: Iterable[str]) -> set[str]:
    """Return the modules, and those of the leaves and slots that they name, and so on."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_named_in(sys.modules[name]))
    return found


def _named_in(module: ModuleType) -> set[str]:
    values = list(vars(module).values())
    names = {value.__name__ for value in values if isinstance(value, ModuleType)}
    names |= {str(getattr(value, "__module__", "")) for value in values}
    return {name for name in names if name.startswith(_ROOM) and name in sys.modules}
