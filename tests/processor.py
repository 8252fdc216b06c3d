"""Imported before NumPy, this has it compute alike on all x86-64 machines since 2013.

The last digits of a product of matrices, or of an exponential of an array, depend on how many
numbers the processor takes at once. Digests of them are those of AVX2: what is wider is not used.
Slow versions of methods compute with such products too, and where a method divides by gaps that are
tiny at first, the last digit of one grows to the eighth.
"""

from __future__ import annotations

import os
import platform
import sys

if "numpy" not in sys.modules and platform.machine() in ("x86_64", "AMD64"):
    os.environ["OPENBLAS_CORETYPE"] = "Haswell"
    os.environ["NPY_DISABLE_CPU_FEATURES"] = "X86_V4 AVX512_ICL AVX512_SPR"
