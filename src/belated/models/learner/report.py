"""The report of a learner: counts, delays, rate, and a certificate of its regret."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from belated.bases import OMD, Base, Leader, Portfolio
from belated.bounds.unanswered import stand_in, worst_round
from belated.models.ticket_counts import count_rows, delay_rows
from belated.rates import StronglyConvex
from belated.reductions import (
    Capacity,
    FullInformation,
    LearnerSpec,
    OnePoint,
    Reduction,
    TwoPoint,
    Wrapper,
    inner_of,
)
from belated.tables import Row, Table


@dataclass(frozen=True)
class Certificate:
    """An upper bound on the regret so far, against any fixed play, from the observed numbers.

    It holds for every sequence of losses and delays, also for one that is chosen after seeing the
    plays, as long as the losses are what the learner was told: convex, or lambda-strongly convex
    under ``rates.StronglyConvex(lambda)``, with gradients of at most G = lipschitz. With D the
    diameter, eta_n the rates and s*_n the open tickets at the n-th arrival (Theorems 4.1 and 5.2):

    * ``learning`` = D^2 / (2 eta_N) + sum eta_n |c_n|^2 / 2
      (without the first term under a strongly convex rate);
    * ``delay`` = G sum eta_n s*_n |c_n| (G + lambda D under a strongly convex rate);
    * ``unanswered``: for every open ticket the most that a round can cost, which is G D, or
      max over d <= D of G d - lambda d^2 / 2 under a strongly convex rate. The same for a ticket
      that was given up on or cancelled, and there lambda R^2 / 2 more under a strongly convex rate,
      R being the outer radius of the set, for the loss that stood in for its own (see ``Wrapper``
      in ``belated.reductions``).

    For a ``Leader`` the first two are not bounds but what happened on the quadratics below the
    losses: ``learning`` is its regret on them without delay, and ``delay`` what the plays lost to
    the points that it had when the answers came, which may be less than nothing. ``delay`` also has
    what it could at most be wrong by where plays are not known exactly.

    The largest gradient seen stands in for a lipschitz that was not given, or that did not hold,
    as long as every gradient was seen.

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


@dataclass(frozen=True, repr=False)
class Report(Table):
    """Counts and delays so far, the current rate, and the certificate or why there is none.

    ``skipped`` are the tickets that ``Skip`` or ``Deadline`` gave up on, ``late`` the answers that
    came after that and were dropped; answers to forgotten tickets are refused, and not counted.
    Under ``Capacity`` they are the tickets that were lost, and answers to these are not counted.
    Delays are those that the learner inside saw: a ticket closes when it is given up on.
    ``total_delay`` and ``max_delay`` (the paper's d_tot and d_max) count open tickets up to now.
    ``max_delay`` is the larger one of ``max_answered_delay``, of tickets with an answer, and
    ``max_unanswered_age``, of those that are open or were closed without one.
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
    max_answered_delay: int
    max_unanswered_age: int
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

    def rows(self) -> list[Row]:
        """Return what a person reads."""
        rate = "none yet" if self.rate is None else f"{self.rate:.4g}"
        rows: list[Row] = [
            *count_rows(self),
            *delay_rows(self, "an answer"),
            ("rate", rate, ""),
        ]
        if self.excess:
            rows.append(("excess", f"{self.excess:,}", "answers larger than assumed"))
        if self.certificate is not None:
            c = self.certificate
            parts = f"learning {c.learning:,.4g} + delay {c.delay:,.4g} + unanswered "
            parts += f"{c.unanswered:,.4g}"
            rows.append(("certificate", f"{c.total:,.4g}", parts))
        if self.certificate_note:
            rows.append(("", "", self.certificate_note))
        return rows


def report_of(spec: LearnerSpec, player: Any) -> Report:
    """Return the report of a player of the core."""
    certificate, note = _certificate(spec, player)
    return Report(
        **player.tickets.counts(),
        excess=player.tickets.excess,
        rate=player.rate,
        certificate=certificate,
        certificate_note=note,
    )


def _certificate(spec: LearnerSpec, player: Any) -> tuple[Certificate | None, str]:
    """Return the certificate, or None and the reason."""
    obstacle = _obstacle(spec)
    inside = inner_of(spec) if isinstance(spec, Reduction | Wrapper) else None
    base = None if inside is None else inside.base
    if obstacle or not isinstance(base, Base):
        return None, f"no certificate: {obstacle}"
    sums, tickets = player.base.sums, player.tickets
    lipschitz, note = _lipschitz(sums, tickets.excess)
    if lipschitz == 0.0:
        return (
            None,
            "no certificate: no bound on the gradients is known; give lipschitz to the rate",
        )
    wants_function = isinstance(inside, FullInformation)
    unseen = _unseen(wants_function, sums, tickets)
    if unseen:
        return None, f"no certificate: {unseen}"
    if isinstance(base, Portfolio) and wants_function:
        return None, "no certificate: no theorem covers a portfolio that is told whole losses"
    if base.rate.is_curved and isinstance(base, OMD) and base.mirror == "entropy":
        return None, (
            "no certificate: the strongly convex case needs Euclidean distances, not entropy"
        )
    certificate = allowed(base, player, lipschitz)
    trivial = worst_round(lipschitz, sums.width, _curvature(base)) * tickets.rounds
    if certificate is None or not certificate.total < trivial:  # NaN too
        return None, (
            f"no certificate yet: the bound is not below what any play could lose ({trivial:.4g})"
        )
    return certificate, note


def _obstacle(spec: LearnerSpec) -> str:
    """Say why no learner of this kind has a certificate; nothing where some have."""
    if not isinstance(spec, Reduction | Wrapper):
        return "this is a method of others; its bound(timeline) says more"
    if isinstance(spec, Capacity):
        return (
            "the guarantee of Capacity is an average over which tickets are tracked; see "
            "Problem.bound"
        )
    inside = inner_of(spec)
    if isinstance(inside, OnePoint):
        return (
            "the one-point guarantee holds in expectation and is vacuous at ordinary horizons; "
            "see Problem.bound"
        )
    if isinstance(inside, TwoPoint):
        return "the two-point guarantee holds in expectation; see Problem.bound"
    return inside.base.uncertified if isinstance(inside.base, Base) else "the base is a user's own"


def allowed(base: Base, player: Any, lipschitz: float) -> Certificate | None:
    """Return what the guarantee of a base allows on the observed numbers, be it vacuous."""
    sums, tickets, curvature = player.base.sums, player.tickets, _curvature(base)
    lost = stand_in(curvature, base.domain.outer_radius or base.domain.diameter)
    unanswered = worst_round(lipschitz, sums.width, curvature) * tickets.unanswered
    unanswered += lost * tickets.given_up
    if isinstance(base, Portfolio):
        return _portfolio(base, player.base, lipschitz, unanswered)
    if isinstance(base, Leader):
        return _leader(player.base, unanswered)
    return _theorem(sums, lipschitz, unanswered, curvature)


def _curvature(base: Base) -> float:
    """Return what the losses are told to be bent by at least."""
    return base.rate.curvature if isinstance(base.rate, StronglyConvex) else 0.0


def _lipschitz(sums: Any, excess: int) -> tuple[float, str]:
    """Return the gradient bound to certify with, and what to say about it."""
    told, largest = sums.lipschitz, sums.largest
    if told == 0.0:
        return largest, "lipschitz was not given: the largest gradient seen stands in for it"
    if excess:
        return max(told, largest), (
            f"{excess} gradients exceeded lipschitz: the largest one stands in for it"
        )
    return told, ""


def _unseen(wants_function: bool, sums: Any, tickets: Any) -> str:
    """Say which gradients nothing bounds, where no lipschitz is known to hold, or nothing.

    The largest gradient seen bounds those that were seen: not those of tickets without an answer,
    and of a whole loss not the one at the point played, once that has moved on.
    """
    if sums.lipschitz == 0.0:
        why, unseen = "lipschitz was not given", tickets.unanswered
    elif tickets.excess:
        # A late gradient was seen; a late function was asked where the learner stood by then.
        seen = 0 if wants_function else tickets.late
        why, unseen = "gradients exceeded lipschitz", tickets.unanswered - seen
    else:
        return ""
    if unseen:
        return (
            f"{why}, so nothing bounds the gradients of tickets that are open, skipped or "
            f"cancelled ({unseen}); give lipschitz to the rate, as large as they may be"
        )
    if wants_function and tickets.max_dual_delay:
        return (
            f"{why}, so nothing bounds the gradients at the points played; give lipschitz to the "
            "rate, as large as they may be"
        )
    return ""


def _theorem(
    sums: Any, lipschitz: float, unanswered: float = 0.0, curvature: float = 0.0
) -> Certificate | None:
    """Theorem 4.1 with the observed numbers, inside Theorem 5.2; None before the first step."""
    if sums.rate == 0.0:
        return None
    start = 0.0 if curvature else sums.diameter**2 / (2.0 * sums.rate)
    price = lipschitz + curvature * sums.diameter
    return Certificate(start + sums.learned, price * sums.drifted, unanswered)


def _leader(lead: Any, unanswered: float) -> Certificate:
    """The regret of a ``Leader`` on its quadratics, and the most that it may not know of it."""
    return Certificate(lead.learning, lead.drift + lead.unsure, unanswered)


def _portfolio(
    base: Portfolio, known: Any, lipschitz: float, unanswered: float
) -> Certificate | None:
    """The guarantee of ``Portfolio`` with the observed numbers.

    Dual averaging, and members with a strongly convex rate, have no part in Theorem 4.1.
    """
    found = []
    members = zip(base.members, known.members, known.misread, known.gaps, strict=True)
    for spec, member, misread, gap in members:
        game = _theorem(member.base.sums, lipschitz)
        if game is not None and not spec.uncertified and not spec.rate.is_curved:
            delay = game.delay + 2.0 * float(misread)
            found.append(Certificate(game.learning + float(gap), delay, unanswered))
    return min(found, key=lambda certificate: certificate.total, default=None)
