"""The demo: its world, its numbers, its words and its picture."""

from __future__ import annotations

import dataclasses
import io
import re
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from belated import demo
from belated.demo import race, story
from belated.demo.live_rounds import play_live
from belated.demo.race import Run
from belated.demo.screen import WIDTH, Screen
from belated.demo.shop import HALF, HIGH, LIPSCHITZ, LOW, PROMISES, Orders, orders
from belated.errors import BelatedError


class Terminal(io.StringIO):
    """A text stream that says a person is looking."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The text of the fast demo, and its picture."""
    out, picture = io.StringIO(), tmp_path_factory.mktemp("demo") / "picture.png"
    demo.tell(out, picture, fast=True)
    return out.getvalue(), picture


@pytest.fixture(scope="module")
def world() -> Orders:
    return orders(story.QUARTER, seed=0)


@pytest.fixture(scope="module")
def runs(world: Orders) -> dict[str, Run]:
    return {run.name: run for run in race.race(world, lambda name: None)}


def test_the_story_has_its_key_facts(told: tuple[str, Path]) -> None:
    text, picture = told
    for fact in (
        "bl.Problem(box, lipschitz=1.41421)",
        "Corollary",
        "AlreadyObserved: ",
        "BadFeedback: ",
        "gave up on 1 that took too long",
        "too late, it is dropped",
        "both go on alike, to the last bit",
        "The certificate holds",
        f"Written to {picture}",
    ):
        assert fact in text
    assert "DIFFER" not in text


def test_the_story_is_short_and_plain(told: tuple[str, Path]) -> None:
    lines = told[0].splitlines()
    assert 40 <= len(lines) <= 75
    assert max(len(line) for line in lines if "Written to" not in line) <= 100
    assert "\x1b" not in told[0]
    assert told[0].isascii()


def test_the_picture_can_be_read(told: tuple[str, Path]) -> None:
    image = pytest.importorskip("matplotlib.image").imread(told[1])
    height, width = image.shape[:2]
    assert 1500 <= width <= 2500
    assert 900 <= height <= 1800
    assert np.std(image[..., :3]) > 0.05  # not blank
    assert 30_000 < told[1].stat().st_size < 1_000_000


def test_the_table_holds_the_computed_numbers(
    told: tuple[str, Path], world: Orders, runs: dict[str, Run]
) -> None:
    for run in runs.values():
        line = next(row for row in told[0].splitlines() if row.startswith(f"  {run.name}  "))
        loss, regret, used, certificate = line[len(run.name) + 2 :].split()
        assert loss == f"{world.losses(run.promises).sum():,.0f}"
        assert regret == f"{run.final_regret:,.0f}"
        assert used == f"{run.report.observed:,}"
        found = run.report.certificate
        assert certificate == ("none" if found is None else f"{found.total:,.0f}")


def test_the_certificate_in_words_is_the_one_of_the_report(
    told: tuple[str, Path], runs: dict[str, Run]
) -> None:
    certificate = runs[race.SKIPPING].report.certificate
    assert certificate is not None
    words = " ".join(told[0].split())
    assert f"regret at most {certificate.total:,.0f} against any fixed promise" in words


@pytest.mark.parametrize("winner", [race.SKIPPING, race.PATIENT, race.WAITING, race.BLIND])
def test_whoever_wins_is_named(winner: str, runs: dict[str, Run]) -> None:
    better = dataclasses.replace(runs[winner], regret=np.array([-12345.0]))
    words = story._who_wins({**runs, winner: better})
    assert f'"{winner}" (-12,345)' in words.split(", then")[0]
    assert ("a rival wins" in words) == (winner in race.RIVALS)


def test_a_longer_wait_is_judged_by_its_numbers(world: Orders, runs: dict[str, Run]) -> None:
    longer = race.wait(world, story.LONGER).final_regret
    words = story._what_if_longer(world, runs)
    assert f"would be {longer:,.0f}, " in words
    worse = dataclasses.replace(runs[race.SKIPPING], regret=np.array([1e9]))
    beaten = dict.fromkeys(runs, worse)
    assert "less than 1,000,000,000 of belated" in story._what_if_longer(world, beaten)


def test_a_certificate_that_fails_would_be_called_so(world: Orders, runs: dict[str, Run]) -> None:
    run = dataclasses.replace(runs[race.SKIPPING], regret=np.array([1e9]))
    assert "FAILS" in story._judge(run, runs[race.PATIENT], world)


def test_every_certificate_holds_all_the_way(runs: dict[str, Run]) -> None:
    for run in runs.values():
        for sample in run.samples:
            if sample.certificate is not None:
                assert run.regret[sample.round - 1] <= sample.certificate.total


def test_no_fixed_promise_is_better_than_the_best(world: Orders) -> None:
    def total(promise: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return float(world.losses(np.broadcast_to(promise, world.truth.shape)).sum())

    best = world.best_promise()
    for steps in product((-0.3, -0.01, 0.0, 0.01, 0.3), repeat=2):
        assert total(best) <= total(np.clip(best + np.array(steps) * HALF, LOW, HIGH)) + 1e-9


def test_gradients_are_slopes_and_within_lipschitz(world: Orders) -> None:
    promise = np.array(PROMISES.center)
    for order in range(50):
        gradient = world.gradient(order, promise)
        assert np.linalg.norm(gradient * HALF) <= LIPSCHITZ + 1e-12
        moved = promise + 1e-6 * HALF
        one = Orders(world.truth[order : order + 1], world.timeline)
        slope = (one.losses(moved[None]) - one.losses(promise[None]))[0] / 1e-6
        assert slope == pytest.approx(float(gradient @ HALF), abs=1e-6)


def test_the_waiting_learner_never_uses_an_old_answer(world: Orders) -> None:
    steps = list(race._impatient(race._events(world), race.PATIENCE))
    newest, closed = -1, set()
    for action, ticket in steps:
        if action == "predict":
            newest = ticket
            continue
        assert ticket not in closed
        closed.add(ticket)
        late = newest - ticket > race.PATIENCE
        assert not late if action == "observe" else newest - ticket == race.PATIENCE


def test_worlds_follow_their_seed() -> None:
    one, same, other = orders(100, 1), orders(100, 1), orders(100, 2)
    assert (one.truth == same.truth).all()
    assert one.timeline == same.timeline
    assert not (one.truth == other.truth).all()


@pytest.mark.parametrize("seed", range(5))
def test_live_rounds_work_in_any_world(seed: int) -> None:
    out = io.StringIO()
    learner = play_live(Screen(out), orders(10, seed))
    assert (learner.rounds, learner.open, learner.report().skipped) == (4, 0, 1)
    assert "DIFFER" not in out.getvalue()


def test_colour_is_for_people_who_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def titled(out: io.StringIO) -> str:
        Screen(out).title("Hello")
        return out.getvalue()

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert titled(io.StringIO()) == "\nHello\n"
    assert titled(Terminal()) == "\n\x1b[1mHello\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert titled(Terminal()) == "\nHello\n"


def test_events_are_wrapped_under_their_text() -> None:
    out = io.StringIO()
    Screen(out).event("again", "word " * 40)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert all(re.match(r" {12}word", line) for line in lines[1:])


def test_without_matplotlib_the_story_is_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, world: Orders, runs: dict[str, Run]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    out = io.StringIO()
    story._draw(Screen(out), tmp_path / "picture.png", world, runs)
    assert "pip install 'belated[report]'" in out.getvalue()
    assert not (tmp_path / "picture.png").exists()


def test_a_format_that_cannot_be_written_is_refused(
    tmp_path: Path, world: Orders, runs: dict[str, Run]
) -> None:
    with pytest.raises(BelatedError, match=r"cannot write .*picture\.nonsense"):
        story._draw(Screen(io.StringIO()), tmp_path / "picture.nonsense", world, runs)
