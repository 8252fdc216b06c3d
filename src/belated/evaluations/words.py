"""An evaluation as text for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from belated.evaluations.estimators import TITLES
from belated.report.durations import humane
from belated.report.plain import WIDTH, counted, plain, remarks
from belated.tables import aligned

if TYPE_CHECKING:
    from belated.evaluations.estimators import Estimate
    from belated.evaluations.log import Ripe
    from belated.evaluations.result import Evaluation, Judged, Speed

HEADS = ("policy", "reward", "95 % interval", "against", "95 %", "", "sample size")


def summary(evaluation: Evaluation) -> str:
    """Return all lines."""
    lines = [*textwrap.wrap(title(evaluation), WIDTH), ""]
    for warning in evaluation.about_log:
        lines += [*textwrap.wrap(f"warning: {warning}", WIDTH, subsequent_indent="  "), ""]
    lines += [f"  {line}" for line in textwrap.wrap(evaluation.verdict, WIDTH - 2)]
    lines += ["", *aligned([heads(evaluation), *table(evaluation)])]
    lines += ["", *textwrap.wrap(notes(evaluation), WIDTH)]
    for warning in evaluation.warnings[len(evaluation.about_log) :]:
        lines += textwrap.wrap(f"warning: {warning}", WIDTH, subsequent_indent="  ")
    return "\n".join([*lines, *remarks((), evaluation.bad)])


def title(evaluation: Evaluation) -> str:
    """Say what was evaluated, and what did not count."""
    ripe = evaluation.ripe
    log = ripe.log
    decisions, actions = counted(ripe.decisions, "decision"), counted(len(log.actions), "action")
    text = f"{evaluation.name}: {decisions} among {actions}"
    if ripe.deadline is None:
        text += ", all of which count."
    else:
        old, young = evaluation.counted, ripe.too_young
        text += (
            f"; {old:,} {'counts' if old == 1 else 'count'}, and {young:,} "
            f"{'is' if young == 1 else 'are'} too young: made less than "
            f"{humane(ripe.deadline, log.unit)} before the end."
        )
    if ripe.silent:
        text += f" Of {ripe.silent:,} nothing was heard"
        text += " in time" if ripe.deadline is not None else ""
        text += f", which counts as {plain(ripe.silence or 0.0)}"
        text += f"; of {ripe.late:,} of them, something came too late." if ripe.late else "."
    return text


def verdict(evaluation: Evaluation) -> str:
    """Say who is better than the one compared with, by how much, and how sure that is."""
    judged = [one for one in evaluation.policies.values() if one.difference is not None]
    if not judged:
        return "There is nothing to compare."
    rival = _called(evaluation.against)
    better = [one for one in judged if one.standing == "better"]
    if not better:
        ties = [one for one in judged if one.standing == "tie"]
        if not ties:
            return f"All others are worse than {rival}."
        best = max(ties, key=lambda one: one.surely.value if one.surely else -math.inf)
        if best.surely is None or best.surely.value <= 0.0:
            return f"No policy is shown to be better than {rival}, and none has a higher estimate."
        return (
            f"A tie: no policy is shown to be better than {rival}. The highest estimate is that of "
            f"{_called(best.name)}, {_by(best)} a decision, which chance would explain."
        )
    best = better[0]
    gain = _gain(evaluation, best)
    text = f"{_called(best.name, True)} is better than {rival}: {_by(best)} a decision{gain}."
    seconds = [one for one in judged if one.name != best.name]
    if seconds:
        gap = evaluation.compare(best.name, seconds[0].name)
        name = _called(seconds[0].name)
        if gap.sign > 0:
            text += f" It is also better than {name}, by {plain(gap.value, 3)} {range_of(gap)}."
        else:
            text += f" Between it and {name} it is a tie ({_signed(gap.value)} {range_of(gap)})."
    return text


def _called(name: str, first: bool = False) -> str:
    known = {"logged": "the logged policy", "uniform": "uniform choice", "chooser": "the chooser"}
    text = known.get(name, f'"{name}"')
    return text[:1].upper() + text[1:] if first else text


def _by(judged: Judged) -> str:
    assert judged.surely is not None  # only those that are compared get here
    return f"{_signed(judged.surely.value)} {range_of(judged.surely)}"


def _gain(evaluation: Evaluation, judged: Judged) -> str:
    """Return the gain as a share of what the other one earns, where that says something."""
    base = evaluation.estimate(evaluation.against)
    if base is None or judged.surely is None or not base.value > 0.0:
        return ""
    return f", {judged.surely.value / base.value:+.1%}"


def notes(evaluation: Evaluation) -> str:
    """Say how the numbers are to be read."""
    others = len(evaluation.given) - 1
    how = TITLES[evaluation.estimator]
    together = "one comparison" if others == 1 else f"all {others} comparisons"
    log = evaluation.ripe.log
    return (
        f"Rewards per decision, {how}. Intervals of rewards are for one policy at a time; those of "
        f"differences, and with them better, worse and tie, hold for {together} at once. The "
        "sample size is the effective one: as many decisions of the policy's own would say as "
        f"much. Context: {', '.join(log.context) or 'none'}."
    ) + "".join(f" {note}" for note in log.notes)


def heads(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the heads of the table."""
    others = len(evaluation.given) - 1
    together = "95 % interval" if others == 1 else f"{HEADS[4]}, all {others}"
    return (*HEADS[:3], f"vs {evaluation.against}"[:10], together, *HEADS[5:])


def table(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """Return the policies, the best first."""
    rows: list[tuple[str, ...]] = []
    for judged in evaluation.policies.values():
        found = evaluation.estimate(judged.name)
        rows.append(
            (
                judged.name[:28],
                "unknown" if found is None else plain(found.value),
                "" if found is None else range_of(found),
                "" if judged.surely is None else _signed(judged.surely.value),
                "" if judged.surely is None else range_of(judged.surely),
                judged.standing,
                f"{judged.effective:,.0f}",
            )
        )
    return rows


def range_of(estimate: Estimate) -> str:
    """Return the ends of an interval."""
    ends = (estimate.low, estimate.high)
    if not all(map(math.isfinite, ends)):
        return "[unknown]"
    return f"[{plain(ends[0], 3)}, {plain(ends[1], 3)}]"


def _signed(value: float) -> str:
    return f"+{plain(value, 3)}" if value > 0.0 else plain(value, 3)


# ---- warnings ----------------------------------------------------------------------------------


def weights_warning(evaluation: Evaluation, means: Mapping[str, Estimate]) -> str:
    """Say that weights are not 1 on average, and what that proves of the log."""
    if not means:
        return ""
    # Of a policy of which all probabilities are known, weights above 1 have one reason.
    known = [name for name in means if evaluation.given[name].probabilities is not None]
    worst = max(known, key=lambda name: means[name].value, default=None)
    if worst is not None and means[worst].low > 1.0:
        return (
            "the logged probabilities are wrong, and with them all that follows: the weights of "
            f"{worst} should be 1 on average and are {means[worst].value:.3g}"
            f"{_of_action(evaluation, worst)}. Log the probability that the action had when it was "
            "taken."
        )
    listed = ", ".join(f"{name} {mean.value:.3g}" for name, mean in means.items())
    they = "it does" if len(means) == 1 else "they do"
    return (
        f"weights should be 1 on average and are not: {listed}. Either {they} what the logged "
        "policy never does there, or the logged probabilities are wrong."
    )


def _of_action(evaluation: Evaluation, policy: str) -> str:
    """Say how often the one action of a policy was taken, and how often it should have been."""
    log, name = evaluation.ripe.log, policy.removeprefix("always ")
    if not policy.startswith("always ") or name not in log.actions:
        return ""
    of = log.action == log.actions.index(name)
    share, logged = float(of.mean()), float(log.probability[of].mean())
    return (
        f" ({name} was taken in {share:.1%} of the decisions, and its logged probability is "
        f"{logged:.1%} on average)".replace("%", " %")
    )


def case_warning(actions: Sequence[str]) -> str:
    """Say which actions differ only in capital letters or spaces."""
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


def open_warning(ripe: Ripe) -> str:
    """Say that rewards may still come."""
    silent = counted(ripe.still_open, "decision")
    return (
        f"{silent} {'counts' if ripe.still_open == 1 else 'count'} as silent, though a reward may "
        "still come: without a deadline nobody can tell, and young decisions look worse than they "
        "are."
    )


def speed_warning(fast: Speed, slow: Speed, ripe: Ripe) -> str:
    """Say that rewards of some actions come sooner than those of others."""
    unit = ripe.log.unit
    times = [humane(float(speed.median or 0.0), unit) for speed in (fast, slow)]
    text = (
        f"rewards of {fast.action} come sooner (median {times[0]}) than those of {slow.action} "
        f"({times[1]})"
    )
    if ripe.deadline is None:
        return f"{text}: young decisions favour {fast.action}; a deadline makes them comparable."
    return f"{text}: with a shorter deadline {slow.action} would look worse than it is."


def alike_warning(factor: float) -> str:
    """Say that intervals are too narrow."""
    return (
        "rewards of neighbouring decisions are alike, beyond chance: if that is because they share "
        f"what happens to them, intervals should be about {math.sqrt(factor):.1f} times as wide; "
        "blocks= (--blocks) does that."
    )
