"""All methods that are told gradients, on the same games."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from belated.report import Bars, Heat, Section, Series, Table
from belated.research.study.contestants import (
    CONVEX,
    DEFAULT,
    EXPERTS,
    OURS,
    OURS_OMD,
    STRONGLY_CONVEX,
    TIGHT,
    Field,
)
from belated.research.study.default import ROUNDING, default_opening, default_sections
from belated.research.study.fits import geometric_mean
from belated.research.study.games import ball, experts, game_of, measure, setting_cell
from belated.research.study.plan import Cell, Opening, Row, Study
from belated.research.study.tables import by, listed, mean, quoted, short

_FIELDS: dict[str, Field] = {
    "convex": CONVEX,
    "strongly convex": STRONGLY_CONVEX,
    "experts": EXPERTS,
}
_FULL = {
    "convex": (
        *("linear", "linear, noisy", "linear, drifting", "linear, switching", "linear, blocks"),
        *("alternating", "adversary", "absolute", "squared", "logistic", "hinge"),
    ),
    "strongly convex": ("quadratic", "quadratic, noisy"),
    "experts": ("linear", "linear, noisy"),
}
_QUICK = {
    "convex": ("linear", "linear, noisy", "linear, drifting", "adversary"),
    "strongly convex": ("quadratic", "quadratic, noisy"),
}
_LEFT_OUT = (
    *("DMD", "SDMD", "SOLID", "Delayed OGD", "FTDRL", "DOOMD"),
    *("Koloskova-Stich-Jaggi", "Ringmaster", "WOFTRL", "ODFTRL, learned hints"),
    *("Delayed Frank-Wolfe", "Delayed Frank-Wolfe, strongly convex"),
)
"""Not in the quick version: most take nearly the steps of another, or are far behind."""
_QUICK_ONLY = {
    "adversary": (
        *(DEFAULT, OURS, TIGHT, "Zinkevich", "BOLD", "Quanrud-Khashabi", "ODFTRL"),
        "Delayed dual averaging",
    ),
    "linear, drifting": (DEFAULT, OURS, OURS_OMD, "Zinkevich", "Quanrud-Khashabi"),
}
"""Who plays these in the quick version; all do in the full one."""
_PATTERNS = (
    *("none", "constant", "constant, long", "geometric", "pareto", "heavy tails", "bursts"),
    *("outages", "queue", "footnote", "first_rounds", "often lost"),
)
_QUICK_PATTERNS = ("none", "constant", "pareto", "first_rounds")
_KEEP_ORDER = ("none", "constant", "constant, long")
_CANNOT = {
    "FTDRL": ("adversary", "absolute", "squared", "logistic", "hinge"),  # is told coefficients
    "DMD": ("adversary",),  # is shown whole losses
    "Delayed ONS": (  # is for exp-concave ones
        *("linear", "linear, noisy", "linear, drifting", "linear, switching", "linear, blocks"),
        *("alternating", "adversary", "absolute", "hinge"),
    ),
}
"""Losses that a method cannot take."""


class FirstOrderRivals(Study):
    """Every first-order method of ``contestants`` on every loss and every pattern."""

    name = "first-order"
    title = "First-order methods under delay"
    question = (
        "Which method loses least when gradients come late, and what did it have to be told? The "
        "rivals play the same games, each with the true facts that it asks for. Ours are told "
        "nothing about the delays: 'Ours' is the paper's algorithm, and 'Ours, default' what "
        "Problem.learner() returns."
    )

    def cells(self, quick: bool) -> Iterator[Cell]:
        """Every method on every game that it can play."""
        rounds, seeds = (4_000, 2) if quick else (20_000, 3)
        patterns = _QUICK_PATTERNS if quick else _PATTERNS
        for setting, losses in (_QUICK if quick else _FULL).items():
            for loss, pattern, seed in product(losses, patterns, range(seeds)):
                for method in _who_can(setting, loss, pattern, quick):
                    yield setting_cell(
                        setting,
                        method,
                        loss=loss,
                        pattern=pattern,
                        rounds=rounds,
                        dim=5,
                        seed=seed,
                    )

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game."""
        game = game_of(cell["loss"], cell["pattern"], cell["dim"], cell["rounds"], cell["seed"])
        domain = (experts if cell["setting"] == "experts" else ball)(cell["dim"])
        spec = _FIELDS[cell["setting"]][cell["method"]].make(game, domain)
        row = measure(spec, game, cell["seed"])[1]
        lipschitz = game.problem(domain, convex=True).lipschitz
        scale = lipschitz * domain.diameter * math.sqrt(cell["rounds"] + row["total_delay"])
        return {**row, "scale": scale}

    def opening(self, rows: Sequence[Row]) -> Opening:
        """How often the default is good, and by how much it is not."""
        return default_opening(rows)

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """The default, then wins per setting and a heat map per loss."""
        settings = by(rows, "setting").items()
        return (
            *default_sections(rows),
            *(section for setting, group in settings for section in _setting(setting, group)),
        )


def _who_can(setting: str, loss: str, pattern: str, quick: bool) -> Iterator[str]:
    """Name the methods that play such a game."""
    for name, method in _FIELDS[setting].items():
        if method.in_order and pattern not in _KEEP_ORDER:
            continue
        if loss in _CANNOT.get(name, ()) or (quick and _is_left_out(setting, loss, name)):
            continue
        yield name


def _is_left_out(setting: str, loss: str, name: str) -> bool:
    if loss in _QUICK_ONLY:
        return name not in _QUICK_ONLY[loss]
    return name in _LEFT_OUT and (setting == "convex" or "strongly convex" in name)


class Score(NamedTuple):
    """How a method did with one kind of losses."""

    method: str
    told: str
    is_ours: bool
    regrets: dict[str, float]
    """By pattern: its mean regret over the least one, or over the scale of the game."""
    won: tuple[str, ...]
    """Patterns under which nobody was better; what differs by rounding only is a tie."""

    @property
    def mean(self) -> float:
        """Its regret in the mean over the patterns: a geometric one where all are positive."""
        values = list(self.regrets.values())
        return geometric_mean(values) or sum(values) / len(values)


class Ranking(NamedTuple):
    """All methods with one kind of losses, best first."""

    loss: str
    scores: list[Score]
    is_scaled: bool
    """Regret is shown over G D sqrt(T + d_tot), since someone did without any."""

    @property
    def unit(self) -> str:
        """What regrets are multiples of."""
        return "G D sqrt(T + d_tot)" if self.is_scaled else "the least regret"


def ranking(loss: str, rows: Sequence[Row]) -> Ranking:
    """Compare mean regrets with one loss: as multiples of the least one, where that is positive.

    Where losses change, a learner can do better than every fixed action. Then there is no ratio to
    the best, and regrets are shown on the scale of the bounds.
    """
    means: dict[str, dict[str, float]] = {}
    scales: dict[str, float] = {}
    for pattern, group in by(rows, "pattern").items():
        found = {name: mean(each, "regret") for name, each in by(group, "method").items()}
        means[pattern] = {name: value for name, value in found.items() if value is not None}
        scales[pattern] = mean(group, "scale") or 1.0
    best = {pattern: min(known.values()) for pattern, known in means.items()}
    is_scaled = min(best.values()) <= 0.0
    units = scales if is_scaled else best
    scores = []
    for method, group in by(rows, "method").items():
        played = {pattern: known[method] for pattern, known in means.items() if method in known}
        won = (
            pattern
            for pattern, regret in played.items()
            if regret - best[pattern] <= ROUNDING * scales[pattern]
        )
        regrets = {pattern: regret / units[pattern] for pattern, regret in played.items()}
        who = _FIELDS[group[0]["setting"]][method]
        scores.append(Score(method, who.told, who.is_ours, regrets, tuple(won)))
    return Ranking(loss, sorted(scores, key=lambda each: (each.mean, each.method)), is_scaled)


def _setting(setting: str, rows: Sequence[Row]) -> Iterator[Section]:
    rankings = [ranking(loss, group) for loss, group in by(rows, "loss").items()]
    yield _wins(setting, rankings)
    for each in rankings:
        yield Section(
            question=f"Who loses least with losses of the kind '{each.loss}' ({setting})?",
            figure=_heat(each),
            says=_says(each),
            table=_table(each),
        )


def _wins(setting: str, rankings: list[Ranking]) -> Section:
    """Count games over all losses."""
    scores = [score for each in rankings for score in each.scores]
    wins: dict[str, int] = {}
    games: dict[str, int] = {}
    for score in scores:
        wins[score.method] = wins.get(score.method, 0) + len(score.won)
        games[score.method] = games.get(score.method, 0) + len(score.regrets)
    order = sorted(wins, key=lambda name: (-wins[name], name))
    first = [quoted(name) for name in order if wins[name] == wins[order[0]]]
    ours = {score.method for score in scores if score.is_ours}
    own = listed(
        [f"{quoted(name)} {wins[name]} of {games[name]}" for name in order if name in ours]
    )
    told = {score.method: score.told for score in scores}
    return Section(
        question=f"Who wins most often ({setting})?",
        figure=Bars(
            title=f"Games won, {setting}",
            labels=tuple(order),
            groups=(Series("wins", (), tuple(float(wins[name]) for name in order)),),
            y_label="games",
            by_label=True,
        ),
        says=f"Most wins: {listed(first)} with {wins[order[0]]}. Wins of ours, which are told "
        f"nothing: {own}. A tie is a win for all, and not all methods play all games.",
        table=Table(
            columns=("method", "told in advance", "games", "wins"),
            rows=tuple((name, told[name], games[name], wins[name]) for name in order),
        ),
    )


def _heat(ranking: Ranking) -> Heat:
    patterns = tuple(dict.fromkeys(key for score in ranking.scores for key in score.regrets))
    return Heat(
        title=f"Regret over {ranking.unit}, {ranking.loss}",
        rows=tuple(score.method for score in ranking.scores),
        columns=patterns,
        values=tuple(
            tuple(_rounded(score.regrets.get(pattern)) for pattern in patterns)
            for score in ranking.scores
        ),
        value_label=f"times {ranking.unit}",
        log=not ranking.is_scaled,
    )


def _rounded(value: float | None) -> float | None:
    """Drop digits that a cell of a heat map has no room for."""
    return None if value is None else round(value, 2)


def _says(ranking: Ranking) -> str:
    """Name the winners, and where ours stand."""
    order = sorted(ranking.scores, key=lambda score: (-len(score.won), score.method))
    count = len({pattern for score in order for pattern in score.regrets})
    wins = listed(
        [f"{quoted(score.method)} ({_under(score.won, count)})" for score in order if score.won]
    )
    own = "; ".join(
        f"{quoted(score.method)} {_range(list(score.regrets.values()))}"
        for score in ranking.scores
        if score.is_ours
    )
    says = f"The least regret was that of {wins}. As multiples of {ranking.unit}: {own}."
    if ranking.is_scaled:
        says += " Negative regret is possible here: the losses change, and a learner can follow."
    return says


def _under(won: Sequence[str], count: int) -> str:
    """Name the patterns that were won, out of so many."""
    return "all patterns" if len(won) == count else listed([quoted(name) for name in won])


def _range(values: list[float]) -> str:
    low, high = short(min(values)), short(max(values))
    return low if low == high else f"{low} to {high}"


def _table(ranking: Ranking) -> Table:
    return Table(
        columns=("method", "told in advance", "games", "wins", "mean", "best", "worst"),
        rows=tuple(
            (
                score.method,
                score.told,
                len(score.regrets),
                len(score.won),
                round(score.mean, 3),
                round(min(score.regrets.values()), 3),
                round(max(score.regrets.values()), 3),
            )
            for score in ranking.scores
        ),
        caption=f"Regrets over {ranking.unit}; means are geometric where all are positive.",
    )
