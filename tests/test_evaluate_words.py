"""What evaluations say about the log itself: its probabilities, names, columns and cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.errors import LogError
from belated.evaluations.page import page_of
from belated.evaluations.words import heads, summary

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


def test_weights_that_may_be_less_are_said_once() -> None:
    prob = np.where(visits()["layout"] == "grid", 0.9, visits()["prob"])
    found = evaluated(prob=prob)
    assert sum("should be 1 on average" in text for text in found.warnings) == 1
    assert "always grid" in found.about_log[0]


def test_names_that_differ_by_case() -> None:
    layout = visits()["layout"].astype(object)
    layout[::5] = [name.upper() for name in layout[::5]]
    found = evaluated(layout=layout)
    assert "'CLASSIC' and 'classic'" in found.about_log[0]
    assert "differ only in capital letters" in found.about_log[0]


def test_the_table_has_the_interval_that_the_standing_is_from() -> None:
    found = evaluated()
    assert heads(found)[4] == "95 %, all 4"
    judged = found.policies["uniform"]
    assert judged.surely is not None
    assert f"{judged.surely.low:.3g}".replace("-", "\u2212") in summary(found)


def test_the_context_is_listed_without_a_count_of_rows() -> None:
    found = evaluated(visit=np.arange(200))
    assert list(found.ripe.log.context) == ["device"]
    text = " ".join(summary(found).split())
    assert "Context: device" in text
    assert "Left out of it: visit, which only counts the rows." in text


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


def test_all_columns_are_asked_for_at_once() -> None:
    with pytest.raises(LogError) as caught:
        bl.evaluate(visits())
    text = str(caught.value)
    assert "no 'action', 'probability' and 'reward'" in text
    assert "--action layout --probability prob --reward revenue" in text
    with pytest.raises(LogError, match=r"--action layout --probability prob\), if"):
        bl.evaluate(visits(), reward="revenue")
