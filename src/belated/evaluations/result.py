"""The result of an evaluation: estimates, differences, and parts of the log."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np

from belated.arrays import Floats
from belated.errors import SpecError
from belated.evaluations import diagnostics, words
from belated.evaluations.decision_log import MatureDecisions
from belated.evaluations.diagnostics import ActionDelay
from belated.evaluations.estimators import (
    ESTIMATORS,
    LEVEL,
    Estimate,
    Estimator,
    Weighed,
    interval,
)
from belated.evaluations.policies import LOGGED, Policy
from belated.files import write_whole
from belated.logs.log import BadRows
from belated.report.contents import Page
from belated.report.finding import Finding
from belated.report.plain import counted
from belated.report.slicing import parted
from belated.tables import as_html

WINDOWS = 24
"""Most stretches of time that are shown."""
STANDINGS = {1: "better", -1: "worse", 0: "tie"}


@dataclass(frozen=True, eq=False)
class PolicyResult:
    """The estimates of one policy."""

    name: str
    about: str
    estimates: Mapping[Estimator, Estimate | None]
    """Its reward per decision, by estimator; None where too little is known for one."""
    difference: Estimate | None
    """Its reward less that of the policy it is compared with; None for that one itself."""
    difference_for_all: Estimate | None
    """The same with an interval that holds for all comparisons at once."""
    effective_sample_size: float
    largest_weight: float
    warnings: tuple[str, ...]

    @property
    def standing(self) -> str:
        """Whether it is better or worse than the one it is compared with, or a tie."""
        return "" if self.difference_for_all is None else STANDINGS[self.difference_for_all.sign]


@dataclass(frozen=True)
class Part:
    """Some of the decisions, and what every policy earns in them."""

    value: str
    decisions: int
    estimates: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Finding):
    """The mean reward of every policy on the decisions of a log, with 95 % intervals.

    Rewards are per decision. ``str`` gives the words, ``to_dict`` and ``to_json`` the numbers,
    ``page`` and ``save`` write them.
    """

    mature: MatureDecisions
    sliced: tuple[str, ...]
    """Columns by whose values rewards are shown."""
    given: Mapping[str, Policy]
    weighed: Mapping[str, Weighed]
    estimator: Estimator = "dr"
    """The one of differences, slices and figures."""
    against: str = LOGGED
    """The policy that the others are compared with."""
    blocks: int | None = None
    """The number of stretches of time for variances; None: from single decisions."""

    @property
    def name(self) -> str:
        """The name of the log."""
        return self.mature.log.name

    @property
    def counted(self) -> int:
        """Decisions that count."""
        return len(self.mature.log)

    @property
    def too_young(self) -> int:
        """Decisions that do not count, as their deadline has not passed."""
        return self.mature.too_young

    @property
    def bad(self) -> BadRows:
        """Rows that were left out."""
        return self.mature.log.bad

    @property
    def rewards(self) -> Floats:
        """The reward of every decision that counts."""
        return self.mature.log.reward

    # --- Estimates ------------------------------------------------------------------------------

    def _best_for(self, *names: str) -> Estimator:
        """Return the estimator to use; self-normalised where doubly robust is not possible."""
        if self.estimator == "dr" and any(self.weighed[name].expected is None for name in names):
            return "snips"
        return self.estimator

    def estimate(
        self, name: str, estimator: Estimator | None = None, rows: Any = slice(None)
    ) -> Estimate | None:
        """Return what a policy earns per decision, in some of the decisions or in all."""
        self._check(name)
        terms = self.weighed[name].terms(estimator or self._best_for(name), self.rewards, rows)
        return None if terms is None else interval(terms, self.rewards[rows], blocks=self.blocks)

    def compare(
        self,
        name: str,
        other: str | None = None,
        *,
        estimator: Estimator | None = None,
        level: float = LEVEL,
        rows: Any = slice(None),
    ) -> Estimate:
        """Return how much more one policy earns than another, decision by decision.

        The interval is that of the differences of their terms, so that what both have in common
        does not count.
        """
        other = self.against if other is None else other
        self._check(name, other)
        how = estimator or self._best_for(name, other)
        one, two = (self.weighed[each].terms(how, self.rewards, rows) for each in (name, other))
        if one is None or two is None:
            raise SpecError(
                f"evaluate: {how!r} is not possible for {name!r} and {other!r}: only the "
                "probability of what was done is known"
            )
        return interval(one.minus(two), self.rewards[rows], level=level, blocks=self.blocks)

    def _check(self, *names: str) -> None:
        for name in names:
            if name not in self.weighed:
                raise SpecError(
                    f"evaluate: there is no policy {name!r}; there are {', '.join(self.weighed)}"
                )

    @cached_property
    def policies(self) -> dict[str, PolicyResult]:
        """Every policy by name, the best first."""
        found = [self._result(name) for name in self.given]

        def value(one: PolicyResult) -> float:
            estimate = one.estimates[self._best_for(one.name)]
            return -math.inf if estimate is None else estimate.value

        return {one.name: one for one in sorted(found, key=value, reverse=True)}

    def _result(self, name: str) -> PolicyResult:
        weighed = self.weighed[name]
        level = 1.0 - (1.0 - LEVEL) / max(len(self.given) - 1, 1)
        is_other = name != self.against and float(weighed.weights.sum()) > 0.0
        return PolicyResult(
            name=name,
            about=self.given[name].about,
            estimates={how: self.estimate(name, how) for how in ESTIMATORS},
            difference=self.compare(name) if is_other else None,
            difference_for_all=self.compare(name, level=level) if is_other else None,
            effective_sample_size=weighed.effective,
            largest_weight=weighed.largest,
            warnings=diagnostics.weight_warnings(weighed, name),
        )

    # --- Parts ----------------------------------------------------------------------------------

    @cached_property
    def over_time(self) -> tuple[tuple[slice, Part], ...]:
        """Stretches of time."""
        most = min(WINDOWS, max(1, self.counted // 50))
        cuts = np.linspace(0, self.counted, most + 1).astype(int).tolist()
        return tuple((slice(a, b), self._part("", slice(a, b))) for a, b in pairwise(cuts))

    @cached_property
    def slices(self) -> dict[str, tuple[Part, ...]]:
        """The most frequent values of each column that is sliced."""
        context = self.mature.log.context
        return {
            column: tuple(self._part(value, rows) for value, rows in parted(context[column]))
            for column in self.sliced
        }

    def _part(self, value: str, rows: Any) -> Part:
        found = {name: self.estimate(name, rows=rows) for name in self.given}
        estimates = {name: estimate for name, estimate in found.items() if estimate is not None}
        others = [name for name in estimates if name != self.against and self.against in estimates]
        differences = {name: self.compare(name, rows=rows) for name in others}
        return Part(value, len(self.rewards[rows]), estimates, differences)

    # --- Diagnostics ----------------------------------------------------------------------------

    @cached_property
    def overlaps(self) -> Floats:
        """How much every two policies do the same: the mean of sum over a of min(pi, pi').

        1: always the same, 0: never; in the order of ``given``. Of a policy of which only the
        probability of what was done is known, as of the logged one, it is estimated by the mean of
        min(w, w'), at most 1: 0 where the weights of one are 0 throughout.
        """
        return diagnostics.overlaps(list(self.given.values()), list(self.weighed.values()))

    @cached_property
    def delays(self) -> tuple[ActionDelay, ...]:
        """How soon rewards come, by action."""
        return diagnostics.delays_of(self.mature.log)

    @cached_property
    def unequal_delays(self) -> tuple[ActionDelay, ActionDelay] | None:
        """The actions whose rewards come soonest and latest, where these differ by much."""
        return diagnostics.unequal(self.mature.log, self.delays)

    @cached_property
    def about_log(self) -> tuple[str, ...]:
        """Warnings of errors in the log itself, the first of the warnings."""
        return diagnostics.log_warnings(self)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """All warnings: the conditions under which the estimates hold."""
        return (*self.about_log, *diagnostics.other_warnings(self))

    # --- Output ---------------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """Which policy is better, in one or two plain sentences."""
        return words.verdict(self)

    def summary(self) -> str:
        """Return the evaluation in words, for a terminal."""
        return words.summary(self)

    def _page(self, command: str) -> Page:
        from belated.evaluations.page import page_of

        return page_of(self, command)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the numbers as JSON."""
        write_whole(path, self.to_json(indent=2).encode("utf-8"))

    @property
    def table(self) -> list[dict[str, Any]]:
        """A row of numbers for every policy, the best first."""
        return [
            {
                "policy": one.name,
                "about": one.about,
                **_plain(one.estimates),
                "difference": _numbers(one.difference),
                "difference_for_all": _numbers(one.difference_for_all),
                "standing": one.standing or None,
                "effective_sample_size": one.effective_sample_size,
                "largest_weight": one.largest_weight,
                "warnings": list(one.warnings),
            }
            for one in self.policies.values()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        mature, log, names = self.mature, self.mature.log, list(self.given)
        counts = ("too_young", "silent", "late", "silence", "deadline")
        return {
            "name": self.name,
            "decisions": mature.decisions,
            "counted": self.counted,
            **{name: getattr(mature, name) for name in counts},
            "unit": log.unit,
            "actions": list(log.actions),
            "context": list(log.context),
            "estimator": self.estimator,
            "against": self.against,
            "level": LEVEL,
            "verdict": self.verdict,
            "warnings": list(self.warnings),
            "policies": self.table,
            "over_time": [
                {"from": float(log.decided[rows.start]), **_part_data(part)}
                for rows, part in self.over_time
            ],
            "slices": {
                column: [{"value": part.value, **_part_data(part)} for part in parts]
                for column, parts in self.slices.items()
            },
            "overlaps": {
                name: dict(zip(names, row, strict=True))
                for name, row in zip(names, self.overlaps.tolist(), strict=True)
            },
            "delays": [asdict(delay) for delay in self.delays],
        }

    def __repr__(self) -> str:
        """Return the verdict and the log that it is about."""
        return f"<Evaluation of {self.name!r}, {counted(self.counted, 'decision')}: {self.verdict}>"

    def _repr_html_(self) -> str:
        """Return the verdict and the table of policies for notebooks."""
        return as_html(self.verdict, words.table(self), words.heads(self))


def _numbers(estimate: Estimate | None) -> dict[str, float | None] | None:
    """Return an estimate as plain data; ends of which nothing is known are None."""
    if estimate is None:
        return None
    return {n: each if math.isfinite(each) else None for n, each in estimate._asdict().items()}


def _plain(found: Mapping[Any, Estimate | None]) -> dict[str, Any]:
    return {name: _numbers(estimate) for name, estimate in found.items()}


def _part_data(part: Part) -> dict[str, Any]:
    estimates, differences = _plain(part.estimates), _plain(part.differences)
    return {"decisions": part.decisions, "estimates": estimates, "differences": differences}
