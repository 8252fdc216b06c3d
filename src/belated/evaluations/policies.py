"""Policies: what each would have done in every decision of a log."""

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
from belated.evaluations.log import DecisionLog
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

LOGGED = "logged"
UNIFORM = "uniform"
CHOOSER = "chooser"
MOST_CONSTANT = 12
"""Most actions that are evaluated as if they were always taken: those taken most often."""


@dataclass(frozen=True, eq=False)
class Policy:
    """What one policy would have done."""

    name: str
    about: str
    of_taken: Floats
    """Its probability of what was done."""
    probabilities: Floats | None
    """Those of all actions, decisions x actions; None where they are not known."""


def named(policies: Any) -> dict[str, Given]:
    """Return policies by name, from a dict, a list, or a single one."""
    if policies is None:
        return {}
    if isinstance(policies, Mapping):
        found = {str(name): policy for name, policy in policies.items()}
        if len(found) < len(policies):
            raise SpecError(f"evaluate: two policies have the same name: {[*policies]!r:.60}")
    else:
        several = policies if isinstance(policies, list | tuple) else [policies]
        found = {}
        for policy in several:
            name = called(policy) if isinstance(policy, str) else getattr(policy, "__name__", None)
            name = CHOOSER if name is None and isinstance(policy, Chooser) else name
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


def called(column: str) -> str:
    """Return what a policy is called that is a column, or several that begin with this.

    >>> called("new_"), called("would")
    ('new', 'would')
    """
    return column.rstrip("_") or column


def refuse_twice(given: Mapping[str, Given], others: Sequence[Policy]) -> None:
    """Refuse policies that are called like one that needs no telling."""
    for policy in others:
        if policy.name in given:
            raise SpecError(f"evaluate: {policy.name!r} is there already; rename your policy")


def usual(log: DecisionLog) -> Iterator[Policy]:
    """Yield the policies that need no telling: the logged one, constant ones, and any of them."""
    yield Policy(LOGGED, "what was done", log.probability, None)
    counts = np.bincount(log.action, minlength=len(log.actions))
    always = np.ones(len(log.actions), dtype=np.bool_)
    if log.offered is not None:
        always = np.logical_and.reduce(log.offered, axis=0)
    often = np.argsort(-counts, kind="stable")[:MOST_CONSTANT]
    for place in sorted(often.tolist()):
        if always[place]:
            one = np.zeros((len(log), len(log.actions)))
            one[:, place] = 1.0
            name = log.actions[place]
            yield _policy(log, f"always {name}", f"{name} in every decision", one)
    menu = np.ones((len(log), len(log.actions))) if log.offered is None else log.offered
    even = menu / menu.sum(axis=1, keepdims=True)
    yield _policy(log, UNIFORM, "every action as often as any other", even)


def own(log: DecisionLog, name: str, given: Given) -> Policy:
    """Return a policy that a user gave as a function, a column or an array."""
    if isinstance(given, str):
        return _of_columns(log, name, given)
    if callable(given):
        return _policy(log, name, "your function", _asked(log, name, given))
    rows = np.asarray(given)
    if rows.ndim == 0 or len(rows) != log.whole:
        raise SpecError(
            f"evaluate: policy {name!r} must have a row for each of the {log.whole:,} rows of the "
            f"log, got shape {rows.shape}"
        )
    return _of_array(log, name, rows[log.rows], "your column")


def of_walk(log: DecisionLog, name: str, probabilities: Floats) -> Policy:
    """Return the policy of a chooser that walked through the log."""
    about = "a Chooser that learned from the log as it went"
    return _policy(log, name, about, probabilities)


def _policy(log: DecisionLog, name: str, about: str, probabilities: Floats) -> Policy:
    _check_offered(log, name, probabilities)
    taken = probabilities[np.arange(len(log)), log.action]
    return Policy(name, about, taken, probabilities)


def _check_offered(log: DecisionLog, name: str, probabilities: Floats) -> None:
    """Refuse a policy that takes what could not be taken."""
    if log.offered is None:
        return
    wrong = (probabilities > 0.0) & ~log.offered
    if wrong.any():
        i = int(np.argmax(wrong.any(axis=1)))
        raise _not_there(log, name, i, log.actions[int(np.argmax(wrong[i]))])


def _not_there(log: DecisionLog, name: str, i: int, action: Any) -> SpecError:
    return SpecError(
        f"evaluate: policy {name!r} takes {action!r} in row {log.rows[i]}, which is not among the "
        f"actions of the log there: {', '.join(log.menu(i))}"
    )


def _asked(log: DecisionLog, name: str, rule: Any) -> Floats:
    """Ask a function about every decision."""
    found = np.zeros((len(log), len(log.actions)))
    places = {action: i for i, action in enumerate(log.actions)}
    for i, context in enumerate(log.contexts()):
        menu = log.menu(i)
        said = rule(context, menu)
        if isinstance(said, str):
            said = {said: 1.0}
        if not isinstance(said, Mapping):
            said = dict(zip(menu, _sequence(said, menu, name), strict=True))
        if set(said) - set(menu):
            raise _not_there(log, name, i, min(set(said) - set(menu), key=str))
        for action, probability in said.items():
            found[i, places[action]] = probability
    _check(log, found, name)
    return found


def _sequence(said: Any, menu: tuple[str, ...], name: str) -> list[float]:
    try:
        values = [float(each) for each in said]
    except (TypeError, ValueError):
        values = []
    if len(values) != len(menu):
        raise SpecError(
            f"evaluate: policy {name!r} must return an action, or a probability for each of "
            f"{', '.join(menu)}; it returned {said!r:.60}"
        )
    return values


def _check(log: DecisionLog, probabilities: Floats, name: str) -> None:
    """Refuse what is no distribution over the actions."""
    wrong = ~are_distributions(probabilities)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SpecError(
            f"evaluate: the probabilities of policy {name!r} must not be negative, and sum to 1; "
            f"in row {log.rows[row]} they are {probabilities[row].tolist()}"
        )


def _of_columns(log: DecisionLog, name: str, column: str) -> Policy:
    """Return the policy of a column, or of one column for every action."""
    known = {**log.context, **log.more}
    if column in known:
        return _of_array(log, name, known[column], f"column {column}")
    parts = [f"{column}{action}" for action in log.actions]
    absent = [part for part in parts if part not in known]
    if absent:
        listed = ", ".join(map(repr, known)) or "none"
        raise LogError(
            f"evaluate: policy {name!r}: {log.name} has no column {column!r}, and not all of "
            f"{', '.join(map(repr, parts))}: {absent[0]!r} is missing; it has {listed}"
        )
    columns = [known[part] for part in parts]
    if any(each.dtype.kind != "f" for each in columns):
        raise LogError(f"evaluate: the columns {column}... of {log.name} must hold numbers")
    found = np.nan_to_num(np.stack(columns, axis=1), nan=0.0)
    _check(log, found, name)
    return _policy(log, name, f"columns {column}...", found)


def _of_array(log: DecisionLog, name: str, given: Array, about: str) -> Policy:
    """Return the policy of names of actions, or of probabilities of all or of what was done."""
    if given.dtype.kind in "OUS":
        return _policy(log, name, about, _asked(log, name, _reader(given)))
    values = given.astype(np.float64)
    if values.ndim == 2 and values.shape[1] == len(log.actions):
        _check(log, values, name)
        return _policy(log, name, about, values)
    if values.ndim != 1 or not ((values >= 0.0) & (values <= 1.0)).all():
        raise SpecError(
            f"evaluate: policy {name!r} must be probabilities from 0 to 1 of what was done, or of "
            f"all {len(log.actions)} actions in the order {', '.join(log.actions)}"
        )
    return Policy(name, f"{about}: its probability of what was done", values, None)


def _reader(names: Array) -> Callable[[Any, Any], str]:
    rows = iter(names.tolist())
    return lambda context, actions: str(next(rows))


# A chooser that walks through a log: it says what it would do, and learns what was done.

Look = Callable[[int, Features, Actions], None]
"""Is given the number of a decision, its context and its actions, before it is learned."""
Advance = Callable[[int], None]
"""Told how many decisions are done."""


def walk(log: DecisionLog, chooser: Chooser, advance: Advance) -> tuple[Floats, Floats]:
    """Return the probabilities that a chooser gives to all actions, and the rewards it predicts.

    It is one with the same settings that has seen nothing: what was learned before may be this log.
    Both are decisions x actions, as they were when each decision was made: from the rewards of
    logged actions that were known by then. A reward at the very time of a decision is known.
    """
    chooser = chooser.fresh()
    places = {name: i for i, name in enumerate(log.actions)}
    probabilities = np.zeros((len(log), len(places)))
    predictions = np.zeros((len(log), len(places)))

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
    mode, chooser.mode = chooser.mode, "apprentice"  # what it plays is the logged action
    scale = 1.0 if log.unit is None else SECONDS[log.unit]
    decided = (scale * log.decided).tolist()
    known = (scale * (log.decided + log.wait)).tolist()
    rewards, actions = log.reward.tolist(), log.action.tolist()
    waiting: list[tuple[float, int, float]] = []

    def observe_until(end: float) -> None:
        while waiting and waiting[0][0] <= end:
            moment, ticket, reward = heapq.heappop(waiting)
            with suppress(AlreadyObserved, UnknownTicket):  # given up on, and forgotten since
                chooser.observe(ticket, reward, at=None if start is None else start + moment)

    for i, context in enumerate(log.contexts()):
        observe_until(decided[i])
        menu = _menu(chooser, log.menu(i))
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


def _menu(chooser: Chooser, names: tuple[str, ...]) -> Actions:
    """Return actions with the features that the chooser has of them, if it has any."""
    given = chooser._settings.actions
    if isinstance(given, Mapping):
        return {name: given.get(name) for name in names}
    return names
