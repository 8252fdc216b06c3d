"""The same learners on the timeline of a log that the user gives."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from belated.errors import StudyError
from belated.logs import read
from belated.report import Bars, Section, Table
from belated.report.plain import counted
from belated.research.game import Game
from belated.research.study.contestants import (
    CONVEX,
    DEFAULT,
    SKIPPING,
    STRONGLY_CONVEX,
    WITH_SKIP,
    Contestant,
    Field,
)
from belated.research.study.games import LOSSES, ball, measure
from belated.research.study.plan import Cell, Numbers, Study, crossed
from belated.research.study.sections import bars
from belated.research.study.tables import Rows, by, least, mean, means, quoted, short
from belated.timeline import Timeline

_DIM = 5
_FIELDS: dict[str, Field] = {
    "convex": {**CONVEX, SKIPPING: WITH_SKIP},
    "strongly convex": STRONGLY_CONVEX,
}
_LOSSES = {"convex": "linear, noisy", "strongly convex": "quadratic, noisy"}
_LONGEST = 500_000
"""Rounds that are played at most: the first ones of the log."""
_MOST_COPIES = 10_000
"""Methods that keep a learner per open ticket are left out where there are more of them."""
_SHOWN = ("regret", "bound", "skipped")


@dataclass(frozen=True)
class Logs(Study):
    """First-order methods on the delays of one log, with losses of our own."""

    path: Path
    predicted: str
    observed: str

    name = "logs"
    title = "The methods on your log"
    question = (
        "On the delays of this log, which method would have lost least? The delays are those of "
        "the log, the losses are generated, so this is about lateness and not about the subject."
    )

    @cached_property
    def timeline(self) -> Timeline:
        """The delays of the log; workers get them with the study."""
        return read_timeline(self.path, self.predicted, self.observed)

    @property
    def options(self) -> str:
        """The log and its columns."""
        columns = ["--predicted", self.predicted, "--observed", self.observed]
        return shlex.join(["--log", str(self.path), *columns])

    def cells(self) -> Iterator[Cell]:
        """Every method with every seed; the digest stands for the log, wherever it lies."""
        log = shortened(self.timeline, _LONGEST)
        content = hashlib.sha256(log.events.tobytes() + log.observed.tobytes()).hexdigest()[:16]
        for setting, field in _FIELDS.items():
            able = [each.name for each in field.values() if _can_play(each, log)]
            facts: dict[str, Any] = {"rounds": log.rounds, "log": content}
            yield from crossed(setting=setting, method=able, **facts, seed=range(5))

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game."""
        timeline = shortened(self.timeline, cell["rounds"])
        game = Game(LOSSES[_LOSSES[cell["setting"]]](_DIM, cell["seed"]), timeline, "log")
        spec = _FIELDS[cell["setting"]][cell["method"]].make(game, ball(_DIM))
        run, row = measure(spec, game, cell["seed"])
        return {
            **row,
            "unanswered": timeline.rounds - int(timeline.observed.sum()),
            "skipped": run.report.skipped,
            "best_skipped": timeline.skip_tradeoff().skipped,
        }

    def numbers(self, rows: Rows) -> Numbers:
        """The method that loses least, and the place of the default."""
        numbers = []
        for setting, group in by(rows, "setting").items():
            regrets = means(group, "method")
            best = least(regrets)
            if best and DEFAULT in regrets and regrets[best] > 0.0:
                ratio = f"{short(regrets[DEFAULT] / regrets[best])} times"
                numbers.append((ratio, f"the least regret: our default, {setting}"))
        late = rows[0]
        numbers.append((f"{late['max_backlog']:,}", f"answers open at most, of {late['rounds']:,}"))
        return tuple(numbers)

    def sections(self, rows: Rows) -> tuple[Section, ...]:
        """One ranking per setting."""
        return tuple(_section(setting, group) for setting, group in by(rows, "setting").items())


def _can_play(method: Contestant, timeline: Timeline) -> bool:
    """Tell whether a method takes such answers, with memory in bounds."""
    if method.in_order and not (timeline.rank[1:] > timeline.rank[:-1]).all():
        return False
    kept = {"BOLD": timeline.max_backlog, "Weinberger-Ordentlich": timeline.max_delay}
    return kept.get(method.name, 0) < _MOST_COPIES


def _section(setting: str, rows: Rows) -> Section:
    groups = sorted(by(rows, "method").items(), key=lambda group: mean(group[1], "regret") or 0.0)
    order, log = tuple(name for name, _ in groups), rows[0]
    return Section(
        question=f"Which loses least on this log ({setting})?",
        figure=Bars(
            title=f"Regret on this log, {setting}",
            labels=order,
            groups=(bars("regret", [group for _, group in groups], "regret"),),
            y_label="regret",
            by_label=True,
        ),
        says=f"On {log['rounds']:,} rounds, {log['unanswered']:,} of them never answered, with a "
        f"total delay of {log['total_delay']:,} and up to {log['max_backlog']:,} answers open, the "
        f"least regret is that of {quoted(order[0])}.",
        table=Table(
            columns=("method", "told in advance", "regret", "bound", "given up on"),
            rows=tuple(
                (name, _FIELDS[setting][name].told, *(mean(group, y) for y in _SHOWN))
                for name, group in groups
            ),
            caption="Means over seeds; the least and the largest seed are the whiskers above. The "
            f"best choice would give up on {counted(log['best_skipped'], 'round')}.",
        ),
    )


# ---- the timeline of a user's log ---------------------------------------------------------------


def read_timeline(path: Path, predicted: str, observed: str) -> Timeline:
    """Return the timeline of a log from its columns of prediction and observation times.

    ``belated.logs`` says which files and which kinds of times can be read.
    """
    timeline = read(path, predicted, observed).timeline
    if timeline.rounds < 2:
        raise StudyError(f"study: {path} has {timeline.rounds} rounds, which is too few to play")
    return timeline


def shortened(timeline: Timeline, rounds: int) -> Timeline:
    """Return the first rounds of a timeline, as if the log ended after them.

    >>> shortened(Timeline.from_delays([3, 0, 0, 0]), 2).delay
    array([1, 0])
    """
    if rounds >= timeline.rounds:
        return timeline
    early = timeline.order < rounds
    order, made = timeline.order[early], timeline.boundaries[1:][early]
    observed = timeline.observed[:rounds].copy()
    observed[order[made > rounds]] = False
    came = observed[order]
    never = np.flatnonzero(~observed)
    boundaries = np.concatenate([[0], made[came], np.full(len(never), rounds)])
    return Timeline(
        np.concatenate([order[came], never]), boundaries, observed, timeline.rows[:rounds].copy()
    )
