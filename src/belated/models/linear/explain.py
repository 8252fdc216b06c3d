"""Why a prediction is what it is: what each feature adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from belated.arrays import add_in_order
from belated.core.experts import bin_range
from belated.models.linear.features import Features, Interactions
from belated.tables import Row, Table

SHOWN = 20
"""Parts in the table; the row below them has the sum of the others."""


@dataclass(frozen=True, repr=False)
class Explanation(Table):
    """The parts of a prediction, before the link: constant + sum of parts + open tickets.

    ``parts`` has what each feature adds, largest first; a string is named ``name=string``, an
    interaction ``a * b``, a bin of a number ``name in [low, high)``. ``open_tickets`` is the
    correction for labels that are still to come.
    ``total`` is the sum of all. Predictions of the experts are kept within the labels seen so far,
    and are mixed as probabilities or rates where the link has some; ``total`` knows neither.
    ``value`` is what ``predict`` says.
    """

    value: float
    constant: float
    parts: dict[str, float]
    total: float
    open_tickets: float = 0.0

    def rows(self) -> list[Row]:
        """Return what a person reads."""
        parts = list(self.parts.items())
        rows = [("constant", self.constant), *parts[:SHOWN]]
        if rest := parts[SHOWN:]:
            rows.append((f"{len(rest)} more", add_in_order(amount for _, amount in rest)))
        if self.open_tickets:
            rows.append(("open tickets", self.open_tickets))
        return [(name, f"{amount:+.5g}") for name, amount in [*rows, ("total", self.total)]]


def names_of(features: Features, interactions: Interactions) -> list[str]:
    """Return the names of the entries of a row, in their order.

    >>> names_of({"origin": "JFK", "hour": 17, "tail": None}, (("origin", "hour"),))
    ['origin=JFK', 'hour', 'origin=JFK * hour']
    """
    given = {name: value for name, value in features.items() if value is not None}
    shown = {n: f"{n}={v}" if isinstance(v, str) else n for n, v in given.items()}
    together = [group for group in interactions if all(name in given for name in group)]
    return [*shown.values(), *(" * ".join(shown[name] for name in group) for group in together)]


def explained(linear: Any, names: list[str], value: float) -> Explanation:
    """Read the parts of a prediction off the row that the core has just looked at."""
    indices, values = linear.experts.peeked_entries()
    amounts = (linear.experts.weights(indices) * values).tolist()
    if linear.pairs is not None:
        plain = linear.pairs.mixture.shares[0].item()
        entries, beside = linear.pairs.peeked_entries()
        rest = [plain * amount for amount in amounts[len(names) :]]  # the intercept
        more = _names_of_pairs(entries, names, linear.experts.table[indices])
        rest += [a for a, name in zip(beside, more, strict=True) if name is None]
        amounts = [plain * amount for amount in amounts[: len(names)]]
        amounts += [a for a, name in zip(beside, more, strict=True) if name is not None] + rest
        names = [*names, *(name for name in more if name is not None)]
    constant = linear.labels.base + add_in_order(amounts[len(names) :])
    parts: dict[str, float] = {}
    for name, amount in zip(names, amounts, strict=False):
        parts[name] = parts.get(name, 0.0) + amount
    ordered = dict(sorted(parts.items(), key=lambda part: -abs(part[1])))
    total = constant + add_in_order(parts.values())
    moved = linear.correction(total)
    return Explanation(value, constant, ordered, total + moved, moved)


def _names_of_pairs(
    entries: list[tuple[int, int]], names: list[str], cells: Any
) -> list[str | None]:
    """Return the names of what a row becomes with pairs; None for the intercept."""
    found: list[str | None] = []
    for first, second in entries:
        if first < 0:
            found.append(None)
        elif second == -1:
            found.append(names[first])
        elif second >= 0:
            found.append(f"{found[first]} * {found[second]}")
        else:
            low, high = bin_range(-2 - second)
            mean, deviation = cells["mean"][first].item(), cells["deviation"][first].item()
            ends = (mean + low * deviation, mean + high * deviation)
            found.append(f"{names[first]} in [{ends[0]:.4g}, {ends[1]:.4g})")
    return found
