"""A replay as text: plain lines, or set with ``rich`` where that is installed."""

from __future__ import annotations

import math
import shlex
import textwrap
from typing import TYPE_CHECKING, TextIO

from belated.linear.losses import LOSSES
from belated.replays import others
from belated.replays.contenders import AT_ONCE, OURS
from belated.report.plain import plain
from belated.report.terminal import WIDTH, takes_tables

if TYPE_CHECKING:
    from belated.replays.result import Replay


def summary(replay: Replay) -> str:
    """Return all lines."""
    lines = [*textwrap.wrap(title(replay), WIDTH), ""]
    lines += [f"  {line}" for line in textwrap.wrap(advice(replay), WIDTH - 2)]
    heads = columns(replay)
    lines += ["", f"{heads[0]:<28}{heads[1]:>20}{heads[2]:>18}{heads[3]:>14}{heads[4]:>10}"]
    lines += [f"{a:<28}{b:>20}{c:>18}{d:>14}{e:>10}" for a, b, c, d, e in table(replay)]
    lines += [""]
    for name, method in replay.methods.items():
        lines += textwrap.wrap(f"{name}: {method.about}", WIDTH, subsequent_indent="  ")
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
    if replay.task.log.bad:
        console.print(Text(f"left out: {replay.task.log.bad}", style="yellow"))


def title(replay: Replay) -> str:
    """Say what was replayed."""
    task = replay.task
    of = f" (the first of {task.whole:,})" if task.whole else ""
    features = ", ".join(task.features) or "no features"
    return (
        f"{replay.name}: {replay.rounds:,} predictions{of} of {replay.target}; "
        f"{replay.counted:,} ever got a label. Predicted from {features}."
    )


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
        change = "" if more is None or method.name == OURS else f"{more:+,.1%}"
        loss = plain(method.mean_loss) if math.isfinite(method.mean_loss) else "overflow"
        rows.append((method.name, loss, change, f"{method.used:,}", f"{method.seconds:.2f}"))
    return rows


def command(replay: Replay) -> str:
    """Return what to type for the same replay."""
    task, how = replay.task, replay.task.how
    parts = ["belated", "replay", replay.name]
    if replay.name != "flights":
        parts += ["--target", task.target]
    if task.columns is not None:
        parts += ["--predicted", task.columns[0], "--observed", task.columns[1]]
    if task.features != tuple(task.log.features):
        parts += ["--features", *task.features]
    if how.clip is not None:
        parts += ["--clip", *(f"{end:g}" for end in how.clip)]
    parts += ["--loss", how.loss]
    if parameter := LOSSES[how.loss].parameter:
        parts += [f"--{parameter}", f"{getattr(how, parameter):g}"]
    if how.threshold is not None:
        parts += ["--threshold", f"{how.threshold:g}"]
    if how.positive is not None:
        parts += ["--positive", how.positive]
    if replay.slices:
        parts += ["--slice", *replay.slices]
    also = [name for name, title in others.TITLES.items() if title in replay.methods]
    if also:
        parts += ["--with", ",".join(also)]
    return shlex.join([*parts, "--wait", str(replay.wait)])
