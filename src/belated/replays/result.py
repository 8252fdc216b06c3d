"""The result of a replay, in numbers and in words."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from os import PathLike
from typing import Any

from belated.audits.labels import Outcome, by_label, warning
from belated.models.linear import LinearModel
from belated.models.linear.losses import LOSSES
from belated.replays import measures, words
from belated.replays.columns import Column, Numbers, parts
from belated.replays.contenders import AT_ONCE, OURS, Contender
from belated.replays.labels import names_of
from belated.replays.measures import (
    BETTER,
    NO_DIFFERENCE,
    WORSE,
    Bin,
    Curve,
    Difference,
    Slice,
    finite,
    scores,
)
from belated.replays.task import Task
from belated.report import Page
from belated.report.durations import iso_moment
from belated.report.finding import Finding
from belated.report.plain import counted, plain
from belated.tables import as_html


@dataclass(frozen=True, eq=False, repr=False)
class Replay(Finding):
    """How every method would have done on a log, in the order of its events.

    Losses are those of predictions as they were made, whenever their label came; predictions
    without a label do not count.
    """

    task: Task
    methods: Mapping[str, Contender]
    """By name, in the order in which they ran."""
    slices: Mapping[str, tuple[Slice, ...]]
    """Mean losses by column and value, the most frequent values first."""
    model: LinearModel
    """The default model where the log ends: it knows what is open, and what columns become."""
    pairs: Difference | None = None
    """How much less the model loses with pairs of features, as a share, on the first rows."""

    @property
    def name(self) -> str:
        """The name of the log."""
        return self.task.log.name

    @property
    def rounds(self) -> int:
        """How many predictions were made."""
        return self.task.rounds

    @property
    def counted(self) -> int:
        """How many of them ever got a label."""
        return self.task.counted

    @property
    def measure(self) -> str:
        """The name of the mean loss."""
        return LOSSES[self.task.how.loss].measure

    @property
    def target(self) -> str:
        """The predicted quantity, in words."""
        if self.task.is_arrival:
            return f"whether {self.task.target} is there"
        return self.task.how.words(self.task.target)

    @cached_property
    def curves(self) -> Mapping[str, Curve]:
        """Losses over time, by method."""
        task, count = self.task, min(measures.WINDOWS, self.counted)
        ends = task.tickets(measures.cuts_of(self.counted, count)[1:] - 1) + 1
        weights = task.columns["known_weights"]
        return {
            name: measures.curve(method.lost, weights, ends)
            for name, method in self.methods.items()
        }

    @cached_property
    def _known(self) -> Mapping[str, tuple[Numbers, Numbers, Numbers]]:
        """Predictions that count, their labels and weights, by method; none that overflowed."""
        task, found = self.task, {}
        for name, method in self.methods.items():
            if math.isfinite(method.mean_loss):
                values = Column()
                for said, counts in parts(method.said, task.columns["counts"]):
                    values.append(said[counts])
                found[name] = values, task.columns["known_labels"], task.columns["known_weights"]
        return found

    @cached_property
    def calibration(self) -> Mapping[str, tuple[Bin, ...]]:
        """Calibration: mean labels of similar predictions, by method."""
        return {name: measures.calibration(*known) for name, known in self._known.items()}

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Waits by label, the quickest first, where there are two to ten labels."""
        return self.task.outcomes

    @property
    def warning(self) -> str:
        """The warning that lateness depends on the label, or an empty text."""
        return says(self.task, self.outcomes)

    # ---- comparisons ---------------------------------------------------------------------------

    @cached_property
    def blocks(self) -> int:
        """How many blocks of time intervals are made of; 0: there are too few labels for any."""
        return measures.blocks(self.counted, self.task.columns["delays"])

    @cached_property
    def differences(self) -> Mapping[str, Difference]:
        """How much more than ours every other method loses per prediction, with its interval."""
        ours, weights = self.methods[OURS].lost, self.task.columns["known_weights"]
        return {
            name: measures.difference(method.lost, ours, weights, self.blocks)
            for name, method in self.methods.items()
            if name != OURS
        }

    def share(self, name: str) -> Difference | None:
        """Return the same as a share of our loss; None where that says nothing.

        Poisson losses may be negative, and then have no shares. Others cannot fall by more than all
        of a loss, and so no interval goes beyond that.
        """
        ours = self.methods[OURS].mean_loss
        apart = self.differences.get(name)
        if apart is None or not ours > 0.0 or not math.isfinite(apart.mean):
            return None
        return apart.per(ours, self.task.how.lowest)

    def standing(self, name: str) -> str:
        """Return "better", "worse" or "no clear difference", of a method beside ours."""
        return self.differences[name].standing

    @property
    def best(self) -> str:
        """The method with the least loss of those that learn from late labels."""
        names = [name for name in self.methods if name != AT_ONCE]
        return min(names, key=lambda name: self.methods[name].mean_loss)

    @property
    def ahead(self) -> tuple[str, ...]:
        """Methods that hear late labels too and are clearly better than ours; best first."""
        return self._late(lambda apart: apart.high < 0.0)

    @property
    def ties(self) -> tuple[str, ...]:
        """Methods that hear late labels too, of which none is clearly better or worse."""
        return self._late(lambda apart: apart.is_tie)

    @property
    def behind(self) -> tuple[str, ...]:
        """Methods that clearly lose more than ours; the best first."""
        return self._late(lambda apart: apart.low > 0.0)

    def _late(self, fits: Callable[[Difference], bool]) -> tuple[str, ...]:
        found = [name for name, apart in self.differences.items() if fits(apart)]
        found = [name for name in found if name != AT_ONCE]
        return tuple(sorted(found, key=lambda name: self.methods[name].mean_loss))

    @cached_property
    def scores(self) -> Mapping[str, Mapping[str, float]]:
        """Other measures of the same predictions, by method; none of those that overflowed."""
        how, bins = self.task.how, self.calibration
        return {name: scores(how, *known, bins[name]) for name, known in self._known.items()}

    @property
    def price(self) -> float:
        """By what share the loss would be less if every label came at once."""
        ours, at_once = (self.methods[name].mean_loss for name in (OURS, AT_ONCE))
        return (ours - at_once) / abs(ours) if ours else 0.0

    @property
    def verdict(self) -> str:
        """The price of lateness, in one plain sentence."""
        ours, at_once = (self.methods[name].mean_loss for name in (OURS, AT_ONCE))
        start = f"The {self.measure} is {plain(ours)}"
        if not self.task.is_late:
            return f"{start}; no label is late here, so lateness costs nothing."
        size = words.against(self, AT_ONCE, says=False)
        then = f"told every label at once, the same model would have {plain(at_once)}"
        then += f", {size}" if size else ""
        means = {
            BETTER: "that is the price of lateness",
            NO_DIFFERENCE: "no clear difference, so this log does not tell what lateness costs",
            WORSE: "lateness costs nothing here",
        }
        return f"{start}; {then}: {means[self.standing(AT_ONCE)]}."

    def summary(self) -> str:
        """Return the replay in words, for a terminal."""
        return words.summary(self)

    def _page(self, command: str) -> Page:
        from belated.replays.page import page_of

        return page_of(self, command)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON; a loss that overflowed is None."""
        task = self.task
        return {
            "name": self.name,
            "rounds": self.rounds,
            "counted": self.counted,
            "target": self.target,
            "first": iso_moment(task.time(0)),
            "last": iso_moment(task.time(self.rounds - 1)),
            "features": list(task.features),
            "columns": task.kinds.to_dict(),
            "notes": list(task.notes),
            "loss": task.how.loss,
            "measure": self.measure,
            "blocks": self.blocks,
            "later_from": task.begun,
            "ahead": list(self.ahead),
            "ties": list(self.ties),
            "behind": list(self.behind),
            "price": self.price,
            "verdict": self.verdict,
            "warning": self.warning,
            "by_label": by_label(self.outcomes, task.log.unit),
            "methods": [self._method(method) for method in self.methods.values()],
            "windows": next(iter(self.curves.values())).ends.tolist(),
            "window_times": [
                iso_moment(task.time(end - 1))
                for end in next(iter(self.curves.values())).ends.tolist()
            ],
            "slices": {
                column: [asdict(part) | {"losses": _plain(part.losses)} for part in parts]
                for column, parts in self.slices.items()
            },
        }

    def _method(self, method: Contender) -> dict[str, Any]:
        curve, share = self.curves[method.name], self.share(method.name)
        apart = self.differences.get(method.name)
        return {
            "name": method.name,
            "about": method.about,
            "mean_loss": finite(method.mean_loss),
            "later_loss": finite(method.later_loss),
            "against_ours": None if share is None else share.mean,
            "difference": None if apart is None else _plain(asdict(apart)),
            "standing": None if method.name == OURS else self.standing(method.name),
            "scores": _plain(self.scores.get(method.name, {})),
            "labels_used": method.used,
            "seconds": method.seconds,
            "windowed": [finite(loss) for loss in curve.windowed.tolist()],
            "cumulative": [finite(loss) for loss in curve.cumulative.tolist()],
            "calibration": [asdict(bin) for bin in self.calibration.get(method.name, ())],
        }

    def write_predictions(self, path: str | PathLike[str]) -> None:
        """Write every prediction of every method as CSV or Parquet, as the name of the file ends.

        A row has its key or number in the log, its times, its label and one column per method.
        """
        from belated.replays.saving import write

        write(path, self)

    def __repr__(self) -> str:
        """Return the verdict and what it is about."""
        many = counted(self.rounds, "prediction")
        return f"<Replay of {self.name!r}, {many}: {self.verdict}>"

    def _repr_html_(self) -> str:
        """Return the verdict and the table of methods for notebooks."""
        return as_html(self.verdict, words.table(self), words.HEADS)


def _plain(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {name: finite(number) for name, number in numbers.items()}


# ---- whether lateness depends on the label that is replayed, and what that does to models --------


def says(task: Task, outcomes: tuple[Outcome, ...]) -> str:
    """Return what to know if lateness depends on the label, or nothing."""
    found = warning(outcomes, task.log.unit)
    if not found:
        return ""
    quick, slow = outcomes[0].label, outcomes[-1].label
    found += (
        f' A model that learns labels as they come believes too much in "{quick}"; belated allows '
        "for what is still open."
    )
    is_target = slow == task.how.positive or slow not in names_of(task.how)
    if task.silence.value is None and is_target:
        found += (
            f' If "{slow}" is only what is concluded when nothing was heard, say so with '
            f"--silence {shlex.quote(slow)}."
        )
    return found
