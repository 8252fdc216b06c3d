"""Benchmarks: every figure is a ratio to a floor or peer measured in the same run.

``python -m benchmarks`` runs all of them, prints a table and saves ``benchmarks/results.json``.

Loops written by hand are compiled for baseline x86-64, as the core is. ``floors.of_this_machine``
measures them again with all instructions of the processor.
"""

import os

NATIVE = "BELATED_NATIVE_FLOORS"

if os.environ.get(NATIVE) != "1":  # before the first import of numba
    os.environ.setdefault("NUMBA_CPU_NAME", "generic")
    os.environ.setdefault("NUMBA_CPU_FEATURES", "")
