"""A replay as text: plain lines, or set with ``rich`` where that is installed."""

from __future__ import annotations

import math
import shlex
import textwrap
from datetime import timedelta
from typing import TYPE_CHECKING, TextIO

from belated.linear.losses import LOSSES
from belated.replays import others
from belated.replays.contenders import AT_ONCE, OURS
from belated.report.durations import humane
from belated.report.plain import counted, plain
from belated.report.terminal import WIDTH, aligned, takes_tables

if TYPE_CHECKING:
    from belated.replays.result import Replay
    from belated.replays.task import Asked

FAR = 100.0
"""From how much more on a change is shown as a factor."""


def summary(replay: Replay) -> str:
    """Return all lines."""
    lines = [*textwrap.wrap(title(replay), WIDTH), ""]
    lines += [f"  {line}" for line in textwrap.wrap(advice(replay), WIDTH - 2)]
    lines += ["", *aligned([columns(replay), *table(replay)]), ""]
    for name, method in replay.methods.items():
        lines += textwrap.wrap(f"{name}: {method.about}", WIDTH, subsequent_indent="  ")
    if replay.task.kinds:
        lines += ["", *aligned([KIND_HEADS, *kinds(replay)], numbers=False)]
    if replay.task.notes:
        lines += ["", *(f"note: {note}" for note in replay.task.notes)]
    if replay.task.log.bad:
        lines += ["", f"left out: {replay.task.log.bad}"]
    return "\n".join(lines)


def show(replay: Replay, out: TextIO) -> None:
    """Write the summary; with colours and tables where a person looks on."""
    if not takes_tables(out):
        out.write(summary(replay) + "\n")
        return
    from rich.console import Console
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    console = Console(file=out)
    console.print(Text(title(replay)))
    console.print(Panel(Text(advice(replay), style="bold")))
    grid = Table()
    for number, head in enumerate(columns(replay)):
        grid.add_column(head, justify="right" if number else "left")
    for row in table(replay):
        grid.add_row(*map(Text, row), style="bold" if row[0] == OURS else None)
    console.print(grid)
    for name, method in replay.methods.items():
        console.print(Text.assemble((f"{name}: ", "cyan"), method.about))
    if replay.task.kinds:
        grid = Table(*KIND_HEADS)
        for cells in kinds(replay):
            grid.add_row(*map(Text, cells))
        console.print(grid)
    for note in replay.task.notes:
        console.print(Text(f"note: {note}", style="yellow"))
    if replay.task.log.bad:
        console.print(Text(f"left out: {replay.task.log.bad}", style="yellow"))


def title(replay: Replay) -> str:
    """Say what was replayed."""
    task = replay.task
    of = f" (the first of {task.whole:,})" if task.whole else ""
    names = [kind.name for kind in task.kinds if kind.names] or task.features
    features = ", ".join(names) or "no features"
    return (
        f"{replay.name}: {counted(replay.rounds, 'prediction')}{of} of {replay.target}; "
        f"{_labelled(replay)}. Predicted from {features}."
    )


def _labelled(replay: Replay) -> str:
    """Say which predictions count."""
    if replay.task.how.silence is None:
        return f"{replay.counted:,} ever got a label"
    silent = int((replay.task.hearing.is_silence & replay.task.known).sum())
    return (
        f"{replay.counted:,} count, as their deadline of {deadline(replay)} has passed, "
        f"{silent:,} of them by silence"
    )


def deadline(replay: Replay) -> str:
    """Return how long an answer counts, in words."""
    limit, log = replay.task.how.deadline, replay.task.log
    if isinstance(limit, timedelta):
        return humane(limit.total_seconds(), "s")
    return humane(limit or 0.0, log.unit)


KIND_HEADS = ("column", "became", "why")


def kinds(replay: Replay) -> list[tuple[str, str, str]]:
    """Return every column, what it became, and why."""
    return [(kind.name, kind.says, kind.why) for kind in replay.task.kinds]


def advice(replay: Replay) -> str:
    """Return the verdict, and who does best among those that must wait for labels."""
    return f"{replay.verdict} {standing(replay)}"


def standing(replay: Replay) -> str:
    """Say who loses least with late labels, whoever it is."""
    late = [method for method in replay.methods.values() if method.name != AT_ONCE]
    late.sort(key=lambda method: method.mean_loss)
    best, second = late[0], late[1]
    if best.name != OURS:
        gain = replay.against(best.name)
        less = "less" if gain is None else f"{-gain:.1%} less"
        return f'Here "{best.name}" is better, with {plain(best.mean_loss)}, {less}.'
    gap = replay.against(second.name)
    more = "" if gap is None else f", {gap:,.1%} more"
    return (
        f'With late labels that is the least; next is "{second.name}" with '
        f"{plain(second.mean_loss)}{more}."
    )


def columns(replay: Replay) -> tuple[str, str, str, str, str]:
    """Return the heads of the table."""
    return "method", replay.measure, "against belated", "labels used", "seconds"


def table(replay: Replay) -> list[tuple[str, str, str, str, str]]:
    """Return the methods, the least loss first."""
    rows = []
    for method in sorted(replay.methods.values(), key=lambda method: method.mean_loss):
        more = replay.against(method.name)
        change = "" if more is None or method.name == OURS else _change(more)
        loss = plain(method.mean_loss) if math.isfinite(method.mean_loss) else "overflow"
        rows.append((method.name, loss, change, f"{method.used:,}", f"{method.seconds:.2f}"))
    return rows


def _change(more: float) -> str:
    """Return a change as a share; one that is out of all proportion as a factor."""
    return f"{more:+,.1%}" if more < FAR else f"{plain(more + 1.0, 3)} times"


def command(replay: Replay) -> str:
    """Return what to type for the same replay."""
    task, how = replay.task, replay.task.how
    parts = ["belated", "replay", replay.name]
    if replay.name != "flights":
        parts += ["--target", task.target]
    parts += asked(task.asked)
    if task.asked.features != "all":
        parts += ["--features", *task.asked.features]
    if how.clip is not None:
        parts += ["--clip", *(f"{end:g}" for end in how.clip)]
    parts += ["--loss", how.loss]
    if parameter := LOSSES[how.loss].parameter:
        parts += [f"--{parameter}", f"{getattr(how, parameter):g}"]
    if how.threshold is not None:
        parts += ["--threshold", f"{how.threshold:g}"]
    if how.positive is not None:
        parts += ["--positive", how.positive]
    if task.silence.value is not None:
        parts += ["--silence", str(task.silence.value)]
    if task.silence.deadline is not None:
        parts += ["--deadline", str(task.silence.deadline)]
    if task.silence.answered_only:
        parts += ["--answered-only"]
    if replay.slices:
        parts += ["--slice", *replay.slices]
    also = [name for name, title in others.TITLES.items() if title in replay.methods]
    if also:
        parts += ["--with", ",".join(also)]
    if how.silence is None:
        parts += ["--wait", str(replay.wait)]
    return shlex.join(parts)


def asked(what: Asked) -> list[str]:
    """Return how the log was read, as arguments."""
    parts: list[str] = []
    if what.predicted is not None and what.observed is not None:
        parts += ["--predicted", what.predicted, "--observed", what.observed]
    for option in ("weight", "tz", "unit"):
        if getattr(what, option) is not None:
            parts += [f"--{option}", getattr(what, option)]
    if what.dates is not None:
        parts += ["--dates", what.dates.replace(" ", "-")]
    for told in ("number", "text", "time", "ignore"):
        names = [name for name, kind in what.kinds.items() if kind == told]
        parts += [f"--{told}", *names] if names else []
    return [*parts, "--skip-bad-rows"] if what.on_bad == "skip" else parts
