"""A replay as text for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from belated.replays.columns import total
from belated.replays.contenders import AT_ONCE, BEST_WINDOW, OURS
from belated.replays.measures import MANY, NO_DIFFERENCE
from belated.report.durations import humane
from belated.report.plain import WIDTH, counted, first_up, plain, remarks
from belated.tables import aligned

if TYPE_CHECKING:
    from belated.replays.result import Replay


def summary(replay: Replay) -> str:
    """Return all lines."""
    lines = [*textwrap.wrap(title(replay), WIDTH), ""]
    for text in filter(None, (advice(replay), replay.warning)):
        lines += [*(f"  {line}" for line in textwrap.wrap(text, WIDTH - 2)), ""]
    lines += textwrap.wrap(caption(replay), WIDTH)
    lines += [*aligned([HEADS, *table(replay)]), ""]
    for name, method in replay.methods.items():
        lines += textwrap.wrap(f"{name}: {method.about}", WIDTH, subsequent_indent="  ")
    if replay.task.kinds:
        lines += ["", *aligned([KIND_HEADS, *kinds(replay)], numbers=False)]
    return "\n".join([*lines, *remarks(replay.task.notes, replay.task.log.bad)])


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
    columns = replay.task.columns
    silent = int(total(np.logical_and, columns["is_silence"], columns["counts"]))
    return (
        f"{replay.counted:,} {'counts' if replay.counted == 1 else 'count'}, as the deadline of "
        f"{deadline(replay)} has passed, {silent:,} of them by silence"
    )


def deadline(replay: Replay) -> str:
    """Return how long an answer counts, in words."""
    return humane(replay.task.deadline, replay.task.log.unit)


KIND_HEADS = ("column", "became", "why")


def kinds(replay: Replay) -> list[tuple[str, str, str]]:
    """Return every column, what it became, and why."""
    found = [(kind.name, kind.says, kind.why) for kind in replay.task.kinds]
    if replay.task.is_arrival:
        no = replay.task.silence.value
        why = f"1 where there is a time, {no} where there is none (--silence)"
        found.insert(0, (replay.task.target, "the label", why))
    return found


def advice(replay: Replay) -> str:
    """Return what lateness costs and how ours stands; first of all, which method is better."""
    found = standing(replay)
    leads = replay.ahead or replay.best != OURS
    texts = (found, replay.verdict) if leads else (replay.verdict, found)
    return " ".join(filter(None, (*texts, pairs(replay))))


def pairs(replay: Replay) -> str:
    """Say that pairs of features would help, where they do on the first predictions."""
    share = replay.pairs
    if share is None or not share.high < 0.0:
        return ""
    return (
        'Pairs of features help here: with --interactions auto (interactions="auto") the loss of '
        f"the first predictions changes by {size_of(share.mean)} ({size_of(share.low)} to "
        f"{size_of(share.high)})."
    )


def standing(replay: Replay) -> str:
    """Say which methods that learn from late labels are better than ours, as good, and worse."""
    if not replay.blocks:
        return "There are too few labels to compare methods."
    parts = []
    if replay.ahead:
        parts.append(f"Better than belated here: {_listed(replay, replay.ahead)}.")
    elif replay.best != OURS:
        parts.append(f'"{replay.best}" has the least loss here.')
    if replay.ties:
        parts.append(f"{first_up(NO_DIFFERENCE)} to belated: {_listed(replay, replay.ties)}.")
    if replay.behind:
        best, *rest = replay.behind
        more = f", and {len(rest)} other{'s' if len(rest) > 1 else ''}" if rest else ""
        parts.append(f"Worse than belated: {_listed(replay, (best,))}{more}.")
    return " ".join(parts)


def _listed(replay: Replay, names: Sequence[str]) -> str:
    found = []
    for name in names:
        after = " (chosen afterwards)" if name == BEST_WINDOW else ""
        size = against(replay, name, says=False)
        found.append(f'"{name}"{after}{f" {size}" if size else ""}')
    return ", ".join(found)


HEADS = ("method", "all", "later", "against belated, 95 %", "labels", "seconds")


def caption(replay: Replay) -> str:
    """Say what the columns of the table are."""
    silent = "" if replay.task.how.silence is None else "; silence is a label too"
    return (
        f"{first_up(replay.measure)} of all predictions that count, and of the later ones, without "
        f"the first tenth of them{silent}:"
    )


def table(replay: Replay) -> list[tuple[str, ...]]:
    """Return the methods, the least loss first."""
    rows = []
    for method in sorted(replay.methods.values(), key=lambda method: method.mean_loss):
        losses = [_loss(loss) for loss in (method.mean_loss, method.later_loss)]
        change = against(replay, method.name) if method.name != OURS else ""
        name = shown(replay, method.name)
        rows.append((name, *losses, change, f"{method.used:,}", f"{method.seconds:.2f}"))
    return rows


def shown(replay: Replay, name: str) -> str:
    """Return the name of a method, marked where it needs labels before they arrive."""
    return f"{name} (unreachable)" if name == AT_ONCE and replay.task.is_late else name


def against(replay: Replay, name: str, *, says: bool = True) -> str:
    """Return how a method compares with ours: as a share with its interval, or as a factor.

    ``says`` adds what a tie means. An interval that is too wide to say anything is left out.
    """
    share = replay.share(name)
    if share is None:
        return ""
    if share.is_known and share.is_wide:
        return NO_DIFFERENCE if says else ""
    text = size_of(share.mean)
    if not share.is_known:
        return text
    text += f" ({size_of(share.low).removesuffix('%')} to {size_of(share.high).removesuffix('%')})"
    return f"{text} {NO_DIFFERENCE}" if says and share.is_tie else text


def size_of(share: float) -> str:
    """Return how much more or less something is: in percent, or as so many times.

    >>> size_of(0.0123), size_of(-0.00001), size_of(10.5)
    ('+1.2%', '+0.0%', '11.5 times')
    """
    if share >= MANY:
        return f"{plain(share + 1.0, 3)} times"
    return f"{round(100.0 * share, 1) + 0.0:+,.1f}%"


def _loss(loss: float) -> str:
    if math.isnan(loss):
        return ""
    return plain(loss) if math.isfinite(loss) else "overflow"
