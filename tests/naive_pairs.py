"""A slow, obvious version of the linear model that finds pairs of features.

Expert 0 is the plain prediction. Experts 1 to 3 are AdaGrad at the scales 1/4, 1/4 and 1/64 on more
entries: those of the row (with the intercept last), a bin of width 2/3 for each that varies, and
products of pairs of both. Expert 1 sees only products of entries of the row. All share one energy
per coordinate, that of expert 2. Experts 4 and 5 have means of the weights of experts 1 and 2.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

from naive_linear import BIAS, Mixture, NaiveLinear, OpenTicket, rounded, soft

PLACES, VALUES, BINS = 128, 48, 16
SCALES = [1.0 / 4.0, 1.0 / 4.0, 1.0 / 64.0]
PLAIN = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]

Pair = tuple[int, int]
Entries = list[tuple[int, float]]


def combined(first: int, second: int, salt: int, mask: int) -> int:
    """Return the coordinate of a pair."""
    word = 2**32 - 1
    z = first * 0x45D9F3B3 + second * 0x2C1B3C6D + salt * 0x297A2D39 & word
    z = (z ^ z >> 15) * 0x2C1B3C6D & word
    z = (z ^ z >> 12) * 0x297A2D39 & word
    return (z ^ z >> 15) & mask


@dataclass
class PairCoordinate:
    """Weights of experts 1 to 3, the means of the first two, and the root of the energy."""

    w: list[float] = field(default_factory=lambda: [0.0] * 3)
    means: list[float] = field(default_factory=lambda: [0.0] * 2)
    root: float = 0.0
    labels: int = 0


class NaivePairs(NaiveLinear):
    """``NaiveLinear`` with ``interactions="auto"`` and 2^``bits`` coordinates."""

    def __init__(self, loss: Any, bits: int, **settings: Any) -> None:
        super().__init__(loss, **settings)
        self.mask = 2**bits - 1
        self.pairs: dict[int, PairCoordinate] = {}
        self.sums: dict[Pair, float] = {}
        self.scores: dict[Pair, float] = {}
        self.energy, self.heard, self.epoch = 0.0, 0, 0
        self.chosen: tuple[list[Pair], list[Pair]] = [], []
        self.of_pairs = Mixture(list(PLAIN))
        self.issued_beside: dict[int, tuple[list[float], float]] = {}

    def entries(self, kept: OpenTicket) -> tuple[Entries, int, int]:
        """Return what a row becomes, how many of it expert 1 sees, and how many may be paired."""
        own = [(i, s) for i, s in kept.row if i != BIAS]
        bins = [
            (combined(i, int(min(max(1.5 * s, -4.0), 4.0) + 4.0), 4, self.mask), 1.0)
            for i, s in own
            if s not in (0.0, 1.0)
        ]
        places = (own + bins)[: max(PLACES, len(own))]
        n, found = len(own), places + [(self.mask + 1, 1.0)] * self.intercept
        pairs = [(i, j) for j in range(n) for i in range(j)]
        if len(pairs) > VALUES:
            pairs = [(i, j) for i, j in self.chosen[0] if j < n]
        found += [self.product(places, pair) for pair in pairs]
        width = len(found)
        with_bins = [(i, j) for i, j in self.chosen[1] if n <= j < len(places)]
        return found + [self.product(places, pair) for pair in with_bins], width, len(places)

    def product(self, places: Entries, pair: Pair) -> tuple[int, float]:
        """Return the entry of a product."""
        (a, x), (b, z) = places[pair[0]], places[pair[1]]
        return combined(min(a, b), max(a, b), 3, self.mask), x * z

    def now(self, found: Entries, width: int) -> list[float]:
        """Return what experts 1 to 5 predict at the weights of this moment."""
        base = self.labels.base(self.loss.kind)
        cells = [(self.pairs.setdefault(i, PairCoordinate()), x) for i, x in found]
        said = [sum(c.w[k] * x for c, x in cells[: width if k == 0 else None]) for k in range(3)]
        for k in range(2):
            said.append(sum(c.means[k] * x for c, x in cells[: width if k == 0 else None]))
        return [base + p for p in said]

    def with_pairs(self, kept: OpenTicket, p: float) -> float:
        """Return what all six experts predict together."""
        self.review(sum(i != BIAS for i, _ in kept.row))
        found, width, _ = self.entries(kept)
        said = [self.labels.clipped(self.loss.kind, q) for q in [p, *self.now(found, width)]]
        mixed = said[0] + sum(v * (q - said[0]) for v, q in zip(self.of_pairs.v, said, strict=True))
        self.issued_beside[self.predictions - 1] = said, mixed
        return self.loss.together(self.of_pairs.v, said, mixed)

    def review(self, n: int) -> None:
        """Choose the pairs with the best scores once there were enough labels."""
        if self.heard < 128 * 2 ** min(self.epoch, 5) or self.energy == 0.0:
            return
        for pair, s in self.sums.items():
            self.scores[pair] = self.scores.get(pair, 0.0) / 2.0 + s * s / self.energy
        self.sums, self.energy, self.heard = {}, 0.0, 0
        self.epoch += 1
        best = sorted(self.scores, key=lambda pair: (-self.scores[pair], pair[1], pair[0]))
        best = [pair for pair in best if self.scores[pair] > 0.0]
        of_values = [pair for pair in best if pair[1] < n]
        self.chosen = of_values[:VALUES], [pair for pair in best if pair[1] >= n][:BINS]

    def learn_pairs(self, ticket: int, y: float, h: float, often: float) -> None:
        """Weigh the experts and let them take their steps."""
        said, mixed = self.issued_beside[ticket]
        if ticket >= self.charged:
            self.weigh(said, mixed, often * h * self.loss.slope(mixed, y))
        self.take_steps(ticket, y, h, None)

    def _other_label(self, ticket: int, told: float, label: float, new: float) -> None:
        """Correct a label: charges and scores are linear in it, steps are of both at one point."""
        kept, charged = self.open[ticket], self.charged
        old = kept.learned
        super()._other_label(ticket, told, label, new)
        if kept.learned == old:
            return
        if ticket >= charged:
            self.weigh(*self.issued_beside[ticket], old - kept.learned)
        self.take_steps(ticket, kept.learned, 1.0, old)

    def weigh(self, said: list[float], mixed: float, g: float) -> None:
        """Weigh the experts by the slope at their mixture."""
        self.of_pairs.learn([g * (mixed - p) for p in said])
        if max(self.of_pairs.R) <= 0.0:
            self.of_pairs.v = list(PLAIN)

    def take_steps(self, ticket: int, y: float, h: float, old: float | None) -> None:
        """Learn a label, or one in the place of another."""
        S = self.labels.scale(self.loss.kind)
        if S == 0.0:
            return
        found, width, places = self.entries(self.open[ticket])
        plain = self.issued_beside[ticket][0][0]
        g = h * self.loss.slope(plain, y) if old is None else old - y
        self.score(found[:places], g, counts=old is None)
        now = self.now(found, width)
        unit = S if self.loss.kind in ("squared", "huber") else 1.0
        pull = abs(self.loss.slope(now[1], y))
        if old is not None:
            pull = max(pull, abs(old - y) / 2.0)
        etas = []
        for i, x in found:
            c = self.pairs[i]
            A = c.root**2 if c.root > 0.0 else 0.1 * unit**2
            A += h * (pull * x) ** 2
            c.root = rounded(math.sqrt(A))
            etas.append(S / math.sqrt(A))
        for k, a in enumerate(SCALES):
            self.step(k, a * h, now[k], etas, found[: width if k == 0 else None], y, old)
        for j, (i, _) in enumerate(found if old is None else []):
            c = self.pairs[i]
            c.labels += 1
            for k in range(2):
                if k == 1 or j < width:
                    c.means[k] = rounded(c.means[k] + 2 / (c.labels + 1) * (c.w[k] - c.means[k]))

    def score(self, places: Entries, g: float, *, counts: bool) -> None:
        """Add a slope of the plain prediction to the sums of all pairs."""
        self.heard += counts
        self.energy += counts * g * g
        signs = [1.0 if combined(i, self.epoch, 5, 2**32 - 1) % 2 else -1.0 for i, _ in places]
        u = [s * x for s, (_, x) in zip(signs, places, strict=True)]
        for i, j in itertools.combinations(range(min(len(u), PLACES)), 2):
            self.sums[i, j] = self.sums.get((i, j), 0.0) + g * u[i] * u[j]

    def step(
        self,
        k: int,
        a: float,
        p: float,
        etas: list[float],
        found: Entries,
        y: float,
        old: float | None,
    ) -> None:
        """Take the implicit step of one expert, less that of the old label."""
        q = sum(eta * x * x for eta, (_, x) in zip(etas, found, strict=False))
        r = self.after(p, y, a * q) - (0.0 if old is None else self.after(p, old, a * q))
        for eta, (i, x) in zip(etas, found, strict=False):
            c = self.pairs[i]
            c.w[k] = rounded(c.w[k] - a * eta * x * r)
            if old is None:
                c.w[k] = rounded(soft(c.w[k], a * eta * self.l1) / (1.0 + a * eta * self.l2))

    def after(self, p: float, y: float, q: float) -> float:
        """Return the slope after an implicit step of length q."""
        g = self.loss.slope(p, y)
        return self.loss.implicit(p, y, q) if g != 0.0 and q > 0.0 else g
