"""``Knobs``: turn the knobs of a live system now, hear the cost later."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from belated import refusals
from belated.arrays import Floats, Ints
from belated.errors import AlreadyObserved, BadFeatures, BadFeedback, UnknownTicket
from belated.files import StrPath, write_whole
from belated.kernels.knobs import entries
from belated.kernels.knobs import layout as L
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.knobs import snapshot
from belated.knobs.memory import KnobsMemory
from belated.knobs.report import (
    InContext,
    KnobsReport,
    comparison_of,
    mode_of,
    past_of,
    shares_of,
)
from belated.knobs.settings import Setting, Settings, checked
from belated.learner.events import events_of
from belated.learner.extras import extras_of
from belated.learner.keys import Key, Keys
from belated.learner.turns import alone
from belated.linear.clock import Duration
from belated.linear.moments import Moment, Time, read_time
from belated.linear.times import NEVER, Times
from belated.timeline import Timeline
from belated.timeline.columns import TimesLike
from belated.validation import checked_seed, checked_ticket, numbers

_as_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time
_NOTHING = np.empty(0)
_LARGEST = ("max_delay", "max_answered_delay", "max_unanswered_age", "max_backlog")
_TRIES = 64  # plays that the cost of exploring is estimated from


class Proposal(NamedTuple):
    """What ``predict`` returns."""

    ticket: int
    """Number to give back with the cost."""
    setting: Setting
    """A value for every knob, by its name."""


class Expected(NamedTuple):
    """What ``expect`` returns."""

    cost: float
    """What a round is thought to cost on average."""
    uncertainty: float
    """Standard deviation of that, the noise of a single cost left out."""


class Knobs:
    """Finds good settings of a live system from costs that come late, noisy, in any order or never.

    ``knobs`` is a dict of names and ranges: (low, high), ``bl.ranges.Log(low, high)``,
    ``bl.ranges.Int(low, high)`` or ``bl.ranges.Categories([...])``. ``start`` is today's setting,
    the middle if it is not given. ``goal`` is "min" for costs and "max" for what is to be large.
    ``context`` says what may be known of a round before it is played: a dict of names and ranges,
    or lists of values.
    ``constraints`` are what settings must satisfy beside their ranges: dicts of factors by knob,
    with ``at_most`` or ``at_least``, such as ``{"low": 1, "high": -1, "at_most": -5}``.

    It is Thompson sampling with twelve Bayesian linear models over quadratic and cosine features of
    the settings, which differ in how long they remember and in whether blocks of rounds have levels
    of their own (see docs/knobs.md). Nothing needs tuning, and nothing depends
    on the unit of the costs. No bound on the regret is claimed; ``bl.OnePoint`` has one.

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

    For one thread at a time: a call while another one is at work raises ``BusyError``.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_keys",
        "_memory",
        "_settings",
        "_step",
        "_turn",
    )

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
        self._connect(settings, KnobsMemory.begun(settings), Keys())

    def _connect(self, settings: Settings, memory: KnobsMemory, keys: Keys) -> None:
        self._settings, self._memory, self._keys = settings, memory, keys
        self._step = entries.step()
        self._turn: list[None] = [None]

    def _do(
        self,
        verb: int,
        ticket: int = 0,
        cost: float = 0.0,
        at: float = NEVER,
        given: Floats = _NOTHING,
        out: Floats = _NOTHING,
    ) -> int:
        memory = self._memory
        return self._step(memory.f, memory.n, verb, ticket, cost, at, given, out)

    @property
    def _times(self) -> Times:
        return Times(self._settings, self._memory)

    # --- Settings -------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """What these knobs were told."""
        return self._settings

    @property
    def rounds(self) -> int:
        """Predictions so far; also the next ticket."""
        return self._memory.rounds

    @property
    def open(self) -> int:
        """Tickets that still wait for their cost."""
        return self._memory.open

    @property
    def mode(self) -> str:
        """Whether they are "learning", "paused" or "reverted" to the start."""
        return mode_of(self._memory)

    @alone
    def predict(
        self,
        key: Key | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        at: Time | None = None,
    ) -> Proposal:
        """Return the next ticket and the setting to play; ``at`` is the time.

        With a ``key``, a string that no open ticket has, every other verb takes the key in the
        place of the ticket, and snapshots keep it. What is not said of a context that was announced
        counts as the middle of its range, or as none of its values.
        """
        settings, keys, memory = self._settings, self._keys, self._memory
        if keys.left is not None:
            keys.finish(memory)
        if key is not None:
            keys.check(key, memory.is_open)
        given = settings.features(context) if settings.context or context else _NOTHING
        now = NEVER
        moment = None if at is None else read_time(at, "predict")
        if moment is not None or settings.deadline is not None:
            now, _ = self._times.issued(moment, None)
        x = np.empty(len(settings.places))
        if moment is not None:
            memory = self._at(moment)
        if key is not None:
            keys.left = key, memory.n.item(N.ROUNDS), 0
        try:
            ticket = self._step(memory.f, memory.n, L.PREDICT, 0, 0.0, now, given, x)
            if ticket == S.FULL:
                memory.grow()
                ticket = self._step(memory.f, memory.n, L.PREDICT, 0, 0.0, now, given, x)
            self._memory = memory
        finally:
            if keys.left is not None:
                keys.finish(self._memory)
        return _as_tuple(Proposal, (ticket, settings.setting(x.tolist())))

    def _at(self, at: Moment) -> KnobsMemory:
        """Return memory that knows of what kind times are: a copy, where that is news.

        An interrupt before it is put in the place of the old one has changed nothing.
        """
        memory, deadline = self._memory, self._settings.deadline
        if memory.knows_times(deadline, at.kind):
            return memory
        memory = memory.twin(self._settings)
        memory.take_time(deadline, at.kind)
        return memory

    def _finish(self) -> None:
        """Do what is left of an event that was interrupted after its kernel."""
        self._keys.finish(self._memory)

    @alone
    def best(self, context: Mapping[str, Any] | None = None) -> Setting:
        """Return the setting that seems best now; it changes nothing."""
        return self._best(self._settings.features(context, "best"))

    def _best(self, features: Floats, ticket: int = -1) -> Setting:
        x = np.empty(len(self._settings.knobs))
        self._do(L.BEST, ticket, given=features, out=x)
        return self._settings.setting(x.tolist())

    @alone
    def expect(self, setting: Setting, context: Mapping[str, Any] | None = None) -> Expected:
        """Return what a setting is thought to cost; NaN before enough costs are in."""
        return self._expected(setting, self._settings.features(context, "expect"))

    def _expected(self, setting: Mapping[str, Any], features: Floats) -> Expected:
        settings, memory = self._settings, self._memory
        unit = memory.number(L.UNIT)
        places = settings.places_of(setting, "expect")
        if unit == 0.0:
            return Expected(math.nan, math.nan)
        out = np.empty(3)
        entries.look()(memory.f, memory.n, np.concatenate([places, features]), out)
        mean, deviation, _ = out.tolist()
        return Expected(settings.cost(memory.cost(mean)), unit * deviation)

    # --- Costs ----------------------------------------------------------------------------------

    @alone
    def observe(self, ticket: int | Key, cost: float, *, at: Time | None = None) -> bool:
        """Learn the cost of a round, the last word on it.

        Any order, any delay. Returns False when its deadline had passed, so that it is dropped.
        Raises ``UnknownTicket``, ``AlreadyObserved`` or ``BadFeedback``, and then nothing has
        changed.
        """
        return self._hear("observe", L.OBSERVE, ticket, cost, at)

    @alone
    def revise(self, ticket: int | Key, cost: float, *, at: Time | None = None) -> bool:
        """Learn the cost so far; the ticket stays open, and the cost may change again.

        What was learned of an earlier cost is taken back: the sums of models have the newest one
        alone. Their weights and their noise follow last words only.
        """
        return self._hear("revise", L.REVISE, ticket, cost, at)

    def _hear(self, who: str, verb: int, ticket: int | Key, cost: Any, at: Time | None) -> bool:
        self._finish()
        number = self.ticket(ticket)
        value = cost if cost.__class__ is float else _number(cost)
        now = NEVER if at is None else self._times.of_answer(read_time(at, who), who)
        status = self._do(verb, number, self._settings.cost(value), now)
        if status < 0:
            raise self._refusal(status, number, f"{who}: ")
        if verb == L.OBSERVE:
            self._keys.drop(ticket)
        return status == S.USED

    @alone
    def cancel(self, ticket: int | Key) -> None:
        """Close a ticket whose cost will never come; what was learned of it stays."""
        self._finish()
        number = self.ticket(ticket)
        status = self._do(L.CANCEL, number)
        if status < 0:
            raise self._refusal(status, number, "cancel: ")
        self._keys.drop(ticket)

    @alone
    def tick(self, at: Time) -> None:
        """Let the clock go on without a round: tickets whose deadline has passed are closed.

        The clock never goes back; an earlier time changes nothing.
        """
        self._finish()
        moment = read_time(at, "tick")
        now = self._times.of_tick(moment)
        memory = self._memory if moment is None else self._at(moment)
        self._step(memory.f, memory.n, L.TICK, 0, 0.0, now, _NOTHING, _NOTHING)
        self._memory = memory

    @alone
    def played(self, ticket: int | Key, actual: Setting) -> None:
        """Say what was really played, where the system rounded, clamped or overrode a setting.

        It must be said before the cost, and be inside of the ranges: cancel the ticket otherwise.
        The comparison with the start is of what happened after the coin, so that it still counts.
        Said of the newest ticket, the next step of ``max_step`` is from there. What ``constraints``
        forbid is learned as it was, and the next step is from the nearest setting that they allow.
        """
        self._correct(L.PLAYED, ticket, actual)

    @alone
    def _follow(self, ticket: int | Key, actual: Setting) -> None:
        """Say what somebody else played in this round; otherwise this is ``played``.

        Whoever chose, it was not the coin of these knobs: the round is not compared.
        """
        self._correct(L.OVERRIDDEN, ticket, actual)

    def _correct(self, verb: int, ticket: int | Key, actual: Setting) -> None:
        self._finish()
        number = self.ticket(ticket)
        places = self._settings.places_of(actual, "played")
        status = self._do(verb, number, given=places)
        if status == S.OUT_OF_ORDER:
            raise BadFeedback(
                f"played: a cost of ticket {number} was heard before; nothing has changed: say "
                "what was played first"
            )
        if status < 0:
            raise self._refusal(status, number, "played: ")

    def ticket(self, name: int | Key) -> int:
        """Return the ticket that a key stands for; a ticket stands for itself."""
        return checked_ticket(self._keys.ticket(name))

    def is_open(self, ticket: int | Key) -> bool:
        """Tell whether a ticket, or that of a key, still waits for its cost."""
        return self._keys.is_open(ticket, self._memory.is_open)

    def _refusal(self, status: int, ticket: int, where: str) -> refusals.Refusal:
        if status == S.CLOSED:
            return AlreadyObserved(f"{where}ticket {ticket} {refusals.CLOSED_BEFORE}")
        of_ticket = refusals.of_ticket(status, ticket, self._memory.rounds, where)
        if of_ticket is not None:
            return of_ticket
        return BadFeedback(
            f"{where}the cost of ticket {ticket} is no number, not finite, or too large to compute "
            "with (1e50); nothing has changed: send a finite one, or cancel the ticket"
        )

    # --- A live system --------------------------------------------------------------------------

    @alone
    def pause(self) -> None:
        """Play the last setting of the learner from now on; costs are still learned.

        An alarm still goes back to the start.
        """
        self._change(L.PAUSED)

    @alone
    def revert(self) -> None:
        """Play the start from now on; costs are still learned."""
        self._change(L.REVERTED)

    @alone
    def resume(self) -> None:
        """Learn and explore again.

        After an alarm, the comparison with the start begins anew, with rounds from now on.
        """
        self._finish()
        f, rounds = self._memory.f, self.rounds
        if f[L.ALARMED]:  # no call from here on, so that an interrupt comes before or after it all
            f[L.COMPARED : L.OF_ARM + 4] = 0.0
            f[L.ALARMED], f[L.ANEW] = 0.0, rounds
        f[L.MODE], f[L.FRESH] = L.LEARNING, 1.0

    def _change(self, mode: int) -> None:
        self._finish()
        self._memory.f[L.MODE] = mode
        self._memory.f[L.FRESH] = 1.0

    # --- Whole logs -----------------------------------------------------------------------------

    @alone
    def run(
        self,
        timeline: Timeline | ArrayLike,
        costs: ArrayLike,
        *,
        first: int = 0,
        contexts: Sequence[Mapping[str, Any]] | None = None,
        at: TimesLike | None = None,
    ) -> list[Setting]:
        """Feed a whole log through the compiled loop and return the settings, one per prediction.

        ``timeline`` is a ``Timeline`` or an array of events: t for the prediction of ticket t, ~t
        for its cost. ``costs`` and ``contexts`` have one entry for every ticket from ``first`` on,
        ``at`` the time of every event, where it matters. The result is the same, bit for bit, as
        event by event; when an event is refused, everything is as it was before.
        """
        self._finish()
        events = events_of(timeline, "run")
        first = checked_ticket(first)
        values = numbers(costs, "run: costs must be numbers", BadFeedback).ravel()
        values = self._settings.cost(1.0) * values
        if contexts is not None and len(contexts) != values.size:
            raise BadFeatures(
                f"run: contexts must have one entry for every cost, {values.size}, got "
                f"{len(contexts)}"
            )
        given = [None] * values.size if contexts is None else contexts
        rows = [self._settings.features(each, "run") for each in given]
        k = len(self._settings.knobs)
        plays = np.empty(k * values.size)
        times, kind = self._times.of_events(at, events.size, "run")
        before = self._memory.twin(self._settings)
        try:
            if kind and (events >= 0).any():  # as live: times of costs alone are not kept
                self._memory.take_time(self._settings.deadline, kind)
            self._run(events, values, first, times, np.concatenate([_NOTHING, *rows]), plays)
        except BaseException:
            self._memory = before
            raise
        asked = events[events >= 0] - first
        return [self._settings.setting(places) for places in plays.reshape(-1, k)[asked].tolist()]

    def _run(
        self,
        events: Ints,
        costs: Floats,
        first: int,
        times: Floats,
        contexts: Floats,
        plays: Floats,
    ) -> None:
        tickets = np.where(events >= 0, events, ~events) - first
        if ((tickets < 0) | (tickets >= costs.size)).any():
            raise UnknownTicket("run: every ticket of the timeline needs an entry in costs")
        run, done = entries.run(), 0
        while done < events.size:
            memory = self._memory
            when = times[done:] if times.size > 1 else times
            done += run(memory.f, memory.n, events[done:], costs, first, when, contexts, plays)
            if done < events.size:
                self._make_room_or_raise(int(events[done]), done, costs, first)

    def _make_room_or_raise(self, event: int, position: int, costs: Floats, first: int) -> None:
        """Let the table grow if it was full; else raise what the event is refused for."""
        where = f"run: event {position}: "
        if event >= 0 and event != self.rounds:
            raise refusals.out_of_turn(self.rounds, event, where)
        if event >= 0:
            self._memory.grow()
            return
        status = self._do(L.OBSERVE, ~event, costs.item(~event - first))
        raise self._refusal(status, ~event, where)

    # --- State ----------------------------------------------------------------------------------

    @alone
    def report(self) -> KnobsReport:
        """Return counts, the best setting, what is believed in, and the comparison."""
        self._finish()
        settings, memory = self._settings, self._memory
        counts = memory.counts()
        memories, levels, by_features = shares_of(memory)
        features, deviations = memory.contexts()
        best = self._best(features)
        at_best = self._expected(best, features)
        at_start = self._expected(settings.start, features)
        is_known = memory.number(L.UNIT) > 0.0
        seen = np.empty(3)
        entries.look()(memory.f, memory.n, np.concatenate([settings.places, features]), seen)
        noise = memory.views.noise[memory.views.weights.argmax() // L.FEATURES]
        settled = int(memory.number(L.SETTLED))
        return KnobsReport(
            **{name: counts[name] for name in ("rounds", "observed", "open", "cancelled", "late")},
            **{name: counts[name] for name in _LARGEST},
            skipped=counts["skipped"] - settled,
            settled=settled,
            corrected=int(memory.number(L.CORRECTED)),
            tamed=int(memory.number(L.TAMED)),
            mode=self.mode,
            goal=settings.goal,
            start=dict(settings.start),
            best=best,
            expected=at_best.cost if is_known else None,
            uncertainty=at_best.uncertainty if is_known else None,
            expected_at_start=at_start.cost if is_known else None,
            noise=math.sqrt(noise) * memory.number(L.UNIT) if is_known else None,
            exploring=self._exploring(at_best.cost, features) if is_known else None,
            memories=memories,
            levels=levels,
            features=by_features,
            comparison=comparison_of(settings, memory, seen.item(2)),
            alarms=int(memory.number(L.ALARMS)),
            past=past_of(settings, memory),
            contexts=tuple(
                self._in_context(*each)
                for each in (settings.marked(features, deviations) if is_known else ())
            ),
        )

    def _in_context(self, name: str, value: Any, share: Any, features: Floats) -> InContext:
        """Return what seems best in a context."""
        best = self._best(features)
        return InContext(name, value, share, best, self._expected(best, features).cost)

    def page(self, path: StrPath) -> None:
        """Write a page: costs over time, the surface around the best, and what is believed in."""
        from belated.knobs import page  # it needs what draws, which nobody else here does

        page.write(path, self)

    def _exploring(self, at_best: float, features: Floats) -> float:
        """Return how much worse than the best the next plays are thought to be, on average."""
        plays = [self._best(features, self.rounds + i) for i in range(_TRIES)]
        mean = sum(self._expected(play, features).cost for play in plays) / _TRIES
        return abs(mean - at_best)

    def fresh(self, seed: int | None = None) -> Self:
        """Return knobs with the same settings that have seen nothing; with another seed maybe."""
        settings = self._settings
        if seed is not None:
            settings = replace(settings, seed=checked_seed(seed, "fresh"))
        knobs = type(self).__new__(type(self))
        knobs._connect(settings, KnobsMemory.begun(settings), Keys())
        return knobs

    @alone
    def snapshot(self, *, secret: bytes | None = None) -> bytes:
        """Return all of it as one blob; equal knobs give equal blobs.

        With a ``secret``, only those who know it can write or change one unseen.
        """
        self._finish()
        return snapshot.pack(self._settings, self._memory, self._keys, secret)

    @classmethod
    def restore(cls, blob: bytes, *, secret: bytes | None = None) -> Self:
        """Return what a snapshot holds; it goes on as if nothing had happened.

        ``secret`` is the one that ``snapshot`` was given. Raises ``SnapshotError``. What
        ``LinearModel.load`` says of later tickets holds here.
        """
        knobs = cls.__new__(cls)
        knobs._connect(*snapshot.unpack(blob, secret))
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
        names = ", ".join(self._settings.knobs)
        return f"<Knobs, {names}: {self.rounds} rounds, {self.open} open>"


def _number(value: Any) -> float:
    try:
        return math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
