"""A slow, obvious version of choosing among actions.

Nothing here imports the library, but for hashes of names, which are given. A row is the context,
then the action, then their products; the reward of every row is predicted by the slow linear model,
and inverse gap weighting turns predictions into probabilities.
"""

from __future__ import annotations

import copy
import math
from collections import Counter

from naive_linear import Loss, NaiveLinear, Row

WORD = 2**32
GROWTH = 40.0


def mixed(first: int, second: int, salt: int, bits: int) -> int:
    """Return the coordinate of a pair: multiply, fold, multiply, fold, multiply, fold."""
    z: int = (first * 0x45D9F3B3 + second * 0x2C1B3C6D + salt * 0x297A2D39) % WORD
    z = (z ^ z // 2**15) * 0x2C1B3C6D % WORD
    z = (z ^ z // 2**12) * 0x297A2D39 % WORD
    return (z ^ z // 2**15) % (1 << bits)


def row_of(context: Row, action: Row, bits: int) -> Row:
    """Return context, action and products."""
    of_action = [(mixed(i, i, 1, bits), v) for i, v in action]
    products = [(mixed(i, j, 2, bits), v * w) for i, v in context for j, w in action]
    return [*context, *of_action, *products]


def weighed(scores: list[float], spread: float, rounds: int) -> list[float]:
    """Return p_a = 1 / (K + g sqrt(t) gap / S), and the rest for the best."""
    count = len(scores)
    best = scores.index(max(scores))
    if spread <= 0.0 or max(scores) == min(scores):
        return [1.0 / count] * count
    gamma = GROWTH * math.sqrt(rounds + 1)
    p = [1.0 / (count + gamma * (scores[best] - score) / spread) for score in scores]
    p[best] = 1.0 - sum(p[a] for a in range(count) if a != best)
    return p


class NaiveChooser:
    """A chooser that is told what was picked."""

    def __init__(self, bits: int, loss: Loss, silence: float | None) -> None:
        self.bits = bits
        self.model = NaiveLinear(loss, silence=silence, wait="adaptive", narrow=True)
        self.rounds = 0
        self.choices: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.names: dict[int, str] = {}

    def spread(self) -> float:
        """Return the standard deviation of all rewards so far, each as often as it counts."""
        known = list(self.model.looked_at().counted.values())
        if not known:
            return 0.0
        total = sum(h for _, h in known)
        mean = sum(h * r for r, h in known) / total
        return math.sqrt(sum(h * (r - mean) ** 2 for r, h in known) / total)

    def probabilities(self, context: Row, actions: dict[str, Row]) -> list[float]:
        """Return what every action is worth.

        A tenth of it all is for actions with fewer than 10 answers and 100 choices.
        """
        rows = [row_of(context, action, self.bits) for action in actions.values()]
        scores = [self.score(row) for row in rows]
        p = weighed(scores, self.spread(), self.rounds)
        new = [self.answers[a] < 10 and self.choices[a] < 100 for a in actions]
        if not any(new):
            return p
        return [
            0.9 * q + (0.1 / sum(new) if fresh else 0.0) for q, fresh in zip(p, new, strict=True)
        ]

    def score(self, row: Row) -> float:
        """Return what a copy of the model predicts of a row.

        Every entry has a copy of its coordinate, so that one which occurs twice is standardised by
        what was seen before this row both times.
        """
        model = copy.deepcopy(self.model)
        model.learn()
        copies = []
        for place, (i, value) in enumerate(row):
            copies.append((-2 - place, value))
            if i in model.coordinates:
                model.coordinates[-2 - place] = copy.deepcopy(model.coordinates[i])
        return model.predict(copies, None, None)[1]

    def take(self, context: Row, name: str, action: Row) -> int:
        """Open a ticket for an action."""
        self.choices[name] += 1
        ticket = self.model.predict(row_of(context, action, self.bits), None, None)[0]
        self.rounds += 1
        self.names[ticket] = name
        return ticket

    def observe(self, ticket: int, reward: float) -> None:
        """Learn a reward."""
        if self.model.observe(ticket, reward, at=None):
            self.answers[self.names[ticket]] += 1
