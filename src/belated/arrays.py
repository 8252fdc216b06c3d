"""The types of arrays that everything below the specs works on."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Code: TypeAlias = tuple[int, ...]
"""What a composition is made of; see ``belated.kernels.slots``."""
