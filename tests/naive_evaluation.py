"""Slow, obvious versions of what evaluations compute, written apart from the fast ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import belated as bl

Row = dict[str, Any]


def counted(
    rows: Sequence[Row], silence: float | None, deadline: float | None, end: float
) -> list[tuple[Row, float]]:
    """Rows that are old enough, in order of time, with the reward that counts."""
    found = []
    for row in sorted(rows, key=lambda row: row["decided"]):
        if deadline is not None and row["decided"] + deadline > end:
            continue
        came = row["rewarded"]
        is_known = came is not None and came <= end
        if is_known and deadline is not None and came - row["decided"] > deadline:
            is_known = False
        if is_known:
            found.append((row, row["reward"]))
        else:
            assert silence is not None
            found.append((row, silence))
    return found


def ips(rows: Sequence[tuple[Row, float]], policy: Callable[[Row, str], float]) -> float:
    """mean(w r)."""
    total = 0.0
    for row, reward in rows:
        total += policy(row, row["action"]) / row["probability"] * reward
    return total / len(rows)


def snips(rows: Sequence[tuple[Row, float]], policy: Callable[[Row, str], float]) -> float:
    """sum(w r) / sum(w)."""
    above = below = 0.0
    for row, reward in rows:
        weight = policy(row, row["action"]) / row["probability"]
        above += weight * reward
        below += weight
    return above / below


def dr(
    rows: Sequence[tuple[Row, float]],
    policy: Callable[[Row, str], float],
    predicted: Sequence[dict[str, float]],
) -> float:
    """mean(q(x, pi) + w (r - q(x, a)))."""
    total = 0.0
    for (row, reward), q in zip(rows, predicted, strict=True):
        total += sum(policy(row, action) * q[action] for action in q)
        weight = policy(row, row["action"]) / row["probability"]
        total += weight * (reward - q[row["action"]])
    return total / len(rows)


def walked(
    rows: Sequence[tuple[Row, float]],
    actions: Sequence[str],
    silence: float | None,
    deadline: float | None,
    start: float,
) -> list[dict[str, tuple[float, float]]]:
    """What a chooser says of every row: probability and predicted reward by action.

    All that is known by a row is found by looking at all rows before it, each time anew.
    """
    chooser = bl.Chooser(list(actions), silence=silence, deadline=deadline)
    said: list[dict[str, tuple[float, float]]] = []
    told: set[int] = set()
    tickets: list[int] = []
    for i, (row, _) in enumerate(rows):
        news = []
        for j in range(i):
            earlier = rows[j][0]
            came = earlier["rewarded"]
            if j in told or came is None or came > row["decided"]:
                continue
            if deadline is None or came - earlier["decided"] <= deadline:
                news.append((came, j))
        for came, j in sorted(news):
            chooser.observe(tickets[j], rows[j][1], at=came - start)
            told.add(j)
        options = chooser.peek(row["context"])
        said.append({option.action: (option.probability, option.value) for option in options})
        chooser.mode = "apprentice"
        choice = chooser.choose(row["context"], baseline=row["action"], at=row["decided"] - start)
        tickets.append(choice.ticket)
    return said


def plain_interval(values: Sequence[float], quantile: float) -> tuple[float, float]:
    """mean -+ quantile times the standard error."""
    n = len(values)
    mean = sum(values) / n
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    reach = quantile * math.sqrt(variance / n)
    return mean - reach, mean + reach


def freedom(values: Sequence[float]) -> float:
    """2 n / (k - 1), k the kurtosis."""
    n = len(values)
    mean = sum(values) / n
    second = sum((value - mean) ** 2 for value in values) / n
    fourth = sum((value - mean) ** 4 for value in values) / n
    return 2 * n / (fourth / second**2 - 1)


def interval(
    weights: Sequence[float], rewards: Sequence[float], quantile: float
) -> tuple[float, float]:
    """Inverse propensity with one more decision, the worst and then the best of all."""
    terms = [w * r for w, r in zip(weights, rewards, strict=True)]
    could = [w * r for w in weights for r in (min(rewards), max(rewards))]
    share = min(1.0, 32 * max(weights) / sum(weights))
    ends = []
    for more, sign in ((min(could), -1), (max(could), 1)):
        parts = [(1.0, term) for term in terms] + [(share, more)]
        count = sum(weight for weight, _ in parts)
        mean = sum(weight * term for weight, term in parts) / count
        square = sum(weight * (term - mean) ** 2 for weight, term in parts)
        ends.append(mean + sign * quantile * math.sqrt(square / (count - 1) / count))
    return ends[0], ends[1]
