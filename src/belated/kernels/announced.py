"""Says what is compiled: the first time takes seconds, and nobody should wonder why."""

from __future__ import annotations

import logging
from typing import Any

from numba.core import compiler

_LOG = logging.getLogger("belated")


class Announced(compiler.Compiler):  # type: ignore[misc]  # numba is not typed
    """Compiles an entry and says so; what comes from the cache on disk never gets here."""

    def compile_extra(self, function: Any) -> Any:
        """Compile a function."""
        _LOG.info("compiling %s (the first time takes seconds)", function.__name__)
        return super().compile_extra(function)
