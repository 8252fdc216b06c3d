"""An evaluation as one HTML page that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from belated._version import __version__
from belated.evaluations.estimators import ESTIMATORS, TITLES
from belated.evaluations.intervals import Estimate
from belated.evaluations.policies import CHOOSER
from belated.evaluations.result import Evaluation, Part, chosen
from belated.evaluations.words import command, notes, range_of, speed_warning, title
from belated.report import Bars, Heat, Lines, Page, Section, Series, Table, write_page
from belated.report.durations import axis, humane, moment, wait_axis
from belated.report.plain import plain

_CURVES = 4  # most policies in one picture over time
_GROUPS = 3  # most policies beside each other in a slice


def write(path: str | PathLike[str], evaluation: Evaluation) -> None:
    """Write the page."""
    write_page(path, page_of(evaluation))


def page_of(evaluation: Evaluation) -> Page:
    """Return what the page says."""
    sections = [
        _rewards(evaluation),
        *_differences(evaluation),
        *_over_time(evaluation),
        *_slices(evaluation),
        _overlap(evaluation),
        _delays(evaluation),
    ]
    ripe = evaluation.ripe
    facts = {
        "belated": __version__,
        "decisions": f"{ripe.decisions:,}, of which {evaluation.counted:,} count",
        "too young": f"{ripe.too_young:,}",
        "estimator": TITLES[evaluation.estimator],
        "context": ", ".join(ripe.log.context) or "none",
    }
    if evaluation.bad:
        facts["left out"] = str(evaluation.bad)
    lead = [f"Warning: {warning}" for warning in evaluation.about_log]
    lead += [evaluation.verdict, title(evaluation)]
    others = evaluation.warnings[len(evaluation.about_log) :]
    lead += [f"Warning: {warning}" for warning in others]
    return Page(
        f"{Path(evaluation.name).name}: is another policy better?",
        "\n\n".join(lead),
        tuple(sections),
        command(evaluation),
        facts,
        _numbers(evaluation),
    )


def _numbers(evaluation: Evaluation) -> tuple[tuple[str, str], ...]:
    """Return what to remember: what can be gained, over what, and how much of the log says so."""
    found = []
    judged = [one for one in evaluation.policies.values() if one.surely is not None]
    better = [one for one in judged if one.standing == "better"]
    base = evaluation.estimate(evaluation.against)
    if better and better[0].surely is not None:
        gain = f"+{plain(better[0].surely.value, 3)}"
        if base is not None and base.value > 0.0:
            gain = f"{better[0].surely.value / base.value:+.0%}".replace("%", " %")
        found.append((gain, f"reward with {better[0].name}, against {evaluation.against}"))
    elif judged:
        found.append(("a tie", f"no policy is shown to be better than {evaluation.against}"))
    if base is not None:
        found.append((plain(base.value, 3), f"reward per decision of {evaluation.against}"))
    ripe = evaluation.ripe
    found.append((f"{evaluation.counted:,} of {ripe.decisions:,}", "decisions are old enough"))
    return tuple(found)


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
    order = ESTIMATORS[::-1]  # the best known first
    rows = []
    for one in judged:
        cells = [part for how in order for part in _with_range(one.estimates[how])]
        rows.append((one.name, *cells, round(one.effective)))
    heads = ["policy"]
    for how in order:
        heads += [TITLES[how], "95 % interval"]
    heads += ["effective sample size"]
    return Section(
        "What would every policy have earned?",
        figure,
        notes(evaluation),
        Table(tuple(heads), tuple(rows)),
    )


def _differences(evaluation: Evaluation) -> Iterable[Section]:
    """Show who is better than the one compared with."""
    judged = [one for one in evaluation.policies.values() if one.surely is not None]
    if not judged:
        return
    figure = Bars(
        f"Difference to {evaluation.against}, per decision",
        tuple(one.name for one in judged),
        (_bars("difference", [one.surely for one in judged]),),
        "reward per decision",
        by_label=True,
    )
    rows = [
        (one.name, one.standing, *_cells(one.difference), *_cells(one.surely)[1:]) for one in judged
    ]
    heads = (
        *("policy", "standing", "difference", "low, this one alone", "high, this one alone"),
        *("low, for all at once", "high, for all at once"),
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
    yield Section("Who is better, and by how much?", figure, says, Table(heads, tuple(rows)))


# ---- over time ---------------------------------------------------------------------------------


def _over_time(evaluation: Evaluation) -> Iterable[Section]:
    """Show rewards, stretch by stretch, and when the best policy is ahead."""
    parts = evaluation.over_time
    if len(parts) < 2:
        return
    log = evaluation.ripe.log
    scale, label = axis(float(log.decided[-1]), log.unit, moment(log.first))
    middles = [
        scale * float(log.decided[rows.start] + log.decided[rows.stop - 1]) / 2.0
        for rows, _ in parts
    ]
    yield _rewards_over_time(evaluation, middles, label)
    best = next((one for one in evaluation.policies.values() if one.difference is not None), None)
    if best is not None:
        yield from _gap_over_time(evaluation, best.name, middles, label)


def _rewards_over_time(evaluation: Evaluation, middles: list[float], label: str) -> Section:
    parts, series = evaluation.over_time, []
    for name in chosen(evaluation, _CURVES):
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
    return Section("Does it hold over time?", figure, says)


def _gap_over_time(
    evaluation: Evaluation, best: str, middles: list[float], label: str
) -> Iterable[Section]:
    points = [
        (x, part.differences[best])
        for x, (_, part) in zip(middles, evaluation.over_time, strict=True)
        if best in part.differences and _is_finite(part.differences[best])
    ]
    if not points:
        return
    gap = Series(
        best,
        tuple(x for x, _ in points),
        tuple(found.value for _, found in points),
        tuple(found.low for _, found in points),
        tuple(found.high for _, found in points),
    )
    zero = Series(evaluation.against, (middles[0], middles[-1]), (0.0, 0.0), dashed=True)
    figure = Lines(
        f"{best} less {evaluation.against}, with 95 % intervals",
        label,
        "reward per decision",
        (gap, zero),
    )
    ahead = sum(found.sign > 0 for _, found in points)
    behind = sum(found.sign < 0 for _, found in points)
    says = (
        f"In {ahead} of {len(points)} stretches it is better, in {behind} worse, and in the others "
        "a tie."
    )
    yield Section(f"When is {best} ahead?", figure, says)


# ---- slices ------------------------------------------------------------------------------------


def _slices(evaluation: Evaluation) -> Iterable[Section]:
    """Show rewards by the values of each column."""
    names = [name for name in evaluation.policies if name != evaluation.against]
    shown = [evaluation.against, *names][: _GROUPS + 1]
    for column, parts in evaluation.slices.items():
        figure = Bars(
            f"Reward per decision by {column}",
            tuple(part.value for part in parts),
            tuple(_bars(name, [part.estimates.get(name) for part in parts]) for name in shown),
            "reward per decision",
        )
        heads = [column, "decisions", "best", "gain", "low", "high"]
        rows = [(part.value, part.count, *_best(part)) for part in parts]
        yield Section(
            f"Does {column} matter?", figure, _says(column, parts), Table(tuple(heads), tuple(rows))
        )


def _best(part: Part) -> tuple[str | None, float | None, float | None, float | None]:
    if not part.differences:
        return None, None, None, None
    name = max(part.differences, key=lambda each: part.differences[each].value)
    value, low, high = _cells(part.differences[name])
    return name, value, low, high


def _says(column: str, parts: Sequence[Part]) -> str:
    sure = [
        (part.value, name)
        for part in parts
        for name in part.differences
        if part.differences[name].sign > 0
    ]
    by_name: dict[str, int] = {}
    for _, name in sure:
        by_name[name] = by_name.get(name, 0) + 1
    if not by_name:
        return f"For no single value of {column} is a policy shown to be better."
    best = max(by_name, key=lambda name: by_name[name])
    return (
        f"{best} is better for {by_name[best]} of {len(parts)} values of {column}, each looked at "
        "by itself: with many slices some look better by chance."
    )


# ---- overlap and delays ------------------------------------------------------------------------


def _overlap(evaluation: Evaluation) -> Section:
    """Show which policies do the same."""
    names = list(evaluation.policies)
    places = [list(evaluation.given).index(name) for name in names]
    values = evaluation.overlaps[places][:, places]
    figure = Heat(
        "How much policies do the same",
        tuple(names),
        _short(names),
        tuple(tuple(row) for row in values.tolist()),
        "share of decisions",
        log=False,
        low=0.0,
        high=1.0,
    )
    logged = names.index(evaluation.against)
    far = min(range(len(names)), key=lambda i: values[logged][i])
    says = (
        f"1: always the same, 0: never. Furthest from {evaluation.against} is {names[far]}, with "
        f"{plain(float(values[logged][far]), 3)}: the less a policy does what was done, the less "
        "the log says about it."
    )
    rows = tuple(
        (one.name, one.about, round(one.effective), one.largest_weight)
        for one in evaluation.policies.values()
    )
    heads = ("policy", "what it is", "effective sample size", "largest weight")
    return Section("How much does the log say?", figure, says, Table(heads, rows))


def _delays(evaluation: Evaluation) -> Section:
    """Show how soon rewards come, by action."""
    speeds, unit = evaluation.speeds, evaluation.ripe.log.unit
    longest = max((speed.p90 or 0.0 for speed in speeds), default=0.0)
    scale, label = wait_axis(longest, unit)
    groups = tuple(
        Series(
            name,
            (),
            tuple(None if value is None else scale * value for value in values),
        )
        for name, values in (
            ("median", [speed.median for speed in speeds]),
            ("90 %", [speed.p90 for speed in speeds]),
        )
    )
    figure = Bars("How long rewards take", tuple(speed.action for speed in speeds), groups, label)
    rows = tuple(
        (
            speed.action,
            speed.taken,
            speed.heard,
            speed.mean_reward,
            None if speed.median is None else humane(speed.median, unit),
            None if speed.p90 is None else humane(speed.p90, unit),
        )
        for speed in speeds
    )
    heads = ("action", "taken", "heard of in time", "mean reward", "median wait", "90 % of waits")
    says = "No action is heard of much sooner than another."
    if evaluation.apart is not None:
        says = speed_warning(*evaluation.apart, evaluation.ripe)
    return Section(
        "Are some actions heard of sooner?", figure, says[:1].upper() + says[1:], Table(heads, rows)
    )


# ---- shared parts ------------------------------------------------------------------------------


def _bars(name: str, found: Sequence[Estimate | None]) -> Series:
    """Return bars with whiskers; none where nothing is known."""
    known = [each if each is not None and _is_finite(each) else None for each in found]
    return Series(
        name,
        (),
        tuple(None if each is None else each.value for each in known),
        tuple(None if each is None else each.low for each in known),
        tuple(None if each is None else each.high for each in known),
    )


def _cells(estimate: Estimate | None) -> tuple[float | None, float | None, float | None]:
    if estimate is None:
        return None, None, None
    value, low, high = (each if math.isfinite(each) else None for each in estimate)
    return value, low, high


def _with_range(estimate: Estimate | None) -> tuple[float | None, str | None]:
    """Return a number, and its interval as text."""
    if estimate is None:
        return None, None
    return estimate.value, range_of(estimate).replace(" ", "\u00a0")


def _short(names: Sequence[str]) -> tuple[str, ...]:
    """Return names for heads of narrow columns."""
    short = [name.removeprefix("always ") for name in names]
    return tuple(short if len(set(short)) == len(short) else names)


def _is_finite(estimate: Estimate) -> bool:
    return all(map(math.isfinite, estimate))
