"""Methods that hear the loss of the arm they drew, late."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from belated.arrays import Floats
from belated.report import Bars, Heat, Section, Table
from belated.research.game import Game
from belated.research.losses import Linear
from belated.research.study.contestants import ARMS
from belated.research.study.games import BLOCK, DELAYS, experts, measure
from belated.research.study.plan import Cell, Opening, Row, Study
from belated.research.study.tables import (
    bars,
    by,
    counted,
    listed,
    mean,
    numbers,
    percent,
    quoted,
    short,
    where,
)

_PATTERNS = (
    *("none", "constant", "constant, long", "uniform", "heavy tails", "outages", "often lost"),
)
_QUICK_PATTERNS = ("none", "constant, long", "heavy tails")
_GOOD: Final = 0.1
"""How much more than the best method another one may lose to count as good."""
_UNKNOWN: Final = "No game is finished yet."


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
    """Return a game, and what someone loses in it who draws all arms alike."""
    losses = LOSSES[loss](rounds, arms, seed)
    luck = float(losses.mean(axis=1).sum() - losses.sum(axis=0).min())
    return Game(Linear(losses), DELAYS[pattern](rounds, seed), f"{loss}, {pattern}"), luck


class Arms(Study):
    """Every method for arms, with losses of several kinds that are late in every way."""

    name = "arms"
    title = "Drawing arms whose losses come late"
    question = (
        "Whoever draws one of several arms hears what that one lost, and that late. Some methods "
        "must be told T and the delays, others count what is late as they go, give up on it, or "
        "borrow against what is to come. Which loses least, and how far is each from its promise?"
    )

    def cells(self, quick: bool) -> Iterator[Cell]:
        """All methods with all losses and delays."""
        rounds, seeds, sizes = (2_000, 2, (4,)) if quick else (10_000, 24, (2, 10))
        patterns = _QUICK_PATTERNS if quick else _PATTERNS
        games = product(LOSSES, patterns, sizes, range(seeds), ARMS)
        for loss, pattern, arms, seed, method in games:
            yield Cell.of(
                loss=loss,
                pattern=pattern,
                arms=arms,
                rounds=rounds,
                seed=seed,
                method=method,
            )

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game."""
        names = ("loss", "pattern", "arms", "rounds", "seed")
        game, luck = _game(*(cell[name] for name in names))
        spec = ARMS[cell["method"]].make(game, experts(cell["arms"]))
        return {**measure(spec, game, cell["seed"])[1], "luck": luck}

    def opening(self, rows: Sequence[Row]) -> Opening:
        """Who loses least in the mean, and who of those that are told nothing."""
        shares = _shares(rows)
        if not shares:
            return Opening(_UNKNOWN, ())
        first = _order(shares)[0]
        free = next((name for name in _order(shares) if ARMS[name].is_adaptive), first)
        says = (
            f"In the mean over {counted(len(shares), 'kind')} of games {quoted(first)} loses "
            f"least, {percent(_mean_share(shares, first))} of what drawing all arms alike does"
        )
        told = (
            ", and it is told nothing."
            if first == free
            else f"; of the methods that are told nothing it is {quoted(free)}, with "
            f"{percent(_mean_share(shares, free))}."
        )
        figures = [
            (percent(_mean_share(shares, first)), f"of the regret of luck: {quoted(first)}"),
            (
                f"{_wins(shares, free)} of {len(shares)}",
                f"kinds of games in which {quoted(free)} is within {percent(_GOOD)} of the best",
            ),
        ]
        reached = _reached(rows)
        if reached:
            name = max(reached, key=lambda each: reached[each])
            figures.append((short(reached[name]), f"of a bound is reached at most, by {name}"))
        return Opening(says + told, tuple(figures))

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """Who loses least, then loss by loss, then the promises."""
        shares = _shares(rows)
        if not shares:
            return ()
        kinds = [_kind(loss, group) for loss, group in by(rows, "loss").items()]
        return (_answer(shares), *kinds, _promises(rows))


# --- Numbers -------------------------------------------------------------------------------------

Place = tuple[str, str, int]
"""Losses, delays, and how many arms."""
Shares = Mapping[Place, Mapping[str, float]]


def _shares(rows: Sequence[Row]) -> Shares:
    """Return the mean regrets of the methods over that of luck, by kind of game."""
    found = {}
    for place, group in by(rows, "loss", "pattern", "arms").items():
        luck = mean(group, "luck")
        regrets = {name: mean(some, "regret") for name, some in by(group, "method").items()}
        if luck:
            found[place] = {name: x / luck for name, x in regrets.items() if x is not None}
    return found


def _mean_share(shares: Shares, method: str) -> float:
    known = [each[method] for each in shares.values() if method in each]
    return sum(known) / len(known)


def _order(shares: Shares) -> list[str]:
    """Return the methods, those that lose least first."""
    names = dict.fromkeys(name for each in shares.values() for name in each)
    return sorted(names, key=lambda name: _mean_share(shares, name))


def _wins(shares: Shares, method: str) -> int:
    """Count the kinds of games in which a method is good."""
    return sum(
        method in each and each[method] <= least + _GOOD * abs(least)
        for each in shares.values()
        for least in [min(each.values())]
    )


def _best_in(shares: Shares, method: str) -> int:
    return sum(min(each, key=lambda name: each[name]) == method for each in shares.values())


def _reached(rows: Sequence[Row], errors: float = 0.0) -> dict[str, float]:
    """Return by method the largest regret over its bound: the mean less some standard errors."""
    found: dict[str, float] = {}
    for (name, *_), group in by(rows, "method", "loss", "pattern", "arms").items():
        regrets, bound = np.array(numbers(group, "regret")), mean(group, "bound")
        if regrets.size and bound:
            spread = float(regrets.std()) / math.sqrt(max(1, regrets.size - 1))
            share = (float(regrets.mean()) - errors * spread) / bound
            found[name] = max(found.get(name, 0.0), share)
    return found


# --- Sections ------------------------------------------------------------------------------------


def _answer(shares: Shares) -> Section:
    order = _order(shares)
    patterns = tuple(dict.fromkeys(pattern for _, pattern, _ in shares))
    return Section(
        question="Who loses least?",
        figure=Heat(
            title="Regret over that of drawing all arms alike, mean over losses and arms",
            rows=tuple(order),
            columns=patterns,
            values=tuple(tuple(_under(shares, name, late) for late in patterns) for name in order),
            value_label="of the regret of luck",
            log=False,
        ),
        says=_verdict(shares, patterns),
        table=Table(
            columns=(
                *("method", "told in advance", "share of the regret of luck"),
                *("kinds of games: best", f"within {percent(_GOOD)} of the best", "worst share"),
            ),
            rows=tuple(
                (
                    name,
                    ARMS[name].told,
                    round(_mean_share(shares, name), 3),
                    _best_in(shares, name),
                    _wins(shares, name),
                    round(max(each[name] for each in shares.values() if name in each), 2),
                )
                for name in order
            ),
            caption=f"Over {counted(len(shares), 'kind')} of games: losses, delays and how many "
            "arms. Regrets are means over seeds; luck draws all arms alike.",
        ),
    )


def _under(shares: Shares, method: str, pattern: str) -> float | None:
    known = [
        each[method] for (_, late, _), each in shares.items() if late == pattern and method in each
    ]
    return sum(known) / len(known) if known else None


def _verdict(shares: Shares, patterns: Sequence[str]) -> str:
    """Name the best method under every pattern."""
    best: dict[str, list[str]] = {}
    for pattern in patterns:
        here = {place: each for place, each in shares.items() if place[1] == pattern}
        best.setdefault(_order(here)[0], []).append(quoted(pattern))
    words = [f"{quoted(name)} under {listed(late)}" for name, late in best.items()]
    return f"In the mean over losses and numbers of arms, the least is lost by {'; '.join(words)}."


def _kind(loss: str, rows: Sequence[Row]) -> Section:
    most = max(row["arms"] for row in rows)
    largest = where(rows, arms=most)
    methods, patterns = by(largest, "method"), tuple(by(largest, "pattern"))
    table = {
        name: {late: mean(where(group, pattern=late), "regret") for late in patterns}
        for name, group in methods.items()
    }
    return Section(
        question=f"Who loses least with {quoted(loss)}, {most} arms?",
        figure=Bars(
            title=f"Regret with {loss}, {most} arms",
            labels=patterns,
            groups=tuple(
                bars(name, [where(group, pattern=late) for late in patterns], "regret")
                for name, group in methods.items()
            ),
            y_label="regret",
            note="Whiskers reach from the least to the largest seed.",
        ),
        says=_least(table, patterns),
        table=Table(
            columns=("method", *patterns),
            rows=tuple(
                (name, *(None if x is None else round(x, 1) for x in row.values()))
                for name, row in table.items()
            ),
            caption="Mean regrets.",
        ),
    )


def _least(table: Mapping[str, Mapping[str, float | None]], patterns: Sequence[str]) -> str:
    """Name the method with the least regret under every pattern."""
    best: dict[str, list[str]] = {}
    for late in patterns:
        known = {name: x for name, row in table.items() if (x := row[late]) is not None}
        if known:
            best.setdefault(min(known, key=lambda name: known[name]), []).append(quoted(late))
    words = [f"{quoted(name)} under {listed(late)}" for name, late in best.items()]
    return f"Least regret: {'; '.join(words)}."


def _promises(rows: Sequence[Row]) -> Section:
    reached = _reached(rows)
    names = sorted(reached, key=lambda name: -reached[name])
    broken = [name for name, share in _reached(rows, errors=2.0).items() if share > 1.0]
    return Section(
        question="How far is each method from its promise?",
        figure=None,
        says=_kept(broken, names[0], reached[names[0]]) if names else "No method has a bound here.",
        table=Table(
            columns=("method", "largest mean regret over its bound"),
            rows=tuple((name, round(reached[name], 3)) for name in names),
            caption="Bounds are about the mean over the draws, here over seeds. Where an arm turns "
            "bad late, single draws differ by many times their mean.",
        ),
    )


def _kept(broken: Sequence[str], closest: str, share: float) -> str:
    """Say whether a bound was exceeded, and who came closest to one."""
    verdict = (
        f"{listed([quoted(name) for name in broken])} exceeded a bound"
        if broken
        else "No bound was exceeded"
    )
    return (
        f"{verdict} by more than two standard errors of the mean. Closest to one came "
        f"{quoted(closest)}, with {short(share)} of it."
    )
