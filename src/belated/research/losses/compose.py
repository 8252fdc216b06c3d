"""From specs of losses to the components of the core."""

from __future__ import annotations

from collections.abc import Callable

from belated.errors import SpecError
from belated.research.core import losses as core_losses
from belated.research.losses.base import Loss
from belated.research.losses.custom import Custom
from belated.research.losses.families import Absolute, Hinge, Linear, Logistic, Quadratic, Squared
from belated.research.losses.family import _Family
from belated.research.losses.generators import (
    Adaptive,
    Alternating,
    Blocks,
    Drifting,
    Random,
    Switching,
)
from belated.research.losses.given import Given
from belated.research.losses.source import Source

_FAMILIES: dict[type[Loss], Callable[..., core_losses.Loss]] = {
    Linear: core_losses.Linear,
    Absolute: core_losses.Absolute,
    Squared: core_losses.Squared,
    Logistic: core_losses.Logistic,
    Hinge: core_losses.Hinge,
}


def loss_of(spec: Loss) -> core_losses.Loss:
    """Return new losses of the core, with work space of their own."""
    if isinstance(spec, Custom):
        return core_losses.UserLoss(spec.dim, spec.checked_value, spec.checked_gradient)
    assert isinstance(spec, _Family)
    source = _source_of(spec.sequence, spec._targets)
    if isinstance(spec, Quadratic):
        return core_losses.Quadratic(source, spec.curvature)
    for kind, make in _FAMILIES.items():
        if isinstance(spec, kind):
            return make(source)
    raise SpecError(f"no losses of the core are known for {spec.kind}")


def _source_of(spec: Source, targets: str) -> core_losses.Source:
    """Return where rounds come from; ``targets`` says what b_t is."""
    if isinstance(spec, Given):
        return core_losses.Given(spec._given_rows())
    if isinstance(spec, Adaptive):
        return core_losses.Adaptive(targets, spec.dim, spec.scale)
    if isinstance(spec, Alternating):
        return core_losses.Alternating(targets, spec.dim, spec.scale)
    if isinstance(spec, Blocks):
        return core_losses.Blocks(targets, spec.dim, spec.scale, spec.seed, spec.length)
    if isinstance(spec, Random):
        return core_losses.Random(targets, spec.dim, spec.scale, spec.noise, spec.seed)
    if isinstance(spec, Switching | Drifting):
        is_drifting = isinstance(spec, Drifting)
        kind = core_losses.Drifting if is_drifting else core_losses.Switching
        length = spec.period if isinstance(spec, Drifting) else spec.every
        return kind(targets, spec.dim, spec.scale, spec.noise, spec.seed, length)
    raise SpecError(f"no source of the core is known for {spec.kind}")
