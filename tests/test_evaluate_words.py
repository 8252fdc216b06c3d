"""What evaluations say about the log itself: its probabilities, names, columns and cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.errors import LogError
from belated.evaluations.page import page_of
from belated.evaluations.words import summary

NAMES = ("classic", "grid", "story")
# What is tested is what stands around the models; compiled, those take no time.
pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]

CHANCES = np.array([0.6, 0.2, 0.2])


def visits(rounds: int = 200, **changes: Any) -> dict[str, Any]:
    """Layouts that were shown at random, and what they earned."""
    rng = np.random.default_rng(1)
    taken = rng.choice(3, rounds, p=CHANCES)
    at = np.arange(rounds, dtype=float)
    return {
        "shown_at": at,
        "layout": np.array(NAMES)[taken],
        "prob": CHANCES[taken],
        "revenue": rng.random(rounds),
        "rewarded_at": at + 1.0,
        "device": rng.choice(["desk", "phone"], rounds),
        **changes,
    }


def evaluated(**changes: Any) -> bl.evaluations.Evaluation:
    columns = visits(**changes)
    return bl.evaluate(
        columns, action="layout", probability="prob", reward="revenue", chooser=False
    )


def test_wrong_probabilities_are_said_once_and_first() -> None:
    found = evaluated(prob=np.full(200, 1 / 3))
    text = " ".join(summary(found).split())
    assert text.count("should be 1 on average") == 1
    assert "probabilities are wrong" in text
    assert "classic was taken in " in text
    assert text.index("probabilities are wrong") < text.index("always grid")
    assert text.index("probabilities are wrong") < text.index(found.verdict[:30])
    assert page_of(found).lead.startswith("Warning: the logged probabilities are wrong")
    assert not evaluated().warnings


def test_cells_are_named_by_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = ["shown_at,layout,prob,revenue,rewarded_at"]
    rows += [f"{t},{NAMES[t % 2]},{'' if t == 5 else 0.5},1,{t + 1}" for t in range(9)]
    path.write_text("\n".join(rows))
    with pytest.raises(LogError, match=r"line 7: prob = \(empty\) must not be missing"):
        bl.evaluate(path, action="layout", probability="prob", reward="revenue")


def test_per_cent_are_read() -> None:
    prob = np.array([f"{round(100 * p)}%" for p in visits()["prob"]])
    found = evaluated(prob=prob)
    assert found.table == evaluated().table
