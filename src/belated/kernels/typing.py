"""Types of the kernels' arguments, for the type checker."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Code = tuple[int, ...]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
