"""Rounds that are given up on: which ones, and what that costs (section 6)."""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.arrays import Ints
from belated.bounds.any_rates import theorem_e_1, theorem_e_2
from belated.bounds.bound import Bound
from belated.bounds.convex import corollary_5_3, gradient_adaptive, tight
from belated.bounds.curved import corollary_5_4, leader
from belated.bounds.portfolio_bound import portfolio
from belated.bounds.unanswered import stand_in, worst_round
from belated.bounds.value_feedback import theorem_e_3, tight_one_point
from belated.bounds.values import corollary_5_7, corollary_g_3
from belated.errors import SpecError
from belated.rates import SLACK
from belated.spec import positive, whole
from belated.timeline import Timeline


@dataclass(frozen=True, eq=False)
class Skipping:
    """The result of ``Skip`` (Algorithm 3 and Theorem 6.1) or ``Deadline`` on a timeline."""

    skipped: Ints
    """Q*, the tickets given up on, in the order in which that happened."""
    timeline: Timeline
    """The timeline of the learner inside: a ticket is answered when it is given up on."""
    total_delay: int
    """d'_tot, the sum over rounds of the tickets that were open when the round began.

    Giving up precedes the prediction of its round, so the learner inside counts one less for every
    such ticket: ``timeline.total_delay`` is d'_tot - |Q*|.
    """

    @property
    def count(self) -> int:
        """|Q*|."""
        return len(self.skipped)


def skipping(timeline: Timeline) -> Skipping:
    """Return which tickets ``Skip`` gives up on, and when, on this timeline (Algorithm 3).

    Before prediction t, with D_t = D_{t-1} + open tickets, every open s with t - s > sqrt(D_t) is
    closed. Theorem 6.1: |Q*| + sqrt(d'_tot) <= 3 (min over Q of |Q| + sqrt(sum of the other
    delays) + 1); the minimum is ``timeline.skip_tradeoff().cost``.

    >>> found = skipping(Timeline.from_delays([90] + 99 * [0]))
    >>> found.skipped, found.timeline.total_delay, found.total_delay
    (array([0]), 1, 2)
    """
    return _give_up(timeline, None)


def expiring(timeline: Timeline, rounds: int) -> Skipping:
    """Return which tickets ``Deadline`` gives up on, and when, on this timeline.

    Before prediction t every open s with t - s > ``rounds`` is closed: those with a delay above
    ``rounds``, except for the last ones, which are still open when the log ends.

    >>> found = expiring(Timeline.from_delays([90, 4, 5, 2] + 96 * [0]), rounds=4)
    >>> found.skipped, found.timeline.delay[:4]
    (array([0, 2]), array([4, 4, 4, 2]))
    """
    return _give_up(timeline, whole("expiring", "rounds", rounds, least=0))


def _give_up(timeline: Timeline, wait: int | None) -> Skipping:
    """Return what is left of a timeline, by Algorithm 3 or by a fixed wait."""
    events, skipped, total = _close_overdue(timeline.events.tolist(), timeline.rounds, wait)
    made = np.cumsum(events >= 0)
    arrivals = np.flatnonzero(events < 0)
    observed = timeline.observed.copy()
    observed[skipped] = True
    inner = Timeline(
        ~events[arrivals], np.append(0, made[arrivals]), observed, timeline.rows.copy()
    )
    return Skipping(np.array(skipped, dtype=np.int64), inner, total)


def corollary_6_2(
    timeline: Timeline,
    result: Callable[..., Bound],
    *,
    outer_radius: float | None = None,
    **constants: Any,
) -> Bound:
    """Corollary 6.2: the bound of a result on the delays that ``Skip`` leaves, and |Q*| rounds.

    ``result`` is a function of this module, ``constants`` are its keywords. For convex losses a
    skipped round costs G D. For gradients of strongly convex ones (``corollary_5_4``, ``leader``)
    it costs max over d <= D of (G d - lambda d^2 / 2) + lambda R^2 / 2, which is at most G D if R
    is at most (sqrt(3) / 2) D, as on every built-in set. R is ``outer_radius``; without it D, which
    it cannot exceed. In Corollary 5.4 max(G, lambda R) then stands for G, as the loss that stands
    in for a skipped one is that steep; that is G itself if R is at most D / 2.

    Differs from the paper: which proves it for convex losses. The proof for others is with
    ``Wrapper``; the results for values of strongly convex losses have none.

    >>> late = Timeline.from_delays([9900] * 50 + [0] * 9950)
    >>> print(corollary_5_3(late, lipschitz=1.0, diameter=1.0))
    Corollary 5.3: 2,132 = learning 300 + delay 1,832, 7.11 times the price without delay
    >>> print(corollary_6_2(late, corollary_5_3, lipschitz=1.0, diameter=1.0))
    Corollary 6.2 over Corollary 5.3: 366.2 = learning 300 + delay 16.21 + skipped 50,
    1.22 times the price without delay
    """
    return _beside("Corollary 6.2", skipping(timeline), result, outer_radius, constants)


def deadline(
    timeline: Timeline,
    rounds: int,
    result: Callable[..., Bound],
    *,
    outer_radius: float | None = None,
    **constants: Any,
) -> Bound:
    """The bound of a result on the delays that ``Deadline`` leaves, and the rounds given up on.

    ``result``, ``constants`` and ``outer_radius`` are as in ``corollary_6_2``, and so is the price
    of a round that is given up on.

    Differs from the paper: a deadline is ours. Its proof is that of Theorem 6.1 without the last
    step, as with ``Deadline``.

    >>> late = Timeline.from_delays([9900] * 50 + [0] * 9950)
    >>> print(deadline(late, 10, corollary_5_3, lipschitz=1.0, diameter=1.0))
    Deadline over Corollary 5.3: 357.4 = learning 300 + delay 7.409 + skipped 50,
    1.19 times the price without delay
    """
    return _beside("Deadline", expiring(timeline, rounds), result, outer_radius, constants)


def _beside(
    name: str,
    found: Skipping,
    result: Callable[..., Bound],
    outer_radius: float | None,
    constants: dict[str, Any],
) -> Bound:
    """Return the bound on what is left of a timeline, and the price of rounds given up on."""
    if result in _CURVED:
        inner, price = _over_curved(name, found.timeline, result, outer_radius, constants)
    elif result in _SKIPPABLE and not constants.get("curvature"):
        inner = result(found.timeline, **constants)
        price = inner.trivial / found.timeline.rounds if found.timeline.rounds else 0.0
    else:
        what = getattr(result, "__name__", repr(result))
        raise SpecError(
            f"{name}: no theorem covers giving up on rounds in {what}; use a result for convex "
            "losses, or corollary_5_4 or leader for gradients of strongly convex ones"
        )
    return dataclasses.replace(inner, name=f"{name} over {inner.name}", skipped=price * found.count)


_SKIPPABLE = (
    corollary_5_3,
    tight,
    gradient_adaptive,
    theorem_e_1,
    theorem_e_2,
    portfolio,
    corollary_5_7,
    theorem_e_3,
    tight_one_point,
    corollary_g_3,
)
_CURVED = (corollary_5_4, leader)


def _over_curved(
    name: str,
    late: Timeline,
    result: Callable[..., Bound],
    outer_radius: float | None,
    constants: dict[str, Any],
) -> tuple[Bound, float]:
    """Return a result for strongly convex losses on what giving up leaves, and a round's price."""
    plain = result(late, **constants)  # refuses what does not fit together
    lipschitz, curvature = constants["lipschitz"], constants["curvature"]
    diameter = constants.get("diameter") or 2.0 * lipschitz / curvature
    radius = diameter
    if outer_radius is not None:
        who = name.lower().replace(" ", "_").replace(".", "_")
        radius = min(radius, positive(who, "outer_radius", outer_radius))
    price = worst_round(lipschitz, diameter, curvature) + stand_in(curvature, radius)
    steepest = curvature * radius / (math.sqrt(3.0) if result is leader else 1.0)
    if steepest <= lipschitz * SLACK:
        return plain, price
    steep = result(late, **{**constants, "lipschitz": steepest})
    return dataclasses.replace(steep, trivial=plain.trivial), price


def _close_overdue(events: list[int], rounds: int, wait: int | None) -> tuple[Ints, list[int], int]:
    """Run Algorithm 3 over events; return those of the learner inside, Q*, and D_T.

    With a fixed ``wait`` tickets are given up on when they are older than that. Ages fall from the
    head of the queue on, so only the oldest open ticket can be overdue.
    """
    seen: list[int] = []
    skipped: list[int] = []
    waiting: deque[int] = deque()
    is_open = [False] * rounds
    count = patience = 0
    for event in events:
        if event < 0:
            if is_open[~event]:
                is_open[~event] = False
                count -= 1
                seen.append(event)
            continue
        patience += count
        most = patience if wait is None else wait**2
        while waiting and (not is_open[waiting[0]] or (event - waiting[0]) ** 2 > most):
            ticket = waiting.popleft()
            if is_open[ticket]:
                is_open[ticket] = False
                count -= 1
                skipped.append(ticket)
                seen.append(~ticket)
        waiting.append(event)
        is_open[event] = True
        count += 1
        seen.append(event)
    return np.array(seen, dtype=np.int64), skipped, patience
