"""Reports of knobs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from belated.core.cost_models import WINDOWS
from belated.core.knobs import ALPHA
from belated.models.knobs.settings import Setting, Settings
from belated.tables import Row, Table

MODES = ("learning", "paused", "reverted")
"""Modes of knobs, by their number in the core."""
_MEMORIES = ("all", *(f"{window:,.0f} rounds" for window in WINDOWS[1:]))
_FEATURES = ("quadratic", "cosines")


@dataclass(frozen=True)
class Comparison:
    """The start against the learner, by the rounds in which a coin chose between them.

    ``gain`` is how much better a round of the learner was on average, in the unit of the costs;
    with probability ``level`` it is between ``low`` and ``high`` at all times at once (None before
    30 costs of each are in). See ``belated.core.knobs.Comparison`` for what that assumes.
    """

    start_rounds: int
    learner_rounds: int
    start_mean: float | None
    learner_mean: float | None
    gain: float | None
    low: float | None
    high: float | None
    level: float = 1.0 - ALPHA


@dataclass(frozen=True)
class Stretch:
    """Rounds in a row, from ``first`` on: how many costs came of them, and their mean.

    ``start_costs`` and ``start_mean`` are those of rounds in which a coin played the start; the
    others are of all other rounds.
    """

    first: int
    costs: int
    mean: float | None
    start_costs: int
    start_mean: float | None


@dataclass(frozen=True)
class InContext:
    """The values that seem best in one kind of context, all else as it was on average.

    ``share`` is that of the rounds with this value; of a number, which is a standard deviation
    below or above its mean, it is None.
    """

    name: str
    value: Any
    share: float | None
    best: Setting
    expected: float


@dataclass(frozen=True, repr=False)
class KnobsReport(Table):
    """Counts, the best setting and its expected cost, and weights of models.

    ``expected`` is the expected cost of a round at ``best`` and ``expected_at_start`` that of the
    start, both None before there is a unit; ``noise`` is the standard deviation of a single cost.
    With contexts, these are means over the contexts whose costs were learned; ``contexts`` has the
    best setting of each. ``exploring`` is how much more than the best the next plays are expected
    to cost, without the limits of ``max_step`` and ``pause``. ``settled`` counts tickets whose cost
    was that of silence, or the provisional one, when their deadline passed. ``max_delay`` is the
    larger one of ``max_answered_delay``, of rounds whose cost came, and ``max_unanswered_age``, of
    rounds that are open or were closed without one. ``memories``, ``levels`` and ``features`` are
    the weights of models by how long costs count, by whether blocks of rounds have levels of their
    own, and by their features. ``past`` has at most 64 stretches of rounds of equal length, and
    their mean costs.
    """

    rounds: int
    observed: int
    open: int
    skipped: int
    settled: int
    cancelled: int
    late: int
    corrected: int
    clipped: int
    max_delay: int
    max_answered_delay: int
    max_unanswered_age: int
    max_backlog: int
    mode: str
    goal: str
    start: Setting
    best: Setting
    expected: float | None
    uncertainty: float | None
    expected_at_start: float | None
    noise: float | None
    exploring: float | None
    memories: dict[str, float]
    levels: float
    features: dict[str, float]
    comparison: Comparison | None
    alarms: int
    past: tuple[Stretch, ...]
    contexts: tuple[InContext, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON; without ``contexts`` while there are none."""
        data = dataclasses.asdict(self)
        if not self.contexts:
            del data["contexts"]
        return data

    def rows(self) -> list[Row]:
        """Return what a person reads."""
        at_best = ", ".join(f"{name} {_shown(value)}" for name, value in self.best.items())
        lost = f"open {self.open:,}, lost {self.skipped + self.cancelled:,}"
        rows: list[Row] = [
            ("rounds", f"{self.rounds:,}", self.mode),
            ("observed", f"{self.observed:,}", lost),
            ("best", _shown(self.expected), at_best),
            ("start", _shown(self.expected_at_start), ""),
            ("exploring", _shown(self.exploring), f"a round, noise {_shown(self.noise)}"),
            ("remembers", _most(self.memories), f"looks at {_most(self.features)}"),
        ]
        if (found := self.comparison) is not None:
            limits = f"from {_shown(found.low)} to {_shown(found.high)}"
            about = f"{limits}, {found.start_rounds:,} rounds of the start"
            rows.append(("gain", _shown(found.gain), about))
        if self.alarms:
            rows.append(("alarms", f"{self.alarms:,}", "it went back to the start by itself"))
        return rows


def _shown(value: Any) -> str:
    if value is None:
        return "none yet"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _most(shares: dict[str, float]) -> str:
    return max(shares, key=lambda name: shares[name])


def _means(settings: Settings, counts: list[int], means: list[float]) -> list[float | None]:
    """Return mean costs, None where there are no costs."""
    return [settings.cost(m) if n else None for n, m in zip(counts, means, strict=True)]


def comparison_of(settings: Settings, found: Any) -> Comparison | None:
    """Return the comparison of the core; None where nothing is held out."""
    if settings.holdout == 0.0:
        return None
    learner, start = found.answers.tolist()
    learner_mean, start_mean = _means(settings, [learner, start], found.means.tolist())
    gain = found.gain if learner and start else None
    return Comparison(start, learner, start_mean, learner_mean, gain, *found.bounds())


def past_of(settings: Settings, history: Any) -> tuple[Stretch, ...]:
    """Return the stretches up to the last one with a cost."""
    used = history.answers.any(axis=1).nonzero()[0]
    stretches = []
    for i in range(used[-1] + 1 if used.size else 0):
        costs, start_costs = counts = history.answers[i].tolist()
        mean, start_mean = _means(settings, counts, history.means[i].tolist())
        stretches.append(Stretch(i * history.length, costs, mean, start_costs, start_mean))
    return tuple(stretches)


def shares_of(weights: Any) -> tuple[dict[str, float], float, dict[str, float]]:
    """Return the weights of models by memory, of those with levels, and by features."""
    weights = weights.reshape(len(WINDOWS), 2, 2)
    by_memory = weights.sum(axis=(1, 2)).tolist()
    by_features = weights.sum(axis=(0, 1)).tolist()
    return (
        dict(zip(_MEMORIES, by_memory, strict=True)),
        float(weights[:, 1].sum()),
        dict(zip(_FEATURES, by_features, strict=True)),
    )
