"""``Knobs``: settings of a live system, learned from late costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from belated import core, sealed
from belated.arrays import Floats, Ints
from belated.core import knobs as core_knobs
from belated.core.component import demand
from belated.core.knobs import Expected, Proposal
from belated.errors import BadFeatures, BadFeedback, SnapshotError, SpecError
from belated.files import StrPath, write_whole
from belated.models.clock import Duration
from belated.models.events import events_of
from belated.models.extras import extras_of
from belated.models.knobs.report import (
    MODES,
    InContext,
    KnobsReport,
    comparison_of,
    past_of,
    shares_of,
)
from belated.models.knobs.settings import Setting, Settings, checked, restored
from belated.models.moments import Time, read_time
from belated.models.times import Times
from belated.validation import checked_seed, checked_ticket, numbers

if TYPE_CHECKING:
    from belated.timeline import Timeline
    from belated.timeline.columns import TimesLike

__all__ = ["Expected", "Knobs", "Proposal"]

_COUNTS = (
    *("rounds", "observed", "open", "cancelled", "late", "max_delay", "max_answered_delay"),
    *("max_unanswered_age", "max_backlog"),
)
_KIND = "Knobs"  # of a snapshot
_UNREADABLE = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, SpecError, TypeError),
    ValueError,
)
_TRIES = 64  # plays that the cost of exploring is estimated from


class Knobs(core_knobs.Knobs):
    """Finds good settings of a live system from costs that come late, noisy, in any order or never.

    ``knobs`` is a dict of names and ranges: (low, high), ``bl.ranges.Log(low, high)``,
    ``bl.ranges.Int(low, high)`` or ``bl.ranges.Categories([...])``. ``start`` is today's setting,
    the middle if it is not given. ``goal`` is "min" for costs and "max" for what is to be large.
    ``context`` names what may be known of a round before it is played: a dict of names and ranges,
    or lists of values. ``constraints`` are what settings must satisfy beside their ranges: dicts of
    factors by knob, with ``at_most`` or ``at_least``, such as ``{"low": 1, "high": -1, "at_most":
    -5}``.

    It is Thompson sampling with twelve Bayesian linear models over quadratic and cosine features of
    the settings, which differ in how long they remember and in whether blocks of rounds have levels
    of their own (see docs/knobs.md). Nothing needs tuning, and nothing depends on the unit of the
    costs. No bound on the regret is claimed; ``bl.OnePoint`` has one.

    For a live system: a setting is held for ``hold`` rounds; from one setting of the learner to the
    next no knob moves by more than ``max_step`` of its range (a number, or a dict by knob; what
    plays the start may jump); in a share ``holdout`` of the rounds a coin plays the start, and
    ``report`` compares the two; when the learner is worse for sure, it goes back to the start by
    itself. ``deadline`` is how long a cost is waited for, ``silence`` what it then is (None: it is
    left out): a number of rounds, or of whatever ``at`` is given in from the first round on; or a
    length of time (a timedelta, "7d", "36h"), and then the first ``predict`` needs ``at``, a date
    or seconds since 1970; a later one without it is at the latest time that was told.

    Everything that is drawn is a function of ``seed`` and ticket; None draws a seed.

    >>> import belated as bl
    >>> knobs = bl.Knobs({"price": (10, 200), "retries": bl.ranges.Int(0, 6)})
    >>> for visit in range(30):
    ...     ticket, setting = knobs.predict()
    ...     cost = (setting["price"] / 100 - 1.2) ** 2 + abs(setting["retries"] - 2)
    ...     used = knobs.observe(ticket, cost)
    >>> best = knobs.best()
    >>> best["retries"], 100 < best["price"] < 140
    (2, True)

    Every event is one C call. A call while another one is at work raises ``BusyError``.
    """

    __slots__ = ("__dict__", "__weakref__", "_times")

    def __init__(
        self,
        knobs: Mapping[str, Any],
        *,
        start: Setting | None = None,
        goal: str = "min",
        context: Mapping[str, Any] | None = None,
        constraints: Sequence[Mapping[str, float]] | None = None,
        hold: int = 1,
        max_step: float | Mapping[str, float] | None = None,
        holdout: float = 0.0,
        silence: float | None = None,
        deadline: Duration | None = None,
        seed: int | None = 0,
    ) -> None:
        settings = checked(
            knobs=knobs,
            start=start,
            goal=goal,
            context=context,
            constraints=constraints,
            hold=hold,
            max_step=max_step,
            holdout=holdout,
            silence=silence,
            deadline=deadline,
            seed=checked_seed(seed, "Knobs"),
        )
        self._begin(settings)

    def _begin(self, settings: Settings) -> None:
        """Take settings, having seen nothing."""
        core.warn_if_interpreted()
        super()._begin(settings)
        self._times = Times(settings, self._tuner)

    _memory: Any = property(lambda self: self._tuner)
    """What stores and services read of all models with times."""
    _keys: Any = property(lambda self: self._names)
    """Keys of tickets."""

    @property
    def settings(self) -> Settings:
        """The arguments, checked."""
        settings: Settings = self._settings
        return settings

    @property
    def rounds(self) -> int:
        """Predictions so far; also the next ticket."""
        return int(self._tuner.tickets.rounds)

    @property
    def open(self) -> int:
        """Tickets that still wait for their cost."""
        return int(self._tuner.tickets.open)

    @property
    def mode(self) -> str:
        """Whether they are "learning", "paused" or "reverted" to the start."""
        return MODES[self._tuner.mode]

    def _time(self, at: Time | None, who: str) -> tuple[float, int]:
        """Return the time of an event, NaN for none, and its kind, 0 for none."""
        moment = None if at is None else read_time(at, who)
        kind = 0 if moment is None else moment.kind
        if who == "predict":
            return self._times.issued(moment, None)[0], kind
        if who == "tick":
            return self._times.of_tick(moment), kind
        return self._times.of_answer(moment, who), kind

    def _run_arguments(
        self,
        timeline: Timeline | ArrayLike,
        costs: ArrayLike,
        first: int,
        contexts: Sequence[Mapping[str, Any]] | None,
        at: TimesLike | None,
    ) -> tuple[Ints, Floats, int, Floats, Floats, int]:
        """Return events, costs, the first ticket, features, times and their kind."""
        settings, events = self.settings, events_of(timeline, "run")
        first = checked_ticket(first)
        values = numbers(costs, "run: costs must be numbers", BadFeedback).ravel()
        given = [None] * values.size if contexts is None else list(contexts)
        if len(given) != values.size:
            raise BadFeatures(
                f"run: contexts must have one entry for every cost, {values.size}, got {len(given)}"
            )
        rows = [settings.features(each, "run") for each in given]
        times, kind = self._times.of_events(at, events.size, "run")
        times = np.require(times, np.float64, ("C", "ALIGNED"))
        features = np.concatenate([np.empty(0), *rows])
        return events, settings.cost(1.0) * values, first, features, times, kind

    # --- Reports --------------------------------------------------------------------------------

    def report(self) -> KnobsReport:
        """Return counts, the best setting, weights of models, and the comparison."""
        report: KnobsReport = self._alone("report", self._report)
        return report

    def _report(self) -> KnobsReport:
        settings, tuner = self.settings, self._tuner
        models, unit = tuner.models, tuner.answers.unit
        counts = tuner.tickets.counts()
        memories, levels, by_features = shares_of(models.weights)
        features, deviations = models.contexts()
        best = self._best(features)
        at_best = self._expected(best, features)
        at_start = self._expected(settings.start, features)
        noise = math.sqrt(models.noise[models.weights.argmax() // 2]) * unit
        is_known = unit > 0.0
        return KnobsReport(
            **{name: counts[name] for name in _COUNTS},
            skipped=counts["skipped"] - tuner.settled,
            settled=tuner.settled,
            corrected=tuner.corrected,
            tamed=models.clipped,
            mode=self.mode,
            goal=settings.goal,
            start=dict(settings.start),
            best=best,
            expected=at_best.cost if is_known else None,
            uncertainty=at_best.uncertainty if is_known else None,
            expected_at_start=at_start.cost if is_known else None,
            noise=noise if is_known else None,
            exploring=self._exploring(at_best.cost, features) if is_known else None,
            memories=memories,
            levels=levels,
            features=by_features,
            comparison=comparison_of(settings, tuner.comparison),
            alarms=tuner.comparison.alarms,
            past=past_of(settings, tuner.history),
            contexts=tuple(
                self._in_context(*each)
                for each in (settings.typical_contexts(features, deviations) if is_known else ())
            ),
        )

    def _in_context(self, name: str, value: Any, share: Any, features: Floats) -> InContext:
        """Return what seems best in a context."""
        best = self._best(features)
        return InContext(name, value, share, best, self._expected(best, features).cost)

    def _exploring(self, at_best: float, features: Floats) -> float:
        """Return how much worse than the best the next plays are thought to be, on average."""
        plays = [self._best(features, self.rounds + i) for i in range(_TRIES)]
        mean = sum(self._expected(play, features).cost for play in plays) / _TRIES
        return abs(mean - at_best)

    def page(self, path: StrPath) -> None:
        """Write a page: costs over time, the surface around the best, and weights of models."""
        from belated.models.knobs import page  # imports the drawing code only when it is needed

        page.write(path, self)

    # --- State ----------------------------------------------------------------------------------

    def fresh(self, seed: int | None = None) -> Self:
        """Return knobs with the same settings that have seen nothing; with another seed maybe."""
        settings = self.settings
        if seed is not None:
            settings = replace(settings, seed=checked_seed(seed, "fresh"))
        knobs = type(self).__new__(type(self))
        knobs._begin(settings)
        return knobs

    def snapshot(self, *, secret: bytes | None = None) -> bytes:
        """Return all of it as one blob; equal knobs give equal blobs.

        With a ``secret``, a blob that was written or changed without it is refused.
        """
        state, keys = self._state("snapshot")
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        fields = {name: value for name, value in state.items() if name not in arrays}
        about = {"settings": self.settings.to_dict(), "state": fields, **keys}
        return sealed.seal(_KIND, about, arrays, secret)

    @classmethod
    def restore(cls, blob: bytes, *, secret: bytes | None = None) -> Self:
        """Return what a snapshot holds; it goes on as if nothing had happened.

        ``secret`` is the one that ``snapshot`` was given. Raises ``SnapshotError``. What
        ``LinearModel.load`` says of later tickets holds here.
        """
        about, arrays = sealed.unseal(_KIND, blob, None, secret)
        knobs = cls.__new__(cls)
        try:
            settings, state = restored(about["settings"]), {**arrays, **dict(about["state"])}
            demand(len(state) == len(arrays) + len(about["state"]), "a field that is there twice")
            knobs._begin(settings)
            knobs._tuner.check(state)
        except SnapshotError:
            raise
        except _UNREADABLE as error:
            raise SnapshotError(f"restore: the knobs cannot be read ({error})") from error
        has_times = state["kind_of_times"] > 0
        demand(not (settings.counts_predictions and has_times), "the kind of times")
        demand(has_times or not settings.needs_times or not state["tickets.rounds"], "the clock")
        knobs._tuner.restore(state)
        knobs._names.restore(about)
        return knobs

    def save(self, path: StrPath, *, secret: bytes | None = None) -> None:
        """Write a snapshot to a file as a whole, or leave the file as it was."""
        write_whole(path, self.snapshot(secret=secret))

    @classmethod
    def load(cls, path: StrPath, *, secret: bytes | None = None) -> Self:
        """Return what a file holds; arguments and errors are those of ``restore``."""
        return cls.restore(Path(path).read_bytes(), secret=secret)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
        """Pickle and copy by snapshot, and what subclasses add."""
        return type(self).restore, (self.snapshot(),), extras_of(self, Knobs)

    def __repr__(self) -> str:
        """Return what this is and where it stands."""
        names = ", ".join(self.settings.knobs)
        return f"<Knobs, {names}: {self.rounds} rounds, {self.open} open>"
