"""The demo: its flights, its numbers, its words and its page."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest

from belated import demo
from belated.audits import audit
from belated.datasets import flights
from belated.demo import story
from belated.demo.story import Screen, play_live
from belated.errors import BelatedError
from belated.replays import Replay
from belated.replays.command import replay_flights

pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The text of the fast demo, and its page."""
    pytest.importorskip("vl_convert")
    out, page = io.StringIO(), tmp_path_factory.mktemp("demo") / "page.html"
    demo.tell(out, page, fast=True)
    return out.getvalue(), page


@pytest.fixture(scope="module")
def found() -> Replay:
    return replay_flights(first=story.FEW)


def test_the_story_has_its_key_facts(told: tuple[str, Path]) -> None:
    text, page = told
    for fact in (
        "3,000 real flights from New York City, 4 to 7 February 2013.",
        'bl.LinearModel("squared")',
        "AlreadyObserved: ",
        "BadFeedback: ",
        "both go on alike, to the last bit",
        "cancelled, so its delay is never known",
        "price of lateness",
        f"Written to {page}",
        "belated replay LOG --target COLUMN",
    ):
        assert fact in " ".join(text.split()), fact
    assert "DIFFER" not in text
    assert "storm" not in text  # it came later


def test_the_whole_log_has_the_storm() -> None:
    out = io.StringIO()
    story._introduce(Screen(out), flights())
    words = " ".join(out.getvalue().split())
    assert words.startswith("12,340 real flights from New York City, 4 to 17 February 2013, with")
    assert "the snow storm of the 8th and 9th" in words


def test_the_verdict_is_that_of_the_audit(told: tuple[str, Path]) -> None:
    verdict = audit(flights().take(slice(0, story.FEW))).verdict
    assert verdict in " ".join(told[0].split())


def test_the_page_is_that_of_the_replay(told: tuple[str, Path], found: Replay) -> None:
    text = told[1].read_text()
    assert found.verdict in text
    assert len(text) < 1_000_000


def test_live_flights_are_real() -> None:
    out = io.StringIO()
    log = flights()
    model = play_live(Screen(out), log)
    assert model.rounds == 5
    assert model.report().observed + model.report().late == 3
    text = out.getvalue()
    assert "DIFFER" not in text
    cancelled = int(np.argmin(log.answered))
    for row in range(cancelled - 3, cancelled + 2):
        assert f": {log.features['flight'][row]} {log.features['origin'][row]}-" in text
    assert log.target is not None
    for row in range(cancelled - 3, cancelled):
        assert f"landed, {log.target[row]:+.0f} min" in text


@pytest.mark.pictures
def test_without_plots_the_story_is_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, found: Replay
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    out = io.StringIO()
    story._write(Screen(out), tmp_path / "page.html", found)
    assert "No page: it needs vl-convert-python; pip install '.[report]'" in out.getvalue()
    assert not (tmp_path / "page.html").exists()


def test_a_page_that_cannot_be_written_is_refused(tmp_path: Path, found: Replay) -> None:
    with pytest.raises(BelatedError, match=r"cannot write .*page"):
        story._write(Screen(io.StringIO()), tmp_path, found)
    with pytest.raises(BelatedError, match=r"no folder .*; create it, or .* --out"):
        demo.tell(io.StringIO(), tmp_path / "absent" / "page.html")
