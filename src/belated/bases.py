"""Base learners: they play the drift-penalised linear game of the paper's section 4, without delay.

In round n the base sees a cost c_n, a lag (how many rounds ago the play that earned it was made)
and the number of open lags, and answers with its next point z_{n+1}. The reductions turn late
feedback into that game, so the base never hears of delays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from belated.domains import ConvexSet, Domain, Simplex
from belated.errors import SpecError
from belated.rates import (
    Constant,
    DelayAdaptive,
    GradientAdaptive,
    Mixed,
    Rate,
    StronglyConvex,
    Tight,
    check_curvature,
)
from belated.spec import Spec, positive, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


class Base(Spec):
    """A built-in base learner: a domain and a rate.

    To add one: a class here with its traits, and its class in ``core/bases.py``; see
    docs/architecture.md.
    """

    uncertified: ClassVar[str] = ""
    """Why its report has no certificate, or nothing."""

    @property
    def diameter(self) -> float:
        """D of the guarantees; under the entropy mirror D^2 / 2 bounds the divergence."""
        return self.domain.diameter

    @property
    def width(self) -> float:
        """Largest distance between two plays, in the norm that goes with ``lipschitz``."""
        return self.domain.diameter

    if TYPE_CHECKING:

        @property
        def domain(self) -> Domain:
            """Set to play in."""

        @property
        def rate(self) -> Rate:
            """Step sizes."""


@runtime_checkable
class UserBase(Protocol):
    """The interface of a base written by a user; it runs on the Python path.

    ``start`` forgets everything and returns the first point; ``update`` takes the cost vector of
    the newest observation with its lag and the number of open lags, and returns the next point.
    Optional: ``domain`` (a belated domain; one-point and two-point feedback need it), and
    ``save() -> bytes`` with ``load(bytes)`` for snapshots. A learner works on its own deep copy.
    """

    def start(self) -> ArrayLike:
        """Forget everything and return the first point."""

    def update(self, cost: NDArray[np.float64], lag: int, open_lags: int) -> ArrayLike:
        """Learn from one cost vector and return the next point."""


@dataclass(frozen=True, repr=False)
class PFTRL(Base):
    """Proximal follow-the-regularised-leader (paper, equation P-FTRL, as in appendix D).

    z_{n+1} = argmin_{z in K} <sum_{m<=n} c_m, z> + sum_{m<=n} (alpha_m / 2) |z - z_m|^2,
    alpha_m = 1/eta_m - 1/eta_{m-1}, 1/eta_0 = 0.

    Computed as v = z_n + eta_n (p_n - c_n), z_{n+1} = Pi_K(v), p_{n+1} = (v - z_{n+1}) / eta_n,
    where p_n is a normal vector of K at z_n (0 inside), so no large 1/eta is ever subtracted.

    Guarantee (Theorem 4.1): regret <= D^2 / (2 eta_N) + sum eta_n |c_n|^2 / 2 and
    drift <= sum eta_n nu_n |c_n|; also Lemma 4.2, which the one-point results need.

    Differs from the paper: alpha_m, not alpha_n, weighs the m-th term (a misprint in section 4).

    >>> from belated import Ball, rates
    >>> PFTRL(Ball(3), rates.DelayAdaptive(1.0))
    PFTRL(domain=Ball(dim=3), rate=rates.DelayAdaptive(lipschitz=1.0))
    """

    domain: Domain
    rate: Rate

    def __post_init__(self) -> None:
        """Check the kinds of the two parts."""
        _check_parts(self)


@dataclass(frozen=True, repr=False)
class OMD(Base):
    """Online mirror descent: z_{n+1} = argmin_{z in K} <c_n, z> + B(z; z_n) / eta_n.

    ``mirror="euclidean"``: B = |z - z_n|^2 / 2, so z_{n+1} = Pi_K(z_n - eta_n c_n) (paper, equation
    OMD). ``mirror="entropy"`` on a ``Simplex``: B is the Kullback-Leibler divergence, so
    z_{n+1} is proportional to z_n exp(-eta_n c_n); norms are then the 1-norm for points and the
    largest entry for costs (``lipschitz`` bounds that), and D^2 = 2 max B (Theorem D.4).

    >>> from belated import Simplex, rates
    >>> OMD(Simplex(5), rates.Constant(0.1), mirror="entropy").mirror
    'entropy'
    """

    domain: Domain
    rate: Rate
    mirror: Literal["euclidean", "entropy"] = "euclidean"

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        _check_parts(self)
        if self.mirror not in ("euclidean", "entropy"):
            raise SpecError(f"OMD: mirror is 'euclidean' or 'entropy', got {self.mirror!r}")
        if self.mirror == "euclidean":
            return
        if not isinstance(self.domain, Simplex):
            raise SpecError(
                f"OMD: the entropy mirror works on a Simplex, got a {self.domain.kind}; "
                "use mirror='euclidean' there"
            )
        if self.domain.floor == 0.0 and not isinstance(self.rate, Constant):
            raise SpecError(
                "OMD: the entropy mirror with a changing rate needs a set away from 0, where its "
                f"divergence is bounded: use Simplex({self.domain.dim}, floor=...) or "
                "rates.Constant"
            )

    @property
    def diameter(self) -> float:
        """That of the set, or sqrt(2 max B)."""
        if self.mirror == "entropy" and isinstance(self.domain, Simplex):
            return math.sqrt(2.0 * self.domain.divergence)
        return self.domain.diameter

    @property
    def width(self) -> float:
        """That of the set, or the same in the 1-norm."""
        if self.mirror == "entropy" and isinstance(self.domain, Simplex):
            return 2.0 * (1.0 - self.domain.dim * self.domain.floor)
        return self.domain.diameter


@dataclass(frozen=True, repr=False)
class DualAveraging(Base):
    """Follow the regularised leader around the centre: z_{n+1} = Pi_K(-eta_n sum_{m<=n} c_m).

    Seen from the centre of the set; a cost of zero leaves it where it is. It never forgets a cost,
    so it is steady where costs come and go, and slow where they change; a member for a
    ``Portfolio`` rather than a choice of its own. No certificate comes with it: as its steps fall,
    the point also moves by more than the newest cost would make it.

    Reference: Nesterov 2009; Xiao 2010.

    >>> from belated import Ball, rates
    >>> DualAveraging(Ball(3), rates.Tight(1.0, scale=0.125)).rate.scale
    0.125
    """

    uncertified: ClassVar[str] = "Theorem 4.1 does not cover dual averaging"

    domain: Domain
    rate: Rate

    def __post_init__(self) -> None:
        """Check the kinds of the two parts, and that the set is one that we project on."""
        _check_parts(self)
        _check_projection(self)


@dataclass(frozen=True, repr=False)
class Leader(Base):
    """Follow the leader on the quadratics that lie below strongly convex losses.

    z_{n+1} = argmin_{z in K} sum_{m<=n} <c_m, z> + (lambda / 2) |z - y_m|^2
    = Pi_K((1 / n) sum_{m<=n} (y_m - c_m / lambda)),

    y_m being about the point x_s at which the cost was incurred, so that delays hardly matter where
    the losses are nearly quadratic. Qiu, Esposito and Zhang (2025) keep x_s for every open ticket;
    here y_m is the mean of two points around it, kept by the base itself as ``Portfolio`` does:
    x_s itself for the last 16 arrivals, then two points at most 2/15 of the arrivals since s apart.
    An answer after more than ``reach`` other arrivals is taken to be about the current point, and
    so is what stands in for an answer that is cancelled or skipped. Without delay this is P-FTRL
    under ``rates.StronglyConvex``.

    Guarantee: regret <= (3 G^2 / lambda) (sum_n 1/n + sum_n s*_n / n) + 2 G sum_n |x_s - y_n|
    <= (3 G^2 / lambda) (ln(e T) + min{sigma_max ln(e T), 2 sqrt(d_tot)}) + that last sum, which
    ``bounds.leader`` computes from the delays. A report has its regret on the quadratics themselves
    as a certificate, which is exact while no answer comes after more than 15 others.

    Differs from the paper: this is ours, after Qiu, Esposito and Zhang. The proof: with the
    quadratics h_n of the sum, f(x_s) - f(u) <= <c_n, x_s - u> - (lambda / 2) |x_s - u|^2
    <= h_n(z_{n+1}) - h_n(u) + G |x_s - z_{n+1}| + lambda D |x_s - y_n|, where the difference of
    h_n sums to at most 0 (be the leader in order of arrival), |z_{m+1} - z_m| <=
    (G + lambda D) / (lambda m) <= 3 G / (lambda m), and lambda D <= 2 G (Fact B.1). For the
    certificate: the best fixed point on h_1 + .. + h_n is z_{n+1}, so that regret needs no bound;
    see ``Leader`` in ``core/bases.py``. Rounds that are skipped or cancelled: see ``Skip``.

    >>> from belated import Ball, rates
    >>> Leader(Ball(3), rates.StronglyConvex(0.5)).reach
    61440
    """

    domain: Domain
    rate: Rate
    reach: int = 61_440

    def __post_init__(self) -> None:
        """Check that the rate has a curvature, and that the set is one that we project on."""
        _check_parts(self)
        _check_projection(self)
        object.__setattr__(self, "reach", whole("Leader", "reach", self.reach))
        if not isinstance(self.rate, StronglyConvex):
            raise SpecError(f"Leader: rate must be a rates.StronglyConvex, got {self.rate!r}")


@dataclass(frozen=True, repr=False)
class Portfolio(Base):
    """A base made of bases, for users without knowledge of which one suits their losses.

    All members z_i hear the same costs; the play is z = sum_i w_i z_i. An answer c_n to a play made
    after s arrivals charges member i

        l_i = <c_n, (z_i(a) + z_i(b)) / 2> + |c_n| min(D, half the way from z_i(a) to z_i(b)),

    where z_i(a) and z_i(b), a <= s <= b, are points that it had around then, and the way is the sum
    of its moves between. That is never less than what its own play would have cost, so a member
    that moves too much for the delays pays for it. The mixture is charged in the same way: A, the
    mean of the l_i under the weights around then, and half the span of l times min(2, half the way
    of the weights), never less than what the play did cost. The sum of A - l_i is member i's gap.
    Weights are exponential in the gaps, with the rate of AdaHedge (de Rooij et al. 2014):

        w_i ~ prior_i exp(rate gap_i), rate = ln 4 / sum_n max(0, rise_n),

    rise_n being how much the n-th answer raised ln(sum_i prior_i exp(rate gap_i)) / rate, the soft
    maximum of the gaps, at the rate before it. So lateness lowers the rate by what it did cost, and
    not by what it might. Points are kept as follows:
    a = b = s for the last 16 arrivals, then b - a is at most 2/15 of the arrivals since s; an
    answer after more than ``reach`` other arrivals does not move the weights. So memory is
    O(members (dim + members) log reach), whatever the number of open tickets. The rate in a report
    is the mean of the members' steps under the weights.

    One member is the ``anchor``: the first P-FTRL or OMD with the paper's or the tight rate, else
    the first with another rate that depends on counts only, else with a gradient-adaptive one; none
    if all are dual averaging or have a strongly convex rate. Its prior is a half, and the others
    share the rest. B_n = D^2 / (2 eta_n) + sum_{m<=n} eta_m (|c_m|^2 / 2 + G s*_m |c_m|) is what
    Theorem 4.1 allows it, and the play is the anchor's alone as long as

        gap of the anchor + G D (open tickets) > leash B_n.

    Guarantee, for gradients: regret <= (1 + leash) B_T + G D (1 + largest rise of s*) +
    sum_n |c_n| min(2 D, the anchor's way), |c_n| D standing for the last term where an answer came
    from beyond the reach, and max s* for the rise where G was not given. ``bounds.portfolio`` gives
    the number in advance. The certificate of a report holds for every member j that is P-FTRL or
    OMD: regret <= B_T of j + its gap + sum_n |c_n| min(2 D, its way), and its gap is at most
    ln(1 / prior_j) / rate + sum_n max(0, rise_n). No theorem covers values, where there is no
    leash, and it is a heuristic.

    Differs from the paper: this is ours; docs/paper.md has the proof. The members must share a set
    other than ``ConvexSet``.

    >>> from belated import Ball, rates
    >>> ball = Ball(3)
    >>> base = Portfolio([OMD(ball, rates.InverseRoot(1.0)), PFTRL(ball, rates.Tight(1.0))])
    >>> base.domain, len(base.members)
    (Ball(dim=3), 2)
    """

    members: Sequence[PFTRL | OMD | DualAveraging]
    reach: int = 61_440
    leash: float = 0.5

    def __post_init__(self) -> None:
        """Check that the members can be mixed."""
        if isinstance(self.members, Base | str) or not isinstance(self.members, Iterable):
            raise SpecError(f"Portfolio: members must be a sequence, got {self.members!r}")
        object.__setattr__(self, "members", tuple(self.members))
        object.__setattr__(self, "reach", whole("Portfolio", "reach", self.reach))
        object.__setattr__(self, "leash", positive("Portfolio", "leash", self.leash))
        if not self.members:
            raise SpecError("Portfolio: needs at least one member")
        for member in self.members:
            _check_member(member)
        if len({member.domain for member in self.members}) > 1:
            raise SpecError("Portfolio: all members must play in the same set")

    @property
    def domain(self) -> Domain:
        """Set that all members play in."""
        return self.members[0].domain

    @property
    def anchor(self) -> int | None:
        """Number of the member that it is tied to, or None where no theorem covers any."""
        covered = [
            number
            for number, member in enumerate(self.members)
            if not member.uncertified and not member.rate.is_curved
        ]
        return min(covered, key=lambda number: _rank(self.members[number].rate), default=None)

    @property
    def rate(self) -> Rate:
        """Every member has its own."""
        known = [member.rate.lipschitz for member in self.members if member.rate.lipschitz]
        return Mixed(max(known, default=None))


def _rank(rate: Rate) -> int:
    """Return how well a rate suits an anchor, 0 for best: it should know delays, or counts only."""
    if isinstance(rate, DelayAdaptive | Tight):
        return 0
    return 2 if isinstance(rate, GradientAdaptive) else 1


def _check_member(member: Any) -> None:
    """Refuse bases whose steps or distances cannot be mixed."""
    if not isinstance(member, PFTRL | OMD | DualAveraging):
        raise SpecError(f"Portfolio: members must be PFTRL, OMD or DualAveraging, got {member!r}")
    if isinstance(member, OMD) and member.mirror == "entropy":
        raise SpecError("Portfolio: members must be euclidean, got an OMD with mirror='entropy'")
    if not member.rate.for_members:
        raise SpecError(f"Portfolio: a member cannot have {member.rate.kind}; use another rate")
    _check_projection(member, "Portfolio")


def _check_projection(base: Base, who: str = "") -> None:
    if isinstance(base.domain, ConvexSet):
        raise SpecError(
            f"{who or base.kind}: the set must be one that belated projects on itself, got a "
            "ConvexSet; use PFTRL there"
        )


def _check_parts(base: Base) -> None:
    if not isinstance(base.domain, Domain):
        raise SpecError(f"{base.kind}: domain must be a belated domain, got {base.domain!r}")
    if not isinstance(base.rate, Rate) or isinstance(base.rate, Mixed):
        own = (
            "; put a rate of your own into rates.Custom" if hasattr(base.rate, "step_size") else ""
        )
        raise SpecError(f"{base.kind}: rate must come from belated.rates, got {base.rate!r}{own}")
    if isinstance(base.rate, StronglyConvex) and base.rate.lipschitz is not None:
        check_curvature(base.kind, base.rate.curvature, base.width, base.rate.lipschitz)
