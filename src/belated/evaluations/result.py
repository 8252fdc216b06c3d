"""What an evaluation finds, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np

from belated.arrays import Floats, Ints
from belated.errors import SpecError
from belated.evaluations import words
from belated.evaluations.estimators import (
    ESTIMATORS,
    FEW,
    LEVEL,
    Estimate,
    Estimator,
    Terms,
    Weighed,
    block_means,
    interval,
)
from belated.evaluations.log import DecisionLog, Ripe
from belated.evaluations.policies import LOGGED, Policy
from belated.files import write_whole
from belated.logs.log import BadRows
from belated.logs.ranks import compared, is_sure
from belated.report import Page
from belated.report.finding import Finding
from belated.report.plain import counted
from belated.report.slicing import parted
from belated.tables import as_html

WINDOWS = 24
"""Most stretches of time that are shown."""


@dataclass(frozen=True, eq=False)
class Judged:
    """A policy and what is known of it."""

    name: str
    about: str
    estimates: Mapping[Estimator, Estimate | None]
    """What it would have earned per decision, by estimator; None: not with what is known of it."""
    difference: Estimate | None
    """How much more than the one it is compared with; None for that one itself."""
    surely: Estimate | None
    """The same with an interval that holds for all policies at once."""
    effective: float
    """Effective sample size."""
    largest_weight: float
    warnings: tuple[str, ...]

    @property
    def standing(self) -> str:
        """Whether it is better or worse than the one it is compared with, or a tie."""
        if self.surely is None:
            return ""
        return {1: "better", -1: "worse", 0: "tie"}[self.surely.sign]


@dataclass(frozen=True)
class Part:
    """Decisions that have something in common, and what every policy earns in them."""

    value: str
    count: int
    estimates: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Finding):
    """What every policy would have earned in the decisions of a log, with 95 % intervals.

    Rewards are per decision. ``str`` gives the words, ``to_dict`` and ``to_json`` the numbers,
    ``page`` and ``save`` write them.
    """

    ripe: Ripe
    sliced: tuple[str, ...]
    """Columns by whose values rewards are shown."""
    given: Mapping[str, Policy]
    weighed: Mapping[str, Weighed]
    estimator: Estimator = "dr"
    """The one that differences, slices and pictures are from."""
    against: str = LOGGED
    """The policy that the others are compared with."""
    blocks: int | None = None
    """From how many stretches of time variances are taken; None: from single decisions."""

    @property
    def name(self) -> str:
        """What the log is called."""
        return self.ripe.log.name

    @property
    def counted(self) -> int:
        """Decisions that count."""
        return len(self.ripe.log)

    @property
    def too_young(self) -> int:
        """Decisions that do not count, as their deadline has not passed."""
        return self.ripe.too_young

    @property
    def bad(self) -> BadRows:
        """Rows that were left out."""
        return self.ripe.log.bad

    @property
    def rewards(self) -> Floats:
        """The reward of every decision that counts."""
        return self.ripe.log.reward

    # --- Estimates ------------------------------------------------------------------------------

    def _best_for(self, *names: str) -> Estimator:
        """Return the estimator to use; self-normalised where doubly robust cannot be had."""
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
        self._check(name)
        self._check(other)
        how = estimator or self._best_for(name, other)
        pair = [self.weighed[each].terms(how, self.rewards, rows) for each in (name, other)]
        if pair[0] is None or pair[1] is None:
            raise SpecError(
                f"evaluate: {how!r} cannot be had for {name!r} and {other!r}: only the probability "
                "of what was done is known"
            )
        terms = pair[0].minus(pair[1])
        return interval(terms, self.rewards[rows], level=level, blocks=self.blocks)

    def _check(self, name: str) -> None:
        if name not in self.weighed:
            raise SpecError(
                f"evaluate: there is no policy {name!r}; there are {', '.join(self.weighed)}"
            )

    @cached_property
    def policies(self) -> dict[str, Judged]:
        """Every policy by name, the best first."""
        others = max(len(self.given) - 1, 1)
        found = [self._judged(name, 1.0 - (1.0 - LEVEL) / others) for name in self.given]
        found.sort(key=lambda judged: -self._value(judged))
        return {judged.name: judged for judged in found}

    def _value(self, judged: Judged) -> float:
        estimate = judged.estimates[self._best_for(judged.name)]
        return -math.inf if estimate is None else estimate.value

    def _judged(self, name: str, level: float) -> Judged:
        weighed = self.weighed[name]
        is_other = name != self.against and float(weighed.weights.sum()) > 0.0
        return Judged(
            name=name,
            about=self.given[name].about,
            estimates={how: self.estimate(name, how) for how in ESTIMATORS},
            difference=self.compare(name) if is_other else None,
            surely=self.compare(name, level=level) if is_other else None,
            effective=weighed.effective,
            largest_weight=weighed.largest,
            warnings=warnings_of(weighed, name),
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
        return {
            column: tuple(
                self._part(value, rows) for value, rows in parted(self.ripe.log.context[column])
            )
            for column in self.sliced
        }

    def _part(self, value: str, rows: Any) -> Part:
        estimates, differences = {}, {}
        for name in self.given:
            found = self.estimate(name, rows=rows)
            if found is None:
                continue
            estimates[name] = found
            if name != self.against and float(self.weighed[self.against].weights[rows].sum()) > 0.0:
                differences[name] = self.compare(name, rows=rows)
        return Part(value, len(self.rewards[rows]), estimates, differences)

    @cached_property
    def overlaps(self) -> Floats:
        """How much every two policies do the same: the mean of sum over a of min(pi, pi').

        1: always the same, 0: never; in the order of ``given``. Of a policy of which only the
        probability of what was done is known, as of the logged one, it is estimated by the mean of
        min(w, w'), at most 1: 0 where the weights of one are 0 throughout.
        """
        each = [(policy, self.weighed[name].weights) for name, policy in self.given.items()]
        found = np.eye(len(each))
        for i, (one, w) in enumerate(each):
            for j, (other, v) in enumerate(each[:i]):
                found[i, j] = found[j, i] = _overlap(one, other, w, v)
        return found

    @cached_property
    def speeds(self) -> tuple[Speed, ...]:
        """How soon rewards came, by action."""
        return speeds_of(self.ripe.log)

    @cached_property
    def apart(self) -> tuple[Speed, Speed] | None:
        """The actions that are heard of soonest and latest, where these differ by much."""
        return apart(self.ripe.log, self.speeds)

    @cached_property
    def about_log(self) -> tuple[str, ...]:
        """What is wrong with the log itself, the first of the warnings."""
        means = {name: astray(weighed) for name, weighed in self.weighed.items()}
        wrong = {name: mean for name, mean in means.items() if mean is not None}
        found = (words.case_warning(self.ripe.log.actions), words.weights_warning(self, wrong))
        return tuple(text for text in found if text)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to know before one believes any of it."""
        found = list(self.about_log)
        if self.ripe.still_open:
            found.append(words.open_warning(self.ripe))
        if self.apart is not None:
            found.append(words.speed_warning(*self.apart, self.ripe))
        factor = likeness(self.rewards)
        if self.blocks is None and factor > _ALIKE:
            found.append(words.alike_warning(factor))
        for judged in self.policies.values():
            found += judged.warnings
        return tuple(found)

    # --- Words ----------------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """Who is better, in one or two plain sentences."""
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
        return [self._row(judged) for judged in self.policies.values()]

    def _row(self, judged: Judged) -> dict[str, Any]:
        return {
            "policy": judged.name,
            "about": judged.about,
            **{how: _plain(estimate) for how, estimate in judged.estimates.items()},
            "difference": _plain(judged.difference),
            "difference_for_all": _plain(judged.surely),
            "standing": judged.standing or None,
            "effective_sample_size": judged.effective,
            "largest_weight": judged.largest_weight,
            "warnings": list(judged.warnings),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        ripe = self.ripe
        return {
            "name": self.name,
            "decisions": ripe.decisions,
            "counted": self.counted,
            **{name: getattr(ripe, name) for name in _COUNTS},
            "unit": ripe.log.unit,
            "actions": list(ripe.log.actions),
            "context": list(ripe.log.context),
            "estimator": self.estimator,
            "against": self.against,
            "level": LEVEL,
            "verdict": self.verdict,
            "warnings": list(self.warnings),
            "policies": self.table,
            "over_time": [
                {"from": float(ripe.log.decided[rows.start]), **_of_part(part)}
                for rows, part in self.over_time
            ],
            "slices": {
                column: [{"value": part.value, **_of_part(part)} for part in parts]
                for column, parts in self.slices.items()
            },
            "overlaps": {
                name: dict(zip(self.given, row, strict=True))
                for name, row in zip(self.given, self.overlaps.tolist(), strict=True)
            },
            "delays": [asdict(speed) for speed in self.speeds],
        }

    def __repr__(self) -> str:
        """Return the verdict and what it is about."""
        return f"<Evaluation of {self.name!r}, {counted(self.counted, 'decision')}: {self.verdict}>"

    def _repr_html_(self) -> str:
        """Return the verdict and the table of policies for notebooks."""
        return as_html(self.verdict, words.table(self), words.heads(self))


_COUNTS = ("too_young", "silent", "late", "silence", "deadline")


def _plain(estimate: Estimate | None) -> dict[str, float | None] | None:
    """Return an estimate as plain data; ends that nothing is known of are None."""
    if estimate is None:
        return None
    fields = estimate._asdict()
    return {name: value if math.isfinite(value) else None for name, value in fields.items()}


def _of_part(part: Part) -> dict[str, Any]:
    return {
        "decisions": part.count,
        "estimates": {name: _plain(found) for name, found in part.estimates.items()},
        "differences": {name: _plain(found) for name, found in part.differences.items()},
    }


def chosen(evaluation: Evaluation, most: int) -> Sequence[str]:
    """Return the policies to show where there is no room for all: ours, yours and the best."""
    always = [name for name in evaluation.policies if not name.startswith("always ")]
    constant = [name for name in evaluation.policies if name.startswith("always ")]
    first = [name for name in (LOGGED, *always) if name in evaluation.given]
    return list(dict.fromkeys([*first, *constant]))[:most]


# ---- how fast rewards come, action by action -----------------------------------------------------

_FACTOR = 1.5  # medians that are closer than that are of no consequence
_LEAST = 20


@dataclass(frozen=True)
class Speed:
    """One action: how often it was taken, of how many something was heard, and how soon."""

    action: str
    taken: int
    heard: int
    mean_reward: float
    median: float | None
    """Of the waits, in the unit of the log."""
    p90: float | None


def speeds_of(log: DecisionLog) -> tuple[Speed, ...]:
    """Return the speeds of all actions."""
    found = []
    for place, name in enumerate(log.actions):
        of = log.action == place
        waits = log.wait[of & log.heard]
        taken = int(np.count_nonzero(of))
        ends = np.quantile(waits, (0.5, 0.9)).tolist() if waits.size else (None, None)
        mean = float(log.reward[of].mean()) if taken else 0.0
        found.append(Speed(name, taken, int(waits.size), mean, *ends))
    return tuple(found)


def apart(log: DecisionLog, speeds: tuple[Speed, ...]) -> tuple[Speed, Speed] | None:
    """Return the fastest and the slowest action where these differ, beyond chance and by much."""
    enough = [speed for speed in speeds if speed.heard >= _LEAST and speed.median is not None]
    if len(enough) < 2:
        return None
    fast, *_, slow = sorted(enough, key=lambda speed: float(speed.median or 0.0))
    if not float(slow.median or 0.0) > _FACTOR * float(fast.median or 0.0):
        return None
    chosen = np.isin(log.action, [log.actions.index(speed.action) for speed in enough])
    of = chosen & log.heard
    return (fast, slow) if _differ(log.wait[of], log.action[of]) else None


def _differ(waits: Floats, groups: Ints) -> bool:
    """Whether the waits of any group are longer or shorter than those of all others."""
    _, place = np.unique(waits, return_inverse=True)
    whole = np.bincount(place)
    names = np.unique(groups).tolist()
    for name in names:
        mine = np.bincount(place[groups == name], minlength=len(whole)).astype(np.float64)
        if is_sure(compared(mine, whole - mine)[1], len(names)):
            return True
    return False


# ---- how much a log says about a policy, and what to be warned of --------------------------------

_SURE = 0.9999
_BLOCKS = 30
_ALIKE = 2.0  # at 29 degrees of freedom by chance one time in a thousand


def warnings_of(weighed: Weighed, shown: str) -> tuple[str, ...]:
    """Return what to know before one believes an estimate."""
    found = []
    weights = weighed.weights
    total = float(weights.sum())
    if total == 0.0:
        return (f"{shown} does nothing that was ever done: the log says nothing about it.",)
    share = weighed.largest / total
    if share * FEW > 1.0:
        found.append(
            f"{shown}: one decision has {share:.1%} of all weight, and all {weights.size:,} say as "
            f"much as {weighed.effective:,.0f} of its own would; its interval is made wide."
        )
    return tuple(found)


def astray(weighed: Weighed) -> Estimate | None:
    """Return the mean of the weights where it is surely not 1.

    It is 1 where the logged probabilities are right and whatever the policy does was possible, less
    where some of it was not, and never more.
    """
    weights = weighed.weights
    total = float(weights.sum())
    if total == 0.0:
        return None
    terms = Terms(weights, np.zeros_like(weights), weighed.largest / total)
    mean = interval(terms, weights, level=_SURE)
    return None if mean.low <= 1.0 <= mean.high else mean


def likeness(values: Floats) -> float:
    """Return by what factor the variance of stretches of time exceeds that of single terms.

    1 where decisions have nothing to do with each other.
    """
    if values.size < 4 * _BLOCKS:
        return 1.0
    means = block_means(values, _BLOCKS)
    alone = float(values.var()) * _BLOCKS / values.size
    return float(means.var(ddof=1)) / alone if alone > 0.0 else 1.0


def _overlap(one: Policy, other: Policy, w: Floats, v: Floats) -> float:
    if one.probabilities is not None and other.probabilities is not None:
        both = np.minimum(one.probabilities, other.probabilities).sum(axis=1)
        return float(both.mean())
    return min(1.0, float(np.minimum(w, v).mean()))
