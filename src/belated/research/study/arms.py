"""Methods that hear the loss of the arm they drew, late."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from belated.arrays import Floats
from belated.report import Section, Table
from belated.report.plain import listed
from belated.research.game import Game
from belated.research.losses import Linear
from belated.research.study.contest import SLACK, Contest, contests, least_section, standings
from belated.research.study.contestants import ARMS
from belated.research.study.games import BLOCK, DELAYS, experts, measure
from belated.research.study.plan import Cell, Numbers, Study, axes
from belated.research.study.sections import bar_sections
from belated.research.study.tables import Rows, by, mean, numbers, percent, quoted, short, where


def _coins(rng: np.random.Generator, means: Floats) -> Floats:
    """Losses of 0 and 1 with these means, a row per round."""
    return np.asarray(rng.random(means.shape) < means, dtype=np.float64)


def _gap(good: float, others: float) -> Callable[[int, int, int], Floats]:
    """One arm is better than the others all along."""

    def drawn(rounds: int, arms: int, seed: int) -> Floats:
        rng = np.random.default_rng([seed, arms])
        means = np.full((rounds, arms), others)
        means[:, rng.integers(arms)] = good
        return _coins(rng, means)

    return drawn


def _turn(rounds: int, arms: int, seed: int) -> Floats:
    """One arm is good in the first third, and another one better from then on."""
    rng = np.random.default_rng([seed, arms])
    first, second = rng.permutation(arms)[:2]
    means = np.full((rounds, arms), 0.6)
    means[: rounds // 3, first] = 0.3
    means[rounds // 3 :, second] = 0.1
    return _coins(rng, means)


def _blocks(rounds: int, arms: int, seed: int) -> Floats:
    """In every block of rounds each arm loses 1 all along, or nothing: most cannot be learned."""
    rng = np.random.default_rng([seed, arms])
    drawn = rng.integers(0, 2, (-(-rounds // BLOCK), arms)).astype(np.float64)
    return np.asarray(np.repeat(drawn, BLOCK, axis=0)[:rounds])


LOSSES: Final[Mapping[str, Callable[[int, int, int], Floats]]] = MappingProxyType(
    {
        "a clear gap": _gap(0.3, 0.6),
        "a small gap": _gap(0.45, 0.55),
        "a turn": _turn,
        "blocks": _blocks,
    }
)
"""Rounds, arms and seed in, the losses of all arms out."""


@lru_cache(maxsize=8)
def _game(loss: str, pattern: str, arms: int, rounds: int, seed: int) -> tuple[Game, float]:
    """Return a game, and the regret in it of drawing all arms alike."""
    losses = LOSSES[loss](rounds, arms, seed)
    luck = float(losses.mean(axis=1).sum() - losses.sum(axis=0).min())
    return Game(Linear(losses), DELAYS[pattern](rounds, seed), f"{loss}, {pattern}"), luck


class Arms(Study):
    """Every method for arms, with losses of several kinds that are late in every way."""

    name = "arms"
    title = "Drawing arms whose losses come late"
    question = (
        "A learner that draws one of several arms receives the loss of that arm, and late. Some "
        "methods must be told T and the delays, others count what is late as they go, give up on "
        "it, or borrow against what is to come. Which loses least, and how far is each from its "
        "promise?"
    )
    grid = axes(
        loss=LOSSES,
        pattern=(
            *("none", "constant", "constant, long", "uniform", "heavy tails", "outages"),
            "often lost",
        ),
        arms=(2, 10),
        seed=range(24),
        method=ARMS,
        rounds=10_000,
    )

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game."""
        names = ("loss", "pattern", "arms", "rounds", "seed")
        game, luck = _game(*(cell[name] for name in names))
        spec = ARMS[cell["method"]].make(game, experts(cell["arms"]))
        return {**measure(spec, game, cell["seed"])[1], "luck": luck}

    def numbers(self, rows: Rows) -> Numbers:
        """The least regret in the mean, with and without facts told in advance."""
        cells = _contests(rows)
        if not cells:
            return ()
        order = standings(cells)
        first, reached = order[0], _reached(rows)
        free = next((each for each in order if ARMS[each.method].is_adaptive), first)
        wins = (
            f"kinds of games in which {quoted(free.method)} is within {percent(SLACK)} of the best"
        )
        figures = [
            (percent(first.mean), f"of the regret of luck: {quoted(first.method)}"),
            (f"{free.good} of {len(cells)}", wins),
        ]
        if reached:
            name = max(reached, key=lambda each: reached[each])
            figures.append((short(reached[name]), f"of a bound is reached at most, by {name}"))
        return tuple(figures)

    def sections(self, rows: Rows) -> tuple[Section, ...]:
        """The least regret, then loss by loss, then the promises."""
        cells = _contests(rows)
        if not cells:
            return ()
        most = max(row["arms"] for row in rows)
        kinds = bar_sections(where(rows, arms=most), ("loss", "arms"), "pattern", "method")
        columns = ("method", "told in advance")
        luck = "drawing all arms alike"
        answer = least_section(cells, luck, columns, lambda name: ARMS[name].told)
        return (answer, *kinds, _promises(rows))


def _contests(rows: Rows) -> list[Contest]:
    """Compare mean regrets with that of luck by losses, delays and number of arms."""
    kinds = ("loss", "pattern", "arms")
    return contests(rows, *kinds, unit=lambda regrets, group: mean(group, "luck"))


def _reached(rows: Rows, errors: float = 0.0) -> dict[str, float]:
    """Return by method the largest regret over its bound: the mean less some standard errors."""
    found: dict[str, float] = {}
    for (name, *_), group in by(rows, "method", "loss", "pattern", "arms").items():
        regrets, bound = np.array(numbers(group, "regret")), mean(group, "bound")
        if regrets.size and bound:
            spread = float(regrets.std()) / math.sqrt(max(1, regrets.size - 1))
            share = (float(regrets.mean()) - errors * spread) / bound
            found[name] = max(found.get(name, 0.0), share)
    return found


def _promises(rows: Rows) -> Section:
    reached = _reached(rows)
    names = sorted(reached, key=lambda name: -reached[name])
    broken = [quoted(name) for name, share in _reached(rows, errors=2.0).items() if share > 1.0]
    verdict = f"{listed(broken)} exceeded a bound" if broken else "No bound was exceeded"
    return Section(
        question="How far is each method from its promise?",
        figure=None,
        says=f"{verdict} by more than two standard errors of the mean.",
        table=Table(
            columns=("method", "largest mean regret over its bound"),
            rows=tuple((name, round(reached[name], 3)) for name in names),
            caption="Bounds are about the mean over the draws, here over seeds. Where an arm turns "
            "bad late, single draws differ by many times their mean.",
        ),
    )
