"""``Knobs``: settings of a live system, learned from late costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from belated import core
from belated.arrays import Floats, Ints, add_in_order
from belated.core import knobs as core_knobs
from belated.core.component import demand
from belated.core.knobs import Expected, Proposal, Proposals
from belated.errors import BadFeatures, BadFeedback
from belated.files import StrPath
from belated.models.clock import Duration
from belated.models.events import events_of
from belated.models.knobs.report import (
    MODES,
    InContext,
    KnobsReport,
    comparison_of,
    past_of,
    shares_of,
)
from belated.models.knobs.settings import Setting, Settings, checked, restored
from belated.models.online import RowModel
from belated.models.snapshots import Contents
from belated.models.times import Times
from belated.validation import checked_seed, checked_ticket, numbers

if TYPE_CHECKING:
    from belated.keys import Key
    from belated.models.moments import Time
    from belated.timeline import Timeline
    from belated.timeline.time_column import TimesLike

__all__ = ["Expected", "Knobs", "Proposal", "Proposals"]

_COUNTS = (
    *("rounds", "observed", "open", "cancelled", "late", "max_delay", "max_answered_delay"),
    *("max_unanswered_age", "max_backlog"),
)
Context = Mapping[str, Any]
_TRIES = 64  # plays that the cost of exploring is estimated from


class Knobs(
    RowModel[
        float,
        Settings,
        Context | None,
        Iterable[Context | None] | int | None,
        Proposal,
        Setting,
        Proposals,
        list[Setting],
        list[Setting],
    ],
    core_knobs.Knobs,
):
    """Finds good settings of a live system from costs that come late, noisy, in any order or never.

    ``knobs`` is a dict of names and ranges: (low, high), ``bl.ranges.Log(low, high)``,
    ``bl.ranges.Int(low, high)`` or ``bl.ranges.Categories([...])``. ``start`` is today's setting,
    the middle if it is not given. ``goal`` is "min" for costs and "max" for what is to be large.
    ``context`` names what may be known of a round before it is played: a dict of names and ranges,
    or lists of values. ``constraints`` are what settings must satisfy beside their ranges: dicts of
    factors by knob, with ``at_most`` or ``at_least``, such as ``{"low": 1, "high": -1, "at_most":
    -5}``.

    It is Thompson sampling with eight Bayesian linear models over quadratic and cosine features of
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

    __slots__ = ("__dict__", "__weakref__")

    _kind_name = "Knobs"

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
        self._take(settings)

    if TYPE_CHECKING:  # the context may be left out

        def predict(
            self,
            row: Context | None = None,
            *,
            key: Key | None = None,
            at: Time | None = None,
            deadline: Duration | None = None,
        ) -> Proposal: ...

        def peek(self, row: Context | None = None) -> Setting: ...

    def _take(self, settings: Settings, like: Any = None) -> None:
        """Take settings, having seen nothing."""
        core.warn_if_interpreted()
        self._begin(settings)
        self._times = Times(settings, self._tuner)

    @property
    def mode(self) -> str:
        """Whether they are "learning", "paused" or "reverted" to the start."""
        mode: str = self._committed("mode", lambda: MODES[self._tuner.mode])
        return mode

    def _replay_arguments(
        self,
        contexts: Sequence[Mapping[str, Any]] | None,
        costs: ArrayLike,
        timeline: Timeline | ArrayLike,
        first: int,
        at: TimesLike | None,
    ) -> tuple[Ints, Floats, int, Floats, Floats, int]:
        """Return events, costs, the first ticket, features, times and their kind."""
        settings, events = self.settings, events_of(timeline, "replay")
        first = checked_ticket(first)
        values = numbers(costs, "replay: answers must be numbers", BadFeedback).ravel()
        given = [None] * values.size if contexts is None else list(contexts)
        if len(given) != values.size:
            raise BadFeatures(
                f"replay: contexts must have one entry for every answer, {values.size}, got "
                f"{len(given)}"
            )
        rows = [settings.features(each, "replay") for each in given]
        times, kind = self._times.of_events(at, events.size, "replay")
        times = np.require(times, np.float64, ("C", "ALIGNED"))
        features = np.concatenate([np.empty(0), *rows])
        return events, settings.cost(1.0) * values, first, features, times, kind

    # --- Reports --------------------------------------------------------------------------------

    def report(self) -> KnobsReport:
        """Return counts, the best setting, weights of models, and the comparison."""
        report: KnobsReport = self._committed("report", self._report)
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
            clipped=models.clipped,
            mode=MODES[tuner.mode],
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
        mean = add_in_order(self._expected(play, features).cost for play in plays) / _TRIES
        return abs(mean - at_best)

    def page(self, path: StrPath) -> None:
        """Write a page: costs over time, the surface around the best, and weights of models."""
        from belated.models.knobs import html_page  # imports the drawing code when needed

        html_page.write(path, self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the report and the first figures of the page for notebooks."""
        from belated.models.knobs.html_page import page_of
        from belated.report.page import figures_html

        figures = figures_html(page_of(self))
        return {"text/plain": repr(self), "text/html": self._repr_html_() + figures}

    # --- Snapshots ------------------------------------------------------------------------------

    def _contents(self) -> Contents:
        return Contents({"settings": self.settings.to_dict()}, *self._state_now())

    def _read(self, about: dict[str, Any], arrays: dict[str, Any], parts: Any) -> dict[str, Any]:
        self._take(restored(about["settings"]))
        return {}

    def _verify(self, state: dict[str, Any]) -> None:
        settings, has_times = self.settings, state["kind_of_times"] > 0
        demand(not (settings.counts_predictions and has_times), "the kind of times")
        demand(has_times or not settings.needs_times or not state["tickets.rounds"], "the clock")

    def _title(self) -> str:
        return f"Knobs, {', '.join(self.settings.knobs)}"
