"""A chooser that learns from the log of another policy, beside one that was live."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.evaluations import warm_start

START = datetime(2026, 10, 24, tzinfo=UTC)
SETTINGS: list[dict[str, Any]] = [
    {},
    {"silence": 0.0, "deadline": timedelta(hours=3)},
    {"loss": "logistic", "silence": 0.0, "deadline": {"predictions": 40}},
]


def lived(chooser: Any, times: bool) -> dict[str, list[Any]]:
    """Let a chooser live, and return its log; some rewards come late and some never."""
    rng, names = np.random.default_rng(5), ("country", "shown_at", "action", "probability")
    log: dict[str, list[Any]] = {name: [] for name in (*names, "reward", "heard_at")}
    waiting: list[tuple[datetime, int, int]] = []
    for i in range(400):
        now, context = START + timedelta(minutes=10 * i), {"country": ["NO", "PT"][i % 2]}
        while waiting and waiting[0][0] <= now:
            heard, ticket, row = waiting.pop(0)
            chooser.observe(ticket, log["reward"][row], at=heard if times else None)
        choice = chooser.choose(context, at=now if times else None)
        is_good = (choice.action == "blue") == bool(i % 2)
        heard_at = None if rng.random() < 0.3 else now + timedelta(minutes=25)
        reward = float(rng.random() < (0.8 if is_good else 0.2))
        cells: list[Any] = [context["country"], now, choice.action, choice.probability]
        for name, cell in zip(
            log, [*cells, None if heard_at is None else reward, heard_at], strict=True
        ):
            log[name].append(cell)
        if heard_at is not None:
            waiting.append((heard_at, choice.ticket, i))
    for heard, ticket, row in waiting:
        chooser.observe(ticket, log["reward"][row], at=heard if times else None)
    return log


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("source", ["table", "store"])
def test_a_warm_start_knows_what_the_live_chooser_does(
    settings: dict[str, Any], source: str, tmp_path: Path
) -> None:
    live = bl.Chooser(["blue", "green"], bits=8, **settings)
    times = "predictions" not in str(settings)
    late = bl.Chooser(["blue", "green"], bits=8, **settings)
    if source == "table":
        log: Any = lived(live, times)
        count = warm_start(late, log, decided="shown_at", rewarded="heard_at")
    else:
        with bl.open(tmp_path / "x.db") as store:
            stored = store.model("m", live)
            lived(stored, times)
            live = bl.Chooser.restore(stored.snapshot())
            count = warm_start(late, store.log("m"))
    assert (count, late.mode, late.rounds) == (400, "learn", live.rounds)
    for country in ("PT", "NO"):
        ours = {option.action: option.value for option in late.peek({"country": country})}
        theirs = {option.action: option.value for option in live.peek({"country": country})}
        assert ours == pytest.approx(theirs, rel=1e-9)
    if times:  # its clock is that of the log
        later = START + timedelta(days=30)
        assert late.choose({"country": "PT"}, at=later).action in ("blue", "green")
