"""Policies: the probability of every action in every decision of a log."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.arrays import Array, Floats
from belated.errors import AlreadyObserved, LogError, SpecError, UnknownTicket
from belated.evaluations.decision_log import DecisionLog
from belated.logs.log import SECONDS
from belated.models.chooser.actions import Actions
from belated.models.chooser.chooser import Chooser
from belated.models.linear.features import Features
from belated.models.moments import time_of
from belated.validation import are_distributions

Rule = Callable[
    [dict[str, float | str], tuple[str, ...]], str | Mapping[str, float] | Sequence[float]
]
"""A policy: context and actions to an action, or to probabilities."""
Given = Rule | Chooser | str | Array | Sequence[Any]
"""A policy as users give it; text names a column, or the beginning of one for every action."""

LOGGED, UNIFORM, CHOOSER = "logged", "uniform", "chooser"
MOST_CONSTANT = 12
"""Most actions that are evaluated as if they were always taken: those taken most often."""


@dataclass(frozen=True, eq=False)
class Policy:
    """The probabilities of one policy."""

    name: str
    about: str
    of_taken: Floats
    """Its probability of what was done."""
    probabilities: Floats | None
    """Those of all actions, decisions x actions; None where they are not known."""


def named(policies: Any) -> dict[str, Given]:
    """Return policies by name, from a dict, a list, or a single one.

    A column is called like itself, without underscores at its end.

    >>> list(named(["new_", "would"]))
    ['new', 'would']
    """
    if policies is None:
        return {}
    if isinstance(policies, Mapping):
        found = {str(name): policy for name, policy in policies.items()}
        if len(found) < len(policies):
            raise SpecError(f"evaluate: two policies have the same name: {[*policies]!r:.60}")
    else:
        found = {}
        for policy in policies if isinstance(policies, list | tuple) else [policies]:
            name = CHOOSER if isinstance(policy, Chooser) else getattr(policy, "__name__", None)
            if isinstance(policy, str):
                name = policy.rstrip("_") or policy
            if name is None or name in found:
                raise SpecError(
                    f"evaluate: {policy!r:.60} has no name of its own; give policies as a dict of "
                    "names and policies"
                )
            found[name] = policy
    for name, policy in found.items():
        if name in (LOGGED, UNIFORM):
            raise SpecError(f"evaluate: {name!r} is a policy that is always there; rename yours")
        if not (isinstance(policy, Chooser | str | np.ndarray | Sequence) or callable(policy)):
            raise SpecError(
                f"evaluate: policy {name!r} must be a function of context and actions, a Chooser, "
                f"a column, or an array of probabilities, got {policy!r:.60}"
            )
    return found


def usual(log: DecisionLog) -> Iterator[Policy]:
    """Yield the policies of every evaluation: the logged one, constant ones, and uniform choice."""
    yield Policy(LOGGED, "what was done", log.probability, None)
    menu = np.ones((len(log), len(log.actions))) if log.offered is None else log.offered * 1.0
    counts = np.bincount(log.action, minlength=len(log.actions))
    often = np.argsort(-counts, kind="stable")[:MOST_CONSTANT]
    for place in sorted(often.tolist()):
        if menu[:, place].all():
            one = np.zeros_like(menu)
            one[:, place] = 1.0
            name = log.actions[place]
            yield of_probabilities(log, f"always {name}", f"{name} in every decision", one)
    even = menu / menu.sum(axis=1, keepdims=True)
    yield of_probabilities(log, UNIFORM, "every action as often as any other", even)


def own(log: DecisionLog, name: str, given: Given) -> Policy:
    """Return a policy that a user gave as a function, a column or an array."""
    if isinstance(given, str):
        return _of_columns(log, name, given)
    if callable(given):
        return of_probabilities(log, name, "your function", _asked(log, name, given))
    rows = np.asarray(given)
    if rows.ndim == 0 or len(rows) != log.rows_read:
        raise SpecError(
            f"evaluate: policy {name!r} must have a row for each of the {log.rows_read:,} rows of "
            f"the log, got shape {rows.shape}"
        )
    return _of_array(log, name, rows[log.rows], "your column")


def of_probabilities(log: DecisionLog, name: str, about: str, probabilities: Floats) -> Policy:
    """Return a policy of which all probabilities are known; refuse what is no such policy."""
    wrong = ~are_distributions(probabilities)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SpecError(
            f"evaluate: the probabilities of policy {name!r} must not be negative, and sum to 1; "
            f"in row {log.rows[row]} they are {probabilities[row].tolist()}"
        )
    if log.offered is not None:
        absent = (probabilities > 0.0) & ~log.offered
        if absent.any():
            i = int(np.argmax(absent.any(axis=1)))
            raise _not_there(log, name, i, log.actions[int(np.argmax(absent[i]))])
    return Policy(name, about, probabilities[np.arange(len(log)), log.action], probabilities)


def _not_there(log: DecisionLog, name: str, i: int, action: Any) -> SpecError:
    return SpecError(
        f"evaluate: policy {name!r} takes {action!r} in row {log.rows[i]}, which is not among the "
        f"actions of the log there: {', '.join(log.menu(i))}"
    )


def _asked(log: DecisionLog, name: str, rule: Any) -> Floats:
    """Return the probabilities of a function, decision by decision."""
    found = np.zeros((len(log), len(log.actions)))
    places = {action: i for i, action in enumerate(log.actions)}
    for i, context in enumerate(log.contexts()):
        menu = log.menu(i)
        given = rule(context, menu)
        if isinstance(given, str):
            given = {given: 1.0}
        elif not isinstance(given, Mapping):
            given = dict(zip(menu, _sequence(given, menu, name), strict=True))
        if set(given) - set(menu):
            raise _not_there(log, name, i, min(set(given) - set(menu), key=str))
        for action, probability in given.items():
            found[i, places[action]] = probability
    return found


def _sequence(given: Any, menu: tuple[str, ...], name: str) -> list[float]:
    values: list[float] = []
    with suppress(TypeError, ValueError):
        values = [float(each) for each in given]
    if len(values) != len(menu):
        raise SpecError(
            f"evaluate: policy {name!r} must return an action, or a probability for each of "
            f"{', '.join(menu)}; it returned {given!r:.60}"
        )
    return values


def _of_columns(log: DecisionLog, name: str, column: str) -> Policy:
    """Return the policy of a column, or of one column for every action."""
    known = {**log.context, **log.more}
    if column in known:
        return _of_array(log, name, known[column], f"column {column}")
    parts = [f"{column}{action}" for action in log.actions]
    absent = [part for part in parts if part not in known]
    if absent:
        raise LogError(
            f"evaluate: policy {name!r}: {log.name} has no column {column!r}, and not all of "
            f"{', '.join(map(repr, parts))}: {absent[0]!r} is missing; it has "
            f"{', '.join(map(repr, known)) or 'none'}"
        )
    if any(known[part].dtype.kind != "f" for part in parts):
        raise LogError(f"evaluate: the columns {column}... of {log.name} must hold numbers")
    found = np.nan_to_num(np.stack([known[part] for part in parts], axis=1), nan=0.0)
    return of_probabilities(log, name, f"columns {column}...", found)


def _of_array(log: DecisionLog, name: str, given: Array, about: str) -> Policy:
    """Return the policy of names of actions, or of probabilities of all or of what was done."""
    if given.dtype.kind in "OUS":
        rows = iter(given.tolist())
        found = _asked(log, name, lambda context, actions: str(next(rows)))
        return of_probabilities(log, name, about, found)
    values = given.astype(np.float64)
    if values.ndim == 2 and values.shape[1] == len(log.actions):
        return of_probabilities(log, name, about, values)
    if values.ndim != 1 or not ((values >= 0.0) & (values <= 1.0)).all():
        raise SpecError(
            f"evaluate: policy {name!r} must be probabilities from 0 to 1 of what was done, or of "
            f"all {len(log.actions)} actions in the order {', '.join(log.actions)}"
        )
    return Policy(name, f"{about}: its probability of what was done", values, None)


# ---- a chooser that walks through a log: it gives its probabilities, and learns what was done ----

Look = Callable[[int, Features, Actions], None]
"""Is given the number of a decision, its context and its actions, before it is learned."""


def walk(
    log: DecisionLog, chooser: Chooser, advance: Callable[[int], None]
) -> tuple[Floats, Floats]:
    """Return the probabilities that a chooser gives to all actions, and the rewards it predicts.

    It is one with the same settings that has seen nothing: what was learned before may be this log.
    Both are decisions x actions, as they were when each decision was made: from the rewards of
    logged actions that were known by then. A reward at the very time of a decision is known.
    """
    chooser = chooser.fresh()
    places = {name: i for i, name in enumerate(log.actions)}
    probabilities, predictions = np.zeros((2, len(log), len(places)))

    def look(i: int, context: Features, menu: Actions) -> None:
        for action, probability, value in chooser.peek(context, menu):
            probabilities[i, places[action]] = probability
            predictions[i, places[action]] = value
        advance(i + 1)

    learn(log, chooser, 0.0, look)
    return probabilities, predictions


def learn(log: DecisionLog, chooser: Chooser, start: float | None, look: Look) -> None:
    """Let a chooser learn from the decisions of a log, each at its time after ``start``.

    Without ``start`` it is told no times. A reward does not count more where its action was rare:
    what is learned is the mean reward in a context of the action that was taken, which does not
    depend on how often others were taken.
    """
    mode, chooser.mode = chooser.mode, "apprentice"  # it takes the logged actions
    features = chooser._settings.actions
    scale = 1.0 if log.unit is None else SECONDS[log.unit]
    decided = (scale * log.decided).tolist()
    known = (scale * (log.decided + log.wait)).tolist()
    rewards, actions = log.reward.tolist(), log.action.tolist()
    waiting: list[tuple[float, int, float]] = []

    def observe_until(end: float) -> None:
        while waiting and waiting[0][0] <= end:
            moment, ticket, reward = heapq.heappop(waiting)
            with suppress(AlreadyObserved, UnknownTicket):  # expired, and forgotten since
                chooser.observe(ticket, reward, at=None if start is None else start + moment)

    for i, context in enumerate(log.contexts()):
        observe_until(decided[i])
        menu: Actions = log.menu(i)
        if isinstance(features, Mapping):
            menu = {name: features.get(name) for name in menu}
        look(i, context, menu)
        taken = log.actions[actions[i]], float(log.probability[i])
        at = None if start is None else start + decided[i]
        ticket = chooser._choose(context, menu, None, at, None, None, True, taken).ticket
        if known[i] == known[i]:
            heapq.heappush(waiting, (known[i], ticket, rewards[i]))
    observe_until(math.inf)
    chooser.mode = mode


def start_of(log: DecisionLog, chooser: Chooser) -> float | None:
    """Return when a log begins, by the clock of a chooser; None where it counts predictions."""
    if chooser.model.settings.counts_predictions:
        return None
    if log.has_dates:
        return time_of(log.first, "warm_start")
    return float(log.start) * (1.0 if log.unit is None else SECONDS[log.unit])
