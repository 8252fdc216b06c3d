"""The arithmetic of all models: compiled classes, one for each component.

Every module is Cython in pure Python mode: it runs compiled, or interpreted with identical results.
``COMPILED`` tells which. ``BELATED_INTERPRETED=1`` selects the sources beside built extensions;
``BELATED_REQUIRE_COMPILED=1`` makes missing extensions an error. See docs/core.md.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from types import ModuleType

_FOLDER = os.path.dirname(__file__)
_PACKAGES = {  # what is compiled, and where it is
    "belated.core": _FOLDER,
    "belated.research.core": os.path.join(os.path.dirname(_FOLDER), "research", "core"),
}
_FILES = {package: set(os.listdir(folder)) for package, folder in _PACKAGES.items()}


def _units(package: str) -> set[str]:
    """Return the names of the modules of a package that are compiled."""
    return {n[:-3] for n in _FILES[package] if n.endswith(".py") and not n.startswith("_")}


class _SourceFinder:
    """Finds the sources of the core, also where extensions stand beside them."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a unit's source, or None for other modules."""
        package, _, unit = name.rpartition(".")
        if package not in _PACKAGES or unit not in _units(package):
            return None
        source = os.path.join(_PACKAGES[package], f"{unit}.py")
        return importlib.util.spec_from_file_location(name, source)


def _is_built() -> bool:
    """Tell whether there is an extension for every unit."""
    return all(
        any(f"{unit}{suffix}" in files for suffix in EXTENSION_SUFFIXES)
        for package, files in _FILES.items()
        for unit in _units(package)
    )


_IS_CHOSEN = os.environ.get("BELATED_INTERPRETED") == "1"
COMPILED = not _IS_CHOSEN and _is_built()
"""Whether the extensions are in use."""

if not COMPILED:
    if not _IS_CHOSEN and os.environ.get("BELATED_REQUIRE_COMPILED") == "1":
        raise ImportError(
            "belated.core is not compiled, and BELATED_REQUIRE_COMPILED=1 demands that it is; "
            "install a C compiler and reinstall belated, or run "
            "'python setup.py build_ext --inplace' in a checkout"
        )
    sys.meta_path.insert(0, _SourceFinder)
    if importlib.util.find_spec("cython") is None:
        from belated.core import _cython

        sys.modules["cython"] = _cython

_warned = _IS_CHOSEN


def warn_if_interpreted() -> None:
    """Warn once if the core runs interpreted although that was not chosen."""
    global _warned
    if COMPILED or _warned:
        return
    _warned = True
    warnings.warn(
        "belated.core is not compiled: results are the same, but everything takes much longer; "
        "install a C compiler and reinstall belated",
        RuntimeWarning,
        stacklevel=4,
    )
