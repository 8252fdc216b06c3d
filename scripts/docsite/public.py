"""What is public, and on which page of the reference it is."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from typing import Any

import belated


@dataclass(frozen=True)
class Chapter:
    """A page of the reference: names of ``belated`` itself, and whole modules."""

    title: str
    about: str
    names: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


CHAPTERS = {
    "models": Chapter(
        "Linear models and intervals",
        "Late labels. See [linear models](../linear.md) and [intervals](../intervals.md).",
        ("LinearModel", "Forecast", "LinearReport", "Intervals", "Interval", "IntervalsReport"),
        ("models.linear", "models.intervals"),
    ),
    "decisions": Chapter(
        "Decisions",
        "Choices among actions, with rewards that come late. See [decisions](../decisions.md).",
        ("Chooser", "Choice", "Option", "ChooserReport", "ActionReport", "DecisionRun"),
        ("models.chooser", "explore"),
    ),
    "knobs": Chapter(
        "Knobs",
        "Settings of a live system, with costs that come late. See [knobs](../knobs.md).",
        ("Knobs", "Proposal", "KnobsReport"),
        ("models.knobs", "ranges"),
    ),
    "evaluation": Chapter(
        "Evaluation",
        "What other policies would have earned. See [is it better?](../evaluation.md).",
        ("evaluate", "Evaluation", "Estimate"),
        ("evaluations",),
    ),
    "worlds": Chapter(
        "Worlds",
        "Where choosers play. See [decisions](../decisions.md).",
        modules=("research.worlds",),
    ),
    "store": Chapter(
        "Stores",
        "Models that survive. See [stores](../store.md).",
        ("open", "load", "restore"),
        ("store",),
    ),
    "service": Chapter(
        "The service",
        "Models over HTTP, and clients. See [the service](../service.md).",
        ("Client", "AsyncClient"),
        ("service",),
    ),
    "learners": Chapter(
        "Learners",
        "Decisions in a convex set, with guarantees. See [the tour](../guide.md).",
        ("Problem", "Learner", "Decision", "Report", "Certificate", "Counters", "from_json"),
    ),
    "specs": Chapter(
        "Parts of learners",
        "Sets, base learners, reductions and wrappers: plain values with JSON.",
        (
            *("Ball", "Box", "Simplex", "L1Ball", "ConvexSet"),
            *("PFTRL", "OMD", "DualAveraging", "Leader", "Portfolio"),
            *("FirstOrder", "OnePoint", "TwoPoint", "FullInformation"),
            *("Skip", "Deadline", "Capacity"),
        ),
    ),
    "rates": Chapter("Rates", "Step sizes of base learners.", modules=("rates",)),
    "smoothing": Chapter("Smoothing", "How far to explore.", modules=("smoothing",)),
    "timeline": Chapter(
        "Timelines and delays",
        "The calculus of intervals, and patterns of delays.",
        ("Timeline",),
        ("timeline", "research.delays"),
    ),
    "bounds": Chapter(
        "Bounds",
        "Every theorem as a number. See [the paper, in code](../paper.md).",
        modules=("bounds",),
    ),
    "games": Chapter(
        "Games",
        "Learners against losses. See [games](../games.md).",
        ("Game", "play", "play_many", "Run", "Runs", "Best", "best_action"),
        ("research.game",),
    ),
    "losses": Chapter(
        "Losses", "Families of losses, and sources of them.", modules=("research.losses",)
    ),
    "rivals": Chapter(
        "Rivals", "Published methods. See [rivals](../rivals.md).", modules=("research.rivals",)
    ),
    "logs": Chapter("Logs and data", "See [logs](../logs.md).", modules=("logs", "datasets")),
    "audits": Chapter(
        "Audits and replays",
        "See [audit](../audit.md) and [replay](../replay.md).",
        ("audit", "replay"),
        ("audits", "replays"),
    ),
    "report": Chapter(
        "Pages and figures", "What studies and audits draw with.", modules=("report",)
    ),
    "sklearn": Chapter(
        "With scikit-learn", "See [data](../data.md).", modules=("adapters.sklearn",)
    ),
    "river": Chapter("With river", "See [with river](../river.md).", modules=("adapters.river",)),
    "reports": Chapter("Results and reports", "What calls return.", modules=("reports",)),
    "errors": Chapter(
        "Errors",
        "Each is a `BelatedError` and the builtin that a caller would expect.",
        modules=("errors",),
    ),
}


def members(module: str) -> list[str]:
    """Return the public names of a module: its ``__all__``, or the classes that it defines."""
    home = importlib.import_module(f"belated.{module}")
    listed = getattr(home, "__all__", None)
    if listed is not None:
        return list(listed)
    own = (name for name, thing in vars(home).items() if _is_defined_in(home, name, thing))
    return sorted(own)


def _is_defined_in(home: Any, name: str, thing: Any) -> bool:
    return not name.startswith("_") and inspect.isclass(thing) and thing.__module__ == home.__name__


def things() -> dict[str, dict[str, Any]]:
    """Return for every chapter its names, as a user would write them, and what they are.

    What several modules offer is described once: errors among the errors, everything else in the
    first chapter that has it.
    """
    found: dict[str, dict[str, Any]] = {}
    seen: set[int] = set()
    for chapter in ("errors", *CHAPTERS):
        if chapter not in found:
            found[chapter] = {}
            for name, thing in _offered(CHAPTERS[chapter]).items():
                if id(thing) not in seen:
                    found[chapter][name] = thing
                    seen.add(id(thing))
    return {chapter: found[chapter] for chapter in CHAPTERS}


def _offered(chapter: Chapter) -> dict[str, Any]:
    found = {}
    for name in chapter.names:
        homes = {"": belated, "reports.": belated.reports, "research.": belated.research}
        where = next(where for where, home in homes.items() if name in home.__all__)
        found[f"{where}{name}"] = getattr(homes[where], name)
    for module in chapter.modules:
        home = importlib.import_module(f"belated.{module}")
        found |= {f"{module}.{name}": getattr(home, name) for name in members(module)}
    return found


def forgotten() -> list[str]:
    """Return public names that no chapter has."""
    known = {id(thing) for chapter in things().values() for thing in chapter.values()}
    modules = {module for chapter in CHAPTERS.values() for module in chapter.modules}
    lost = []
    for name in belated.__all__:
        thing = getattr(belated, name)
        home = getattr(thing, "__name__", "").removeprefix("belated.")
        is_known = home in modules if inspect.ismodule(thing) else id(thing) in known
        if not is_known and name not in ("__version__", "research"):  # which only names others
            lost.append(name)
    return lost
