"""What is said before anything runs: features that know the answer, columns that say nothing."""

from __future__ import annotations

from collections.abc import Sequence

from belated.arrays import Array, Bools, Floats
from belated.errors import LogError
from belated.logs import Kinds, Log, leaks
from belated.logs.columns import Columns
from belated.logs.leaks import Hidden


def refuse_answers(columns: Columns) -> None:
    """Refuse features that are the answer itself, or its time."""
    for name, what in ((columns.observed, "when the answer came"), (columns.target, "the answer")):
        if name in columns.features:
            raise LogError(
                f"replay: {name!r} is {what}, which nobody knows when the prediction is made; a "
                "feature must be known then"
            )


def counted(log: Log) -> Kinds:
    """Return what columns became, with their numbers of values; constants are found here."""
    kinds = log.kinds
    for kind in kinds:
        if not kind.names or kind.what == "time":
            continue
        column = log.features[kind.names[-1]]
        if column.dtype.kind == "f":
            if len(column) and (column == column[0]).all():
                value = f"{column[0]:g}"
                kinds = kinds.changed(kind.name, what="constant", why=f"always {value}")
            continue
        words = set(column.tolist())
        if len(words) == 1 and len(column) > 1:
            kinds = kinds.changed(kind.name, what="constant", why=f"always {words.pop()!r}")
        else:
            kinds = kinds.changed(kind.name, values=len(words - {None}))
    return kinds


def checked(
    log: Log,
    labels: Floats,
    known: Bools,
    target: str,
    features: Sequence[str],
    kinds: Kinds,
    vouched: Sequence[str] = (),
) -> tuple[str, ...]:
    """Refuse features that know the answer; return what else is worth a word.

    ``known`` are rows whose label counts; ``vouched`` are columns of which somebody says that they
    are known when the prediction is made, whatever they look like.
    """
    there = [*(kind.name for kind in kinds), *log.features]
    leaks.check_known("replay", vouched, there, "is no feature; the features are")
    times, answered = log.times, log.answered
    hidden = Hidden(times.predicted_at, times.observed_at, answered, log.unit, log.target)
    sources = {name: kinds.column_of(name) for name in features}
    found, notes = {}, []
    for name, source in sources.items():
        column = log.features[name]
        if source in vouched or name in vouched:
            continue
        if what := _knows(column, labels, known, hidden, target):
            found[name] = what
        elif doubt := _doubt(column, labels, known, answered):
            notes.append(f"{name} {doubt} Then leave it out (--ignore {source})")
    if found:
        raise leaks.told("replay", found, sources, "the prediction is made")
    return tuple(notes)


def _knows(column: Array, labels: Floats, known: Bools, hidden: Hidden, target: str) -> str:
    """Say what of the answer a feature is; nothing where it is nothing of it."""
    if leaks.is_target(column, labels, known):
        return f"the target {target!r} under another name, in every answered row"
    what = hidden.known_by(column)
    return f"the target {target!r} {what}" if what == leaks.CHANGED else what


def _doubt(column: Array, labels: Floats, known: Bools, answered: Bools) -> str:
    """Say why a feature may know the answer, and ask; nothing where there is no reason to."""
    if leaks.follows_answers(column, answered):
        return "is there exactly where an answer came: is it filled in with the answer?"
    if leaks.is_nearly_target(column, labels, known):
        return "is nearly always the target: is it known only with the answer?"
    if what := leaks.only_with_answers(column, answered):
        return f"is {what} only in rows with an answer: is it filled in with the answer?"
    return ""
