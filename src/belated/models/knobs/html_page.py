"""The results of knobs as one HTML page that needs no other files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from belated._version import __version__
from belated.files import StrPath
from belated.models.knobs.constraints import words
from belated.models.knobs.report import KnobsReport
from belated.ranges import Categories, Int, Log, Range
from belated.report import Bars, Heat, Lines, Page, Section, Series, Table, write_page
from belated.report.plain import counted, first_up, plain

if TYPE_CHECKING:
    from belated.models.knobs.knobs import Knobs

_POINTS = 33  # of a curve along a knob
_CELLS = 13  # of a surface, along each knob
_CURVES = 8  # knobs that get a picture of their own


def write(path: StrPath, knobs: Knobs) -> None:
    """Write the page."""
    write_page(path, page_of(knobs))


def page_of(knobs: Knobs) -> Page:
    """Return the content of the page."""
    knobs = type(knobs).restore(knobs.snapshot())
    knobs._commit()
    report, settings = knobs.report(), knobs.settings
    sections = [*_over_time(report)]
    if report.expected is not None:
        sections += [*_surface(knobs, report), *_slices(knobs, report), _weights(report)]
    sections.append(_settings(knobs, report))
    sections += _contexts(report)
    facts = {
        "belated": __version__,
        "rounds": f"{report.rounds:,}, of which {report.open:,} wait for their cost",
        "costs": f"{report.observed:,}, {report.corrected:,} of them corrected",
        "without a cost": f"{report.skipped + report.cancelled:,}",
        "largest delay of a cost": counted(report.max_answered_delay, "round"),
        "longest without a cost": counted(report.max_unanswered_age, "round"),
        "goal": "as small as possible" if report.goal == "min" else "as large as possible",
        "seed": str(settings.seed),
    }
    title = f"Knobs: {', '.join(settings.knobs)}"
    return Page(
        title, _lead(knobs, report), tuple(sections), "knobs.page(path)", facts, _numbers(report)
    )


def _lead(knobs: Knobs, report: KnobsReport) -> str:
    """Summarise: the mode, what was measured, and what the models expect."""
    lines = [_measured(report)]
    if report.mode == "reverted":
        is_alarmed = knobs._tuner.comparison.alarmed
        by_itself = " by itself, as the learner was worse" if is_alarmed else ""
        lines.insert(0, f"Knobs play the start: they were reverted{by_itself}.")
    elif report.mode == "paused":
        lines.insert(0, "Knobs are paused, and play the last setting of the learner.")
    if report.expected is None or report.expected_at_start is None:
        lines.append("Too few costs are in for an estimate of settings.")
    else:
        here, there = plain(report.expected, 3), plain(report.expected_at_start, 3)
        lines.append(
            f"The best setting seems to be {_listed(report.best)}: a round there is expected to "
            f"{_verb(report)} {here}, and one at the start {there}. This is an estimate of the "
            "models; it was not measured."
        )
    return "\n\n".join(lines)


def _measured(report: KnobsReport) -> str:
    """Return the result of the comparison with the start."""
    found = report.comparison
    if found is None:
        return (
            "Nothing is held out, so the learner cannot be compared with the start: make knobs "
            "with holdout=0.1, and a coin plays the start in every tenth round."
        )
    if found.gain is None or found.low is None or found.high is None:
        return "Too few rounds of the start and of the learner are known to compare them."
    reach = f"{plain(found.low, 3)} to {plain(found.high, 3)}, {found.level:.0%}, at all times"
    if found.low <= 0.0 <= found.high:
        return f"Measured: it is still open whether the learner beats the start ({reach})."
    word, gain = "better" if found.low > 0.0 else "worse", plain(abs(found.gain), 3)
    return f"Measured: the learner is {word} than the start by {gain} a round ({reach})."


def _numbers(report: KnobsReport) -> tuple[tuple[str, str], ...]:
    """Return the three main numbers."""
    result = []
    found = report.comparison
    if found is not None and found.gain is not None and (found.low or 0.0) > 0.0:
        result.append((f"+{plain(found.gain, 3)}", "better than the start a round, measured"))
    if report.expected is not None and report.expected_at_start is not None:
        gain = plain(abs(report.expected_at_start - report.expected), 3)
        result.append((gain, "better at the best setting than at the start, modelled"))
    if report.exploring is not None:
        result.append((plain(report.exploring, 3), "a round for trying things out, modelled"))
    result.append((f"{report.open:,}", f"of {counted(report.rounds, 'round')} wait for their cost"))
    return tuple(result[:3])


def _over_time(report: KnobsReport) -> Iterator[Section]:
    """Show mean costs over time."""
    if len(report.past) < 2:
        return
    length = report.past[1].first - report.past[0].first
    series = []
    for name, field in (("belated", "mean"), ("start", "start_mean")):
        known = [each for each in report.past if getattr(each, field) is not None]
        if known:
            middles = [each.first + length / 2.0 for each in known]
            series.append(Series.of(name, middles, [getattr(each, field) for each in known]))
    if report.expected_at_start is not None:
        ends = (0.0, float(report.past[-1].first + length))
        level = (report.expected_at_start,) * 2
        series.append(Series("start, as modelled now", ends, level, dashed=True))
    note = f"Means of {length:,} rounds, by when they were played. "
    note += "Of the newest, costs may still be missing."
    figure = Lines("Mean over time", "round", _what(report), tuple(series))
    yield Section(f"What did rounds {_verb(report)} over time?", figure, note)


def _surface(knobs: Knobs, report: KnobsReport) -> Iterator[Section]:
    """Show expected costs over two knobs, and their standard deviations."""
    if len(knobs.settings.knobs) != 2:
        return
    (left, first), (right, second) = knobs.settings.knobs.items()
    rows, columns = _values(first, _CELLS), _values(second, _CELLS)
    names = [f"{left} {_shown(value)}" for value in rows]
    heads = [_shown(value) for value in columns]
    if len(set(names)) < len(names) or len(set(heads)) < len(heads):
        return  # a range so narrow that its values look alike
    means, _ = knobs._tuner.models.contexts()
    cells = [[knobs._expected({left: a, right: b}, means) for b in columns] for a in rows]

    def figure(label: str, field: str) -> Heat:
        values = tuple(tuple(getattr(cell, field) for cell in row) for row in cells)
        title = f"{first_up(label)}, {left} by {right}"
        return Heat(title, tuple(names), tuple(heads), values, label, log=False)

    yield Section(
        "What is expected of settings?",
        figure(f"expected {_what(report)}", "cost"),
        f"One row per {left}, one column per {right}. The best is at {_listed(report.best)}.",
    )
    yield Section(
        "How sure is that?",
        figure("standard deviation", "uncertainty"),
        "The noise of a single round is left out. It is largest where few rounds were played, "
        "usually where costs are high.",
    )


def _slices(knobs: Knobs, report: KnobsReport) -> Iterator[Section]:
    """Show every knob with the others at the best setting."""
    means, _ = knobs._tuner.models.contexts()
    for name, knob in list(knobs.settings.knobs.items())[:_CURVES]:
        values = _values(knob, _POINTS)
        found = [knobs._expected({**report.best, name: value}, means) for value in values]
        y = tuple(each.cost for each in found)
        low = tuple(each.cost - each.uncertainty for each in found)
        high = tuple(each.cost + each.uncertainty for each in found)
        title = f"Expected {_what(report)} along {name}"
        figure: Lines | Bars
        if isinstance(knob, Categories):
            labels = tuple(_shown(value) for value in values)
            figure = Bars(title, labels, (Series("expected", (), y, low, high),), _what(report))
        else:
            curve = Series("expected", tuple(map(float, values)), y, low, high)
            marks = []
            for mark, at in (("best", report.best), ("start", report.start)):
                expected = knobs._expected({**report.best, name: at[name]}, means)
                marks.append(Series.of(mark, [float(at[name])], [expected.cost]))
            is_log = isinstance(knob, Log)
            figure = Lines(title, name, _what(report), (curve, *marks), log_x=is_log)
        others = len(knobs.settings.knobs) > 1
        rest = " The other knobs are at the best setting." if others else ""
        says = f"The band is one standard deviation, without the noise of a single round.{rest}"
        yield Section(f"What does {name} do?", figure, says)


def _weights(report: KnobsReport) -> Section:
    """Show the weights of models."""
    shares = {
        **{f"remembers {n.replace('all', 'everything')}": s for n, s in report.memories.items()},
        **{f"looks at {name}": share for name, share in report.features.items()},
        "levels of their own for blocks of rounds": report.levels,
    }
    group = Series("weight", (), tuple(shares.values()))
    figure = Bars("Weights of models", tuple(shares), (group,), "weight")
    says = (
        "Models that remember everything are best where nothing drifts, and levels where costs "
        "go up and down for every setting. Quadratics are smooth; cosines fit kinks and several "
        "valleys."
    )
    return Section("Which models have weight now?", figure, says)


def _settings(knobs: Knobs, report: KnobsReport) -> Section:
    """List the knobs."""
    rows = tuple(
        (name, _described(knob), _shown(report.start[name]), _shown(report.best[name]))
        for name, knob in knobs.settings.knobs.items()
    )
    table = Table(("knob", "range", "start", "best"), rows)
    says = "Ranges, the start and the best setting."
    if knobs.settings.constraints:
        kept = "; ".join(map(words, knobs.settings.constraints))
        says += f" Settings also satisfy: {kept}."
    return Section("Which knobs are there?", None, says, table)


def _contexts(report: KnobsReport) -> Iterator[Section]:
    """List the best setting of each context."""
    if not report.contexts:
        return
    rows = tuple(
        (
            f"{each.name} {_shown(each.value)}",
            "" if each.share is None else f"{100.0 * each.share:.0f} %",
            _listed(each.best),
            _shown(each.expected),
        )
        for each in report.contexts
    )
    heads = ("context", "of the rounds", "best setting", f"expected {_what(report)}")
    says = (
        "Other parts of the context have their means; numbers are a standard deviation below and "
        "above theirs. The other sections show means over all contexts that occurred."
    )
    yield Section("What is best in which context?", None, says, Table(heads, rows))


def _values(knob: Range, count: int) -> list[Any]:
    """Return values along a knob, from one end to the other."""
    if isinstance(knob, Int | Categories) and knob.levels <= count:
        return [knob.value(place) for place in np.linspace(-1.0, 1.0, knob.levels).tolist()]
    values = [knob.value(place) for place in np.linspace(-1.0, 1.0, count).tolist()]
    return [values[0], *(b for a, b in pairwise(values) if a != b)]


def _described(knob: Range) -> str:
    if isinstance(knob, Categories):
        return "one of " + ", ".join(_shown(value) for value in knob.values)
    kind = {Log: ", on a logarithmic scale", Int: ", whole numbers"}.get(type(knob), "")
    return f"{_shown(knob.low)} to {_shown(knob.high)}{kind}"


def _shown(value: Any) -> str:
    return plain(value, 3) if isinstance(value, float | int) else str(value)


def _listed(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_shown(value)}" for name, value in setting.items())


def _what(report: KnobsReport) -> str:
    return "cost of a round" if report.goal == "min" else "value of a round"


def _verb(report: KnobsReport) -> str:
    return "cost" if report.goal == "min" else "bring"
