"""The result of an audit, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from belated.audits import promises
from belated.audits.counting import Patience, Quantiles, Spread, Tally, by_clock, by_rounds
from belated.audits.labels import Outcome, by_label, warning
from belated.audits.promises import Promise
from belated.logs.log import SECONDS, BadRows, Unit, as_date
from belated.report import Page
from belated.report.durations import humane, iso_moment, moment
from belated.report.finding import Finding
from belated.report.plain import counted, first_up, plain
from belated.tables import as_html

LABELLED = ("LinearModel", "Intervals")
"""Classes of models whose answers are labels."""


_COUNTS = (
    *("total_delay", "max_delay", "max_answered_delay"),
    *("max_unanswered_age", "max_backlog", "max_dual_delay"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Finding):
    """The delays of a log: counts, delays, backlog, and the price of it in guarantees.

    Times and waits are in the log's own ``unit``: nanoseconds for datetimes.
    """

    name: str
    unit: Unit | None
    is_calendar: bool
    tally: Tally
    bad: BadRows
    outcomes: tuple[Outcome, ...] = ()
    """Waits by label, the quickest first, where there are two to ten labels."""
    is_epoch: bool = False
    """Whether times are numbers that count ``unit`` since 1970."""
    notes: tuple[str, ...] = ()
    """Notes from reading the log."""
    zone: str | None = None
    """The zone whose clock people go by, where somebody said so."""
    kind: str | None = None
    """The class of the model whose log it is, where it is that of a store."""
    has_silence: bool = False
    """Whether no answer means something to that model."""
    is_told: bool = False
    """Whether somebody said what no answer means."""

    @property
    def has_labels(self) -> bool:
        """Whether answers may be labels, of which a replay says more."""
        return self.kind in (None, *LABELLED)

    @property
    def deadline(self) -> float | None:
        """How long an answer counts, in the log's unit; None: as long as it takes."""
        span = self.tally.deadline.span
        return None if span is None else float(span)

    @property
    def answers(self) -> Spread:
        """How long the answers took that came, in time if there is a deadline."""
        return self.tally.waits if self.deadline is None else self.tally.answers

    @property
    def silent(self) -> int:
        """Tickets that silence has settled."""
        return self.tally.silent

    @property
    def rounds(self) -> int:
        """T, the number of predictions."""
        return self.tally.rounds

    @property
    def answered(self) -> int:
        """How many of them were answered, in time if there is a deadline."""
        return self.answers.count

    @property
    def never(self) -> int:
        """How many never were, as far as the log goes."""
        return self.rounds - self.answered - self.silent

    @cached_property
    def delay(self) -> Quantiles:
        """d_t of the answered: predictions made while a ticket was open."""
        return Quantiles.of(self.tally.delays)

    @cached_property
    def dual_delay(self) -> Quantiles:
        """d*_t of the answered: answers that came while a ticket was open."""
        return Quantiles.of(self.tally.dual_delays)

    @cached_property
    def wait(self) -> Quantiles:
        """r_t - l_t of the answers that came, in the log's unit; silence has no part in it."""
        return Quantiles.of(self.answers)

    @cached_property
    def patience(self) -> Patience:
        """The skip trade-off by the clock: how long it pays to wait."""
        never = self.rounds - self.tally.answered
        return by_clock(self.tally.waits, never, self.tally.total_delay)

    @cached_property
    def patience_in_rounds(self) -> Patience:
        """The skip trade-off of Theorem 6.1, by delays in rounds."""
        return by_rounds(self.tally.all_delays, self.tally.total_delay)

    @cached_property
    def promises(self) -> list[Promise]:
        """The guarantees for gradients, with the delays and without."""
        counts = self.rounds, self.tally.total_delay, self.tally.max_backlog
        return promises.from_counts(*counts)

    @cached_property
    def more_promises(self) -> list[Promise]:
        """The results that need the whole timeline; none for logs of more than a million rounds."""
        timeline = self.tally.timeline
        return [] if timeline is None else list(promises.from_timeline(timeline))

    @property
    def factor(self) -> float:
        """By how much lateness multiplies the guarantee of Corollary 5.3."""
        return self.promises[0].bound.factor

    @property
    def tight_factor(self) -> float:
        """The same with the tight rate, whose constant is better."""
        return self.promises[1].bound.factor

    # ---- words -----------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """The lead: how late answers are, and then the theory."""
        return f"{self.experience} {self.theory}"

    @property
    def open_at_a_time(self) -> float:
        """How many answers are out when a prediction is made, on average."""
        return self.tally.total_delay / self.rounds

    @property
    def experience(self) -> str:
        """The practical part: how many answers come, how late, and how many are open."""
        if not self.answered:
            return (
                f"None of {counted(self.rounds, 'prediction')} was answered. {self._others}".strip()
            )
        if self.tally.total_delay == 0:
            return "Nothing is late: every answer comes before the next prediction."
        share = f"{float(f'{100.0 * self.answered / self.rounds:.3g}'):g} %"
        found = f"{self.answered:,} of {counted(self.rounds, 'prediction')} were answered ({share})"
        median = f"half of them within {self.lasting(self.wait.median)}"
        found += f", {median}." if self.wait.median else ", half of them at once."
        size = plain(float(f"{self.open_at_a_time:.3g}"))
        return " ".join(filter(None, (found, self._others, f"{size} are open at a time.")))

    @property
    def _others(self) -> str:
        """The predictions without an answer, and the effect of a deadline."""
        if self.deadline is None:
            never = f"{self.never:,} {'was' if self.never == 1 else 'were'} never answered."
            return never if self.never and self.answered else ""
        found = f"{first_up(self.settled_by_silence)}."
        extra = self.deadline - self.wait.p99
        if self.answered and extra > 0.1 * self.deadline:
            found += (
                f" 99 % of the answers took at most {self.lasting(self.wait.p99)}: the deadline "
                f"waits {self.lasting(extra)} longer, for the last 1 %."
            )
        return found

    @property
    def settled_by_silence(self) -> str:
        """How many tickets silence has settled, and how many are not settled yet."""
        assert self.deadline is not None  # without one silence settles nothing
        found = f"{self.silent:,} count as silence, {self.lasting(self.deadline)} after prediction"
        is_one = self.never == 1
        return (
            f"{found}, and {self.never:,} {'is' if is_one else 'are'} still open"
            if self.never
            else found
        )

    @property
    def theory(self) -> str:
        """The effect of delays on the worst-case guarantee; it is no measured error."""
        if self.tally.total_delay == 0:
            return "The guarantee is what it would be without lateness."
        first = next((found for found in self.promises if not found.bound.vacuous), None)
        if first is None:
            return self._vacuous
        which, factor = f" of {first.name}" * (first is not self.promises[0]), first.bound.factor
        price = f"In theory lateness multiplies the guarantee{which} by {plain(factor, 2)}"
        return f"{price}; {self.advice}." if self.tally.answered else f"{price}."

    @property
    def _vacuous(self) -> str:
        """The sentence for logs on which no guarantee that waits for every answer holds."""
        if all(promise.bound.vacuous for promise in self.more_promises):
            return (
                "The guarantees say nothing yet on this log: with its lateness each one exceeds "
                f"{self.rounds:,}, which no sequence of plays does."
            )
        only = "Of the guarantees only some that skip late answers say anything on this log"
        return f"{only}; {self.advice}."

    @property
    def advice(self) -> str:
        """How long the guarantee says to wait, by the clock and in predictions."""
        patience, longest = self.patience, self.tally.waits.largest
        if not patience.pays:
            return "for the guarantee every answer is worth waiting for"
        limit = self.lasting(patience.limit)
        if self.wait_in_predictions is not None:
            limit += f' (wait={{"predictions": {self.wait_in_predictions}}})'
        if patience.given_up == self.never and patience.limit >= longest:
            return f"waiting longer than {limit}, the longest that an answer took, adds nothing"
        return f"for the guarantee, waiting longer than {limit} costs more than it brings"

    @property
    def wait_in_predictions(self) -> int | None:
        """The best limit n for the guarantee, as in ``wait={"predictions": n}``; None: no limit.

        It is that of Theorem 6.1, by delays in predictions, and no more than the longest that an
        answer took.
        """
        rounds = self.patience_in_rounds
        return int(min(rounds.limit, self.delay.longest)) if rounds.pays else None

    @property
    def warning(self) -> str:
        """The warning that lateness depends on the label, or that most rows have no answer."""
        return " ".join(filter(None, (warning(self.outcomes, self.unit), self._silent)))

    @property
    def _silent(self) -> str:
        """Say that no answer may be one, where most rows have none and ``silence`` is not given."""
        is_told = self.is_told or self.has_silence or self.kind == "Learner"  # has no silence
        if is_told or 2 * self.never <= self.rounds or not self.answered:
            return ""
        others = "here and to belated replay"
        if not self.has_labels:
            others = f"and to the {self.kind} itself (silence=, deadline=)"
        return (
            f"{self.never:,} of {self.rounds:,} were never answered. If no answer means no, as "
            "where only a sale is ever heard of, nothing is lost there: say so with --silence 0 "
            f"(and --deadline with how long an answer counts; {self.lasting(self.wait.p99)} is "
            f"enough for 99 % of the answers so far), {others}."
        )

    def lasting(self, length: float) -> str:
        """Return a length of time in words."""
        text = humane(length, self.unit)
        return text if self.unit is not None else f"{text} (in the unit of the log)"

    def at(self, start: float) -> str:
        """Return a time after the first prediction as the log has it."""
        return moment(self._time(start), self.zone)

    def _time(self, start: float) -> Any:
        """Return a time after the first prediction: a date where there are dates."""
        origin = self.tally.origin
        assert origin is not None  # there is no audit of an empty log
        if self.is_calendar:
            return origin[0] + np.timedelta64(round(start), "ns")
        if self.is_epoch:
            return as_date(origin[0].item() + round(start), self.unit)
        return float(origin[0]) + start

    @property
    def span(self) -> float:
        """From the first prediction to the last, in the log's unit."""
        origin, last = self.tally.origin, self.tally.last
        assert origin is not None  # there is no audit of an empty log
        assert last is not None
        gap = last[0] - origin[0]
        return float(gap.astype(np.int64) if self.is_calendar else gap)

    def summary(self) -> str:
        """Return the audit in words, for a terminal."""
        from belated.audits.words import summary

        return summary(self)

    def _page(self, command: str) -> Page:
        from belated.audits.page import page_of

        return page_of(self, command)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON; waits in seconds where the unit is known."""
        scale = 1.0 if self.unit is None else SECONDS[self.unit]
        tally, patience = self.tally, self.patience
        return {
            "name": self.name,
            "rounds": self.rounds,
            "answered": self.answered,
            "never": self.never,
            "silent": self.silent,
            "deadline": None if self.deadline is None else self.deadline * scale,
            "bad_rows": len(self.bad),
            "notes": list(self.notes),
            "first": iso_moment(self._time(0.0)),
            "last": iso_moment(self._time(self.span)),
            **{name: getattr(tally, name) for name in _COUNTS},
            "delay": self.delay.to_dict(),
            "dual_delay": self.dual_delay.to_dict(),
            "wait": self.wait.to_dict(scale),
            "wait_unit": None if self.unit is None else "s",
            "factor": self.factor,
            "tight_factor": self.tight_factor,
            "recommended_wait": patience.limit * scale if patience.pays else None,
            "recommended_wait_in_predictions": self.wait_in_predictions,
            "open_at_a_time": self.open_at_a_time,
            "given_up": patience.given_up if patience.pays else 0,
            "cost": min(patience.cost, patience.forever),
            "cost_of_waiting": patience.forever,
            "promises": [
                {"answers": promise.answers, **promise.bound.to_dict()} for promise in self.promises
            ],
            "verdict": self.verdict,
            "by_label": by_label(self.outcomes, self.unit),
            "warning": self.warning,
        }

    def __repr__(self) -> str:
        """Return the verdict and what it is about."""
        return f"<Audit of {self.name!r}, {counted(self.rounds, 'round')}: {self.verdict}>"

    def _repr_html_(self) -> str:
        """Return the verdict and the main facts for notebooks."""
        from belated.audits.words import facts

        return as_html(self.verdict, facts(self))
