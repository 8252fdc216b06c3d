"""The type of a code, for the compiler: the ints are in its name, and it has no value at all."""

from __future__ import annotations

from numba import types
from numba.extending import models, register_model


class Composition(types.Type):  # type: ignore[misc]  # numba is not typed
    """The type of a code; slots after the last one that is not 0 are 0."""

    def __init__(self, values: tuple[int, ...]) -> None:
        last = max((slot for slot, value in enumerate(values) if value), default=-1)
        self.values = values[: last + 1]
        super().__init__(name=f"C{'_'.join(map(str, self.values))}")

    def at(self, slot: int) -> int:
        """Return what a slot holds."""
        return self.values[slot] if slot < len(self.values) else 0


register_model(Composition)(models.OpaqueModel)
