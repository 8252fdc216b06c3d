"""How much a log says about policies: delays by action, overlaps, and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from belated.arrays import Floats, Ints
from belated.evaluations.decision_log import DecisionLog, MatureDecisions
from belated.evaluations.estimators import FEW, Estimate, Weighed, repetition, wrong_mean
from belated.evaluations.policies import Policy
from belated.logs.ranks import compared, is_sure
from belated.report.durations import humane

if TYPE_CHECKING:
    from belated.evaluations.result import Evaluation

FACTOR = 1.5
"""Smaller ratios between median delays are not reported."""
LEAST_HEARD = 20
"""The delays of an action with fewer rewards are not compared."""


@dataclass(frozen=True)
class ActionDelay:
    """How often an action was taken, how many rewards arrived, and how soon."""

    action: str
    taken: int
    heard: int
    mean_reward: float
    median: float | None
    """Of the delays, in the unit of the log."""
    p90: float | None


def delays_of(log: DecisionLog) -> tuple[ActionDelay, ...]:
    """Return the delays of all actions."""
    found = []
    for place, name in enumerate(log.actions):
        of = log.action == place
        waits = log.wait[of & log.heard]
        taken = int(np.count_nonzero(of))
        ends = np.quantile(waits, (0.5, 0.9)).tolist() if waits.size else (None, None)
        mean = float(log.reward[of].mean()) if taken else 0.0
        found.append(ActionDelay(name, taken, int(waits.size), mean, *ends))
    return tuple(found)


def unequal(
    log: DecisionLog, delays: Sequence[ActionDelay]
) -> tuple[ActionDelay, ActionDelay] | None:
    """Return the fastest and the slowest action where these differ, beyond chance and by much."""
    enough = sorted(
        (float(each.median), i)
        for i, each in enumerate(delays)
        if each.heard >= LEAST_HEARD and each.median is not None
    )
    if len(enough) < 2 or not enough[-1][0] > FACTOR * enough[0][0]:
        return None
    of = log.heard & np.isin(log.action, [i for _, i in enough])
    is_beyond_chance = differ(log.wait[of], log.action[of])
    return (delays[enough[0][1]], delays[enough[-1][1]]) if is_beyond_chance else None


def differ(waits: Floats, groups: Ints) -> bool:
    """Whether the waits of any group are longer or shorter than those of all others."""
    _, place = np.unique(waits, return_inverse=True)
    names = np.unique(groups).tolist()
    counts = np.array([np.bincount(place[groups == n], minlength=place.max() + 1) for n in names])
    others: Floats = counts.sum(axis=0) - counts.astype(np.float64)
    pairs = zip(counts.astype(np.float64), others, strict=True)
    return any(is_sure(compared(mine, other)[1], len(names)) for mine, other in pairs)


def overlaps(policies: Sequence[Policy], weighed: Sequence[Weighed]) -> Floats:
    """Return how much every two policies do the same, as ``Evaluation.overlaps`` describes."""
    found = np.eye(len(policies))
    for i, one in enumerate(policies):
        for j, other in enumerate(policies[:i]):
            if one.probabilities is not None and other.probabilities is not None:
                same = np.minimum(one.probabilities, other.probabilities).sum(axis=1)
            else:
                same = np.minimum(weighed[i].weights, weighed[j].weights)
            found[i, j] = found[j, i] = min(1.0, float(same.mean()))
    return found


# ---- warnings ------------------------------------------------------------------------------------


def weight_warnings(weighed: Weighed, name: str) -> tuple[str, ...]:
    """Return warnings of a policy about which the log says little."""
    total = float(weighed.weights.sum())
    if total == 0.0:
        return (f"{name} takes no action that was taken: the log says nothing about it.",)
    share = weighed.largest / total
    if share * FEW <= 1.0:
        return ()
    return (
        f"{name}: one decision has {share:.1%} of all weight, and all {weighed.weights.size:,} say "
        f"as much as {weighed.effective:,.0f} of its own would; its interval is made wide.",
    )


def log_warnings(evaluation: Evaluation) -> tuple[str, ...]:
    """Return warnings of errors in the log: names, probabilities, actions that were kept."""
    means = {name: wrong_mean(weighed) for name, weighed in evaluation.weighed.items()}
    wrong = {name: mean for name, mean in means.items() if mean is not None}
    found = [_case_warning(evaluation.mature.log.actions), _mean_warning(evaluation, wrong)]
    if evaluation.blocks is None:
        found.append(repetition_warning(evaluation, wrong))
    return tuple(text for text in found if text)


def other_warnings(evaluation: Evaluation) -> list[str]:
    """Return warnings of delays, and of policies about which the log says little."""
    mature, found = evaluation.mature, []
    if mature.still_open:
        found.append(
            f"a reward may still come for {mature.still_open:,} of the decisions that count as "
            "silent: young decisions look worse than they are; give a deadline."
        )
    if evaluation.unequal_delays is not None:
        found.append(delay_warning(*evaluation.unequal_delays, mature))
    return [*found, *(text for one in evaluation.policies.values() for text in one.warnings)]


def _case_warning(actions: Sequence[str]) -> str:
    """Name the actions that differ only in capital letters or spaces."""
    alike: dict[str, list[str]] = {}
    for name in actions:
        alike.setdefault(" ".join(name.casefold().split()), []).append(name)
    pairs = [" and ".join(map(repr, names)) for names in alike.values() if len(names) > 1]
    if not pairs:
        return ""
    return (
        f"{'; '.join(pairs)} differ only in capital letters or spaces, and count as different "
        "actions: if they are the same, write them alike."
    )


def _mean_warning(evaluation: Evaluation, means: dict[str, Estimate]) -> str:
    """Say that weights are not 1 on average, and what that proves about the log."""
    if not means:
        return ""
    # Where all probabilities of a policy are known, only wrong ones in the log explain more than 1.
    known = [name for name in means if evaluation.given[name].probabilities is not None]
    worst = max(known, key=lambda name: means[name].value, default=None)
    if worst is None or means[worst].low <= 1.0:
        listed = ", ".join(f"{name} {mean.value:.3g}" for name, mean in means.items())
        return (
            f"weights should be 1 on average and are not: {listed}. Either the logged policy never "
            "does there what these do, or the logged probabilities are wrong."
        )
    log, action, often = evaluation.mature.log, worst.removeprefix("always "), ""
    if action != worst and action in log.actions:
        of = log.action == log.actions.index(action)
        taken, logged = 100.0 * float(of.mean()), 100.0 * float(log.probability[of].mean())
        often = (
            f" ({action} was taken in {taken:.1f} % of the decisions, and its logged probability "
            f"is {logged:.1f} % on average)"
        )
    return (
        "the logged probabilities are wrong, and with them all that follows: the weights of "
        f"{worst} should be 1 on average and are {means[worst].value:.3g}{often}. Log the "
        "probability that the action had when it was taken."
    )


def repetition_warning(evaluation: Evaluation, wrong: dict[str, Estimate]) -> str:
    """Say that actions were kept over several decisions, so that intervals are too narrow."""
    tested = [
        repetition(weighed.weights)
        for name, weighed in evaluation.weighed.items()
        if evaluation.given[name].probabilities is not None
        and FEW * weighed.largest < float(weighed.weights.sum())
        and (name not in wrong or wrong[name].value > 1.0)  # else some of it was not possible
    ]
    if not tested or not (max(tested) > 0.0 and is_sure(max(tested), len(tested))):
        return ""
    return (
        "the same action was taken in neighbouring decisions more often than the logged "
        "probabilities explain: if actions are kept for some time, as in a session, an hour or a "
        "day, intervals are too narrow; blocks= (--blocks) with stretches that are longer than "
        "that makes them wide enough."
    )


def delay_warning(fast: ActionDelay, slow: ActionDelay, mature: MatureDecisions) -> str:
    """Say that rewards of some actions come sooner than those of others."""
    times = [humane(float(each.median or 0.0), mature.log.unit) for each in (fast, slow)]
    text = (
        f"rewards of {fast.action} come sooner (median {times[0]}) than those of {slow.action} "
        f"({times[1]})"
    )
    if mature.deadline is None:
        return f"{text}: young decisions favour {fast.action}; a deadline makes them comparable."
    return f"{text}: with a shorter deadline {slow.action} would look worse than it is."
