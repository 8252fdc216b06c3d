"""What knobs begin with: the grid and the members.

It is written once in a life, in plain Python: compiled it would take longer to be ready.
"""

from __future__ import annotations

from belated.arrays import Floats, Ints
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.features import cosine, write_cosines
from belated.kernels.slots import ints as N

_OF_WINDOW = (0.95, 0.03, 0.02)  # weights before anything was seen: of memories, ...
_OF_LEVEL = (0.6, 0.4)  # ... without levels and with them, and of features alike


def set_up(f: Floats, n: Ints) -> None:
    """Write what the first prediction needs."""
    k, c = int(n[N.DIM]), int(n[N.OWN])
    has = L.sizes(k, c)
    p = L.places(has, k, c)
    _write_table(f[p.table : p.prior], has.points, has.order)
    rows = f[p.members : p.means].reshape(L.WINDOWS, L.LEVELS, L.TYPES, L.OF_MEMBER)
    for w in range(L.WINDOWS):
        kinds = L.TYPES if w > 0 else L.TREND  # without a window there are no trends
        for level in range(L.LEVELS):
            share = _OF_WINDOW[w] * _OF_LEVEL[level] / kinds
            rows[w, level, :kinds, [L.SHARE, L.WEIGHT]] = share
    rows[..., L.NOISE] = 1.0
    f[p.knobs + L.LAST * k : p.table] = f[p.knobs : p.knobs + k]
    f[L.REFRESH] = 16.0
    f[L.SPREAD] = 1.0
    f[L.STRETCH] = 16.0


def _write_table(table: Floats, points: int, order: int) -> None:
    """Write the points of the grid, and the cosines there."""
    for b in range(points):
        x = 2.0 * b / (points - 1.0) - 1.0
        table[b] = x
        write_cosines(cosine(x), table, order, points, points + b)
