"""The report of a chooser."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from belated.arrays import add_in_order
from belated.models.linear.changed_columns import changed_columns, column_rows
from belated.models.linear.report import LinearReport
from belated.tables import Row, Table

if TYPE_CHECKING:
    from belated.core.decisions import ActionCounts
    from belated.models.chooser.chooser import Chooser

_SHOWN = 12  # actions in the table that a person reads


@dataclass(frozen=True)
class ActionReport:
    """One action: how often it was shown, how often it was answered, and its mean reward.

    Where silence is a reward, the mean is over all choices that were shown, with silence for those
    without an answer; otherwise it is over the answers, and None before the first.
    ``standard_error`` is that of the mean, and None before the second reward. It ignores that
    the chooser shows an action less often after low rewards.
    """

    chosen: int
    answered: int
    mean_reward: float | None
    standard_error: float | None = None


@dataclass(frozen=True, repr=False)
class ChooserReport(Table):
    """Counts so far, what exploring takes, and the comparison with the baseline.

    ``explored`` is the share of choices that went to another action than the one that seemed best.
    ``agreement`` is how often the chooser would take the baseline, and ``gain`` what it predicts
    to win by its own choices, per choice; both are None without a baseline. A gain that the model
    predicts is a guess: ``bl.evaluate`` measures it.

    ``hidden`` are the open choices that were not shown yet, and ``withdrawn`` those that were
    never shown.

    ``mean_reward`` is over the rewards heard; where silence is a reward, over all that were shown,
    with ``silence`` for those of which nothing was heard, so that young choices pull it towards
    that. ``bl.evaluate`` counts only choices that are old enough.
    """

    rounds: int
    answered: int
    open: int
    withdrawn: int
    mean_reward: float | None
    explored: float
    agreement: float | None
    gain: float | None
    mode: str
    actions: dict[str, ActionReport]
    model: LinearReport
    silence: float | None = None
    hidden: int = 0
    shadow: ChooserReport | None = field(default=None, compare=False)
    """That of the second chooser on the same events, in a store.

    Its baseline is what was played: ``gain`` is what it predicts that its own choices would win.
    """

    def rows(self) -> list[Row]:
        """Return what a person reads."""
        rows: list[Row] = [
            ("choices", f"{self.rounds:,}", self.mode),
            ("answered", f"{self.answered:,}", f"open {self.open:,}{self._never_shown}"),
            ("mean reward", _shown(self.mean_reward), self._over),
            ("exploring", f"{self.explored:.1%}", "of the choices"),
        ]
        if self.agreement is not None and self.gain is not None:
            gain = f"agreed; predicted gain {self.gain:+.4g} a choice"
            rows.append(("baseline", f"{self.agreement:.1%}", gain))
        often = sorted(self.actions.items(), key=lambda item: -item[1].chosen)
        for name, action in often[:_SHOWN]:
            mean, error = f"mean reward {_shown(action.mean_reward)}", action.standard_error
            mean += "" if error is None else f" ± {error:.1g}"
            rows.append((f"  {name[:24]}", f"{action.chosen:,}", mean))
        if len(often) > _SHOWN:
            rows.append((f"  and {len(often) - _SHOWN:,} more", "", ""))
        if self.shadow is not None and self.shadow.gain is not None:
            gain = f"agreed; predicted gain {self.shadow.gain:+.4g} a choice"
            rows.append(("shadow", f"{self.shadow.agreement:.1%}", gain))
        return rows + column_rows(self.model.new_columns, self.model.gone_columns)

    @property
    def _never_shown(self) -> str:
        """How many of the open ones are still to be shown, and how many never were."""
        parts = f" ({self.hidden:,} not shown yet)" if self.hidden else ""
        return f"{parts}, withdrawn {self.withdrawn:,}" if self.withdrawn else parts

    @property
    def _over(self) -> str:
        """The choices over which the mean reward is taken."""
        if self.silence is None:
            return f"over the {self.answered:,} answered"
        shown = sum(action.chosen for action in self.actions.values())
        silent = f"{self.silence:g} for the {shown - self.answered:,} of which nothing was heard"
        return f"over all {shown:,}, with {silent}"


def _shown(mean: float | None) -> str:
    return "none yet" if mean is None else f"{mean:.4g}"


def report_of(chooser: Chooser) -> ChooserReport:
    """Read the report off the counts."""
    counted, silence = chooser._choices, chooser.model.settings.silence
    columns = changed_columns(chooser._encoder.of_context)
    actions, rounds, by_name = {}, counted.rounds, dict(counted.actions)
    for name, counts in by_name.items():
        mean = _mean(counts.total, counts.answered, counts.chosen, silence)
        error = _standard_error(counts, mean, silence)
        actions[name] = ActionReport(counts.chosen, counts.answered, mean, error)
    shown = sum(counts.chosen for counts in by_name.values())
    answered = sum(counts.answered for counts in by_name.values())
    total = add_in_order(counts.total for counts in by_name.values())
    return ChooserReport(
        rounds=rounds,
        answered=answered,
        open=chooser.open,
        withdrawn=counted.withdrawn,
        mean_reward=_mean(total, answered, shown, silence),
        explored=counted.explored / rounds if rounds else 0.0,
        agreement=counted.agreed / counted.compared if counted.compared else None,
        gain=counted.gain / counted.compared if counted.compared else None,
        mode=chooser.mode,
        actions=actions,
        model=dataclasses.replace(
            chooser.model.report(), new_columns=columns.new, gone_columns=columns.gone
        ),
        silence=silence,
        hidden=len(counted.hidden),
    )


def _mean(total: float, answered: int, shown: int, silence: float | None) -> float | None:
    """Return the mean reward: of all that were shown, if silence is one, else of those answered."""
    if silence is not None:
        total, answered = total + silence * (shown - answered), shown
    return total / answered if answered else None


def _standard_error(
    counts: ActionCounts, mean: float | None, silence: float | None
) -> float | None:
    """Return the standard error of the mean reward; None for fewer than two rewards."""
    squares, count = counts.squares, counts.answered
    if mean is not None and silence is not None:
        silent = counts.chosen - count
        answered = counts.total / max(count, 1)
        squares += count * (answered - mean) ** 2 + silent * (silence - mean) ** 2
        count = counts.chosen
    return None if count < 2 else math.sqrt(max(squares, 0.0) / count / (count - 1))
