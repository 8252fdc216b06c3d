"""Rules of exploration for choosers, in worlds whose rewards come late."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from belated.explore import Exploration, GapWeighted, Greedy, Uniform
from belated.models.chooser import Chooser
from belated.report import Section
from belated.research import worlds
from belated.research.game.decisions import play_decisions
from belated.research.study.contest import Contest, contests, least_section, standings
from belated.research.study.plan import Cell, Numbers, Study, axes
from belated.research.study.sections import bar_sections
from belated.research.study.tables import Rows, percent, quoted, short
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


class Decisions(Study):
    """Every rule of exploration in every world, with rewards late in every way."""

    name = "decisions"
    title = "How much to explore when rewards come late"
    question = (
        "A chooser has to try what does not seem best, or it may never find out what is. Late "
        "rewards make that dearer: it goes on exploring, or goes on being wrong, until they are "
        "heard. Which rule loses least, and is the default good everywhere?"
    )

    grid = axes(world=WORLDS, delay=DELAYS, seed=range(4), rule=RULES, rounds=5_000)

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

    def numbers(self, rows: Rows) -> Numbers:
        """The regrets of the best rule and of the default, and the worst case of the default."""
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

    def sections(self, rows: Rows) -> tuple[Section, ...]:
        """Open with the rule that loses least, then world by world."""
        cells = _contests(rows)
        if not cells:
            return ()
        columns = ("rule", "spec")
        answer = least_section(
            cells, "choosing at random", columns, lambda rule: repr(RULES[rule]), LUCK
        )
        others = [row for row in rows if row["rule"] != LUCK]
        return (answer, *bar_sections(others, ("world",), "delay", "rule"))


def _contests(rows: Rows) -> list[Contest]:
    """Compare mean regrets with that of choosing at random, by world and delay."""
    return contests(
        rows, "world", "delay", unit=lambda regrets, group: regrets.get(LUCK), name="rule"
    )
