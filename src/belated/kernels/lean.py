"""Compile leaves without machine code of their own.

numba optimises every function and emits machine code for it, at every level of nesting, though a
leaf is only ever inlined into an entry. Here the library of a leaf just keeps what was generated,
and that of an entry takes the leaves below it in, once each, optimises the whole and emits it. The
bits of an entry come out the same; the time to get there is a third to two thirds. ``shortcuts``
takes another quarter off that.

This rests on parts of numba that are not public, so it is used with the versions it was tried with
and plain leaves are compiled with all others (``SUPPORTED``). ``BELATED_PLAIN_LEAVES=1`` asks for
plain ones.
"""

from __future__ import annotations

import logging
import os
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import compiler, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import PassManager

from belated.kernels.pruning import Pruning
from belated.kernels.shortcuts import (
    Lowering,
    Naming,
    Passes,
    Preparing,
    Remembering,
    Stripping,
)

_TRIED = ((0, 68),)
SUPPORTED = (
    numba.version_info.short in _TRIED and os.environ.get("BELATED_PLAIN_LEAVES", "0") == "0"
)


class _Quiet:
    """A code generator that is not asked where a leaf keeps its environment, as it has none."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Leave out what only a function with an address needs."""


class _Library(JITCodeLibrary):  # type: ignore[misc]  # numba is not typed
    """What was generated for one function."""

    def _optimize_functions(self, module: Any) -> None:
        """Leave that to the entry, which begins by doing the same to all that it takes in."""
        module.data_layout = self._codegen._data_layout


class _Leaf(_Library):
    """What was generated for a leaf."""

    @property
    def codegen(self) -> Any:
        return _Quiet(self._codegen)

    def finalize(self) -> None:
        """Neither link, nor optimise, nor emit."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return no address."""
        return 0


class _Limb(_Leaf):
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
            if isinstance(library, _Limb):
                limbs.update(_defined(library._final_module))
            if isinstance(library, _Leaf):
                self._final_module.link_in(library._final_module, preserve=True)
        for name in _defined(self._final_module):
            if name not in own:
                self._final_module.get_function(name).linkage = "internal"
            if name in limbs:
                self._final_module.get_function(name).add_function_attribute("noinline")
        self._linking_libraries = [x for x in libraries if not isinstance(x, _Leaf)]
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
            if isinstance(needed, _Leaf):
                _gather(needed, libraries)


def _defined(module: Any) -> list[str]:
    return [function.name for function in module.functions if not function.is_declaration]


_PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    Pruning,
    Preparing,
    Naming,
    typed_passes.NopythonTypeInference,
    Stripping,
    typed_passes.AnnotateTypes,
    Lowering,
    typed_passes.NoPythonBackend,
)
"""What a scalar loop needs: no closures, contexts, generators or inlining at this level, and no
marks where variables end, as nothing is counted by reference."""


class LeafCompiler(compiler.Compiler):  # type: ignore[misc]  # numba is not typed
    """Compiles a leaf."""

    library = _Leaf

    def __init__(self, typing_context: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(Remembering(typing_context, emits=True), *arguments, **options)
        if self.state.library is None:
            self.state.library = self.library(self.state.targetctx.codegen(), "leaf")

    def define_pipelines(self) -> list[PassManager]:
        """Return the few passes that a leaf needs."""
        manager = Passes("leaf")
        for step in _PASSES:
            manager.add_pass(step, step.__name__)
        manager.finalize()
        return [manager]


class LimbCompiler(LeafCompiler):
    """Compiles a limb: a leaf that stays a function of its own inside of the entry."""

    library = _Limb


_LOG = logging.getLogger("belated")


class AnnouncedCompiler(compiler.Compiler):  # type: ignore[misc]  # numba is not typed
    """Says what it compiles; what comes from the cache on disk never gets here."""

    def compile_extra(self, function: Any) -> Any:
        """Compile a function."""
        _LOG.info("compiling %s (the first time takes seconds)", function.__name__)
        return super().compile_extra(function)


class EntryCompiler(AnnouncedCompiler):
    """Compiles an entry, which can be kept on disk."""

    def __init__(self, typing_context: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(Remembering(typing_context, emits=False), *arguments, **options)
        if self.state.library is None:
            self.state.library = _Entry(self.state.targetctx.codegen(), "entry")
            self.state.library.enable_object_caching()
