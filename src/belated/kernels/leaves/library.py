"""Where what was emitted is kept: leaves get no machine code of their own.

numba optimises every function and makes machine code of it, at every level of nesting, though a
leaf is only ever inlined into an entry. Here the library of a leaf just keeps what was emitted, and
that of an entry takes the leaves below it in, once each, and optimises the whole.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core.codegen import JITCodeLibrary

from belated.kernels.announced import Announced


class _Library(JITCodeLibrary):  # type: ignore[misc]  # numba is not typed
    """What was generated for one function."""

    def _optimize_functions(self, module: Any) -> None:
        """Leave that to the entry, which begins by doing the same to all that it takes in."""
        module.data_layout = self._codegen._data_layout


class Leaf(_Library):
    """What was generated for a leaf."""

    def finalize(self) -> None:
        """Neither link, nor optimise, nor emit."""
        self._finalized = True


class Limb(Leaf):
    """What was generated for a limb."""


class _Entry(_Library):
    """Machine code of an entry, with all leaves below it inside."""

    def finalize(self) -> None:
        """Take the leaves in, then go on as numba does."""
        libraries: dict[Any, None] = {}
        _gather(self, libraries)
        own = set(_defined(self._final_module))
        limbs: set[str] = set()
        for library in libraries:
            if isinstance(library, Limb):
                limbs.update(_defined(library._final_module))
            if isinstance(library, Leaf):
                self._final_module.link_in(library._final_module, preserve=True)
        for name in _defined(self._final_module):
            if name not in own:
                self._final_module.get_function(name).linkage = "internal"
            if name in limbs:
                self._final_module.get_function(name).add_function_attribute("noinline")
        self._linking_libraries = [x for x in libraries if not isinstance(x, Leaf)]
        super().finalize()

    def _optimize_final_module(self) -> None:
        """Optimise once: the first of numba's two passes only serves reference counts.

        Sums that are written in four parts become vectors (SLP): 15 % off a game in dimension 100.
        Loops over coordinates become vectors too, but several of those at a time (interleaving)
        suit long arrays only: in dimension 10 the loop for them never runs, and writing it takes a
        sixth of all compiling.
        """
        options = llvm.create_pipeline_tuning_options(int(numba.config.OPT))
        options.loop_vectorization = options.slp_vectorization = True
        options.loop_interleaving = False
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


def _gather(library: Any, libraries: dict[Any, None]) -> None:
    """List everything that a library needs, directly or through a leaf."""
    for needed in library._linking_libraries:
        if needed not in libraries:
            libraries[needed] = None
            if isinstance(needed, Leaf):
                _gather(needed, libraries)


def _defined(module: Any) -> list[str]:
    return [function.name for function in module.functions if not function.is_declaration]


class EntryCompiler(Announced):
    """Compiles an entry, which can be kept on disk."""

    def __init__(self, typing_context: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(typing_context, *arguments, **options)
        if self.state.library is None:
            self.state.library = _Entry(self.state.targetctx.codegen(), "entry")
            self.state.library.enable_object_caching()
