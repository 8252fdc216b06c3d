"""Audits: delays of a log, and their price in guarantees.

>>> found = audit({"asked_at": [0, 1, 2, 3], "answered_at": [9, 2, 3, 4]}, unit="h")
>>> print(found.experience)
4 of 4 predictions were answered (100 %), half of them within 1 h. 0.75 are open at a time.
>>> found.factor, found.wait_in_predictions
(1.3228756555322954, 0)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from belated.audits.counting import Patience, Quantiles, Tally
from belated.audits.labels import Outcome, WaitsByLabel
from belated.audits.promises import Promise
from belated.audits.result import LABELLED, Audit
from belated.audits.silence import Deadline
from belated.engine import row_counter
from belated.errors import LogError, OutOfOrder
from belated.logs import DateOrder, Log, OnBad, Scan, Unit, scan
from belated.logs.files import is_parquet
from belated.logs.spans import span_in
from belated.timeline.sweep import Ties
from belated.timeline.times import Times, joined_times

if TYPE_CHECKING:
    from belated.audits.stored_log import StoredLog

__all__ = ["Audit", "Outcome", "Patience", "Promise", "Quantiles", "audit"]

ROWS = 1 << 17
"""Rows of a log in memory that are counted at once."""
USUAL = "silence counts after the longest that an answer took, as there is no deadline in time"


def audit(
    data: Any,
    predicted: str | None = None,
    observed: str | None = None,
    *,
    target: str | None = None,
    silence: str | float | None = None,
    deadline: str | float | timedelta | None = None,
    answered_only: bool = False,
    tz: str | None = None,
    unit: Unit | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    on_bad: OnBad = "error",
    dates: DateOrder | None = None,
    progress: bool | None = False,
    ties: Ties = "observe-first",
) -> Audit:
    """Count a log and say what its lateness costs.

    ``data`` is a :class:`Log`, a :class:`Scan`, or whatever :func:`belated.logs.read` takes, with
    the same arguments; or the log of any model of a store (``Store.log``), or its export, which has
    its times and labels, and whose deadline counts where no answer means something to the model and
    no other is given. A log in order of prediction is read once, in blocks, so that it may be
    larger than memory; another one is sorted in memory first. ``progress`` counts the rows on the
    standard error stream; None: on a terminal.

    The verdict begins with what is felt: how long answers take and how many are out. The price of
    lateness in theory is the ratio of what Corollary 5.3 guarantees with these delays to what it
    would guarantee without. The recommended wait is where the skip trade-off (Theorem 6.1) is
    least, by the clock: beyond it, one more answer costs the guarantee more than it brings. Both
    are about what is guaranteed in the worst case, and not about the error on this log.

    With a ``deadline`` ("30d", a timedelta, or a number in the unit of the log) no answer until
    then is one: such tickets are settled by silence, and no longer open. Waits are those of the
    answers that came; silence is counted apart. ``silence`` is the target that no answer means, as
    for a replay; without a deadline it counts after the longest that an answer took.
    ``answered_only`` leaves out the silence of a model of a store, so that no answer is none.

    ``target`` is the column of labels; a ``Log`` has its own. Where there are two to ten, waits are
    shown by label, and there is a warning if they depend on it.
    """
    reading: dict[str, Any] = {
        "dates": dates,
        "tz": tz,
        "unit": unit,
        "encoding": encoding,
        "missing": missing,
    }
    if answered_only and not (silence is None and deadline is None):
        raise LogError("audit: answered_only (--answered-only) goes without silence and deadline")
    why: list[str] = []
    stored = None if isinstance(data, Log | Scan) else stored_in(data)
    if stored is not None:
        stored.refuse(
            "audit", {"target": target, "predicted": predicted, "observed": observed, **reading}
        )
        if deadline is None and not answered_only:
            deadline = stored.told_deadline
            why += [stored.left_out] * bool(stored.left_out)
        data, predicted, observed, target, reading = stored.log(), None, None, None, {}
    log = _opened(data, predicted, observed, target, reading, on_bad)
    labels = target
    if isinstance(log, Scan):
        # The time of an answer is no label, but replays may ask whether one came.
        labels = None if target == log.columns.observed else target
    unit = "ns" if log.is_calendar else log.unit
    is_silence = silence is not None
    if deadline is not None:
        span: Any = _span(deadline, unit, log.is_calendar or log.is_epoch)
        log = (
            log if stored is None else stored.log(span)
        )  # in which the last word until then counts
    else:
        of_model = stored is not None and stored.has_silence and stored.kind in LABELLED
        of_model = of_model and not (is_silence or answered_only)
        if is_silence and isinstance(log, Scan) and hasattr(data, "read_next_batch"):
            log = log.read()  # such a stream can be read only once
        span = _longest(log) if is_silence or of_model else None
        if of_model and span is not None:
            why += [USUAL]
    with row_counter(f"reading {log.name}", progress) as rows:
        tally, waits = _counted(log, ties, labels, span, rows)
    if not tally.rounds:
        raise LogError(f"audit: {log.name} has no rows that can be used")
    return Audit(
        log.name,
        unit,
        log.is_calendar,
        tally,
        log.bad,
        waits.outcomes(),
        is_epoch=log.is_epoch,
        notes=(*log.notes, *why, *filter(None, [waits.distances.note()])),
        zone=log.tz if isinstance(log, Scan) else log.zone,
        is_told=answered_only or is_silence,
        kind=None if stored is None else stored.kind,
        has_silence=stored is not None and stored.has_silence,
    )


def stored_in(data: Any) -> StoredLog | None:
    """Return the log of a store, or of its export; None: it is something else."""
    if not is_parquet(data) and "belated.store" not in sys.modules:
        return None  # and nothing need be loaded to see that
    from belated.audits.stored_log import stored_log

    return stored_log(data)


def _opened(
    data: Any,
    predicted: str | None,
    observed: str | None,
    target: str | None,
    reading: Mapping[str, Any],
    on_bad: OnBad,
) -> Log | Scan:
    """Return a log that is there, or open one; ``reading`` is how its columns are read."""
    if not isinstance(data, Log | Scan):
        return scan(data, predicted, observed, target=target, **reading, on_bad=on_bad)
    if predicted or observed or any(reading.values()):
        raise LogError("audit: a Log or Scan has its columns, tz and unit already; give none here")
    return data


def _span(deadline: Any, unit: Unit | None, has_dates: bool) -> float:
    span = span_in(deadline, unit, "audit", has_dates=has_dates)
    if span == 0.0:
        raise LogError(f"audit: a deadline is longer than nothing, got {deadline!r}")
    return span


def _counted(
    data: Log | Scan,
    ties: Ties,
    target: str | None,
    deadline: Any,
    progress: Callable[[int], None],
) -> tuple[Tally, WaitsByLabel]:
    """Count a log, as it is read where that is possible."""

    def counters() -> tuple[Tally, WaitsByLabel]:
        tally = Tally(ties, Deadline(deadline))
        return tally, WaitsByLabel(target, tally.deadline)

    tally, waits = counters()
    if isinstance(data, Log):
        waits.read(data)
        tally.count(_slices(data.times.checked("audit:")))
        return tally, waits
    try:
        tally.count(_read(data, waits, progress))
    except OutOfOrder:
        tally, waits = counters()
        tally.count(_slices(joined_times(list(_read(data, waits, progress)))))
    return tally, waits


def _longest(data: Log | Scan) -> Any:
    """Return the longest that an answer took; None: there is none."""
    found = Deadline()
    for block in [data] if isinstance(data, Log) else data:
        if len(block):
            found.note(block.times, block.times.answered)
    return found.longest or None


def _read(blocks: Scan, waits: WaitsByLabel, progress: Callable[[int], None]) -> Iterator[Times]:
    """Yield the times of blocks, take note of their labels, and tell how many rows were read."""
    rows = 0
    for block in blocks:
        waits.read(block)
        rows += len(block)
        progress(rows)
        yield block.times


def _slices(times: Times) -> Iterator[Times]:
    """Yield the times of a log in memory block by block, in order of prediction."""
    times, _ = times.by_prediction_time()
    for at in range(0, len(times), ROWS):
        yield times.take(slice(at, at + ROWS))
