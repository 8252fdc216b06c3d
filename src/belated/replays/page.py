"""A replay as one HTML page that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from belated._version import __version__
from belated.audits import label_page
from belated.logs.log import as_date
from belated.models.linear.losses import LOSSES
from belated.replays.contenders import AT_ONCE, BLIND, MEAN, OURS, WAITING
from belated.replays.differences import ALIKE, MANY, UNKNOWN, Difference
from belated.replays.measures import calibration_error, finite, natural
from belated.replays.result import Replay
from belated.replays.words import (
    KIND_HEADS,
    advice,
    against,
    command,
    deadline,
    estimate,
    kinds,
    shown,
    standing,
    title,
)
from belated.report import Bars, Lines, Page, Section, Series, Table, write_page
from belated.report.durations import axis, moment
from belated.report.plain import SAME, counted, first_up, plain

SPREAD = 12.0
"""Ratio of values from which on an axis is logarithmic."""
CLOSE = (OURS, AT_ONCE, WAITING, MEAN)
"""Methods that are shown where there is no room for all."""
FAR_BAR = 0.5
"""A method that loses so much more than ours is named beside the bars, and not among them."""
ENOUGH = 30
"""Predictions below which a slice is not drawn: its mean says little."""
OFF_THE_CHART = 1.25
"""A method that loses so many times what the running mean does is not drawn beside the others."""


def write(path: str | PathLike[str], replay: Replay) -> None:
    """Write the page."""
    write_page(path, _page(replay))


def _page(replay: Replay) -> Page:
    sections = [
        _differences(replay),
        _losses(replay),
        *_by_label(replay),
        _over_time(replay),
        _so_far(replay),
        _calibration(replay),
        *_slices(replay),
        _scales(replay),
        *_columns(replay),
    ]
    facts = {
        "belated": __version__,
        "log": title(replay),
        "fixed wait": counted(replay.wait, "prediction"),
    }
    if replay.task.how.silence is not None:
        facts["fixed wait"] = f"the deadline, {deadline(replay)}"
    if replay.task.notes:
        facts["notes"] = "; ".join(replay.task.notes)
    if replay.task.log.bad:
        facts["left out"] = str(replay.task.log.bad)
    return Page(
        f"{Path(replay.name).name}: late labels, replayed",
        "\n\n".join(filter(None, (advice(replay), replay.warning, title(replay)))),
        tuple(sections),
        command(replay),
        facts,
        _numbers(replay),
    )


def _numbers(replay: Replay) -> tuple[tuple[str, str], ...]:
    """Return what to remember: how lateness, doing nothing and the next best compare."""
    found = []
    share = replay.share(AT_ONCE)
    if share is not None and replay.task.delays.any():
        found.append(_card(share, "if every label came at once"))
    share = replay.share(MEAN)
    if share is not None:
        found.append(_card(share, "with the mean of past labels"))
    late = [name for name in (*replay.ahead, *replay.ties, *replay.behind) if name != MEAN]
    late = [name for name in late if replay.share(name) is not None]
    if late:
        best = min(late, key=lambda name: replay.methods[name].mean_loss)
        share = replay.share(best)
        assert share is not None  # of those that have one
        found.append(_card(share, f"with the best other method here, {best}"))
    return tuple(found)


def _card(share: Difference, whose: str) -> tuple[str, str]:
    """Return a difference in a few words, and what it is; where it is not known, say so."""
    if share.is_known and share.is_tie and not share.is_same:
        size = estimate(share).replace("%", " %")
        doubt = "on this log, which is too short or too uneven to be sure"
        return UNKNOWN, f"how large the error would be {whose}: {size} {doubt}"
    return _less(share), f"would be the error {whose}"


def _less(share: Difference) -> str:
    """Return a difference that is known in a few words."""
    if share.is_same:
        return ALIKE
    if share.mean >= MANY:
        return estimate(share)
    size = f"{abs(share.mean):.0%}" if abs(share.mean) >= 0.1 else f"{abs(share.mean):.1%}"
    return f"{size.replace('%', ' %')} {'less' if share.mean < 0.0 else 'more'}"


def _differences(replay: Replay) -> Section:
    """Show how far every method is from ours, and how sure that is."""
    question = "Which method is better, and is that sure?"
    if not replay.blocks:
        return Section(question, None, standing(replay))
    says = _says_differences(replay)
    shares = {name: replay.share(name) for name in replay.methods if name != OURS}
    known = {name: share for name, share in shares.items() if share is not None}
    drawn = [name for name, share in known.items() if share.mean <= FAR_BAR and share.high <= MANY]
    drawn.sort(key=lambda name: known[name].mean)
    hidden = [name for name in shares if name not in drawn]
    note = ""
    if hidden:
        listed = (f"{name} ({against(replay, name) or 'overflow'})" for name in hidden)
        note = f"Too far away, or too little known, to be drawn: {'; '.join(listed)}."
    heads = ("method", "difference, %", "low", "high", "says")
    rows = tuple(_row(replay, name, known.get(name)) for name in [*drawn, *hidden])
    if not drawn:
        return Section(question, None, f"{says} {note}", Table(heads, rows))
    mean, low, high = (
        tuple(100.0 * float(getattr(known[name], part)) for name in drawn)
        for part in ("mean", "low", "high")
    )
    figure = Bars(
        f"{first_up(replay.measure)} against belated",
        tuple(shown(replay, name) for name in drawn),
        (Series("difference", (), mean, low, high),),
        "difference, %",
        by_label=True,
        note=note,
    )
    return Section(question, figure, says, Table(heads, rows))


def _says_differences(replay: Replay) -> str:
    says = (
        f"Bars are differences of the {replay.measure} to belated, in percent of it: to the left "
        "is better than belated, to the right is worse. "
        f"Whiskers are 95 % intervals, from {replay.blocks} blocks of time in which every "
        "prediction is paired with that of belated. Where one holds 0 nobody is ahead: within "
        f"{SAME:.0%} of 0 two methods are {ALIKE}, beyond that the log {UNKNOWN}. Each is right "
        "for itself in 95 of 100 logs; of many, some are wrong by chance."
    )
    if replay.task.delays.any():
        says += (
            f' "{AT_ONCE}" is out of reach: it learns each label before the next prediction. '
            "Where targets overlap in time, because one is about a stretch in which the next "
            "prediction is made already, it even knows a part of the next answer, and the price of "
            "lateness is less than the difference."
        )
    return says


def _row(replay: Replay, name: str, share: Difference | None) -> tuple[Any, ...]:
    if share is None or not share.is_known:
        return shown(replay, name), None, None, None, "overflow"
    ends = (
        "many times" if end > MANY else round(100.0 * end, 2)
        for end in (share.mean, share.low, share.high)
    )
    return shown(replay, name), *ends, share.standing


def _losses(replay: Replay) -> Section:
    """Show every measure of every method."""
    ranked = sorted(replay.methods.values(), key=lambda method: method.mean_loss)
    names = list(replay.scores[OURS]) if OURS in replay.scores else []
    names = [name for name in names if name != replay.measure]
    rows = []
    for method in ranked:
        found = replay.scores.get(method.name, {})
        rows.append(
            (
                shown(replay, method.name),
                finite(method.mean_loss),
                finite(method.later_loss),
                *(finite(found[name]) if name in found else None for name in names),
                method.used,
                round(method.seconds, 3),
                method.about,
            )
        )
    heads = ("method", replay.measure, "later", *names, "labels used", "seconds", "what it is")
    says = (
        f"Every method sees the same {counted(replay.rounds, 'prediction')} and "
        f"{counted(replay.counted, 'label')}, in the order of time, and pays for what it said when "
        'it was asked. "later" counts only the predictions that were made after a tenth of the '
        f"labels had come, from {_moment(replay, replay.task.begun)} on."
    )
    return Section("How good is every method?", None, says, Table(heads, tuple(rows)))


def _by_label(replay: Replay) -> Iterable[Section]:
    """Show waits by label, where there is something to compare."""
    if replay.outcomes:
        yield label_page.section(replay.outcomes, replay.task.log.unit, replay.warning)


# ---- curves ------------------------------------------------------------------------------------


def _over_time(replay: Replay) -> Section:
    """Show the mean loss window by window."""
    x, label = _times(replay)
    ends = next(iter(replay.curves.values())).ends
    starts = np.append(0, ends[:-1])
    middles = (x[starts] + x[ends - 1]) / 2.0
    series = [Series.of(name, middles, replay.curves[name].windowed) for name in CLOSE]
    figure = _lines(f"{replay.measure}, window by window", label, replay, series)
    ours = replay.curves[OURS].windowed
    worst = int(np.argmax(ours))
    hardest = _moment(replay, int(starts[worst]))
    says = (
        f"Each point is the mean over a window of about {replay.counted // len(ends):,} "
        f"predictions whose label came, at the time when they were made. The worst window of the "
        f"default model is at {hardest}, with {plain(float(ours[worst]))}."
    )
    return Section("When was it hard?", figure, says)


def _so_far(replay: Replay) -> Section:
    """Show the mean loss from the start to each moment."""
    x, label = _times(replay)
    drawn, note = _shown(replay)
    ends = next(iter(replay.curves.values())).ends
    series = [Series.of(name, x[ends - 1], replay.curves[name].cumulative) for name in drawn]
    figure = _lines(f"{replay.measure} so far", label, replay, series, note)
    says = "The mean over all predictions up to each moment; the right end is the total."
    return Section("Who leads when?", figure, says)


def _lines(
    title: str, x_label: str, replay: Replay, series: Sequence[Series], note: str = ""
) -> Lines:
    """Return curves of mean losses, on a logarithmic axis where they are far apart."""
    log_y = _is_wide(y for line in series for y in line.y)
    return Lines(first_up(title), x_label, replay.measure, tuple(series), log_y=log_y, note=note)


def _times(replay: Replay) -> tuple[Any, str]:
    """Return the time of every prediction after the first, and what the axis says."""
    log = replay.task.log
    away = (log.predicted_at - log.predicted_at[0]).astype(np.float64)
    scale, label = axis(float(away[-1]), log.unit, _moment(replay, 0))
    return away * scale, label


def _shown(replay: Replay) -> tuple[list[str], str]:
    """Return the methods that fit on one chart, and a note on those that do not."""
    limit = replay.methods[MEAN].mean_loss
    limit = OFF_THE_CHART * limit if limit > 0.0 else math.inf
    drawn: list[str] = []
    hidden: list[str] = []
    for name, method in replay.methods.items():
        is_far = not math.isfinite(method.mean_loss) or method.mean_loss > limit
        (hidden if is_far and name != OURS else drawn).append(name)
    if not hidden:
        return drawn, ""
    return drawn, f"Left out, as it would hide the others: {', '.join(hidden)}."


# ---- calibration -------------------------------------------------------------------------------


def _calibration(replay: Replay) -> Section:
    """Show what came of predictions that were about the same."""
    drawn, note = _shown(replay)
    series = []
    for name in drawn:
        bins = replay.calibration[name]
        series.append(
            Series.of(name, [bin.predicted for bin in bins], [bin.observed for bin in bins])
        )
    ends = [x for line in series for x in (line.x[0], line.x[-1])]
    ends = [min(ends), max(ends)]
    series.append(Series("perfect", tuple(ends), tuple(ends), dashed=True))
    chance = LOSSES[replay.task.how.loss].link == "probability"
    figure = Lines(
        "What was predicted, and what came",
        "mean predicted probability" if chance else "mean prediction",
        "share that came true" if chance else "mean label",
        tuple(series),
        note=note,
    )
    rows = [
        (number, bin.count, bin.predicted, bin.observed, bin.observed - bin.predicted)
        for number, bin in enumerate(replay.calibration[OURS], start=1)
    ]
    heads = ("bin of belated", "predictions", "predicted", "came", "difference")
    errors = {name: calibration_error(replay.calibration[name]) for name in drawn}
    listed = ", ".join(f"{name} {plain(error, 3)}" for name, error in errors.items())
    says = (
        "The predictions of every method, sorted and put into up to ten bins with as many each: on "
        "the dashed line, what was predicted is what came on average. Mean distance from it: "
        f"{listed}."
    )
    return Section("Can predictions be believed?", figure, says, Table(heads, tuple(rows)))


# ---- slices ------------------------------------------------------------------------------------


def _slices(replay: Replay) -> Iterable[Section]:
    """Show the mean losses by the values of each column, in the order that values have."""
    for column, parts in replay.slices.items():
        kept = [part for part in natural(parts) if part.count >= ENOUGH]
        if len(kept) < 2:
            continue
        groups = tuple(
            Series(name, (), tuple(finite(part.losses[name]) for part in kept)) for name in CLOSE
        )
        few = [f"{part.value} ({part.count})" for part in parts if part.count < ENOUGH]
        note = f"Not drawn, with fewer than {ENOUGH} predictions: {', '.join(few)}." if few else ""
        figure = Bars(
            first_up(f"{replay.measure} by {column}"),
            tuple(part.value for part in kept),
            groups,
            replay.measure,
            log_y=_is_wide(y for group in groups for y in group.y),
            note=note,
        )
        rows = [
            (part.value, part.count, *(finite(part.losses[name]) for name in replay.methods))
            for part in natural(parts)
        ]
        heads = (column, "predictions", *replay.methods)
        yield Section(f"How does {column} matter?", figure, _says(kept), Table(heads, tuple(rows)))


def _says(parts: Sequence[Any]) -> str:
    worst = max(parts, key=lambda part: float(part.losses[OURS]))
    best = min(parts, key=lambda part: float(part.losses[OURS]))
    lost = sum(part.losses[OURS] > part.losses[MEAN] for part in parts)
    worse = f"In {lost} of {len(parts)} slices it is above" if lost else "Nowhere is it above"
    return (
        f"The default model has most to lose at {worst.value} ({plain(worst.losses[OURS])}) and "
        f"least at {best.value} ({plain(best.losses[OURS])}). {worse} the running mean."
    )


# ---- the scale of AdaGrad ----------------------------------------------------------------------


def _scales(replay: Replay) -> Section:
    """Show what hangs on a number that AdaGrad needs and the default model does not."""
    ours = replay.methods[OURS].mean_loss
    late = [(one.scale, one.late) for one in replay.scales if math.isfinite(one.late)]
    early = [(one.scale, one.at_once) for one in replay.scales if math.isfinite(one.at_once)]
    ends = (replay.scales[0].scale, replay.scales[-1].scale)
    series = [
        Series.of(name, [scale for scale, _ in points], [loss for _, loss in points])
        for name, points in (("AdaGrad", late), ("AdaGrad (told at once)", early))
        if points
    ]
    figure = Lines(
        "AdaGrad by the scale of its steps",
        "scale, in units of the labels",
        replay.measure,
        (*series, Series(OURS, ends, (ours, ours), dashed=True)),
        log_x=True,
        log_y=ours > 0.0,
    )
    tuned = min(replay.scales, key=lambda one: one.at_once)
    says = (
        f"Tuned on labels that come at once, AdaGrad would take the scale {tuned.scale:g} and have "
        f"{_value(tuned.at_once)}; with the delays of this log that scale has {_value(tuned.late)} "
        f"({BLIND}). The dashed line is the default model, {plain(ours)}, which has no such number."
    )
    heads = ("scale", "with late labels", "told at once")
    rows = tuple((one.scale, finite(one.late), finite(one.at_once)) for one in replay.scales)
    return Section("What hangs on AdaGrad's scale?", figure, says, Table(heads, rows))


# ---- columns -----------------------------------------------------------------------------------


def _columns(replay: Replay) -> Iterable[Section]:
    """Show what every column became, and by which rule."""
    if not replay.task.kinds:
        return
    says = (
        "Each column became what the rules make of its first rows, its type and its name. "
        "--number, --text, --time and --ignore overrule them."
    )
    table = Table(KIND_HEADS, tuple(kinds(replay)))
    yield Section("What did the columns become?", None, says, table)


# ---- shared parts ------------------------------------------------------------------------------


def _moment(replay: Replay, row: int) -> str:
    """Say when a prediction was made."""
    log = replay.task.log
    time = log.predicted_at[row]
    return moment(as_date(time, log.unit) if log.is_epoch else time, log.zone)


def _value(value: float) -> str:
    return plain(value) if math.isfinite(value) else "overflow"


def _is_wide(values: Iterable[float | None]) -> bool:
    """Whether values are too far apart for one axis that is not logarithmic."""
    known = [value for value in values if value is not None]
    return bool(known) and min(known) > 0.0 and max(known) > SPREAD * min(known)
