"""What a learner can run, and what it is told."""

from __future__ import annotations

from typing import Any, TypeAlias

from belated.reductions import FullInformation, Reduction, Wrapper, inner_of
from belated.spec import Spec


class Method(Spec):
    """A published method; see ``belated.rivals``."""

    @property
    def own_numbers(self) -> int:
        """How many numbers it keeps whatever happens, where these are more than a few vectors."""
        return 0

    def player(self, seed: int, strict: bool) -> Any:
        """Return the player of the core, or refuse a spec that lacks a number."""
        raise NotImplementedError


LearnerSpec: TypeAlias = Reduction | Wrapper | Method
"""What a learner can run."""


def takes_functions(spec: LearnerSpec) -> bool:
    """Tell whether an answer is a gradient function."""
    if isinstance(spec, Method):
        return bool(getattr(spec, "feedback", "") == "function")
    return isinstance(inner_of(spec), FullInformation)
