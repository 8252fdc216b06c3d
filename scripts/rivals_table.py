"""The table of rivals in ``docs/rivals.md``; ``python scripts/rivals_table.py`` renews it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, cast

from belated.research.rivals import choice
from belated.research.rivals.arms import Bandit
from belated.research.rivals.base import FACTS, Rival

PAGE = Path(__file__).parent.parent / "docs" / "rivals.md"
HEADING = (
    "| method | an answer is | assumes | must be told in advance | memory beyond O(k) "
    "| answers out of order, or lost | guarantee | reference |\n"
)
_SYMBOLS = {
    "base": "a learner inside",
    "curvature": "lambda",
    "delay": "d",
    "exp_concavity": "alpha",
    "lipschitz": "G",
    "magnitude": "M",
    "max_delay": "d_max",
    "rounds": "T",
    "scale": "a scale",
    "smoothness": "L",
    "threshold": "how stale a gradient may be",
    "step": "a step size",
    "strength": "a strength",
    "total_delay": "d_tot",
    "workers": "the number of workers",
}
_ANSWERS = (
    "that of the learner inside",
    "gradient",
    "gradient, or function",
    "function",
    "two values",
    "k + 1 values",
    "value",
    "value of the arm drawn",
)
"""The kinds of answers, in the order of the table."""


def methods() -> list[type[Rival]]:
    """Return all rivals: by the kind of their answers, then by year, then by name."""
    return sorted(
        choice.methods(),
        key=lambda kind: (_ANSWERS.index(_answers(kind)), kind.reference[-4:], kind.title),
    )


def undelayed() -> list[type[Rival]]:
    """Return the rivals that know nothing about delays."""
    return [method for method in methods() if "without delay" in method.guarantee]


def table() -> str:
    """Return the Markdown table of all rivals.

    >>> table().splitlines()[3].split(" | ")[:2]
    ['| `BOLD`', 'that of the learner inside']
    """
    rows = [("---",) * (HEADING.count("|") - 1), *map(_row, methods())]
    return HEADING + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(method: type[Rival]) -> tuple[str, ...]:
    name, facts = method.__name__, ", ".join(_SYMBOLS[fact] for fact in method.facts())
    required = [
        _SYMBOLS[field.name]
        for field in dataclasses.fields(cast(Any, method))
        if field.default is dataclasses.MISSING and field.name not in ("domain", "arms", *FACTS)
    ]
    return (
        f"`{name}`" if method.title == name else f"{method.title}, `{name}`",
        _answers(method),
        method.assumes or ", ".join(required) or "nothing",
        method.must_be_told or facts or "nothing",
        method.memory,
        method.order,
        method.guarantee,
        method.reference,
    )


def _answers(method: type[Rival]) -> str:
    fields = {field.name for field in dataclasses.fields(cast(Any, method))}
    if "base" in fields:
        return "that of the learner inside"
    if issubclass(method, Bandit):
        return "value of the arm drawn"
    return "gradient, or function" if "feedback" in fields else method.answers


def renewed(page: str) -> str:
    """Return the page with a new table: the last one with these headings."""
    before, _, after = page.rpartition(HEADING)
    return before + table() + "\n" + after.partition("\n\n")[2]


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text()))
