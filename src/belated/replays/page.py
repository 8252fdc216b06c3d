"""A replay as one HTML page that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from belated.audits.page import facts_of, label_section
from belated.models.linear.losses import LOSSES
from belated.replays.contenders import AT_ONCE, BEST_WINDOW, MEAN, OURS, WINDOW
from belated.replays.measures import MANY, NO_DIFFERENCE, Difference, finite, natural
from belated.replays.result import Replay
from belated.replays.words import (
    KIND_HEADS,
    advice,
    against,
    kinds,
    shown,
    size_of,
    standing,
    title,
)
from belated.report import Bars, Lines, Page, Section, Series, Table
from belated.report.durations import axis, moment
from belated.report.plain import counted, first_up, plain

SPREAD = 12.0
"""Ratio of values from which on an axis is logarithmic."""
CLOSE = (OURS, AT_ONCE, WINDOW, BEST_WINDOW, MEAN)
"""Methods that are shown where there is no room for all."""
FAR_BAR = 0.5
"""A method that loses so much more than ours is named beside the bars, and not among them."""
ENOUGH = 30
"""Predictions below which a slice is not drawn: its mean says little."""
OFF_THE_CHART = 1.25
"""A method that loses so many times what the running mean does is not drawn beside the others."""


def page_of(replay: Replay, command: str) -> Page:
    """Return what the page says."""
    task = replay.task
    outcomes = replay.outcomes
    labels = outcomes and (label_section(outcomes, task.log.unit, replay.warning),)
    sections = (
        _differences(replay),
        _losses(replay),
        *labels,
        _over_time(replay),
        _calibration(replay),
        *_slices(replay),
        *_columns(replay),
    )
    return Page(
        f"{Path(replay.name).name}: late labels, replayed",
        "\n\n".join(filter(None, (advice(replay), replay.warning, title(replay)))),
        sections,
        command,
        facts_of(task.notes, task.log.bad),
        _numbers(replay),
    )


def _numbers(replay: Replay) -> tuple[tuple[str, str], ...]:
    """Return what to remember: how the next best, doing nothing and no lateness compare."""
    late = [name for name in (*replay.ahead, *replay.ties, *replay.behind) if name != MEAN]
    late = [name for name in late if replay.share(name) is not None]
    best = min(late, key=lambda name: replay.methods[name].mean_loss, default="")
    cards = [(AT_ONCE, "if every label came at once")] if replay.task.is_late else []
    cards += [(MEAN, "with the mean of past labels")]
    cards += [(best, f"with the best other method here, {best}")] if best else []
    cards = cards[::-1] if replay.best != OURS else cards
    shares = ((replay.share(name), when) for name, when in cards)
    return tuple(_card(share, when) for share, when in shares if share is not None)


def _card(share: Difference, when: str) -> tuple[str, str]:
    """Return a difference in a few words, and what it is."""
    about = f"would be the error {when}"
    if share.is_known and share.is_tie:
        ends = "" if share.is_wide else f": {size_of(share.low)} to {size_of(share.high)}"
        return first_up(NO_DIFFERENCE), f"to the error {when}{ends}"
    if share.mean >= MANY:
        return size_of(share.mean), about
    size = f"{abs(share.mean):.0%}" if abs(share.mean) >= 0.1 else f"{abs(share.mean):.1%}"
    return f"{size.replace('%', ' %')} {'less' if share.mean < 0.0 else 'more'}", about


def _differences(replay: Replay) -> Section:
    """Show how far every method is from ours, and how sure that is."""
    question = "Which method is better, and is that sure?"
    if not replay.blocks:
        return Section(question, None, standing(replay))
    says = _says_differences(replay)
    shares = {name: replay.share(name) for name in replay.methods if name != OURS}
    known = {name: share for name, share in shares.items() if share is not None}
    drawn = [name for name, share in known.items() if share.mean <= FAR_BAR and not share.is_wide]
    drawn.sort(key=lambda name: known[name].mean)
    hidden = [name for name in shares if name not in drawn]
    listed = "; ".join(f"{name} ({against(replay, name) or 'overflow'})" for name in hidden)
    note = f"Too far away, or too little known, to be drawn: {listed}." if hidden else ""
    heads = ("method", "difference, %", "low", "high", "says")
    rows = tuple(_row(replay, name, known.get(name)) for name in [*drawn, *hidden])
    if not drawn:
        return Section(question, None, f"{says} {note}", Table(heads, rows))
    ends = [
        [100.0 * getattr(known[name], end) for name in drawn] for end in ("mean", "low", "high")
    ]
    mean, low, high = map(tuple, ends)
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
        "is better, to the right is worse. Whiskers are 95 % intervals, from "
        f"{replay.blocks} blocks of time in which every prediction is paired with that of belated. "
        f"Where one holds 0 there is {NO_DIFFERENCE}. Each is right for itself in 95 of 100 logs."
    )
    if replay.task.is_late:
        says += (
            f' "{AT_ONCE}" is out of reach: it learns each label before the next prediction. Where '
            "targets overlap in time it even knows a part of the next answer, and the price of "
            "lateness is less than the difference."
        )
    return says


def _row(replay: Replay, name: str, share: Difference | None) -> tuple[Any, ...]:
    if share is None or not share.is_known:
        return shown(replay, name), None, None, None, "overflow"
    ends = (size_of(end) if end >= MANY else round(100.0 * end, 2) for end in vars(share).values())
    return shown(replay, name), *ends, share.standing


def _losses(replay: Replay) -> Section:
    """Show every measure of every method."""
    names = [name for name in replay.scores.get(OURS, ()) if name != replay.measure]
    rows = []
    for method in sorted(replay.methods.values(), key=lambda method: method.mean_loss):
        found = replay.scores.get(method.name, {})
        values = (method.mean_loss, method.later_loss, *(found.get(n, math.nan) for n in names))
        seconds = round(method.seconds, 3)
        name = shown(replay, method.name)
        rows.append((name, *map(finite, values), method.used, seconds, method.about))
    heads = ("method", replay.measure, "later", *names, "labels used", "seconds", "what it is")
    says = (
        f"Every method sees the same {counted(replay.rounds, 'prediction')} and "
        f"{counted(replay.counted, 'label')}, in the order of time, and pays for what it said when "
        'it was asked. "later" leaves out the first tenth of those that count: it is from '
        f"{_moment(replay, replay.task.begun)} on."
    )
    return Section("How good is every method?", None, says, Table(heads, tuple(rows)))


def _over_time(replay: Replay) -> Section:
    """Show the mean loss window by window."""
    task, ends = replay.task, next(iter(replay.curves.values())).ends
    starts = np.append(0, ends[:-1])
    rows = [*zip(starts.tolist(), (ends - 1).tolist(), strict=True), (0, replay.rounds - 1)]
    asked = np.array([[task.columns["asked"][row : row + 1][0] for row in pair] for pair in rows])
    away = (asked - asked[-1, 0]).astype(np.float64)
    scale, label = axis(float(away[-1, 1]), task.log.unit, _moment(replay, 0))
    middles = scale * away[:-1].sum(axis=1) / 2.0
    series = tuple(
        Series.of(name, middles, replay.curves[name].windowed) for name in _close(replay)
    )
    name, is_wide = first_up(f"{replay.measure}, window by window"), _is_wide(series)
    figure = Lines(name, label, replay.measure, series, log_y=is_wide)
    ours = replay.curves[OURS].windowed
    worst = int(np.argmax(ours))
    says = (
        f"Each point is the mean over a window of about {replay.counted // len(ends):,} "
        "predictions whose label came, at the time when they were made. The worst window of the "
        f"default model is at {_moment(replay, int(starts[worst]))}, with "
        f"{plain(float(ours[worst]))}."
    )
    return Section("When was it hard?", figure, says)


def _calibration(replay: Replay) -> Section:
    """Show what came of predictions that were about the same."""
    limit = OFF_THE_CHART * replay.methods[MEAN].mean_loss
    limit = limit if limit > 0.0 else math.inf
    hidden = [
        name
        for name, method in replay.methods.items()
        if name != OURS and not (math.isfinite(method.mean_loss) and method.mean_loss <= limit)
    ]
    note = f"Left out, as it would hide the others: {', '.join(hidden)}." if hidden else ""
    drawn = {name: replay.calibration[name] for name in replay.methods if name not in hidden}
    series = [
        Series.of(name, [bin.predicted for bin in bins], [bin.observed for bin in bins])
        for name, bins in drawn.items()
    ]
    ends = [x for line in series for x in (line.x[0], line.x[-1])]
    series.append(Series("perfect", (min(ends), max(ends)), (min(ends), max(ends)), dashed=True))
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
    says = (
        "The predictions of every method, sorted and put into up to ten bins with as many each: on "
        "the dashed line, what was predicted is what came on average."
    )
    return Section("Can predictions be believed?", figure, says, Table(heads, tuple(rows)))


def _slices(replay: Replay) -> Iterable[Section]:
    """Show the mean losses by the values of each column, in the order that values have."""
    for column, parts in replay.slices.items():
        kept = [part for part in natural(parts) if part.count >= ENOUGH]
        if len(kept) < 2:
            continue
        groups = tuple(
            Series(name, (), tuple(finite(part.losses[name]) for part in kept))
            for name in _close(replay)
        )
        few = [f"{part.value} ({part.count})" for part in parts if part.count < ENOUGH]
        note = f"Not drawn, with fewer than {ENOUGH} predictions: {', '.join(few)}." if few else ""
        figure = Bars(
            first_up(f"{replay.measure} by {column}"),
            tuple(part.value for part in kept),
            groups,
            replay.measure,
            log_y=_is_wide(groups),
            note=note,
        )
        rows = [
            (part.value, part.count, *(finite(part.losses[name]) for name in replay.methods))
            for part in natural(parts)
        ]
        heads = (column, "predictions", *replay.methods)
        best, *_, worst = sorted(kept, key=lambda part: float(part.losses[OURS]))
        lost = sum(part.losses[OURS] > part.losses[MEAN] for part in kept)
        says = (
            f"The default model has most to lose at {worst.value} ({plain(worst.losses[OURS])}) "
            f"and least at {best.value} ({plain(best.losses[OURS])}). In {lost} of {len(kept)} "
            "slices it is above the running mean."
        )
        yield Section(f"How does {column} matter?", figure, says, Table(heads, tuple(rows)))


def _columns(replay: Replay) -> Iterable[Section]:
    """Show what every column became, and by which rule."""
    if replay.task.kinds:
        says = (
            "Each column became what the rules make of its first rows, its type and its name. "
            "--number, --text, --time and --ignore overrule them."
        )
        table = Table(KIND_HEADS, tuple(kinds(replay)))
        yield Section("What did the columns become?", None, says, table)


def _close(replay: Replay) -> list[str]:
    """Return the methods that are shown where there is no room for all."""
    return [name for name in CLOSE if name in replay.methods]


def _moment(replay: Replay, row: int) -> str:
    """Say when a prediction was made."""
    return moment(replay.task.time(row), replay.task.log.zone)


def _is_wide(series: Sequence[Series]) -> bool:
    """Whether values are too far apart for one axis that is not logarithmic."""
    known = [y for line in series for y in line.y if y is not None]
    return bool(known) and min(known) > 0.0 and max(known) > SPREAD * min(known)
