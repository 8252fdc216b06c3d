"""``Knobs`` as a sampler of Optuna: for trials that are answered late, out of order, or never.

Optuna's own samplers are made for a search that ends. This one is for a study that goes on beside a
live system: ``study.ask()`` now, ``study.tell(trial, value)`` whenever the value is known. A trial
that failed or was pruned is cancelled; one that is running is an open ticket, for as long as it
takes.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from belated.errors import BadFeedback, MissingExtra, SpecError
from belated.models.knobs import Knobs
from belated.ranges import Int, Log, Span

try:
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.search_space import IntersectionSearchSpace
    from optuna.study import StudyDirection
    from optuna.trial import TrialState
except ImportError:
    raise MissingExtra("optuna", extra="optuna", where="belated.adapters.optuna") from None

__all__ = ["KnobsSampler"]

_MOST_STEPS = 1 << 16
_MOST_COST = 1e50

Space = Mapping[str, BaseDistribution]


class _Open(NamedTuple):
    """A trial that waits for its value."""

    ticket: int
    asked: dict[str, Any]
    """The proposed values."""


class KnobsSampler(BaseSampler):  # type: ignore[misc]
    """Samples what ``Knobs`` proposes; it learns from trials in whatever order they end.

    ``space`` names the parameters and their distributions. Without it the sampler takes those that
    all finished trials have in common, as Optuna's do, and until there is one its trials are
    random. ``start`` are the values that are in use today. Numbers may have steps or be
    logarithmic; categories count as a row in which neighbours are alike. ``deadline`` is how many
    trials later a value is given up on.

    Trials of other processes or of earlier studies, and trials that were told which
    parameters to take, are learned from too, as they were. One objective only.

    >>> import optuna
    >>> sampler = KnobsSampler({"price": optuna.distributions.FloatDistribution(10, 200)})
    >>> study = optuna.create_study(sampler=sampler)
    >>> early, late = study.ask(sampler.space), study.ask(sampler.space)
    >>> _ = study.tell(late, 0.7)
    >>> _ = study.tell(early, state=optuna.trial.TrialState.FAIL)
    >>> 10 <= study.ask(sampler.space).params["price"] <= 200
    True
    >>> sampler.knobs.open, sampler.knobs.report().observed
    (1, 1)
    """

    def __init__(
        self,
        space: Space | None = None,
        *,
        start: Mapping[str, Any] | None = None,
        deadline: int | Mapping[str, int] | None = None,
        seed: int | None = 0,
    ) -> None:
        """Begin without a model: it is made when the parameters are known."""
        self.space: dict[str, BaseDistribution] | None = None if space is None else dict(space)
        self._start = dict(start or {})
        self._deadline, self._seed = deadline, seed
        self._others = RandomSampler(seed=seed)
        self._common = IntersectionSearchSpace()
        self._lock = threading.Lock()
        self._forget({})

    def _forget(self, space: Space) -> None:
        """Begin anew, with these parameters."""
        self._of = dict(space)
        self._knobs: Knobs | None = None
        self._open: dict[int, _Open] = {}
        self._unheard: set[int] = set()
        self._looked_at = 0

    @property
    def knobs(self) -> Knobs:
        """The model, for its report and its best setting; its knobs stand as Optuna counts them."""
        if self._knobs is None:
            raise SpecError("KnobsSampler: no trial has been asked for yet, so there are no knobs")
        return self._knobs

    # --- What Optuna calls ----------------------------------------------------------------------

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, BaseDistribution]:
        """Return what is proposed together."""
        space = self.space if self.space is not None else self._common.calculate(study)
        return {name: each for name, each in space.items() if not each.single()}

    def sample_relative(self, study: Any, trial: Any, search_space: Space) -> dict[str, Any]:
        """Learn from what has ended since, and propose a setting."""
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        with self._lock:
            if self._knobs is None or self._of != dict(search_space):
                self._forget(search_space)
                self._knobs = self._made(study)
            self._take_in(study, trial.number)
            turn = self._knobs.predict()
            asked = {name: _value(each, turn.setting[name]) for name, each in search_space.items()}
            self._open[trial.number] = _Open(turn.ticket, asked)
        return asked

    def sample_independent(
        self, study: Any, trial: Any, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a random value of a parameter that is not proposed together with others."""
        self._raise_error_if_multi_objective(study)
        return self._others.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        """Give another process other random numbers."""
        self._others.reseed_rng()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make a lock of one's own."""
        self.__dict__.update(state)
        self._lock = threading.Lock()

    # --- Trials ---------------------------------------------------------------------------------

    def _made(self, study: Any) -> Knobs:
        start = {
            name: _place(each, self._start[name])
            for name, each in self._of.items()
            if name in self._start
        }
        middle = {name: _middle(each) for name, each in self._of.items()}
        return Knobs(
            {name: _range(each) for name, each in self._of.items()},
            start={**middle, **start} if start else None,
            goal="max" if study.direction == StudyDirection.MAXIMIZE else "min",
            deadline=self._deadline,
            seed=self._seed,
        )

    def _take_in(self, study: Any, now: int) -> None:
        """Learn from trials that have ended since the last look."""
        trials: Sequence[Any] = study.get_trials(deepcopy=False)
        waiting = [*self._open, *self._unheard, *range(self._looked_at, len(trials))]
        self._looked_at = len(trials)
        for number in waiting:
            trial = trials[number]
            if not trial.state.is_finished():
                if number not in self._open and number != now:
                    self._unheard.add(number)
                continue
            self._unheard.discard(number)
            mine = self._open.pop(number, None)
            actual = self._actual(trial)
            usable = actual is not None and _is_usable(trial)
            if mine is None and not usable:
                continue
            assert self._knobs is not None
            ticket = self._knobs.predict().ticket if mine is None else mine.ticket
            if not usable:
                self._close(ticket)
            elif mine is None or any(trial.params[name] != mine.asked[name] for name in self._of):
                self._learn(ticket, actual, trial.value)
            else:
                self._learn(ticket, None, trial.value)

    def _actual(self, trial: Any) -> dict[str, Any] | None:
        """Return what a trial took, as knobs stand; None where it has no such parameters."""
        for name, each in self._of.items():
            value = trial.params.get(name)
            if name not in trial.params or not each._contains(each.to_internal_repr(value)):
                return None
        return {name: _place(each, trial.params[name]) for name, each in self._of.items()}

    def _learn(self, ticket: int, actual: dict[str, Any] | None, value: float) -> None:
        assert self._knobs is not None
        try:
            if actual is not None:
                self._knobs.played(ticket, actual)
            self._knobs.observe(ticket, value)
        except BadFeedback:  # past its deadline, and another value was put in its place
            self._close(ticket)

    def _close(self, ticket: int) -> None:
        assert self._knobs is not None
        self._knobs.cancel(ticket)


def _is_usable(trial: Any) -> bool:
    """Tell whether a finished trial has a value that can be learned."""
    if trial.state != TrialState.COMPLETE or trial.value is None:
        return False
    return math.isfinite(trial.value) and abs(trial.value) <= _MOST_COST


# --- Distributions -------------------------------------------------------------------------------


def _steps(each: BaseDistribution) -> int:
    """Return how many steps a distribution has; 0 for none, and for more than count."""
    if isinstance(each, CategoricalDistribution):
        return len(each.choices) - 1
    if each.step is None or each.log:
        return 0
    steps = round((each.high - each.low) / each.step)
    return steps if steps < _MOST_STEPS else 0


def _range(each: BaseDistribution) -> Span | Log | Int:
    """Return the range of a knob: steps are counted from 0."""
    if isinstance(each, CategoricalDistribution | FloatDistribution | IntDistribution):
        if steps := _steps(each):
            return Int(0, steps)
        return (Log if each.log else Span)(each.low, each.high)
    raise SpecError(f"KnobsSampler: no such distribution, {each!r}")


def _value(each: BaseDistribution, place: Any) -> Any:
    """Return the value of a parameter where a knob stands."""
    if isinstance(each, CategoricalDistribution):
        return each.choices[int(place)]
    if _steps(each):
        place = each.low + place * each.step
    if isinstance(each, IntDistribution):
        return min(max(round(place), each.low), each.high)
    return min(max(float(place), each.low), each.high)


def _place(each: BaseDistribution, value: Any) -> Any:
    """Return where the knob of a parameter stands at a value."""
    if isinstance(each, CategoricalDistribution):
        return int(each.to_internal_repr(value))
    return round((value - each.low) / each.step) if _steps(each) else float(value)


def _middle(each: BaseDistribution) -> Any:
    if steps := _steps(each):
        return steps // 2
    return math.sqrt(each.low * each.high) if each.log else 0.5 * (each.low + each.high)
