"""Koloskova, Stich and Jaggi: a constant step, shortened for gradients staler than concurrency."""

from __future__ import annotations

from dataclasses import dataclass

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.errors import SpecError
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.learner.program import Program
from belated.rivals.base import Rival
from belated.rivals.shared import descend

_WORKERS = F.MINE
_SMOOTHNESS = F.MINE + 1


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Step with eta, or beyond the concurrency with min{eta, 1 / (4 L tau)}."""
    eta, late = s.f[F.GAIN], float(s.n[N.LAG])
    if late > s.f[_WORKERS]:
        eta = min(eta, 1.0 / (4.0 * s.f[_SMOOTHNESS] * late))
    descend(code, s, cost, eta)


_METHOD = method("KoloskovaStichJaggi", learn=_learn)


@dataclass(frozen=True, repr=False)
class KoloskovaStichJaggi(Rival, module="rivals"):
    """Asynchronous SGD: x = Pi_K(x - eta_n g_n), eta_n = eta unless g_n is too stale.

    tau_n = d*_n counts the steps taken since the point was handed out at which g_n was computed.
    eta is ``step``, at most 1 / (4 L), L = ``smoothness``; while tau_n is at most the number of
    ``workers``, the most gradients computed at once, eta_n = eta, beyond that
    eta_n = min{eta, 1 / (4 L tau_n)}.
    Guarantee: convergence for smooth stochastic losses, at a rate that depends on the number of
    workers and not on the largest delay; none on regret.
    Reference: Koloskova, Stich and Jaggi, "Sharper convergence guarantees for asynchronous SGD for
    distributed and federated learning", NeurIPS 2022, Theorem 8.

    Differs from the paper: the point is projected on the set. Beyond the concurrency any shorter
    step would do, none at all among them; this is the longest.

    >>> from belated import Ball, Learner
    >>> learner = Learner(KoloskovaStichJaggi(Ball(2), step=0.25, smoothness=1.0, workers=2))
    >>> _ = learner.predict(), learner.observe(0, [2.0, 0.0])
    >>> learner.predict().x
    array([-0.5,  0. ])
    """

    title = "Koloskova-Stich-Jaggi"
    reference = "Koloskova, Stich and Jaggi 2022"
    guarantee = "convergence, for smooth stochastic losses"

    domain: Domain
    step: float
    smoothness: float
    workers: int

    def __post_init__(self) -> None:
        """Check the fields, and that the step is one that the theorem allows."""
        super().__post_init__()
        if 4.0 * self.smoothness * self.step > F.SLACK:
            raise SpecError(
                f"{self.kind}: step must be at most 1 / (4 smoothness) = "
                f"{1.0 / (4.0 * self.smoothness):.6g}, got {self.step!r}"
            )

    def program(self) -> Program:
        """Return what the kernels run."""
        numbers = {_WORKERS: float(self.workers), _SMOOTHNESS: self.smoothness}
        return self.compiled(_METHOD, numbers={F.GAIN: self.step, **numbers})
