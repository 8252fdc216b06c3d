"""What a learner says about itself: counts, delays, rate, and a certificate of its regret."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.arrays import Floats, Ints
from belated.bases import Base, Portfolio
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import own as OWN
from belated.kernels.tickets import max_backlog, total_delay
from belated.learner.program import Program, entries_of


@dataclass(frozen=True)
class Certificate:
    """An upper bound on the regret so far, against any fixed play, from the observed numbers.

    With G = lipschitz, D = diameter, eta_n the rates and s*_n the open tickets at the n-th arrival
    (Theorems 4.1 and 5.2):

    * ``learning`` = D^2 / (2 eta_N) + sum eta_n |c_n|^2 / 2
      (without the first term under a strongly convex rate);
    * ``delay`` = G sum eta_n s*_n |c_n| (3 G under a strongly convex rate);
    * ``unanswered`` = G D for every ticket that is open, skipped or cancelled.

    For a ``Portfolio`` the first two are sums over the member for which they are least and over the
    weights, whose G is the largest charge seen; ``delay`` then also has twice what that member was
    charged for not knowing its point exactly.
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


def report_of(program: Program, f: Floats, n: Ints) -> Report:
    """Read the report off the arrays of a learner."""
    count = {name: int(n[slot]) for name, slot in _COUNTS.items()}
    is_open = int(n[N.ROUNDS] - n[N.ARRIVED])
    certificate, note = _certificate(program, f, n)
    return Report(
        **count,
        observed=int(n[N.ARRIVED] - n[N.SKIPPED] - n[N.CANCELLED]),
        open=is_open,
        total_delay=total_delay(n),
        max_backlog=max_backlog(n),
        max_delay=max(int(n[N.MAX_DELAY]), _oldest_age(n) if is_open else 0),
        rate=float(f[F.ETA]) or None,
        certificate=certificate,
        certificate_note=note,
    )


_COUNTS = {
    "rounds": N.ROUNDS,
    "skipped": N.SKIPPED,
    "cancelled": N.CANCELLED,
    "late": N.LATE,
    "excess": N.EXCESS,
    "max_dual_delay": N.MAX_DUAL_DELAY,
}


def _oldest_age(n: Ints) -> int:
    """Return how many predictions came after the oldest open ticket."""
    entries = entries_of(n)
    oldest = entries[np.argmax(entries[:, 1] >= 0), 0]
    return int(n[N.ROUNDS] - oldest) - 1


def _certificate(program: Program, f: Floats, n: Ints) -> tuple[Certificate | None, str]:
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
    lipschitz, note = _lipschitz(f, n)
    if lipschitz == 0.0:
        return (
            None,
            "no certificate: no bound on the gradients is known; give lipschitz to the rate",
        )
    if isinstance(base, Portfolio) and program.wants_function:
        return None, "no certificate: no theorem covers a portfolio that is told whole losses"
    certificate = _theorem(f, n, base.rate.is_curved, lipschitz)
    if isinstance(base, Portfolio):
        certificate = _portfolio(base, f, n, lipschitz)
    trivial = lipschitz * float(f[F.WIDTH]) * int(n[N.ROUNDS])
    if certificate is None or certificate.total >= trivial:
        return None, (
            f"no certificate yet: the bound is not below what any play could lose ({trivial:.4g})"
        )
    return certificate, note


def _lipschitz(f: Floats, n: Ints) -> tuple[float, str]:
    """Return the gradient bound to certify with, and what to say about it."""
    told, largest = float(f[F.LIPSCHITZ]), float(f[F.LARGEST])
    if told == 0.0:
        return largest, "lipschitz was not given: the largest gradient seen stands in for it"
    if n[N.EXCESS]:
        return max(told, largest), (
            f"{int(n[N.EXCESS])} gradients exceeded lipschitz: the largest one stands in for it"
        )
    return told, ""


def _theorem(f: Floats, n: Ints, curved: bool, lipschitz: float) -> Certificate | None:
    """Theorem 4.1 with the observed numbers, inside Theorem 5.2."""
    game = _game(f, curved)
    if game is None:
        return None
    learning, drift = game
    return Certificate(learning, lipschitz * drift, _unanswered(f, n, lipschitz))


def _game(f: Floats, curved: bool = False) -> tuple[float, float] | None:
    """Return what Theorem 4.1 allows as regret and as drift, from the sums in a header."""
    diameter, rate = float(f[F.DIAMETER]), float(f[F.ETA])
    if rate == 0.0:
        return None
    start = 0.0 if curved else diameter**2 / (2.0 * rate)
    return start + float(f[F.LEARNED]), (3.0 if curved else 1.0) * float(f[F.DRIFTED])


def _unanswered(f: Floats, n: Ints, lipschitz: float) -> float:
    count = int(n[N.ROUNDS] - n[N.ARRIVED] + n[N.SKIPPED] + n[N.CANCELLED])
    return lipschitz * float(f[F.WIDTH]) * count


def _portfolio(base: Portfolio, f: Floats, n: Ints, lipschitz: float) -> Certificate | None:
    """The guarantee of ``Portfolio`` with the observed numbers.

    Dual averaging, and members with a strongly convex rate, have no part in Theorem 4.1.
    """
    own = f[n[N.OWN_AT] : n[N.KEPT_AT]]
    count = len(base.members)
    best: Certificate | None = None
    for number, spec in enumerate(base.members):
        member = own[OWN.member_at(count, int(n[N.DIM]), number) :]
        game = _game(member)
        if game is None or spec.uncertified or spec.rate.is_curved:
            continue
        delay = lipschitz * game[1] + 2.0 * float(member[OWN.MISREAD])
        found = Certificate(game[0], delay, _unanswered(f, n, lipschitz))
        if best is None or found.total < best.total:
            best = found
    weights = own[OWN.HEADER :]
    mixing = _game(weights) or (0.0, 0.0)  # no step: all members were charged the same
    if best is None:
        return None
    return Certificate(
        best.learning + mixing[0],
        best.delay + float(weights[F.LARGEST]) * mixing[1],
        best.unanswered,
    )
