"""The checked settings of a chooser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from belated.core import decisions as core_decisions
from belated.errors import SpecError
from belated.explore import Exploration, GapWeighted, Greedy, Uniform
from belated.models.chooser.actions import Actions, Crossing, checked_crossing, names_of
from belated.models.linear.model import LinearModel
from belated.spec import whole

Mode = Literal["learn", "apprentice"]
Decide = Callable[[dict[str, float], int], Mapping[str, float] | Sequence[float]]
"""A rule of one's own: predicted rewards by action, and the ticket, to probabilities."""
_LOSSES = ("squared", "logistic")


@dataclass(frozen=True)
class Settings:
    """The arguments of a ``Chooser`` that are not those of its model."""

    actions: Actions | None
    explore: Exploration
    baseline: str | None
    crossing: Crossing
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        actions: Any = self.actions
        if actions is not None:
            actions = dict(actions) if isinstance(actions, Mapping) else list(actions)
        crossing = self.crossing if isinstance(self.crossing, str) else list(self.crossing)
        return {
            "actions": actions,
            "explore": self.explore.to_json(),
            "baseline": self.baseline,
            "interactions": crossing,
            "seed": self.seed,
        }


def checked(*, actions: Any, explore: Any, baseline: Any, interactions: Any, seed: Any) -> Settings:
    """Return the settings, or say which one is wrong."""
    if actions is not None:
        names = names_of(actions)
        actions = _copied(actions) if isinstance(actions, Mapping) else names
        if baseline is not None and baseline not in names:
            raise SpecError(f"Chooser: baseline must be one of the actions, got {baseline!r}")
    if not isinstance(explore, Exploration):
        raise SpecError(
            "Chooser: explore must be explore.GapWeighted(), explore.Uniform(), "
            f"explore.Greedy(), got {explore!r}"
        )
    if baseline is not None and not isinstance(baseline, str):
        raise SpecError(f"Chooser: baseline must be the name of an action, got {baseline!r}")
    return Settings(
        actions,
        explore,
        baseline,
        checked_crossing(interactions),
        whole("Chooser", "seed", seed, least=0, bits=64),
    )


def rule_of(explore: Exploration) -> core_decisions.Rule:
    """Return what turns predicted rewards into probabilities."""
    if isinstance(explore, GapWeighted):
        return core_decisions.GapWeighted(explore.growth, explore.floor, explore.trial)
    if isinstance(explore, Uniform):
        return core_decisions.Uniform(explore.share, explore.floor)
    if isinstance(explore, Greedy):
        return core_decisions.Greedy(0.0, explore.floor)
    raise SpecError(f"Chooser: no rule of the core is known for {explore!r}")


def _copied(actions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of actions and their features, which the caller cannot change."""
    return {
        name: dict(features) if isinstance(features, Mapping) else features
        for name, features in actions.items()
    }


def checked_mode(mode: Any) -> Mode:
    """Return the mode, or say what it may be."""
    if mode == "learn":
        return "learn"
    if mode == "apprentice":
        return "apprentice"
    raise SpecError(f"Chooser: mode must be 'learn' or 'apprentice', got {mode!r}")


def check_model(model: LinearModel) -> None:
    """Refuse models of losses whose predictions are no mean rewards."""
    if model.settings.loss not in _LOSSES:
        raise SpecError(
            f"Chooser: loss must be one of {', '.join(_LOSSES)}, whose predictions are mean "
            f"rewards; got {model.settings.loss!r}"
        )
