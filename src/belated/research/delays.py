"""Delay patterns: timelines to study, from the paper's examples to a queue with servers.

Every function returns a :class:`belated.Timeline`. Tickets and rounds are numbered from 0, T is
``rounds``, and a round with delay d_t is answered at the end of round t + d_t (Section 2). An
answer that would come after the last round T - 1 never comes, so the first rounds of a pattern do
not depend on where it stops. (:func:`footnote` and :func:`first_rounds` are about T itself, and a
:func:`queue` has a clock: it goes on until the last answer.) Closed forms of d_tot and sigma_max
are given for T >= 1; without rounds both are 0.

Delays that are drawn independently from one law add up to

    E[d_tot] = sum over k = 1..T-1 of (T - k) P(d >= k),

which is T E[d] - E[d (d + 1)] / 2 when none reaches T.

Patterns that draw take a ``seed``. Each has a stream of its own, so one seed may serve several of
them, as in ``lost(pareto(1000, seed=1), 0.1, seed=1)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from heapq import heapreplace
from math import isqrt
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from belated.arrays import Floats, Ints
from belated.errors import TimelineError
from belated.spec import number, positive, whole
from belated.timeline import Timeline

__all__ = [
    *("PATTERNS", "ByRule", "Pattern", "Service", "batches", "bursts", "constant"),
    *("first_rounds", "footnote", "from_log", "geometric", "lost", "outages", "pareto", "queue"),
    *("shuffled", "uniform"),
]

Service = Literal["exponential", "lognormal", "pareto"]
"""How long a server of :func:`queue` works on one ticket; the mean is the same for all."""

Pattern: TypeAlias = Callable[[int, int], Timeline]
"""Number of rounds and seed in, timeline out."""

from_log = Timeline.from_intervals
"""A real log, from the clock times of its predictions and observations."""

_LONGEST: Final = int(np.iinfo(np.int64).max)


# ---- the same delay, or a drawn one ------------------------------------------------------------

_ANY = 1 << 16  # bits of a number that may be beyond every horizon


def constant(rounds: int, delay: int) -> Timeline:
    """d_t = d for all t, the pattern of Weinberger and Ordentlich (2002).

    With d = min(``delay``, T): d_tot = d (T - d) + d (d - 1) / 2, and sigma_max = d, or T - 1
    where no answer comes before the last prediction (d = T).

    >>> constant(5, delay=2).delay
    array([2, 2, 2, 1, 0])
    """
    rounds = _horizon("constant", rounds)
    return Timeline.from_delays(np.full(rounds, _span("constant", "delay", delay, rounds)))


def uniform(rounds: int, low: int, high: int, seed: int = 0) -> Timeline:
    """d_t uniform on the integers low, ..., high, independently.

    With m = (low + high) / 2 and v = ((high - low + 1)^2 - 1) / 12, the mean and the variance:
    E[d_tot] = T m - (v + m^2 + m) / 2 for high < T, and low <= sigma_max <= high for T > low.

    >>> uniform(1000, low=3, high=3) == constant(1000, delay=3)
    True
    >>> uniform(1000, low=1, high=3, seed=1).max_delay
    3
    """
    rounds = _horizon("uniform", rounds)
    low = whole("delays.uniform", "low", low, least=0, bits=_ANY)
    high = whole("delays.uniform", "high", high, least=0, bits=_ANY)
    if not low <= high <= _LONGEST:
        raise TimelineError(
            f"delays.uniform: high must lie between low and {_LONGEST}, got low={low} and "
            f"high={high}"
        )
    generator = _generator("uniform", seed)
    return Timeline.from_delays(generator.integers(low, high, rounds, endpoint=True))


def geometric(rounds: int, mean: float, seed: int = 0) -> Timeline:
    """P(d_t >= k) = q^k with q = mean / (1 + mean), independently: the delay without memory.

    E[d_tot] = mean (T - (1 + mean) (1 - q^T)), close to mean T where mean is far below T.

    >>> geometric(5, mean=0.0) == constant(5, delay=0)
    True
    """
    rounds = _horizon("geometric", rounds)
    mean = number("delays.geometric", "mean", mean)
    if mean < 0.0:
        raise TimelineError(f"delays.geometric: mean must be at least 0, got {mean}")
    # NumPy counts the trials up to the first success; the delay counts those before it.
    trials = _generator("geometric", seed).geometric(1.0 / (1.0 + mean), rounds)
    return Timeline.from_delays(trials - 1)


def pareto(rounds: int, shape: float = 1.5, scale: float = 1.0, seed: int = 0) -> Timeline:
    """P(d_t >= k) = (1 + k / scale)^-shape, independently: the heavy tail of Lomax (1954).

    E[d_tot] = sum over k = 1..T-1 of (T - k) (1 + k / scale)^-shape: of order T for shape > 1,
    and T^(2 - shape) for shape < 1. Without an end of the log, delays would have no variance for
    shape <= 2 and no mean for shape <= 1.

    >>> pareto(1000, shape=0.5, seed=1).skip_tradeoff().skipped > 0
    True
    """
    rounds = _horizon("pareto", rounds)
    shape = positive("delays.pareto", "shape", shape)
    scale = positive("delays.pareto", "scale", scale)
    draws = _generator("pareto", seed).pareto(shape, rounds)
    with np.errstate(over="ignore"):  # an infinite delay is as good as T
        delays = np.minimum(scale * draws, rounds)
    return Timeline.from_delays(delays.astype(np.int64))


# ---- answers that come together ----------------------------------------------------------------


def batches(rounds: int, length: int, lag: int = 0) -> Timeline:
    """Every L = ``length`` rounds are a batch, answered together ``lag`` rounds after its end.

    d_t = lag + L - 1 - (t mod L), up to the end of the log. sigma_max = min(L + lag, T) - 1, and
    without lag d_tot = m L (L - 1) / 2 + n (n - 1) / 2, where T = m L + n and n < L; with a lag
    and n = 0 it is T (L - 1) / 2 + L (sum over j < m of min(lag, j L)).

    >>> batches(6, length=3).delay
    array([2, 1, 0, 2, 1, 0])
    """
    rounds = _horizon("batches", rounds)
    length = _span("batches", "length", length, rounds, least=1)
    lag = _span("batches", "lag", lag, rounds)
    return Timeline.from_delays(lag + length - 1 - np.arange(rounds) % length)


def bursts(rounds: int, length: int, gap: int) -> Timeline:
    """Batches of L = ``length`` rounds, and ``gap`` rounds without delay after each of them.

    d_t = max(0, L - 1 - (t mod (L + gap))), up to the end of the log. sigma_max = min(L, T) - 1,
    and d_tot = m L (L - 1) / 2 + n (n - 1) / 2, where m is the number of whole periods of L + gap
    rounds and n <= L the number of rounds of the last batch, if the log ends in or after one.

    >>> bursts(8, length=3, gap=2).delay
    array([2, 1, 0, 0, 0, 2, 1, 0])
    """
    rounds = _horizon("bursts", rounds)
    length = _span("bursts", "length", length, rounds, least=1)
    gap = _span("bursts", "gap", gap, rounds)
    place = np.arange(rounds) % (length + gap)
    return Timeline.from_delays(np.maximum(length - 1 - place, 0))


def outages(rounds: int, length: int, every: int, delay: int = 0) -> Timeline:
    """Nothing is answered in the last L = ``length`` of every ``every`` rounds.

    What is due in an outage, at the end of round t + ``delay``, comes at the end of the first
    round after it, all at once and in ticket order.

    Where the log goes beyond an outage that starts in or after round ``delay``, sigma_max = L +
    ``delay``. For ``delay`` = 0 and T = m ``every`` with m > 0, d_tot = m L (L + 1) / 2 - L: the
    log ends with an outage.

    >>> outages(10, length=2, every=5).delay
    array([0, 0, 0, 2, 1, 0, 0, 0, 1, 0])
    """
    rounds = _horizon("outages", rounds)
    outage = whole("delays.outages", "length", length, bits=_ANY)
    period = whole("delays.outages", "every", every, bits=_ANY)
    if period <= outage:
        raise TimelineError(
            "delays.outages: every must be above length, or nothing is ever answered, got "
            f"every={period} and length={outage}"
        )
    up = _span("outages", "every", period - outage, rounds)
    down = _span("outages", "length", outage, rounds)
    lag = _span("outages", "delay", delay, rounds)
    due = (np.arange(rounds) + lag) % (up + down)
    return Timeline.from_delays(lag + np.where(due < up, 0, up + down - due))


def shuffled(rounds: int, window: int, seed: int = 0) -> Timeline:
    """Batches of ``window`` rounds, each answered at its end in random order.

    Delays and backlogs, and so d_tot and sigma_max, are those of :func:`batches` with length
    ``window``. Every order of a batch is equally likely.

    >>> timeline = shuffled(6, window=3, seed=1)
    >>> timeline.delay
    array([2, 1, 0, 2, 1, 0])
    >>> sorted(timeline.order[:3].tolist()), sorted(timeline.order[3:].tolist())
    ([0, 1, 2], [3, 4, 5])
    """
    rounds = _horizon("shuffled", rounds)
    window = _span("shuffled", "window", window, rounds, least=1)
    tickets = np.arange(rounds, dtype=np.int64)
    complete = tickets[: rounds - rounds % window].reshape(-1, window)
    order = _generator("shuffled", seed).permuted(complete, axis=1).ravel()
    made = np.repeat(complete[:, -1] + 1, window)
    return _arrivals(order, made, tickets)


# ---- a few answers that come very late, or never -----------------------------------------------


def footnote(rounds: int) -> Timeline:
    """The first answer comes in the last round, all others at once (Section 1, footnote).

    d_max = d_tot = T - 1 while sigma_max = 1, for T >= 2.

    >>> footnote(5).delay, footnote(5).max_backlog
    (array([4, 0, 0, 0, 0]), 1)
    """
    rounds = _horizon("footnote", rounds)
    delays = np.zeros(rounds, dtype=np.int64)
    delays[:1] = rounds - 1
    return Timeline.from_delays(delays)


def first_rounds(rounds: int, count: int | None = None) -> Timeline:
    """The first c = ``count`` rounds are never answered, the others have delay 1.

    The example of Section 6, after Thune et al. (2019): with c = floor(sqrt(T)), the default,
    sqrt(d_tot) is of order T^(3/4), and giving up on c rounds brings it down to sqrt(T).

    d_tot = c (T - 1) - c (c - 1) / 2 + max(T - c - 1, 0) and sigma_max = min(c + 1, T - 1).

    >>> timeline = first_rounds(10_000)
    >>> timeline.total_delay, timeline.max_backlog, timeline.skip_tradeoff().skipped
    (1004849, 101, 100)
    """
    rounds = _horizon("first_rounds", rounds)
    never = (
        isqrt(rounds) if count is None else whole("delays.first_rounds", "count", count, least=0)
    )
    if never > rounds:
        raise TimelineError(
            f"delays.first_rounds: count must be at most the number of rounds, {rounds}, got "
            f"{never}"
        )
    delays = np.ones(rounds, dtype=np.int64)
    delays[:never] = rounds
    return Timeline.from_delays(delays)


def lost(timeline: Timeline, probability: float, seed: int = 0) -> Timeline:
    """The same timeline, where each answer is lost with this probability, independently.

    A lost answer never comes: its interval runs to the end, d_t = T - 1 - t. The others come when
    they came, in the order in which they came. With one seed, what is lost at a probability is
    lost at every larger one.

    E[d_tot] = (1 - p) d_tot + p T (T - 1) / 2, from the d_tot of ``timeline``.

    >>> lost(constant(5, delay=1), probability=1.0).delay
    array([4, 3, 2, 1, 0])
    """
    if not isinstance(timeline, Timeline):
        raise TimelineError(f"delays.lost: timeline must be a Timeline, got {timeline!r}")
    chance = number("delays.lost", "probability", probability)
    if not 0.0 <= chance <= 1.0:
        raise TimelineError(f"delays.lost: probability must be between 0 and 1, got {chance}")
    kept = _generator("lost", seed).random(timeline.rounds) >= chance
    came = (timeline.observed & kept)[timeline.order]
    return _arrivals(timeline.order[came], timeline.boundaries[1:][came], timeline.rows)


def _arrivals(order: Ints, made: Ints, rows: Ints) -> Timeline:
    """Return the timeline in which these tickets are answered, in this order, and no others.

    ``made`` counts the predictions before each of them.
    """
    rounds = len(rows)
    observed = np.zeros(rounds, dtype=np.bool_)
    observed[order] = True
    never = np.flatnonzero(~observed)
    boundaries = np.concatenate([[0], made, np.full(len(never), rounds)])
    return Timeline(np.concatenate([order, never]), boundaries, observed, rows)


# ---- a queue -----------------------------------------------------------------------------------


def queue(
    rounds: int, servers: int, load: float, seed: int = 0, *, service: Service = "exponential"
) -> Timeline:
    """A queue in continuous time: each ticket is answered when one of c servers is done with it.

    Predictions are made at the times of a Poisson process. A ticket goes to the first server that
    is free, waits for it in order of prediction if none is, and keeps it for a random time. All
    tickets are answered, the last ones after the last prediction.

    ``load`` is rho = (predictions per unit of time) (mean service time) / c. Below 1 the backlog
    settles; with exponential service its mean is then c rho + rho C / (1 - rho), where C is the
    probability of waiting (Erlang, 1917), and rho / (1 - rho) with a single server; d_tot is close
    to T times that mean. From 1 on it grows with T.

    ``service`` times of one mean: "exponential", "lognormal" (of log-variance 1), or "pareto"
    (Lomax of shape 1.5, without variance).

    >>> queue(1000, servers=1, load=0.5, seed=1).order.tolist() == list(range(1000))
    True
    >>> queue(1000, servers=4, load=0.5, seed=1).observed.all()
    np.True_
    """
    rounds = _horizon("queue", rounds)
    servers = whole("delays.queue", "servers", servers, bits=_ANY)
    load = positive("delays.queue", "load", load)
    generator = _generator("queue", seed)
    predicted_at = np.cumsum(generator.standard_exponential(rounds))
    # Time is counted in mean gaps between predictions, so the mean of the work is load * c.
    mean = positive("delays.queue", "load * servers", load * servers)
    work = mean * _work(generator, service, rounds)
    return Timeline.from_intervals(predicted_at, served(predicted_at, work, servers))


def served(predicted_at: Floats, work: Floats, servers: int) -> Floats:
    """Return when each ticket is done (Kiefer and Wolfowitz, 1955).

    Ticket t starts at the later of l_t and the time at which the first server becomes free.

    >>> served(np.array([0.0, 1.0, 2.0]), np.array([5.0, 1.0, 1.0]), servers=1)
    array([5., 6., 7.])
    >>> served(np.array([0.0, 1.0, 2.0]), np.array([5.0, 1.0, 1.0]), servers=2)
    array([5., 2., 3.])
    """
    # A heap of the times at which servers become free; no more of them than tickets are needed.
    free = [0.0] * min(servers, len(work))
    done = []
    for start, duration in zip(predicted_at.tolist(), work.tolist(), strict=True):
        end = max(start, free[0]) + duration
        heapreplace(free, end)
        done.append(end)
    return np.array(done, dtype=np.float64)


def _work(generator: np.random.Generator, service: Service, count: int) -> Floats:
    """Draw service times of mean 1."""
    if service == "exponential":
        return generator.standard_exponential(count)
    if service == "lognormal":
        return generator.lognormal(-0.5, 1.0, count)
    if service == "pareto":
        return 0.5 * generator.pareto(1.5, count)
    known = ", ".join(repr(name) for name in get_args(Service))
    raise TimelineError(f"delays.queue: service must be one of {known}, got {service!r}")


# ---- delays that depend on the plays -----------------------------------------------------------


@dataclass(frozen=True)
class ByRule:
    """An environment that answers later for some plays: ``rule(t, x)`` is the delay of round t.

    None is for ever. For gradients the theorems hold as they stand, with the delays that came
    about: nothing in them is random. For values they do not: the paper's delays are fixed before
    the game, and a learner whose exploration chooses the delays may learn mostly from the quick
    ones.

    >>> ByRule(lambda t, x: 3 if x[0] > 0 else 0, rounds=100).rounds
    100
    """

    rule: Callable[[int, Floats], int | None]
    rounds: int

    def __post_init__(self) -> None:
        """Check that the rule can be called."""
        if not callable(self.rule):
            raise TimelineError(f"ByRule: rule must be a function of t and x, got {self.rule!r}")
        object.__setattr__(self, "rounds", _horizon("ByRule", self.rounds))


# ---- arguments ---------------------------------------------------------------------------------


def _horizon(pattern: str, rounds: int) -> int:
    """T, checked."""
    return whole(f"delays.{pattern}", "rounds", rounds, least=0)


def _span(pattern: str, name: str, value: int, rounds: int, least: int = 0) -> int:
    """A number of rounds, checked. All beyond T are alike, and T + 1 fits in int64."""
    return min(whole(f"delays.{pattern}", name, value, least=least, bits=_ANY), rounds + 1)


def _generator(pattern: str, seed: int) -> np.random.Generator:
    """The stream of one pattern: streams of different patterns are independent for one seed."""
    entropy = whole(f"delays.{pattern}", "seed", seed, least=0, bits=128)
    sequence = np.random.SeedSequence(entropy, spawn_key=tuple(pattern.encode()))
    return np.random.Generator(np.random.PCG64(sequence))


# ---- one of each -------------------------------------------------------------------------------

PATTERNS: Final[Mapping[str, Pattern]] = MappingProxyType(
    {
        "none": lambda rounds, seed: constant(rounds, delay=0),
        "constant": lambda rounds, seed: constant(rounds, delay=10),
        "uniform": lambda rounds, seed: uniform(rounds, low=0, high=20, seed=seed),
        "geometric": lambda rounds, seed: geometric(rounds, mean=10.0, seed=seed),
        "pareto": lambda rounds, seed: pareto(rounds, shape=1.5, scale=5.0, seed=seed),
        "batches": lambda rounds, seed: batches(rounds, length=20),
        "bursts": lambda rounds, seed: bursts(rounds, length=20, gap=30),
        "outages": lambda rounds, seed: outages(rounds, length=20, every=100, delay=1),
        "shuffled": lambda rounds, seed: shuffled(rounds, window=20, seed=seed),
        "footnote": lambda rounds, seed: footnote(rounds),
        "first_rounds": lambda rounds, seed: first_rounds(rounds),
        "queue": lambda rounds, seed: queue(rounds, servers=4, load=0.9, seed=seed),
        "heavy_queue": lambda rounds, seed: queue(
            rounds, servers=4, load=0.7, seed=seed, service="pareto"
        ),
        "lost": lambda rounds, seed: lost(geometric(rounds, mean=5.0, seed=seed), 0.01, seed=seed),
    }
)
"""One instance of every pattern by name, for tests and studies that want them all.

Each is called as ``PATTERNS[name](rounds, seed)``; those that draw nothing ignore the seed.
"""
