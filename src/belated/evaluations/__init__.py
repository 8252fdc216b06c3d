"""Is it better? What other policies would have earned in the decisions of a log.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> blue = rng.random(400) < 0.5
>>> log = {
...     "shown_at": np.arange(400.0),
...     "action": np.where(blue, "blue", "green"),
...     "probability": np.full(400, 0.5),
...     "reward": np.where(rng.random(400) < np.where(blue, 0.8, 0.2), 1.0, np.nan),
... }
>>> log["bought_at"] = np.where(np.isnan(log["reward"]), np.nan, log["shown_at"] + 3.0)
>>> found = evaluate(log, silence=0.0, deadline=10, decided="shown_at", rewarded="bought_at")
>>> found.counted, found.too_young
(392, 8)
>>> found.policies["always blue"].standing, found.policies["uniform"].standing
('better', 'tie')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from belated.arrays import Floats
from belated.engine import Progress, progress_bar
from belated.errors import LogError, SpecError
from belated.evaluations import policies as kinds
from belated.evaluations.decision_log import DecisionLog, MatureDecisions, end_of, mature
from belated.evaluations.estimators import ESTIMATORS, Estimate, Estimator, Weighed
from belated.evaluations.policies import CHOOSER, LOGGED, Given, Policy, learn, start_of, walk
from belated.evaluations.reading import Columns, Reading, decisions_of
from belated.evaluations.result import Evaluation, Part, PolicyResult
from belated.logs import DateOrder, OnBad, Unit
from belated.logs.log import SECONDS
from belated.logs.spans import span_in
from belated.models.chooser.chooser import Chooser
from belated.models.clock import Duration
from belated.models.moments import Time
from belated.report.slicing import usual

__all__ = [
    "DecisionLog",
    "Estimate",
    "Evaluation",
    "Part",
    "PolicyResult",
    "evaluate",
    "warm_start",
]

STEPS = 100
"""Of the progress bar, for every walk through the log."""


def evaluate(
    log: Any,
    policies: Mapping[str, Given] | Sequence[Given] | Given | None = None,
    *,
    action: str = "action",
    probability: str = "probability",
    reward: str = "reward",
    decided: str | None = None,
    rewarded: str | None = None,
    context: Sequence[str] | Literal["all"] = "all",
    ignore: Sequence[str] = (),
    known: Sequence[str] = (),
    silence: float | None = None,
    deadline: Duration | str | None = None,
    until: Time | str | None = None,
    chooser: bool = True,
    estimator: Estimator = "dr",
    against: str = LOGGED,
    blocks: int | None = None,
    slices: Sequence[str] | None = None,
    dates: DateOrder | None = None,
    tz: str | None = None,
    unit: Unit | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    on_bad: OnBad = "error",
    progress: bool | None = False,
) -> Evaluation:
    """Say what policies would have earned in the decisions of a log, with 95 % intervals.

    ``log`` is whatever :func:`belated.logs.read` takes, with the same arguments, a file of Vowpal
    Wabbit's dsjson, or the log of a stored :class:`belated.Chooser` (``store.log``) or its export.
    Every row is a decision: the ``action`` taken, the ``probability`` with which it was taken, the
    ``reward``, when it was ``decided`` and when it was ``rewarded`` (columns of times are guessed
    where there is no doubt), and the ``context``, by default every other column but those to
    ``ignore``. A column of the context that tells the reward, its time or its delay is refused,
    unless it is among those that were ``known`` when the decision was made.

    A decision counts when its ``deadline`` has passed at the end of the log, or at ``until``, with
    the reward that arrived by then; ``silence`` is the reward of those without one. ``until`` is
    read as the dates of the log are, with the same ``tz`` and ``dates``. Without a deadline all
    count, and without ``silence`` a decision that has no reward is refused.

    The policies are the logged one; every action as if it were always taken; any action with the
    same probability; a fresh :class:`belated.Chooser` that learns from the log as it goes, unless
    ``chooser`` is False; and yours: functions (context, actions) -> an action or probabilities,
    choosers that have seen nothing, arrays, and names of columns. A column holds actions, or the
    probability of what was done; a text that is no column is what the names of several begin with,
    one for every action.

    Every policy is estimated by inverse propensity weights ("ips"), the same self-normalised
    ("snips"), and doubly robust ("dr"); ``estimator`` is the one for differences, slices and the
    verdict. Differences are paired, to the policy named ``against``. ``blocks`` takes variances
    from so many stretches of time, where the logged policy kept an action for some time.
    ``slices`` are columns by which rewards are shown.
    """
    _check(estimator, blocks, silence)
    given = kinds.named(policies)
    columns = Columns(
        *(action, probability, reward, decided, rewarded, context),
        ignore=tuple(ignore),
        known=tuple(known),
    )
    read = decisions_of(
        log,
        columns,
        [each for each in given.values() if isinstance(each, str)],
        silence=silence,
        deadline=deadline,
        reading=Reading(dates, tz, unit, on_bad, encoding, tuple(missing)),
    )
    span = None
    if deadline is not None:
        span = span_in(deadline, read.unit, "evaluate", has_dates=read.has_dates)
    end = None if until is None else end_of(until, read, tz=tz, dates=dates)
    counted = mature(read, silence=silence, deadline=span, until=end)
    walks = 1 + sum(isinstance(each, Chooser) for each in given.values())
    with progress_bar("evaluating", walks * STEPS, progress) as bar:
        played, predictions = _played(counted, given, chooser, bar)
    if against not in played:
        raise SpecError(f"evaluate: against must be one of {', '.join(played)}, got {against!r}")
    there = counted.log.context
    sliced = tuple(usual(there) if slices is None else slices)
    for column in sliced:
        if column not in there:
            listed = ", ".join(map(repr, there)) or "none"
            raise LogError(f"evaluate: there is no column {column!r} in the context: {listed}")
    weighed = {name: _weighed(counted.log, one, predictions) for name, one in played.items()}
    return Evaluation(counted, sliced, played, weighed, estimator, against, blocks)


def warm_start(chooser: Chooser, log: Any, **columns: Any) -> int:
    """Let a chooser learn from the decisions of another policy; return how many there are.

    ``log`` and ``columns`` are those of :func:`evaluate`: the names of columns, and how they are
    read. The chooser sees every decision at its time, with the action that was taken, and its
    reward when it came, as if it had been an apprentice of that policy; so it can go on from there
    with ``at=`` by the same clock. What it had learned before stays.

    >>> chooser = Chooser(["blue", "green"])
    >>> log = {"action": ["blue", "green"] * 50, "probability": [0.5] * 100}
    >>> log |= {"at": [*range(100)], "reward": [1.0, 0.0] * 50, "known": [*range(1, 101)]}
    >>> warm_start(chooser, log, decided="at", rewarded="known")
    100
    >>> chooser.peek()[0].action
    'blue'
    """
    settings = chooser.model.settings
    read = {name: columns.pop(name) for name in Reading._fields if name in columns}
    decisions = decisions_of(
        log,
        Columns(**columns),
        (),
        silence=settings.silence,
        deadline=settings.deadline if settings.needs_times else None,
        reading=Reading(**read),
    )
    learn(decisions, chooser, start_of(decisions, chooser), lambda *_: None)
    return len(decisions)


def _check(estimator: Any, blocks: Any, silence: Any) -> None:
    if estimator not in ESTIMATORS:
        known = ", ".join(map(repr, ESTIMATORS))
        raise SpecError(f"evaluate: estimator must be one of {known}, got {estimator!r}")
    if blocks is not None and not (isinstance(blocks, int) and blocks >= 6):
        raise SpecError(f"evaluate: blocks must be a whole number from 6 on, got {blocks!r}")
    if silence is not None and not (
        isinstance(silence, int | float) and np.isfinite(silence) and not isinstance(silence, bool)
    ):
        raise SpecError(f"evaluate: silence must be a finite number, got {silence!r}")


def _played(
    counted: MatureDecisions, given: Mapping[str, Given], with_chooser: bool, bar: Progress
) -> tuple[dict[str, Policy], Floats]:
    """Return the probabilities of every policy, and the rewards that a default chooser predicts."""
    log = counted.log
    scale = 1.0 if log.unit is None else SECONDS[log.unit]
    deadline = None if counted.deadline is None else counted.deadline * scale

    def advance(done: int) -> None:
        for _ in range(STEPS * done // len(log) - STEPS * (done - 1) // len(log)):
            bar.advance()

    found = list(kinds.usual(log))
    for policy in found:
        if policy.name in given:
            raise SpecError(f"evaluate: {policy.name!r} is there already; rename your policy")
    ours = Chooser(silence=counted.silence, deadline=deadline)
    probabilities, predictions = walk(log, ours, advance)
    walks = {CHOOSER: probabilities} if with_chooser and CHOOSER not in given else {}
    walks |= {n: walk(log, one, advance)[0] for n, one in given.items() if isinstance(one, Chooser)}
    about = "a Chooser that learned from the log as it went"
    found += [kinds.of_probabilities(log, name, about, each) for name, each in walks.items()]
    found += [kinds.own(log, name, each) for name, each in given.items() if name not in walks]
    return {policy.name: policy for policy in found}, predictions


def _weighed(log: DecisionLog, policy: Policy, predictions: Floats) -> Weighed:
    """Return all that the estimators need of a policy."""
    predicted = predictions[np.arange(len(log)), log.action]
    if policy.name == LOGGED:  # the mean of its rewards, whatever is predicted
        return Weighed(np.ones(len(log)), predicted, predicted)
    expected = None
    if policy.probabilities is not None:
        expected = (policy.probabilities * predictions).sum(axis=1)
    return Weighed(policy.of_taken / log.probability, expected, predicted)
