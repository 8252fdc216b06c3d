"""What knobs say about themselves."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from belated.core.knobs import ALPHA
from belated.core.quadratic import WINDOWS
from belated.knobs.settings import Setting, Settings

MODES = ("learning", "paused", "reverted")
"""What knobs do."""
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
    """What seems best in one kind of context, all else as it was on average.

    ``share`` is that of the rounds with this value; of a number, which is a standard deviation
    below or above its mean, it is None.
    """

    name: str
    value: Any
    share: float | None
    best: Setting
    expected: float


@dataclass(frozen=True)
class KnobsReport:
    """Counts so far, the best setting and what it is thought to cost, and what is believed in.

    ``expected`` is what a round at ``best`` is thought to cost and ``expected_at_start`` the same
    of the start, both None before there is a unit; ``noise`` is the standard deviation of a single
    cost. Where there are contexts, all of them are means over those whose costs were heard, as one
    setting for all of them would cost; ``contexts`` has the best setting of each. ``exploring`` is
    how much more than the best the plays of the moment are thought to cost, or would while nothing
    is learned, whatever ``max_step`` says. ``settled`` are tickets whose cost was that of silence,
    or the one so far, when their deadline passed. ``max_delay`` is the larger one of
    ``max_answered_delay``, of rounds whose cost came, and ``max_unanswered_age``, of those that are
    open or were closed without one.
    ``memories``, ``levels`` and ``features`` are the weights of models by how long costs count,
    by whether blocks of rounds have levels of their own, and by what models look at. ``past`` has
    at most 64 stretches of rounds, all of one length, and what they cost.
    """

    rounds: int
    observed: int
    open: int
    skipped: int
    settled: int
    cancelled: int
    late: int
    corrected: int
    tamed: int
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

    def to_json(self, indent: int | None = None) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        """Return a table that a person can read."""
        at_best = ", ".join(f"{name} {_shown(value)}" for name, value in self.best.items())
        lines = [
            f"rounds        {self.rounds:>10,}   {self.mode}",
            f"observed      {self.observed:>10,}   open {self.open:,}, lost "
            f"{self.skipped + self.cancelled:,}",
            f"best          {_shown(self.expected):>10}   {at_best}",
            f"start         {_shown(self.expected_at_start):>10}",
            f"exploring     {_shown(self.exploring):>10}   a round, noise {_shown(self.noise)}",
            f"remembers     {_most(self.memories):>10}   looks at {_most(self.features)}",
        ]
        if self.comparison is not None:
            told = self.comparison
            lines.append(
                f"gain          {_shown(told.gain):>10}   from {_shown(told.low)} to "
                f"{_shown(told.high)}, {told.start_rounds:,} rounds of the start"
            )
        if self.alarms:
            lines.append(f"alarms        {self.alarms:>10,}   it went back to the start by itself")
        return "\n".join(lines)


def _shown(value: Any) -> str:
    if value is None:
        return "none yet"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _most(shares: dict[str, float]) -> str:
    return max(shares, key=lambda name: shares[name])


def comparison_of(settings: Settings, told: Any) -> Comparison | None:
    """Read the comparison off the counts of the core; None where nothing is held out."""
    if settings.holdout == 0.0:
        return None
    counts = told.answers.tolist()
    means = [
        settings.cost(mean) if count else None
        for count, mean in zip(counts, told.means.tolist(), strict=True)
    ]
    low, high = told.bounds()
    return Comparison(
        start_rounds=counts[1],
        learner_rounds=counts[0],
        start_mean=means[1],
        learner_mean=means[0],
        gain=told.gain if min(counts) else None,
        low=low,
        high=high,
    )


def past_of(settings: Settings, history: Any) -> tuple[Stretch, ...]:
    """Read the past, up to the last stretch of which a cost is known."""
    length, answers = history.length, history.answers
    used = answers.any(axis=1).nonzero()[0]
    rows = zip(answers.tolist(), history.means.tolist(), strict=True)
    shown = [
        [settings.cost(mean) if count else None for count, mean in zip(*row, strict=True)]
        for row in rows
    ]
    return tuple(
        Stretch(i * length, answers[i].item(0), shown[i][0], answers[i].item(1), shown[i][1])
        for i in range(used[-1] + 1 if used.size else 0)
    )


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
