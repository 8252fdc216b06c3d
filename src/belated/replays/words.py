"""A replay as text for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from belated.replays.contenders import AT_ONCE, BEST_WINDOW, OURS
from belated.replays.measures import ALIKE, MANY, UNKNOWN
from belated.report.durations import humane
from belated.report.plain import WIDTH, counted, first_up, plain, remarks
from belated.tables import aligned

if TYPE_CHECKING:
    from belated.replays.measures import Difference
    from belated.replays.result import Replay


def summary(replay: Replay) -> str:
    """Return all lines."""
    lines = [*textwrap.wrap(title(replay), WIDTH), ""]
    lines += [f"  {line}" for line in textwrap.wrap(advice(replay), WIDTH - 2)]
    if replay.warning:
        lines += ["", *(f"  {line}" for line in textwrap.wrap(replay.warning, WIDTH - 2))]
    lines += ["", *textwrap.wrap(caption(replay), WIDTH)]
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
    silent = int((replay.task.hearing.is_silence & replay.task.known).sum())
    return (
        f"{replay.counted:,} {'counts' if replay.counted == 1 else 'count'}, as the deadline of "
        f"{deadline(replay)} has passed, {silent:,} of them by silence"
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
    found = [(kind.name, kind.says, kind.why) for kind in replay.task.kinds]
    if replay.task.is_arrival:
        no = replay.task.silence.value
        why = f"1 where there is a time, {no} where there is none (--silence)"
        found.insert(0, (replay.task.target, "the label", why))
    return found


def advice(replay: Replay) -> str:
    """Return what lateness costs and how ours stands; first of all, who is better or seems so."""
    found = standing(replay)
    is_first = replay.ahead or seems_better(replay)
    return f"{found} {replay.verdict}" if is_first else f"{replay.verdict} {found}"


def seems_better(replay: Replay) -> list[str]:
    """Return methods that lose less than ours with late labels, where that may be by chance."""
    unknown = (name for name in replay.ties if replay.standing(name) == UNKNOWN)
    return [name for name in unknown if replay.differences[name].mean < 0.0]


def standing(replay: Replay) -> str:
    """Say who is better with late labels, who is as good, and who is worse, beyond doubt."""
    if not replay.blocks:
        return "There are too few labels to say which method is better."
    maybe = seems_better(replay)
    same = [name for name in replay.ties if replay.standing(name) == ALIKE]
    unknown = [name for name in replay.ties if name not in same and name not in maybe]
    groups = (
        ("Better than belated here", replay.ahead),
        ("Less loss than belated here, though the log is too short or uneven to be sure", maybe),
        (f"{first_up(ALIKE)} as belated", same),
        (f"{first_up(UNKNOWN)}, as the log is too short or too uneven", unknown),
    )
    parts = [f"{says}: {_listed(replay, names)}." for says, names in groups if names]
    if replay.behind:
        best, *rest = replay.behind
        more = f", and {len(rest)} other{'s' if len(rest) > 1 else ''}" if rest else ""
        parts.append(f"Worse than belated: {_listed(replay, (best,))}{more}.")
    return " ".join(parts)


def _listed(replay: Replay, names: Sequence[str]) -> str:
    found = []
    for name in names:
        after = ", chosen afterwards," if name == BEST_WINDOW else ""
        found.append(f'"{name}"{after} {against(replay, name, says=False)}')
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
    """Return the name of a method, marked where nobody can have it."""
    return f"{name} (unreachable)" if name == AT_ONCE and replay.task.delays.any() else name


def against(replay: Replay, name: str, *, says: bool = True) -> str:
    """Return how a method compares with ours: as a share with its interval, or as a factor.

    ``says`` adds what a tie means.
    """
    share = replay.share(name)
    if share is None:
        return ""
    text = estimate(share)
    if not share.is_known:
        return text
    return f"{text} ({_range(share)}){f' {share.standing}' if says and share.is_tie else ''}"


def estimate(share: Difference) -> str:
    """Return how much more or less it is: in percent, or as so many times."""
    if share.mean >= MANY:
        return f"{plain(share.mean + 1.0, 3)} times"
    return f"{_percent(share.mean):+,.1f}%"


def _range(share: Difference) -> str:
    """Return both ends of an interval, in the words of its estimate."""
    if share.mean >= MANY and share.low > 0.0:
        return " to ".join(plain(end + 1.0, 3) for end in (share.low, share.high))
    low, high = (f"{_percent(end):+,.1f}" for end in (share.low, share.high))
    return f"{low}% to many times" if share.high > MANY else f"{low} to {high}"


def _percent(share: float) -> float:
    """Return a share in percent, to a tenth; none of them is a negative zero."""
    return round(100.0 * share, 1) + 0.0


def _loss(loss: float) -> str:
    if math.isnan(loss):
        return ""
    return plain(loss) if math.isfinite(loss) else "overflow"
