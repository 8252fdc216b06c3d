"""Base learners: they play the drift-penalised linear game of the paper's section 4, without delay.

In round n the base sees a cost c_n, a lag (how many rounds ago the play that earned it was made)
and the number of open lags, and answers with its next point z_{n+1}. The reductions turn late
feedback into that game, so the base never hears of delays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from belated.domains import Domain, Simplex
from belated.errors import SpecError
from belated.rates import Constant, Rate
from belated.spec import Spec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


class Base(Spec):
    """A built-in base learner: a domain and a rate."""

    if TYPE_CHECKING:

        @property
        def domain(self) -> Domain:
            """Set to play in."""

        @property
        def rate(self) -> Rate:
            """Step sizes."""


@runtime_checkable
class UserBase(Protocol):
    """What a base written by a user must offer; it runs on the Python path.

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


def _check_parts(base: Base) -> None:
    if not isinstance(base.domain, Domain):
        raise SpecError(f"{base.kind}: domain must be a belated domain, got {base.domain!r}")
    if not isinstance(base.rate, Rate):
        raise SpecError(f"{base.kind}: rate must come from belated.rates, got {base.rate!r}")
