"""Bistritz, Zhou, Chen, Bambos and Blanchet: gradient descent from late values, and doubling."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.arrays import Code, Floats
from belated.domains import Domain
from belated.kernels.exact import cube_root
from belated.kernels.jit import leaf
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.learner.program import Program
from belated.learner.state import Memory
from belated.rivals.exploring import Exploring, estimate, play_shrunk
from belated.rivals.shared import collect, is_doubled, no_arrivals, restart, step_with_arrivals

# The own region after the sum of the arrivals and their number: what the method is tuned for ...
_TOLD_ROUNDS, _TOLD_DELAY = 1, 2
# ... and, under doubling, how much of it is spent in this epoch.
_ROUNDS, _WAITING = 3, 4
# What the kernels set in the header.
_TUNED = (F.BREADTH, F.GAIN)
_SMALLEST = 1e-100


@leaf
def _tune(s: State) -> None:
    """Set delta and eta for the rounds T and the total delay d in the own region.

    delta / r = min{1, max(sqrt(A) T^(-1/4), (A d)^(1/3) T^(-2/3))} with A = k M / (G r), and
    eta = D / sqrt(T (k M / delta)^2 + 2 G (k M / delta) d).
    """
    k = s.z.size
    rounds, delay = s.own[k + _TOLD_ROUNDS], s.own[k + _TOLD_DELAY]
    inner, lipschitz = s.f[F.INNER], s.f[F.LIPSCHITZ]
    noise = k * s.f[F.MAGNITUDE]
    ratio = noise / (lipschitz * inner)
    root = math.sqrt(rounds)
    share = math.sqrt(ratio / root)
    if delay > 0.0:
        share = max(share, cube_root(ratio * delay / rounds / rounds))
    delta = inner * min(1.0, share)
    size = noise / delta
    s.f[F.BREADTH] = delta
    s.f[F.GAIN] = s.f[F.DIAMETER] / math.sqrt(rounds * size * size + 2.0 * lipschitz * size * delay)


@leaf
def _step_once(code: Code, s: State) -> None:
    """y_{t+1} = Pi(y_t - eta sum of the arrivals)."""
    if s.n[N.ROUNDS] == 0:
        _tune(s)
    step_with_arrivals(code, s, s.f[F.GAIN])


@leaf
def _step_or_restart(code: Code, s: State) -> None:
    """Take the step, count the round that begins, and restart once the epoch is spent."""
    _step_once(code, s)
    k = s.z.size
    s.own[k + _ROUNDS] += 1.0
    s.own[k + _WAITING] += float(s.n[N.ROUNDS] - s.n[N.ARRIVED])
    if (
        s.own[k + _ROUNDS] <= s.own[k + _TOLD_ROUNDS]
        and s.own[k + _WAITING] <= s.own[k + _TOLD_DELAY]
    ):
        return
    while s.own[k + _ROUNDS] > s.own[k + _TOLD_ROUNDS]:
        s.own[k + _TOLD_ROUNDS] *= 2.0
    while s.own[k + _WAITING] > s.own[k + _TOLD_DELAY]:
        s.own[k + _TOLD_DELAY] *= 2.0
    s.own[k + _ROUNDS] = 1.0
    s.own[k + _WAITING] = 0.0
    restart(code, s)
    _tune(s)


@leaf
def _play(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Play (1 - delta / r) y + delta u."""
    play_shrunk(code, s, ticket, s.f[F.BREADTH], x)


@leaf
def _learn(code: Code, s: State, entry: int, ticket: int, values: Floats) -> None:
    """Collect the estimate (k / delta) f u."""
    estimate(s, ticket, values[0], s.f[F.BREADTH])
    collect(s, s.work)


_METHOD = method("Bistritz", prepare=_step_once, play=_play, learn=_learn)
_DOUBLING = method("BistritzDoubling", prepare=_step_or_restart, play=_play, learn=_learn)


def _is_tuned(memory: Memory) -> bool:
    """Tell whether delta and eta are there once the first round is."""
    delta, step = memory.f[F.BREADTH], memory.f[F.GAIN]
    if memory.rounds == 0:
        return bool(delta == 0.0 and step == 0.0)
    return bool(_SMALLEST <= delta <= memory.f[F.INNER] and 0.0 < step <= F.HUGE)


def _is_in_epoch(memory: Memory) -> bool:
    """Tell whether the guesses are powers of two that are not spent."""
    k, own = memory.dim, memory.own
    guesses = float(own[k + _TOLD_ROUNDS]), float(own[k + _TOLD_DELAY])
    spent = own[k + _ROUNDS], own[k + _WAITING]
    doubled = all(is_doubled(guess) for guess in guesses)
    within = all(0.0 <= used <= guess for used, guess in zip(spent, guesses, strict=True))
    return doubled and within and _is_tuned(memory)


@dataclass(frozen=True, repr=False)
class _Bistritz(Exploring):
    """What the two versions share."""

    reference = "Bistritz, Zhou, Chen, Bambos and Blanchet 2022"
    answers = "value"
    guarantee = "O(k T^(3/4) + sqrt(k) (T d_tot)^(1/3)), in expectation"

    domain: Domain
    magnitude: float
    lipschitz: float


@dataclass(frozen=True, repr=False)
class Bistritz(_Bistritz, module="rivals"):
    """Gradient descent from late values: one step per round with arrivals.

    It plays (1 - delta / r) y_t + delta u_t, and
    y_{t+1} = Pi_K(y_t - eta sum_{s in F_t} (k / delta) f_s u_s), where F_t are the rounds whose
    value f_s arrived in round t and u_t is uniform on the unit sphere. With A = k M / (G r),
    delta / r = min{1, max(sqrt(A) T^(-1/4), (A d_tot)^(1/3) T^(-2/3))} and
    eta = D / sqrt(T (k M / delta)^2 + 2 G (k M / delta) d_tot). M (``magnitude``) bounds the
    values, G (``lipschitz``) the gradients; r and D are the inner radius and the diameter.
    Guarantee: expected regret O(k T^(3/4) + sqrt(k) (T d_tot)^(1/3)).
    Reference: Bistritz, Zhou, Chen, Bambos and Blanchet, "No weighted-regret learning in
    adversarial bandits with delays", JMLR 2022.

    Differs from the paper: delta and eta minimise the bound
    D^2 / (2 eta) + (eta / 2) T (k M / delta)^2 + eta G (k M / delta) d_tot + O(G delta T).

    >>> from belated import Ball, Learner
    >>> spec = Bistritz(Ball(2), magnitude=1.0, lipschitz=1.0, rounds=64, total_delay=0)
    >>> x = Learner(spec).predict().x  # around the centre, at distance delta = 1 / 2
    >>> round(float(x @ x), 6)
    0.25
    """

    title = "Bistritz et al."

    rounds: int | None = None
    total_delay: int | None = None

    def program(self) -> Program:
        """Return what the kernels run; they tune themselves before the first round."""
        rounds, delay = self._fact("rounds"), self._fact("total_delay")
        own = no_arrivals(self.domain.dim, rounds, delay)
        told = self.domain.dim + _TOLD_ROUNDS, self.domain.dim + _TOLD_DELAY
        return self.compiled(_METHOD, own=own, moving=_TUNED, fixed=told, sound=_is_tuned)


@dataclass(frozen=True, repr=False)
class BistritzDoubling(_Bistritz, module="rivals"):
    """``Bistritz`` without knowing T and d_tot: it guesses powers of two and restarts.

    An epoch is tuned for T = 2^h and d_tot = 2^v, starting with h = v = 0. It is over when a round
    would be its (2^h + 1)-st, or when the tickets of the epoch that were open at its predictions
    sum to more than 2^v; then that exponent grows until the count fits, y starts again at the
    centre, and answers to tickets of earlier epochs are dropped.
    Guarantee: expected regret O(k T^(3/4) + sqrt(k) (T d_tot)^(1/3)).
    Reference: Bistritz, Zhou, Chen, Bambos and Blanchet, "No weighted-regret learning in
    adversarial bandits with delays", JMLR 2022.

    Differs from the paper: the tuning of an epoch is that of ``Bistritz``.

    >>> from belated import Ball, Learner
    >>> learner = Learner(BistritzDoubling(Ball(2), magnitude=1.0, lipschitz=1.0))
    >>> _ = learner.predict(), learner.predict()
    >>> learner.observe(0, 0.5), learner.observe(1, 0.5)
    (False, True)
    """

    title = "Bistritz et al., doubling"
    order = "any order; a lost answer is forgotten, and one from before a restart is dropped"

    def program(self) -> Program:
        """Return what the kernels run."""
        own = no_arrivals(self.domain.dim, 1.0, 1.0, 0.0, 0.0)
        return self.compiled(_DOUBLING, own=own, moving=_TUNED, sound=_is_in_epoch)
