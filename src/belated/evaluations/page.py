"""An evaluation as one HTML page that needs nothing else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from belated._version import __version__
from belated.evaluations.diagnostics import delay_warning
from belated.evaluations.estimators import Estimate
from belated.evaluations.policies import CHOOSER, LOGGED
from belated.evaluations.result import Evaluation
from belated.evaluations.words import heads, lead, notes, signed, table
from belated.report import Bars, Lines, Page, Section, Series, Table
from belated.report.durations import axis, humane, moment, wait_axis
from belated.report.plain import first_up, plain

_CURVES = 4  # most policies in one picture over time
_GROUPS = 3  # most policies beside each other in a slice


def page_of(evaluation: Evaluation, command: str = "") -> Page:
    """Return what the page says."""
    sections = [
        _rewards(evaluation),
        *_differences(evaluation),
        *_over_time(evaluation),
        *_slices(evaluation),
        _overlap(evaluation),
        _delays(evaluation),
    ]
    facts = {"belated": __version__}
    if evaluation.bad:
        facts["left out"] = str(evaluation.bad)
    others = [f"Warning: {text}" for text in evaluation.warnings[len(evaluation.about_log) :]]
    return Page(
        f"{Path(evaluation.name).name}: is another policy better?",
        "\n\n".join([*lead(evaluation), *others]),
        tuple(sections),
        command,
        facts,
        _numbers(evaluation),
    )


def _numbers(evaluation: Evaluation) -> tuple[tuple[str, str], ...]:
    """Return the numbers at the top: the gain, the reward it is a gain over, and how many count."""
    found, against = [], evaluation.against
    gaps = [one for one in evaluation.policies.values() if one.difference_for_all is not None]
    best = next((one for one in gaps if one.standing == "better"), None)
    if best is not None and best.difference_for_all is not None:
        gain = signed(best.difference_for_all.value)
        found.append((gain, f"reward per decision of {best.name} less that of {against}"))
    elif gaps:
        found.append(("a tie", f"no policy is shown to be better than {against}"))
    base = evaluation.estimate(against)
    if base is not None:
        found.append((plain(base.value), f"reward per decision of {against}"))
    share = f"{evaluation.counted:,} of {evaluation.mature.decisions:,}"
    return (*found, (share, "decisions count: they are old enough"))


def _rewards(evaluation: Evaluation) -> Section:
    """Show what every policy would have earned."""
    judged = list(evaluation.policies.values())
    found = [evaluation.estimate(one.name) for one in judged]
    figure = Bars(
        "Reward per decision, with 95 % intervals",
        tuple(one.name for one in judged),
        (_bars(evaluation.estimator, found),),
        "reward per decision",
        by_label=True,
    )
    says = notes(evaluation)
    rows = Table(heads(evaluation), tuple(table(evaluation)))
    return Section("What would every policy have earned?", figure, says, rows)


def _differences(evaluation: Evaluation) -> Iterable[Section]:
    """Show which policies are better than the one compared with."""
    judged = [one for one in evaluation.policies.values() if one.difference_for_all is not None]
    if not judged:
        return
    figure = Bars(
        f"Difference to {evaluation.against}, per decision",
        tuple(one.name for one in judged),
        (_bars("difference", [one.difference_for_all for one in judged]),),
        "reward per decision",
        by_label=True,
    )
    counts = {
        word: sum(one.standing == word for one in judged) for word in ("better", "tie", "worse")
    }
    listed = ", ".join(f"{count} {word}" for word, count in counts.items())
    says = (
        f"Each policy beside {evaluation.against}, decision by decision: {listed}. The whiskers "
        f"hold for all {len(judged)} comparisons at once, so that the best of many is not taken "
        "for better by luck. Where they cross 0 it is a tie."
    )
    yield Section("Which policy is better, and by how much?", figure, says)


def _over_time(evaluation: Evaluation) -> Iterable[Section]:
    """Show rewards, stretch by stretch."""
    parts = evaluation.over_time
    if len(parts) < 2:
        return
    log = evaluation.mature.log
    scale, label = axis(float(log.decided[-1]), log.unit, moment(log.first))
    middles = [
        scale * float(log.decided[rows.start] + log.decided[rows.stop - 1]) / 2.0
        for rows, _ in parts
    ]
    series = []
    for name in chosen(evaluation)[:_CURVES]:
        points = [
            (x, part.estimates[name])
            for x, (_, part) in zip(middles, parts, strict=True)
            if name in part.estimates
        ]
        if points:
            series.append(Series.of(name, [x for x, _ in points], [e.value for _, e in points]))
    figure = Lines("Reward per decision over time", label, "reward per decision", tuple(series))
    says = f"Stretches of about {evaluation.counted // len(parts):,} decisions each."
    if CHOOSER in evaluation.given:
        says += " A policy that learns, as the chooser does, starts where uniform choice is."
    yield Section("Does it hold over time?", figure, says)


def _slices(evaluation: Evaluation) -> Iterable[Section]:
    """Show rewards by the values of each column."""
    names = [name for name in evaluation.policies if name != evaluation.against]
    for column, parts in evaluation.slices.items():
        groups = tuple(
            _bars(name, [part.estimates.get(name) for part in parts])
            for name in [evaluation.against, *names][: _GROUPS + 1]
        )
        values = tuple(part.value for part in parts)
        figure = Bars(f"Reward per decision by {column}", values, groups, "reward per decision")
        better = Counter(
            name for part in parts for name, gap in part.differences.items() if gap.sign > 0
        )
        says = f"For no single value of {column} is a policy shown to be better."
        if better:
            best, count = better.most_common(1)[0]
            says = (
                f"{best} is better for {count} of {len(parts)} values of {column}, each looked at "
                "by itself: with many slices some look better by chance."
            )
        rows = []
        for part in parts:
            gaps = part.differences
            best = max(gaps, key=lambda name: gaps[name].value, default="")
            rows.append((part.value, part.decisions, best or None, *_cells(gaps.get(best))))
        shown = Table((column, "decisions", "best", "gain", "low", "high"), tuple(rows))
        yield Section(f"Does {column} matter?", figure, says, shown)


def _overlap(evaluation: Evaluation) -> Section:
    """Show which policies do what was done, and how much the log says of each."""
    names = list(evaluation.given)
    shares = dict(zip(names, evaluation.overlaps[names.index(evaluation.against)], strict=True))
    rows = tuple(
        (
            one.name,
            one.about,
            float(shares[one.name]),
            round(one.effective_sample_size),
            one.largest_weight,
        )
        for one in evaluation.policies.values()
    )
    says = (
        f"How much each policy does the same as {evaluation.against}: 1 is always, 0 never. The "
        "less a policy does what was done, the less the log says about it."
    )
    names = ["policy", "what it is", "the same", "effective sample size", "largest weight"]
    return Section("How much does the log say?", None, says, Table(tuple(names), rows))


def _delays(evaluation: Evaluation) -> Section:
    """Show how soon rewards come, by action."""
    delays, unit = evaluation.delays, evaluation.mature.log.unit
    scale, label = wait_axis(max((delay.p90 or 0.0 for delay in delays), default=0.0), unit)
    names = ("median", "90 %")
    waits = [(delay.median, delay.p90) for delay in delays]
    groups = tuple(
        Series(name, (), tuple(None if wait is None else scale * wait for wait in column))
        for name, column in zip(names, zip(*waits, strict=True), strict=True)
    )
    rows = []
    for delay, wait in zip(delays, waits, strict=True):
        texts = (None if length is None else humane(length, unit) for length in wait)
        rows.append((delay.action, delay.taken, delay.heard, delay.mean_reward, *texts))
    columns = ("action", "taken", "rewards in time", "mean reward", "median wait", "90 % of waits")
    says = "Rewards of no action come much sooner than those of another."
    if evaluation.unequal_delays is not None:
        says = first_up(delay_warning(*evaluation.unequal_delays, evaluation.mature))
    figure = Bars("How long rewards take", tuple(delay.action for delay in delays), groups, label)
    return Section(
        "Do rewards of some actions come sooner?", figure, says, Table(columns, tuple(rows))
    )


def _bars(name: str, found: Sequence[Estimate | None]) -> Series:
    """Return bars with whiskers; none where nothing is known."""
    cells = [_cells(each) for each in found]
    known = [each if None not in each else (None, None, None) for each in cells]
    value, low, high = (tuple(each[i] for each in known) for i in range(3))
    return Series(name, (), value, low, high)


def _cells(estimate: Estimate | None) -> tuple[float | None, float | None, float | None]:
    if estimate is None:
        return None, None, None
    value, low, high = (each if math.isfinite(each) else None for each in estimate)
    return value, low, high


def chosen(evaluation: Evaluation) -> list[str]:
    """Return the policies in the order in which curves are shown: logged, others, constant ones."""
    return sorted(evaluation.policies, key=lambda name: (name != LOGGED, name[:7] == "always "))
