"""An evaluation as text for a terminal; pages and notebooks use the same sentences."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from belated.evaluations.estimators import TITLES
from belated.report.durations import humane
from belated.report.plain import WIDTH, counted, first_up, plain, remarks
from belated.tables import aligned

if TYPE_CHECKING:
    from belated.evaluations.estimators import Estimate
    from belated.evaluations.result import Evaluation

CALLED = {"logged": "the logged policy", "uniform": "uniform choice", "chooser": "the chooser"}


def summary(evaluation: Evaluation) -> str:
    """Return all lines: the answer, the table, and the conditions."""
    first, *others = lead(evaluation)
    lines = textwrap.wrap(first, WIDTH)
    for text in others:
        lines += ["", *textwrap.wrap(text, WIDTH)]
    lines += ["", *aligned([heads(evaluation), *table(evaluation)])]
    lines += ["", *textwrap.wrap(notes(evaluation), WIDTH)]
    for warning in evaluation.warnings[len(evaluation.about_log) :]:
        lines += textwrap.wrap(f"Warning: {warning}", WIDTH, subsequent_indent="  ")
    return "\n".join([*lines, *remarks((), evaluation.bad)])


def lead(evaluation: Evaluation) -> list[str]:
    """Return what is said first: errors in the log, the verdict, and what was evaluated."""
    errors = [f"Warning: {warning}" for warning in evaluation.about_log]
    return [*errors, evaluation.verdict, title(evaluation)]


def title(evaluation: Evaluation) -> str:
    """Say what was evaluated, and what did not count."""
    mature, log = evaluation.mature, evaluation.mature.log
    actions, by = counted(len(log.actions), "action"), ""
    text = f"{evaluation.name}: {counted(mature.decisions, 'decision')} among {actions}"
    if mature.deadline is None:
        text += ", all of which count."
    else:
        by, length = " by the deadline", humane(mature.deadline, log.unit)
        text += f"; {evaluation.counted:,} count, as those made less than {length} before the end "
        text += f"are too young ({mature.too_young:,})."
    if mature.silent:
        text += f" No reward came{by} in {mature.silent:,}, which counts as "
        text += plain(mature.silence or 0.0)
        text += f"; in {mature.late:,} of them it came too late." if mature.late else "."
    return text


def verdict(evaluation: Evaluation) -> str:
    """Say which policy is better than the one compared with, by how much, and how sure that is."""
    judged = [one for one in evaluation.policies.values() if one.difference_for_all is not None]
    against = _called(evaluation.against)
    if not judged:
        return "There is nothing to compare."
    if all(one.standing == "worse" for one in judged):
        return f"All others are worse than {against}."
    best = next((one for one in judged if one.standing == "better"), None)
    if best is None:
        ties = [one for one in judged if one.standing == "tie"]
        top = max(ties, key=lambda one: one.difference.value if one.difference else -math.inf)
        if top.difference_for_all is None or top.difference_for_all.value <= 0.0:
            return (
                f"No policy is shown to be better than {against}, and none has a higher estimate."
            )
        return (
            f"A tie: no policy is shown to be better than {against}. The highest estimate is that "
            f"of {_called(top.name)}, {_gap(top.difference_for_all)} a decision, which chance "
            "would explain."
        )
    assert best.difference_for_all is not None  # it has a standing
    by, base = _gap(best.difference_for_all), evaluation.estimate(evaluation.against)
    share = ""
    if base is not None and base.value > 0.0:
        share = f", {best.difference_for_all.value / base.value:+.1%}".replace("%", " %")
    text = f"{first_up(_called(best.name))} is better than {against}: {by} a decision{share}."
    second = next((one for one in judged if one is not best), None)
    if second is None:
        return text
    gap, name = evaluation.compare(best.name, second.name), _called(second.name)
    if gap.sign > 0:
        return f"{text} It is also better than {name}, by {plain(gap.value, 3)} {range_of(gap)}."
    return f"{text} Between it and {name} it is a tie ({_gap(gap)})."


def _called(name: str) -> str:
    return CALLED.get(name, f'"{name}"')


def _gap(estimate: Estimate) -> str:
    return f"{signed(estimate.value)} {range_of(estimate)}"


def notes(evaluation: Evaluation) -> str:
    """Say how the numbers are to be read."""
    others, log = len(evaluation.given) - 1, evaluation.mature.log
    together = "one comparison" if others == 1 else f"all {others} comparisons"
    text = (
        f"Rewards per decision, {TITLES[evaluation.estimator]}, in the decisions of this log: "
        "other days may differ. Intervals of rewards are for one policy at a time; those of "
        f"differences, and with them better, worse and tie, hold for {together} at once. The "
        "effective sample size is the number of decisions of the policy's own that would say as "
        "much. "
        f"Context: {', '.join(log.context) or 'none'}."
    )
    return " ".join([text, *log.notes])


def heads(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the heads of the table."""
    others = len(evaluation.given) - 1
    together = "95 % interval" if others == 1 else f"95 %, all {others}"
    against = f"vs {evaluation.against}"[:10]
    return ("policy", "reward", "95 % interval", against, together, "standing", "effective size")


def table(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """Return the policies, the best first."""
    rows: list[tuple[str, ...]] = []
    for one in evaluation.policies.values():
        found, gap = evaluation.estimate(one.name), one.difference_for_all
        reward = ("unknown", "") if found is None else (plain(found.value), range_of(found))
        difference = ("", "") if gap is None else (signed(gap.value), range_of(gap))
        size = f"{one.effective_sample_size:,.0f}"
        rows.append((one.name[:28], *reward, *difference, one.standing, size))
    return rows


def range_of(estimate: Estimate) -> str:
    """Return the ends of an interval."""
    if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
        return "[unknown]"
    return f"[{plain(estimate.low, 3)}, {plain(estimate.high, 3)}]"


def signed(value: float) -> str:
    """Return a difference with its sign."""
    return f"+{plain(value, 3)}" if value > 0.0 else plain(value, 3)
