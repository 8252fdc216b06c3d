"""Rules of exploration for choosers, in worlds whose rewards come late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from belated.explore import Exploration, GapWeighted, Greedy, Uniform
from belated.models.chooser import Chooser
from belated.report import Section
from belated.research import worlds
from belated.research.game.decisions import play_decisions
from belated.research.study.contest import (
    Contest,
    contests,
    kind_section,
    least_section,
    standings,
)
from belated.research.study.plan import Cell, Numbers, Row, Study, crossed
from belated.research.study.tables import by, percent, quoted, short
from belated.research.worlds import Lateness

DEFAULT: Final = "gap weighting"
LUCK: Final = "at random"
RULES: Final[Mapping[str, Exploration]] = MappingProxyType(
    {
        DEFAULT: GapWeighted(),
        "gap weighting, more": GapWeighted(growth=10.0),
        "gap weighting, no trials": GapWeighted(trial=0.0),
        "uniform": Uniform(0.05),
        "uniform, more": Uniform(0.2),
        "greedy": Greedy(),
        LUCK: Uniform(1.0),
    }
)
"""Ways to explore, the default first. Choosing at random is what all are measured by."""

DELAYS: Final[Mapping[str, Lateness]] = MappingProxyType(
    {
        "none": Lateness(),
        "mean 200": Lateness(200),
        "mean 2,000": Lateness(2000),
        "heavy tail": Lateness(40, "heavy"),
        "by context": Lateness(200, by="context"),
        "by action": Lateness(200, by="action"),
        "a third lost": Lateness(200, lost=1 / 3),
    }
)
_QUICK_DELAYS = ("none", "mean 200", "heavy tail", "by action")

WORLDS: Final[Mapping[str, tuple[type[worlds.World], float | None]]] = MappingProxyType(
    {
        "linear": (worlds.Linear, None),
        "logistic": (worlds.Logistic, None),
        "logistic, silence is 0": (worlds.Logistic, 0.0),
        "switching": (worlds.Switching, None),
        "featured": (worlds.Featured, None),
        "changing": (worlds.Changing, None),
        "changing, silence is 0": (worlds.Changing, 0.0),
    }
)
"""Kinds of worlds, and what the chooser takes silence for until a reward is heard."""
_QUICK_WORLDS = ("linear", "logistic, silence is 0", "featured")


class Decisions(Study):
    """Every rule of exploration in every world, with rewards late in every way."""

    name = "decisions"
    title = "How much to explore when rewards come late"
    question = (
        "A chooser has to try what does not seem best, or it may never find out what is. Late "
        "rewards make that dearer: it goes on exploring, or goes on being wrong, until they are "
        "heard. Which rule loses least, and is the default good everywhere?"
    )

    def cells(self, quick: bool) -> Iterator[Cell]:
        """All rules in all worlds with all delays."""
        rounds, seeds = (1_500, 2) if quick else (5_000, 4)
        kinds = _QUICK_WORLDS if quick else tuple(WORLDS)
        delays = _QUICK_DELAYS if quick else tuple(DELAYS)
        yield from crossed(world=kinds, delay=delays, seed=range(seeds), rule=RULES, rounds=rounds)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Let a chooser with this rule play."""
        kind, silence = WORLDS[cell["world"]]
        arguments: Any = {"rounds": cell["rounds"], "lateness": DELAYS[cell["delay"]]}
        chooser = Chooser(explore=RULES[cell["rule"]], silence=silence)
        run = play_decisions(chooser, kind(**arguments), cell["seed"])
        late = run.regrets[run.regrets.size // 2 :]
        return {
            "regret": run.regret,
            "late_regret": float(late.sum()),
            "reward": run.reward,
            "answered": run.report.answered,
            "explored": run.report.explored,
        }

    def numbers(self, rows: Sequence[Row]) -> Numbers:
        """What the best rule loses, what the default does, and how wrong that can go."""
        cells = _contests(rows)
        table = {each.method: each for each in standings(cells) if each.method != LUCK}
        if DEFAULT not in table:
            return ()
        first, ours = next(iter(table.values())), table[DEFAULT]
        least = f"of the regret at random: {quoted(first.method)}, which loses least"
        worst = "times the best rule, where the default is worst"
        return (
            (percent(first.mean), least),
            (percent(ours.mean), f"the default, {quoted(DEFAULT)}"),
            (short(max(ours.ratios, default=None)), worst),
        )

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """Open with who loses least, then world by world."""
        cells = _contests(rows)
        if not cells:
            return ()
        columns = ("rule", "spec")
        answer = least_section(
            cells, "choosing at random", columns, lambda rule: repr(RULES[rule]), LUCK
        )
        worlds = [
            kind_section(
                f"Who loses least in the world {world!r}?",
                f"Regret in the world {world}",
                [row for row in group if row["rule"] != LUCK],
                "delay",
                "rule",
            )
            for world, group in by(rows, "world").items()
        ]
        return (answer, *worlds)


def _contests(rows: Sequence[Row]) -> list[Contest]:
    """Compare mean regrets with that of choosing at random, by world and delay."""
    return contests(
        rows, "world", "delay", unit=lambda regrets, group: regrets.get(LUCK), name="rule"
    )
