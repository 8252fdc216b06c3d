"""A slow, obvious version of a capacity: which tickets are tracked, what they weigh, the rates.

Everything is recomputed from complete lists, by the definitions. Nothing here imports the library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from naive import Array, Feedback, NaiveConfig, NaiveLearner, philox4x32

_WORD = 0xFFFFFFFF


@dataclass(frozen=True, kw_only=True)
class TrackingConfig(NaiveConfig):
    """A learner that tracks at most ``tickets`` tickets; ``known`` is the backlog for coins."""

    tickets: int
    known: int | None = None


def drawn(seed: int, ticket: int) -> float:
    """U of a ticket in (0, 1]: the first 53 bits of stream 33, and one."""
    words = philox4x32((0, 33, ticket & _WORD, ticket >> 32), (seed & _WORD, seed >> 32))
    bits = words[0] * 2**21 + words[1] // 2**11 + 1
    return bits / 2**53


def gap(tickets: int) -> int:
    """The largest power of 2 that is at most an eighth of the tickets, or 1."""
    g = 1
    while 2 * g <= tickets / 8:
        g *= 2
    return g


def limit(tickets: int, t: int) -> float:
    """B at the thinning before prediction t = 0, 1, .."""
    g = gap(tickets)
    until = 1
    while until < t + g:
        until *= 2
    return (tickets / 2 - g + 1) / (1 + math.log(until))


def last_look(tickets: int, t: int) -> int:
    """The newest prediction up to t with a thinning before it."""
    return t - t % gap(tickets)


def weight(tickets: int, ticket: int, t: int) -> float:
    """1 over the chance that a ticket is tracked after prediction t, if it found a place."""
    look = last_look(tickets, t)
    age = look - ticket if look > ticket else 0
    return max(1.0, (age + 1) / limit(tickets, look))


def chance_of_coin(tickets: int, known: int) -> float:
    """p = min{1, C / (8 (H + 1))}."""
    return min(1.0, tickets / (8 * (known + 1)))


class NaiveTracker(NaiveLearner):
    """``NaiveLearner`` with a capacity."""

    config: TrackingConfig

    def __init__(self, config: TrackingConfig) -> None:
        super().__init__(config)
        self.weights: list[float] = []  # of what was fed, in its order
        self.waits: list[float] = []  # the weights that still waited then

    def weight_now(self, ticket: int) -> float:
        """What an answer to a tracked ticket weighs."""
        if self.config.known is not None:
            return 1 / chance_of_coin(self.config.tickets, self.config.known)
        return weight(self.config.tickets, ticket, self.predictions() - 1)

    def _stays(self, ticket: int, t: int) -> bool:
        """Whether its number lets a ticket stay at the thinning before t, or when it is issued."""
        u, tickets = drawn(self.config.seed, ticket), self.config.tickets
        if self.config.known is not None:
            return u <= chance_of_coin(tickets, self.config.known)
        look = last_look(tickets, t)
        age = look - ticket if look > ticket else 0
        return u * (age + 1) <= limit(tickets, look)

    def predict(self) -> tuple[int, Array]:
        """Thin if it is time, issue a ticket, and lose it if there is no place for it."""
        t = self.predictions()
        if self.config.known is None and t % gap(self.config.tickets) == 0:
            for s in self.open_tickets():
                if not self._stays(s, t):
                    self._lose(s)
        others = len(self.open_tickets())
        ticket, x = super().predict()
        if others >= self.config.tickets or not self._stays(ticket, t):
            self._lose(ticket)
        return ticket, x

    def _lose(self, ticket: int) -> None:
        """Track a ticket no longer; the base hears nothing."""
        self.history.delays.append(self._since(ticket, "predict"))
        self.history.dual_delays.append(self._since(ticket, "close"))
        self.events.append(("close", ticket))
        self.status[ticket] = "skipped"

    def observe(self, ticket: int, feedback: Feedback) -> bool:
        """Take an answer, or drop it if its ticket is not tracked."""
        if ticket not in self.status:
            raise KeyError(ticket)
        return self.status[ticket] == "open" and super().observe(ticket, feedback)

    def cancel(self, ticket: int) -> None:
        """Close a ticket, if it is tracked."""
        if ticket not in self.status:
            raise KeyError(ticket)
        if self.status[ticket] == "open":
            super().cancel(ticket)

    def _close(
        self, ticket: int, how: Literal["observed", "skipped", "cancelled"], cost: Array
    ) -> None:
        w = self.weight_now(ticket)
        self.weights.append(w)
        others = [s for s in self.open_tickets() if s != ticket]
        self.waits.append(math.fsum(self.weight_now(s) for s in others))
        super()._close(ticket, how, w * cost)

    def _rate(self) -> float | None:
        """The rates with w^2 for an arrival, and w times the weights that wait for s*."""
        config, norms = self.config, self.history.norms
        squares = math.fsum(w**2 for w in self.weights)
        pairs = list(zip(self.weights, self.waits, strict=True))
        crossed = math.fsum(w * waiting for w, waiting in pairs)
        if config.rate == "constant":
            return config.step
        if config.rate == "inverse-root":
            return config.step / math.sqrt(squares)
        if config.rate == "table":
            return config.table[min(len(self.weights), len(config.table)) - 1]
        assert config.lipschitz is not None
        scale = self.diameter / config.lipschitz
        if config.rate == "tight":
            return config.tight_scale * scale / 2 / math.sqrt(squares / 2 + crossed)
        if config.rate == "gradient-adaptive":
            total = math.fsum(
                norm**2 / 2 + config.lipschitz * waiting * norm
                for norm, waiting in zip(norms, self.waits, strict=True)
            )
            return self.diameter / 2 / math.sqrt(total) if total else None
        if config.reduction == "first-order":
            return scale / math.sqrt(squares + crossed)
        if config.reduction == "two-point":
            return scale / math.sqrt(squares * config.dim + crossed)
        noise = config.dim * config.magnitude / config.lipschitz
        rough = math.fsum(
            (w * noise / delta) ** 2
            for w, delta in zip(self.weights, self.history.smoothings, strict=True)
        )
        return scale / math.sqrt(squares + crossed + rough)
