"""Rules of exploration for choosers, in worlds whose rewards come late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any, Final

from belated.explore import Exploration, GapWeighted, Greedy, Uniform
from belated.models.chooser import Chooser
from belated.report import Bars, Heat, Section, Table
from belated.research import worlds
from belated.research.game.decisions import play_decisions
from belated.research.study.plan import Cell, Opening, Row, Study
from belated.research.study.tables import (
    bars,
    by,
    counted,
    listed,
    mean,
    percent,
    quoted,
    short,
    where,
)
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
SLACK: Final = 0.1
"""How much more than the best rule another one may lose to count as good."""
_UNKNOWN: Final = "There are no results of the default and of choosing at random in one world yet."


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
        for world, delay, seed, rule in product(kinds, delays, range(seeds), RULES):
            yield Cell.of(world=world, delay=delay, rule=rule, rounds=rounds, seed=seed)

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

    def opening(self, rows: Sequence[Row]) -> Opening:
        """What the best rule loses, what the default does, and how wrong that can go."""
        shares = _shares(rows)
        if not shares:
            return Opening(_UNKNOWN, ())
        first = _rules(shares)[0]
        least = f"of the regret at random: {quoted(first)}, which loses least"
        numbers = (
            (percent(_mean_share(shares, first)), least),
            (percent(_mean_share(shares, DEFAULT)), f"the default, {quoted(DEFAULT)}"),
            (_most(shares, DEFAULT), "times the best rule, where the default is worst"),
        )
        return Opening(_best(shares, first), numbers)

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """Open with who loses least, then what exploring is worth, then world by world."""
        shares = _shares(rows)
        if not shares:
            return ()
        found = [_answer(rows, shares), _greedy(rows, shares)]
        found += [_world(world, group) for world, group in by(rows, "world").items()]
        return tuple(section for section in found if section is not None)


# --- Numbers -------------------------------------------------------------------------------------

Place = tuple[str, str]
"""A world and a delay."""


def _shares(rows: Sequence[Row]) -> dict[Place, dict[str, float]]:
    """Return, by world and delay, the regret of every rule over that of choosing at random."""
    found: dict[Place, dict[str, float]] = {}
    for place, group in by(rows, "world", "delay").items():
        regrets = {rule: mean(some, "regret") for rule, some in by(group, "rule").items()}
        luck = regrets.get(LUCK)
        if luck and regrets.get(DEFAULT) is not None:
            found[place] = {
                rule: regret / luck for rule, regret in regrets.items() if regret is not None
            }
    return found


def _mean_share(shares: Mapping[Place, Mapping[str, float]], rule: str) -> float:
    known = [each[rule] for each in shares.values() if rule in each]
    return sum(known) / len(known)


def _ratios(shares: Mapping[Place, Mapping[str, float]], rule: str) -> dict[Place, float]:
    """Return the regret of a rule over that of the best one, by world and delay."""
    return {
        place: each[rule] / min(each.values())
        for place, each in shares.items()
        if rule in each and min(each.values()) > 0.0
    }


def _rules(shares: Mapping[Place, Mapping[str, float]]) -> list[str]:
    """Return the rules but luck, those that lose least first."""
    rules = dict.fromkeys(rule for each in shares.values() for rule in each if rule != LUCK)
    return sorted(rules, key=lambda rule: _mean_share(shares, rule))


# --- The answer ----------------------------------------------------------------------------------


def _answer(rows: Sequence[Row], shares: dict[Place, dict[str, float]]) -> Section:
    order = _rules(shares)
    delays = tuple(dict.fromkeys(delay for _, delay in shares))
    return Section(
        question="Which rule loses least?",
        figure=Heat(
            title="Regret over that of choosing at random, mean over the worlds",
            rows=tuple(order),
            columns=delays,
            values=tuple(
                tuple(_by_delay(shares, rule, delay) for delay in delays) for rule in order
            ),
            value_label="of the regret at random",
            log=False,
        ),
        says=_verdict(shares, order),
        table=_standings(rows, shares, order),
    )


def _by_delay(shares: dict[Place, dict[str, float]], rule: str, delay: str) -> float | None:
    known = [each[rule] for (_, late), each in shares.items() if late == delay and rule in each]
    return sum(known) / len(known) if known else None


def _best(shares: dict[Place, dict[str, float]], first: str) -> str:
    """Name the rule that loses least, and what the default loses."""
    says = (
        f"{_capital(quoted(first))}{', the default,' if first == DEFAULT else ''} loses least: "
        f"{percent(_mean_share(shares, first))} of what choosing at random does, in the mean over "
        f"{counted(len(shares), 'cell')}, a world and a delay each."
    )
    if first != DEFAULT:
        share = percent(_mean_share(shares, DEFAULT))
        says += f" The default, {quoted(DEFAULT)}, loses {share}."
    return says


def _verdict(shares: dict[Place, dict[str, float]], order: list[str]) -> str:
    """Say how good the default is, and what can go wrong with every rule."""
    ratios = _ratios(shares, DEFAULT)
    good = sum(ratio <= 1.0 + SLACK for ratio in ratios.values())
    worst = max(ratios, key=lambda place: ratios[place])
    best = min(shares[worst], key=lambda rule: shares[worst][rule])
    costs = [f"{quoted(rule)} {_most(shares, rule)}" for rule in order if rule != DEFAULT]
    return (
        f"The default is within {percent(SLACK)} of the best rule in {counted(good, 'cell')}"
        f"; its worst one, '{worst[0]}' with delays '{worst[1]}', costs {_most(shares, DEFAULT)} "
        f"times what {quoted(best)} loses there. In their worst cells the others cost, times the "
        f"best: {listed(costs)}."
    )


def _most(shares: dict[Place, dict[str, float]], rule: str) -> str:
    """Return the largest ratio of a rule to the best one."""
    return short(max(_ratios(shares, rule).values()))


def _standings(
    rows: Sequence[Row], shares: dict[Place, dict[str, float]], order: list[str]
) -> Table:
    body = []
    for rule in [*order, LUCK]:
        ratios = _ratios(shares, rule).values()
        explored = mean(where(rows, rule=rule), "explored") or 0.0
        body.append(
            (
                rule,
                repr(RULES[rule]),
                round(_mean_share(shares, rule), 3),
                sum(ratio <= 1.0 + SLACK for ratio in ratios),
                round(max(ratios), 2),
                round(100.0 * explored, 1),
            )
        )
    return Table(
        columns=(
            *("rule", "spec", "share of the regret at random", "cells within 10 % of the best"),
            *("worst ratio to the best", "explored, in %"),
        ),
        rows=tuple(body),
        caption=f"Over {counted(len(shares), 'cell')}, a world and a delay each; regrets are means "
        "over seeds. Explored are choices of another action than the one that seemed best.",
    )


# --- Is exploring worth it? ----------------------------------------------------------------------


def _greedy(rows: Sequence[Row], shares: dict[Place, dict[str, float]]) -> Section | None:
    """Compare the default with a chooser that never explores."""
    if "greedy" not in _rules(shares):
        return None
    delays = tuple(dict.fromkeys(delay for _, delay in shares))
    pairs = {
        place: (each[DEFAULT], each["greedy"]) for place, each in shares.items() if "greedy" in each
    }
    loses = [world for (world, _), (ours, theirs) in pairs.items() if ours > theirs]
    by_delay = {
        delay: [
            _sum_of(rows, delay, DEFAULT, "late_regret"),
            _sum_of(rows, delay, "greedy", "late_regret"),
        ]
        for delay in delays
    }
    better = [quoted(delay) for delay, (ours, theirs) in by_delay.items() if ours < theirs]
    return Section(
        question="Is exploring worth what it costs?",
        figure=Bars(
            title="Regret in the second half, all worlds",
            labels=delays,
            groups=tuple(
                _second_half(rows, rule, delays) for rule in (DEFAULT, "greedy", "uniform")
            ),
            y_label="regret, summed over worlds",
            note="Whiskers reach from the least to the largest seed.",
        ),
        says=f"Over the whole game {quoted(DEFAULT)} loses less than a chooser that never explores "
        f"in {len(pairs) - len(loses)} of {counted(len(pairs), 'cell')}. In the second half, when "
        "exploring should have paid, it loses less in the sum over all worlds "
        + (f"with delays {listed(better)}. " if better else "with no kind of delays. ")
        + _lost_to_greedy(loses),
    )


def _lost_to_greedy(lost: Sequence[str]) -> str:
    """Say in which worlds never exploring is better, and with how many kinds of delays."""
    if not lost:
        return "Never exploring is better nowhere."
    kinds = [f"{lost.count(world)} in {_in_words(world)}" for world in dict.fromkeys(lost)]
    return f"Never exploring loses less in {counted(len(lost), 'cell')}: {'; '.join(kinds)}."


def _sum_of(rows: Sequence[Row], delay: str, rule: str, column: str) -> float:
    """Return the mean over seeds, summed over worlds."""
    groups = by(where(rows, delay=delay, rule=rule), "world").values()
    return sum(mean(group, column) or 0.0 for group in groups)


def _second_half(rows: Sequence[Row], rule: str, delays: Sequence[str]) -> Any:
    """Return bars of regret in the second half; a seed is one draw of all worlds."""
    groups = []
    for delay in delays:
        some = by(where(rows, delay=delay, rule=rule), "seed")
        groups.append(
            [{"late": sum(row["late_regret"] for row in group)} for group in some.values()]
        )
    return bars(rule, groups, "late")


# --- World by world ------------------------------------------------------------------------------


def _world(world: str, rows: Sequence[Row]) -> Section:
    delays = by(rows, "delay")
    rules = [rule for rule in dict.fromkeys(row["rule"] for row in rows) if rule != LUCK]
    table = {
        delay: {rule: mean(where(group, rule=rule), "regret") for rule in (*rules, LUCK)}
        for delay, group in delays.items()
    }
    return Section(
        question=f"Who loses least in {_in_words(world)}?",
        figure=Bars(
            title=f"Regret in {_in_words(world)}",
            labels=tuple(delays),
            groups=tuple(
                bars(rule, (where(group, rule=rule) for group in delays.values()), "regret")
                for rule in rules
            ),
            y_label="regret",
            note="Whiskers reach from the least to the largest seed.",
        ),
        says=_winners(table),
        table=Table(
            columns=("delays", *rules, LUCK),
            rows=tuple((delay, *regrets.values()) for delay, regrets in table.items()),
            caption="Means over seeds.",
        ),
    )


def _in_words(world: str) -> str:
    """Return a world as a sentence has it.

    >>> _in_words("logistic, silence is 0")
    'the logistic world, where silence is 0'
    """
    kind, _, more = world.partition(", ")
    return f"the {kind} world" + (f", where {more}" if more else "")


def _winners(table: Mapping[str, Mapping[str, float | None]]) -> str:
    """Say who loses least with which delays, and what lateness costs the default."""
    wins: dict[str, list[str]] = {}
    for delay, regrets in table.items():
        known = {rule: each for rule, each in regrets.items() if each is not None and rule != LUCK}
        if known:
            wins.setdefault(min(known, key=lambda rule: known[rule]), []).append(quoted(delay))
    most = sorted(wins.items(), key=lambda item: -len(item[1]))
    says = "Least regret: " + "; ".join(
        f"{quoted(rule)} with {listed(late)}" for rule, late in most
    )
    plain = table.get("none", {}).get(DEFAULT)
    late = {delay: each.get(DEFAULT) for delay, each in table.items() if delay != "none"}
    known_late = {delay: each for delay, each in late.items() if each is not None}
    if plain and known_late:
        dearest = max(known_late, key=lambda delay: known_late[delay])
        says += (
            f". Lateness costs the default most with delays {quoted(dearest)}: "
            f"{short(known_late[dearest] / plain)} times the regret without any"
        )
    return f"{says}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
