"""Which decisions count: those that are old enough for everything to be known of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from belated.errors import LogError
from belated.evaluations.log import DecisionLog


@dataclass(frozen=True)
class Ripe:
    """The decisions that count, every one with its reward, and those that do not."""

    log: DecisionLog
    decisions: int
    """All that the log holds."""
    too_young: int
    """Decisions whose deadline has not passed, which do not count."""
    silent: int
    """Decisions that count with the reward of silence."""
    late: int
    """Those of them whose reward came after the deadline."""
    still_open: int
    """Decisions that count as silent though, without a deadline, something may still come."""
    deadline: float | None
    """In the unit of the log."""
    silence: float | None


def ripe(
    log: DecisionLog, *, silence: float | None, deadline: float | None, until: float | None
) -> Ripe:
    """Return what counts: with a deadline, the decisions made at least that long before the end.

    A decision counts with what was heard of it by its deadline, and with ``silence`` if that was
    nothing. Which ones count depends on the time of the decision alone, so none is favoured.
    """
    end = log.end if until is None else until
    is_old = log.decided <= (end if deadline is None else end - deadline)
    too_young = int(np.count_nonzero(~is_old))
    if not is_old.any():
        raise LogError(
            f"evaluate: {log.name}: all {len(log):,} decisions are too young: none was made as "
            "long as the deadline before the end of the log; wait, or take a shorter deadline"
        )
    kept = log.take(is_old)
    # Summed up as the end of a log is, so that rounding does not put the last reward after it.
    known = kept.heard & (kept.decided + kept.wait <= end)
    if deadline is not None:
        known &= kept.wait <= deadline
    silent = int(np.count_nonzero(~known))
    if silent and silence is None:
        raise LogError(_question(log.name, silent, len(kept), deadline))
    filled = np.where(known, kept.reward, np.nan if silence is None else silence)
    counted = replace(kept, reward=filled, wait=np.where(known, kept.wait, np.nan))
    return Ripe(
        log=counted,
        decisions=len(log),
        too_young=too_young,
        silent=silent,
        late=int(np.count_nonzero(kept.heard & ~known)),
        still_open=silent if deadline is None else 0,
        deadline=deadline,
        silence=silence,
    )


def _question(name: str, silent: int, of: int, deadline: float | None) -> str:
    """Say that decisions have no reward, and ask what that means."""
    start = f"evaluate: {name}: of {silent:,} of {of:,} decisions no reward is known"
    if deadline is not None:
        return f"{start} by their deadline; say what reward that means, with silence= (--silence)"
    return (
        f"{start}; say what reward that means with silence= (--silence), and how long one has to "
        "wait to be sure with deadline= (--deadline)"
    )
