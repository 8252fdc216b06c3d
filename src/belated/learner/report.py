"""What a learner says about itself: counts, delays, rate, and a certificate of its regret."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from belated.bases import Base, Portfolio
from belated.kernels.slots import code as C
from belated.kernels.slots import kinds as K
from belated.learner.program import Program
from belated.learner.state import Memory, Sums


@dataclass(frozen=True)
class Certificate:
    """An upper bound on the regret so far, against any fixed play, from the observed numbers.

    With G = lipschitz, D = diameter, eta_n the rates and s*_n the open tickets at the n-th arrival
    (Theorems 4.1 and 5.2):

    * ``learning`` = D^2 / (2 eta_N) + sum eta_n |c_n|^2 / 2
      (without the first term under a strongly convex rate);
    * ``delay`` = G sum eta_n s*_n |c_n| (3 G under a strongly convex rate);
    * ``unanswered`` = G D for every ticket that is open, skipped or cancelled.

    For a ``Portfolio`` they are those of the member for which the total is least. ``learning`` then
    also has what the mixture was charged more than that member, which is below 0 where it did
    better, and ``delay`` twice what that was charged for not knowing its point exactly.
    """

    learning: float
    delay: float
    unanswered: float

    @property
    def total(self) -> float:
        """The bound itself."""
        return self.learning + self.delay + self.unanswered


@dataclass(frozen=True)
class Report:
    """Counts and delays so far, the current rate, and the certificate or why there is none.

    Delays are those that the learner inside saw: a skipped ticket closes when it is skipped.
    ``total_delay`` and ``max_delay`` count open tickets up to now.
    """

    rounds: int
    observed: int
    open: int
    skipped: int
    cancelled: int
    late: int
    excess: int
    total_delay: int
    max_delay: int
    max_backlog: int
    max_dual_delay: int
    rate: float | None
    certificate: Certificate | None
    certificate_note: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        data = dataclasses.asdict(self)
        if self.certificate is not None:
            data["certificate"]["total"] = self.certificate.total
        return data

    def to_json(self, indent: int | None = None) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        """Return a table that a person can read."""
        rate = "none yet" if self.rate is None else f"{self.rate:.4g}"
        lines = [
            f"rounds        {self.rounds:>10,}",
            f"observed      {self.observed:>10,}   open {self.open:,}, skipped {self.skipped:,}, "
            f"cancelled {self.cancelled:,}, late {self.late:,}",
            f"total delay   {self.total_delay:>10,}   largest {self.max_delay:,}, "
            f"largest backlog {self.max_backlog:,}",
            f"rate          {rate:>10}",
        ]
        if self.excess:
            lines.append(f"excess        {self.excess:>10,}   answers larger than assumed")
        if self.certificate is not None:
            c = self.certificate
            lines.append(
                f"certificate   {c.total:>10,.4g}   learning {c.learning:,.4g} + delay "
                f"{c.delay:,.4g} + unanswered {c.unanswered:,.4g}"
            )
        if self.certificate_note:
            lines.append(f"              {self.certificate_note}")
        return "\n".join(lines)


def report_of(program: Program, memory: Memory) -> Report:
    """Read the report off the memory of a learner."""
    certificate, note = _certificate(program, memory)
    return Report(
        **memory.counts(),
        excess=memory.excess,
        rate=memory.sums.rate or None,
        certificate=certificate,
        certificate_note=note,
    )


def _certificate(program: Program, memory: Memory) -> tuple[Certificate | None, str]:
    """Return the certificate, or None and the reason."""
    code = program.code
    if code[C.METHOD] != K.OURS:
        return None, "no certificate: this is a method of others; its bound(timeline) says more"
    if code[C.REDUCTION] == K.ONE_POINT:
        return None, (
            "no certificate: the one-point guarantee holds in expectation and is vacuous at "
            "ordinary horizons; see Problem.bound"
        )
    if code[C.REDUCTION] == K.TWO_POINT:
        return (
            None,
            "no certificate: the two-point guarantee holds in expectation; see Problem.bound",
        )
    base = program.base
    if not isinstance(base, Base):
        return None, "no certificate: the base is a user's own"
    if base.uncertified:
        return None, f"no certificate: {base.uncertified}"
    sums = memory.sums
    lipschitz, note = _lipschitz(sums, memory.excess)
    if lipschitz == 0.0:
        return (
            None,
            "no certificate: no bound on the gradients is known; give lipschitz to the rate",
        )
    if isinstance(base, Portfolio) and program.wants_function:
        return None, "no certificate: no theorem covers a portfolio that is told whole losses"
    unanswered = lipschitz * sums.width * memory.unanswered
    certificate = (
        _portfolio(base, memory, lipschitz, unanswered)
        if isinstance(base, Portfolio)
        else _theorem(sums, lipschitz, unanswered, curved=base.rate.is_curved)
    )
    trivial = lipschitz * sums.width * memory.rounds
    if certificate is None or certificate.total >= trivial:
        return None, (
            f"no certificate yet: the bound is not below what any play could lose ({trivial:.4g})"
        )
    return certificate, note


def _lipschitz(sums: Sums, excess: int) -> tuple[float, str]:
    """Return the gradient bound to certify with, and what to say about it."""
    told, largest = sums.lipschitz, sums.largest
    if told == 0.0:
        return largest, "lipschitz was not given: the largest gradient seen stands in for it"
    if excess:
        return max(told, largest), (
            f"{excess} gradients exceeded lipschitz: the largest one stands in for it"
        )
    return told, ""


def _theorem(
    sums: Sums, lipschitz: float, unanswered: float = 0.0, *, curved: bool = False
) -> Certificate | None:
    """Theorem 4.1 with the observed numbers, inside Theorem 5.2; None before the first step."""
    if sums.rate == 0.0:
        return None
    start = 0.0 if curved else sums.diameter**2 / (2.0 * sums.rate)
    drift = (3.0 if curved else 1.0) * sums.drifted
    return Certificate(start + sums.learned, lipschitz * drift, unanswered)


def _portfolio(
    base: Portfolio, memory: Memory, lipschitz: float, unanswered: float
) -> Certificate | None:
    """The guarantee of ``Portfolio`` with the observed numbers.

    Dual averaging, and members with a strongly convex rate, have no part in Theorem 4.1.
    """
    found = []
    for spec, member in zip(base.members, memory.members, strict=True):
        game = _theorem(member.sums, lipschitz)
        if game is not None and not spec.uncertified and not spec.rate.is_curved:
            delay = game.delay + 2.0 * member.misread
            found.append(Certificate(game.learning + member.gap, delay, unanswered))
    return min(found, key=lambda certificate: certificate.total, default=None)
