"""The paper's Table 1, measured: one value per round, late."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from belated.report import Section, Series, Table
from belated.research import delays
from belated.research.game import Game
from belated.research.study.contestants import GOLD_R, OURS, STRONGLY_CONVEX_VALUES, VALUES, Field
from belated.research.study.fits import geometric_mean
from belated.research.study.games import LOSSES, PLAIN, ball, game_of, measure, setting_cell
from belated.research.study.layout import growth_table, regret_figure
from belated.research.study.plan import Cell, Opening, Row, Study
from belated.research.study.tables import (
    Rows,
    by,
    counted,
    growth,
    least,
    line,
    listed,
    mean,
    quoted,
    short,
    where,
)

_FIELDS: dict[str, Field] = {"convex": VALUES, "strongly convex": STRONGLY_CONVEX_VALUES}
_PATTERNS = ("none", "constant, root T", "footnote", "first_rounds", "heavy tails")
_DIM = 2
_LOSSES = {"linear": "convex", "absolute": "convex", "quadratic": "strongly convex"}
"""Losses that are played in several dimensions, and the setting of each."""
_DIMS = (2, 8, 16)

Promise = Callable[[float, float, float, float], float]
"""From T, d_tot, d_max and sigma_max to the order of a bound."""

_PROMISES: dict[tuple[str, str], Promise] = {
    ("convex", OURS): lambda T, total, longest, width: T**0.75 + math.sqrt(total),
    ("convex", "Bistritz et al."): lambda T, total, longest, width: (
        T**0.75 + (T * total) ** (1 / 3)
    ),
    ("convex", "Bistritz et al., doubling"): lambda T, total, longest, width: (
        T**0.75 + (T * total) ** (1 / 3)
    ),
    ("convex", "D-FTBL"): lambda T, total, longest, width: T**0.75 + math.sqrt(longest * T),
    **{
        ("convex", name): lambda T, total, longest, width: (
            T**0.75 + T ** (2 / 3) * longest ** (1 / 3)
        )
        for name in ("GOLD", GOLD_R)
    },
    ("strongly convex", OURS): lambda T, total, longest, width: (
        _root(T) + min(width * math.log(math.e * T), math.sqrt(total))
    ),
    ("strongly convex", "D-FTBL, strongly convex"): lambda T, total, longest, width: (
        _root(T) + longest * math.log(math.e * T)
    ),
}


def _root(rounds: float) -> float:
    """T^(2/3) (ln T)^(1/3)."""
    return float(rounds ** (2 / 3) * math.log(math.e * rounds) ** (1 / 3))


class Table1(Study):
    """Regret of the bandit methods over horizons, patterns and total delay."""

    name = "table1"
    title = "Table 1, measured"
    question = (
        "With one value per round the published bounds differ in how delay enters: through the "
        "total delay, the largest delay, or the backlog. Does the measured regret grow as the "
        "bounds promise, and who loses least? Growth is measured in two dimensions, with linear "
        "and with quadratic losses; who loses least, with three kinds of losses in up to 16."
    )

    def cells(self, quick: bool) -> Iterator[Cell]:
        """Horizons for every pattern, constant delays at one horizon, and losses by dimension."""
        horizons = [10**3, 10**4, 10**5] if quick else [round(10 ** (n / 2)) for n in range(6, 13)]
        fixed = 20_000 if quick else 100_000
        waits = (10, 100, 1000) if quick else (10, 30, 100, 300, 1000, 3000, 10_000)
        seeds = 3 if quick else 5
        for setting, field in _FIELDS.items():
            games = [(pattern, rounds, 0) for pattern in _PATTERNS for rounds in horizons]
            games += [("constant", fixed, wait) for wait in waits]
            for game, seed, method in product(games, range(seeds), field):
                yield _cell(PLAIN[setting], _DIM, method, *game, seed)
        broad = product(_LOSSES, _DIMS, _PATTERNS, range(seeds))
        for loss, dim, pattern, seed in broad:
            for method in _FIELDS[_LOSSES[loss]]:
                yield _cell(loss, dim, method, pattern, _broad(quick), 0, seed)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game; ``promise`` is the order of the method's bound on its delays."""
        setting, method, seed = cell["setting"], cell["method"], cell["seed"]
        game = _game(*(cell[name] for name in ("loss", "dim", "pattern", "rounds", "wait", "seed")))
        run, row = measure(_FIELDS[setting][method].make(game, ball(cell["dim"])), game, seed)
        promise = _PROMISES.get((setting, method)) or _PROMISES.get(("convex", method))
        late = run.timeline
        facts = (late.rounds, late.total_delay, late.max_delay, late.max_backlog)
        return {**row, "promise": None if promise is None else promise(*map(float, facts))}

    def opening(self, rows: Sequence[Row]) -> Opening:
        """How often ours loses least, and whether regret grows as promised."""
        duels = _duels(rows)
        fits = list(_promises_kept(rows))
        kept = sum(fits)
        says = f"Ours grows no faster than its bound promises in {kept} of {len(fits)} ranges"
        numbers = [(f"{kept} of {len(fits)}", "ranges in which regret grows as promised, or less")]
        if duels:
            won = sum(duel.is_won for duel in duels)
            ratios = [duel.ours / duel.theirs for duel in duels if duel.theirs > 0.0 < duel.ours]
            says += f", and has the least regret in {won} of {len(duels)} kinds of games"
            numbers.append((f"{won} of {len(duels)}", "kinds of games in which ours loses least"))
            if ratios:
                typical = short(geometric_mean(ratios))
                numbers.append((f"{typical} times", "the regret of the best rival, in the mean"))
        return Opening(f"{says}.", tuple(numbers))

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """Who loses least, then horizons and total delay for each setting."""
        found = [_who_wins(rows)]
        for setting, group in by(rows, "setting").items():
            plain = where(group, loss=PLAIN[setting], dim=_DIM)
            horizons = where(plain, wait=0)
            found += [_horizons(setting, *each) for each in by(horizons, "pattern").items()]
            if waits := [row for row in plain if row["wait"]]:
                found.append(_delays(setting, waits))
        return tuple(found)


def _broad(quick: bool) -> int:
    """Return the horizon at which losses and dimensions are compared; it is one of the others."""
    return 10_000 if quick else 100_000


def _cell(
    loss: str, dim: int, method: str, pattern: str, rounds: int, wait: int, seed: int
) -> Cell:
    return setting_cell(
        _LOSSES[loss],
        method,
        loss=loss,
        dim=dim,
        pattern=pattern,
        rounds=rounds,
        wait=wait,
        seed=seed,
    )


def _game(loss: str, dim: int, pattern: str, rounds: int, wait: int, seed: int) -> Game:
    if wait:
        return Game(LOSSES[loss](dim, seed), delays.constant(rounds, wait), f"{loss}, wait {wait}")
    return game_of(loss, pattern, dim, rounds, seed)


# ---- who loses least ---------------------------------------------------------------------------


class _Duel(NamedTuple):
    """Ours and the best rival in one kind of game; regrets are means over seeds."""

    loss: str
    dim: int
    pattern: str
    ours: float
    rival: str
    theirs: float

    @property
    def is_won(self) -> bool:
        """Whether ours lost least."""
        return self.ours <= self.theirs


def _duels(rows: Rows) -> list[_Duel]:
    """Return a duel for every kind of game that all dimensions were played at."""
    rounds = max((row["rounds"] for row in rows if row["dim"] != _DIM), default=0)
    found = []
    games = by(where(rows, rounds=rounds, wait=0), "loss", "dim", "pattern")
    for (loss, dim, pattern), group in games.items():
        regrets = {name: mean(played, "regret") for name, played in by(group, "method").items()}
        ours = regrets.pop(OURS, None)
        rivals = [(lost, name) for name, lost in regrets.items() if lost is not None]
        if ours is not None and rivals:
            lost, name = min(rivals)
            found.append(_Duel(loss, dim, pattern, ours, name, lost))
    return sorted(found, key=lambda duel: (list(_LOSSES).index(duel.loss), duel.dim))


def _who_wins(rows: Rows) -> Section:
    """Say who loses least with which losses, in which dimensions."""
    duels = _duels(rows)
    by_loss: dict[str, list[_Duel]] = {}
    for duel in duels:
        by_loss.setdefault(duel.loss, []).append(duel)
    return Section(
        question="Who loses least, with which losses and in how many dimensions?",
        figure=None,
        says=" ".join(_verdict(*each) for each in by_loss.items()) or "Nobody has played yet.",
        table=Table(
            columns=(
                *("losses", "dimension", "delays", "ours", "best rival", "told in advance"),
                *("its regret", "ours / its"),
            ),
            rows=tuple(
                (
                    *(duel.loss, duel.dim, duel.pattern, duel.ours, duel.rival),
                    _FIELDS[_LOSSES[duel.loss]][duel.rival].told,
                    duel.theirs,
                    duel.ours / duel.theirs if duel.theirs > 0.0 else None,
                )
                for duel in duels
            ),
            caption="Regrets are means over seeds at one horizon. Ours is told nothing.",
        ),
    )


def _verdict(loss: str, duels: Sequence[_Duel]) -> str:
    """Say how often ours lost least, and what it loses otherwise."""
    won = [duel for duel in duels if duel.is_won]
    first = f"With {loss} losses ours had the least regret in {len(won)} of {len(duels)} games"
    ratios = [duel.ours / duel.theirs for duel in duels if not duel.is_won and duel.theirs > 0.0]
    if not ratios:
        return f"{first}."
    names = dict.fromkeys(duel.rival for duel in duels if not duel.is_won)
    ends = dict.fromkeys([short(min(ratios)), short(max(ratios))])
    others = f"{' to '.join(ends)} times that of the best rival"
    return f"{first}, and in the others {others} ({listed([quoted(name) for name in names])})."


def _promises_kept(rows: Rows) -> Iterator[bool]:
    """Tell of every range of rounds or delays whether ours grows no faster than its bound."""
    for setting, group in by(rows, "setting").items():
        plain = where(group, loss=PLAIN[setting], dim=_DIM, method=OURS)
        ranges = [(each, "rounds") for each in by(where(plain, wait=0), "pattern").values()]
        ranges.append(([row for row in plain if row["wait"]], "total_delay"))
        for played, x in ranges:
            ours, promised = growth(played, x, "regret"), growth(played, x, "promise")
            if ours is not None and promised is not None:
                yield ours.low <= promised.slope


# ---- growth ------------------------------------------------------------------------------------


def _horizons(setting: str, pattern: str, rows: Sequence[Row]) -> Section:
    title = f"Regret over rounds, {setting}, {pattern}"
    return Section(
        question=f"How does regret grow with the horizon ({setting}, {pattern})?",
        figure=regret_figure(title, rows, "rounds", "rounds T"),
        says=_says(rows, "rounds", "T"),
        table=_table(setting, rows, "rounds", "T"),
    )


def _delays(setting: str, rows: Sequence[Row]) -> Section:
    title = f"Regret over total delay, {setting}"
    slope = _reference(where(rows, method=OURS))
    return Section(
        question=f"How does regret grow with total delay at one horizon ({setting})?",
        figure=regret_figure(title, rows, "total_delay", "total delay", *slope),
        says=_says(rows, "total_delay", "d_tot"),
        table=_table(setting, rows, "total_delay", "d_tot"),
    )


def _reference(rows: Sequence[Row]) -> tuple[Series, ...]:
    """The promised order of our bound, moved to where our regret ends."""
    end = max((row["total_delay"] for row in rows), default=0)
    last = mean(where(rows, total_delay=end), "regret")
    promised = mean(where(rows, total_delay=end), "promise")
    if not last or not promised or last < 0.0:
        return ()
    moved = [{**row, "moved": row["promise"] * last / promised} for row in rows]
    return (line(f"{OURS} (order of the bound)", moved, "total_delay", "moved", dashed=True),)


def _says(rows: Sequence[Row], x: str, symbol: str) -> str:
    """Name who loses least at the far end, and how ours compares with its promise."""
    end = max(row[x] for row in rows)
    last = by(where(rows, **{x: end}), "method")
    best = least(last, lambda name: mean(last[name], "regret"))
    ours = growth(where(rows, method=OURS), x, "regret")
    promised = growth(where(rows, method=OURS), x, "promise")
    first = f"At {symbol} = {end:,} the least regret is that of {quoted(best)}"
    if best and best != OURS and OURS in last:
        ratio = (mean(last[OURS], "regret") or 0.0) / (mean(last[best], "regret") or math.inf)
        first += f", and ours is {short(ratio)} times that"
    if ours is None or promised is None:
        return f"{first}. There are too few points for an exponent."
    verdict = "no faster than" if ours.low <= promised.slope else "faster than"
    return (
        f"{first}. Our regret grows like {symbol}^{ours}, {verdict} the {symbol}^"
        f"{promised.slope:.2f} of the bound over this range."
    )


def _table(setting: str, rows: Sequence[Row], x: str, symbol: str) -> Table:
    end = max(row[x] for row in rows)

    def promised(group: Rows) -> float | None:
        fit = growth(group, x, "promise")
        return None if fit is None else round(fit.slope, 3)

    return growth_table(
        _FIELDS[setting],
        rows,
        x,
        symbol,
        {
            "promised": promised,
            f"regret at the largest {symbol}": lambda group: mean(
                where(group, **{x: end}), "regret"
            ),
        },
        caption=f"Exponents come from {counted(len(by(rows, x)), 'point')}; the promised one is "
        "that of the bound on the same delays, where there is one.",
    )
