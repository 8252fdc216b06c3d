"""Rows say what a contestant is told, and who loses least is read off them."""

from __future__ import annotations

import pytest

import belated as bl
from belated import delays
from belated.research.study import contestants
from belated.research.study.contestants import Contestant, Field
from belated.research.study.games import LOSSES
from belated.research.study.plan import Row
from belated.research.study.table1 import Table1

FIELDS: dict[str, tuple[Field, str]] = {
    "convex": (contestants.CONVEX, "linear"),
    "strongly convex": (contestants.STRONGLY_CONVEX, "quadratic"),
    "experts": (contestants.EXPERTS, "linear"),
    "arms": (contestants.ARMS, "linear"),
    "values": (contestants.VALUES, "linear"),
    "strongly convex values": (contestants.STRONGLY_CONVEX_VALUES, "quadratic"),
    "answers": (contestants.ANSWERS, "linear"),
    "curved answers": (contestants.CURVED_ANSWERS, "quadratic"),
}
EVERY = [
    pytest.param(each, loss, id=f"{name}, {each.name}")
    for name, (field, loss) in FIELDS.items()
    for each in field.values()
]


@pytest.mark.parametrize(("contestant", "loss"), EVERY)
def test_a_row_says_what_its_method_is_told(contestant: Contestant, loss: str) -> None:
    """What does not change with the horizon or the delays was not told them."""
    losses = LOSSES[loss](3, 0)
    probabilities = (*contestants.EXPERTS.values(), *contestants.ARMS.values())
    domain = bl.Simplex(3) if contestant in probabilities else bl.Ball(3)

    def made(timeline: bl.Timeline) -> object:
        return contestant.make(bl.Game(losses, timeline), domain)

    plain = made(delays.constant(400, 3))
    depends = {
        "T": made(bl.Timeline.from_delays([3] * 397 + [2, 1, 0] + [0] * 100)) != plain,
        "delays": made(delays.constant(400, 7)) != plain,
    }
    told = contestant.told.split(", ")
    assert depends["T"] == ("T" in told)
    assert depends["delays"] == bool({"d_tot", "d_max", "sigma_max"} & set(told))


def row(method: str, regret: float, **more: object) -> Row:
    """Return a row of the study."""
    game = {"loss": "linear", "dim": 2, "pattern": "none", "rounds": 100_000, "wait": 0, "seed": 0}
    found = {"setting": "convex", "total_delay": 0, "promise": None, "regret": regret}
    return {**game, **found, "method": method, **more}


def test_who_loses_least() -> None:
    rows = [
        *(row("Ours", 10.0), row("GOLD", 12.0), row("D-FTBL", 30.0)),
        *(row("Ours", 21.0, dim=8), row("Ours", 23.0, dim=8, seed=1)),
        *(row("GOLD", 11.0, dim=8), row("GOLD", 9.0, dim=8, seed=1)),
        *(row("Ours", 4.0, loss="absolute"), row("D-FTBL", 3.0, loss="absolute")),
    ]
    first = Table1().sections(rows)[0]
    assert first.says.startswith("Ours had the least regret in 1 of 2 with linear losses, 0 of 1")
    assert first.table is not None
    assert first.table.rows == (
        ("linear", 2, "none", 10.0, "GOLD", "a = 0", 12.0, 10.0 / 12.0),
        ("linear", 8, "none", 22.0, "GOLD", "a = 0", 10.0, 2.2),
        ("absolute", 2, "none", 4.0, "D-FTBL", "T, d_max", 3.0, 4.0 / 3.0),
    )
