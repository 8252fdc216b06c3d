"""What knobs have found out, as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from belated._version import __version__
from belated.files import StrPath
from belated.knobs.constraints import words
from belated.knobs.report import KnobsReport
from belated.ranges import Categories, Int, Log, Range
from belated.report import Bars, Heat, Lines, Page, Section, Series, Table, write_page
from belated.report.plain import counted, first_up, plain

if TYPE_CHECKING:
    from belated.knobs.knobs import Knobs

_POINTS = 33  # of a curve along a knob
_CELLS = 13  # of a surface, along each knob
_CURVES = 8  # knobs that get a picture of their own


def write(path: StrPath, knobs: Knobs) -> None:
    """Write the page."""
    write_page(path, page_of(knobs))


def page_of(knobs: Knobs) -> Page:
    """Return what the page says."""
    report, settings = knobs.report(), knobs.settings
    sections = [*_over_time(report)]
    if report.expected is not None:
        sections += [*_surface(knobs, report), *_slices(knobs, report), _beliefs(report)]
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
    """Say where things stand, measured before modelled."""
    said = []
    if report.mode == "reverted":
        is_alarmed = knobs._tuner.comparison.alarmed
        by_itself = " by itself, as the learner was worse" if is_alarmed else ""
        said.append(f"Knobs play the start: they were reverted{by_itself}.")
    elif report.mode == "paused":
        said.append("Knobs are paused, and play the last setting of the learner.")
    said.append(_measured(report))
    if report.expected is None or report.expected_at_start is None:
        said.append("Too few costs are in to say anything about settings.")
    else:
        best = ", ".join(f"{name} {_shown(value)}" for name, value in report.best.items())
        here, there = plain(report.expected, 3), plain(report.expected_at_start, 3)
        said.append(
            f"The best setting seems to be {best}: a round there is thought to {_verb(report)} "
            f"{here}, and one at the start {there}. So the model says; it was not measured."
        )
    return "\n\n".join(text for text in said if text)


def _measured(report: KnobsReport) -> str:
    """Say what the rounds say in which a coin played the start."""
    told = report.comparison
    if told is None:
        return (
            "Nothing is held out, so nobody can say for sure whether the learner is better than "
            "the start: make knobs with holdout=0.1, and a coin plays the start in every tenth "
            "round."
        )
    if told.gain is None or told.low is None or told.high is None:
        return "Too few rounds of the start and of the learner are known to compare them."
    reach = f"{plain(told.low, 3)} to {plain(told.high, 3)}, {told.level:.0%}, at all times"
    gain = plain(abs(told.gain), 3)
    if told.low > 0.0:
        return f"Measured: the learner is better than the start by {gain} a round ({reach})."
    if told.high < 0.0:
        return f"Measured: the learner is worse than the start by {gain} a round ({reach})."
    return f"Measured: nobody can tell yet whether the learner beats the start ({reach})."


def _numbers(report: KnobsReport) -> tuple[tuple[str, str], ...]:
    """Return three numbers to remember."""
    found = []
    told = report.comparison
    if told is not None and told.gain is not None and told.low is not None and told.low > 0.0:
        found.append((f"+{plain(told.gain, 3)}", "better than the start a round, measured"))
    if report.expected is not None and report.expected_at_start is not None:
        gain = abs(report.expected_at_start - report.expected)
        found.append((plain(gain, 3), "better at the best setting than at the start, modelled"))
    if report.exploring is not None:
        found.append((plain(report.exploring, 3), "a round for trying things out, modelled"))
    found.append((f"{report.open:,}", f"of {counted(report.rounds, 'round')} wait for their cost"))
    return tuple(found[:3])


def _over_time(report: KnobsReport) -> Iterator[Section]:
    """Show what rounds cost as time went by."""
    if len(report.past) < 2:
        return
    length = report.past[1].first - report.past[0].first
    series = []
    for name, means in (
        ("belated", [each.mean for each in report.past]),
        ("start", [each.start_mean for each in report.past]),
    ):
        known = [(i, mean) for i, mean in enumerate(means) if mean is not None]
        if known:
            middles = [report.past[i].first + length / 2.0 for i, _ in known]
            series.append(Series.of(name, middles, [mean for _, mean in known]))
    if report.expected_at_start is not None:
        ends = (0.0, float(report.past[-1].first + length))
        level = (report.expected_at_start,) * 2
        series.append(Series("start, as modelled now", ends, level, dashed=True))
    note = f"Means of {length:,} rounds, by when they were played. "
    note += "Of the newest, costs may still be missing."
    figure = Lines("Mean over time", "round", _what(report), tuple(series))
    yield Section(f"What did rounds {_verb(report)} over time?", figure, note)


def _surface(knobs: Knobs, report: KnobsReport) -> Iterator[Section]:
    """Show what is expected of two knobs, and how sure that is."""
    if len(knobs.settings.knobs) != 2:
        return
    (left, first), (right, second) = knobs.settings.knobs.items()
    rows, columns = _values(first, _CELLS), _values(second, _CELLS)
    names = [f"{left} {_shown(value)}" for value in rows]
    heads = [_shown(value) for value in columns]
    if len(set(names)) < len(names) or len(set(heads)) < len(heads):
        return  # a range so narrow that its values look alike
    came, _ = knobs._tuner.models.contexts()
    cells = [[knobs._expected({left: a, right: b}, came) for b in columns] for a in rows]
    for what, question, values, says in (
        (
            f"expected {_what(report)}",
            "What is expected of settings?",
            [tuple(cell.cost for cell in row) for row in cells],
            f"One row per {left}, one column per {right}. The best is at "
            + ", ".join(f"{name} {_shown(value)}" for name, value in report.best.items())
            + ".",
        ),
        (
            "standard deviation",
            "How sure is that?",
            [tuple(cell.uncertainty for cell in row) for row in cells],
            "The noise of a single round is left out. It is least sure where it has hardly played, "
            "which is where it has no reason to.",
        ),
    ):
        title = f"{first_up(what)}, {left} by {right}"
        figure = Heat(title, tuple(names), tuple(heads), tuple(values), what, log=False)
        yield Section(question, figure, says)


def _slices(knobs: Knobs, report: KnobsReport) -> Iterator[Section]:
    """Show every knob with the others at the best setting."""
    came, _ = knobs._tuner.models.contexts()
    for name, knob in list(knobs.settings.knobs.items())[:_CURVES]:
        others = len(knobs.settings.knobs) > 1
        values = _values(knob, _POINTS)
        told = [knobs._expected({**report.best, name: value}, came) for value in values]
        y = tuple(each.cost for each in told)
        low = tuple(each.cost - each.uncertainty for each in told)
        high = tuple(each.cost + each.uncertainty for each in told)
        title = f"Expected {_what(report)} along {name}"
        figure: Lines | Bars
        if isinstance(knob, Categories):
            labels = tuple(_shown(value) for value in values)
            figure = Bars(title, labels, (Series("expected", (), y, low, high),), _what(report))
        else:
            curve = Series("expected", tuple(map(float, values)), y, low, high)
            marks = [
                Series.of(
                    mark,
                    [float(at[name])],
                    [knobs._expected({**report.best, name: at[name]}, came).cost],
                )
                for mark, at in (("best", report.best), ("start", report.start))
            ]
            is_log = isinstance(knob, Log)
            figure = Lines(title, name, _what(report), (curve, *marks), log_x=is_log)
        rest = " The other knobs are at the best setting." if others else ""
        says = f"The band is one standard deviation, without the noise of a single round.{rest}"
        yield Section(f"What does {name} do?", figure, says)


def _beliefs(report: KnobsReport) -> Section:
    """Show which models count."""
    shares = {
        **{f"remembers {name}": share for name, share in report.memories.items()},
        **{f"looks at {name}": share for name, share in report.features.items()},
        "levels of their own for blocks of rounds": report.levels,
    }
    shares = {
        name.replace("remembers all", "remembers everything"): s for name, s in shares.items()
    }
    group = Series("weight", (), tuple(shares.values()))
    figure = Bars("Weights of models", tuple(shares), (group,), "weight")
    says = (
        "Models that remember everything are best where nothing drifts, and levels where costs "
        "go up and down whatever is played. Quadratics are smooth; cosines know kinks and several "
        "valleys."
    )
    return Section("What does it believe in now?", figure, says)


def _settings(knobs: Knobs, report: KnobsReport) -> Section:
    """List the knobs."""
    rows = tuple(
        (name, _described(knob), _shown(report.start[name]), _shown(report.best[name]))
        for name, knob in knobs.settings.knobs.items()
    )
    table = Table(("knob", "range", "start", "best"), rows)
    says = "Ranges, and where things stand."
    if knobs.settings.constraints:
        kept = "; ".join(map(words, knobs.settings.constraints))
        says += f" Settings also satisfy: {kept}."
    return Section("Which knobs are there?", None, says, table)


def _contexts(report: KnobsReport) -> Iterator[Section]:
    """List what seems best in which context."""
    if not report.contexts:
        return
    rows = tuple(
        (
            f"{each.name} {_shown(each.value)}",
            "" if each.share is None else f"{100.0 * each.share:.0f} %",
            ", ".join(f"{name} {_shown(value)}" for name, value in each.best.items()),
            _shown(each.expected),
        )
        for each in report.contexts
    )
    heads = ("context", "of the rounds", "best setting", f"expected {_what(report)}")
    says = (
        "All else is as it was on average; of numbers, a standard deviation below their mean and "
        "one above. What the other sections say is the mean over all contexts that came."
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


def _what(report: KnobsReport) -> str:
    return "cost of a round" if report.goal == "min" else "value of a round"


def _verb(report: KnobsReport) -> str:
    return "cost" if report.goal == "min" else "bring"
