"""``Chooser``: choose among actions now, learn from the reward when it comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, Self

from belated.decisions import snapshot
from belated.decisions.actions import Actions, Table
from belated.decisions.drawing import Decide, Drawer
from belated.decisions.kept import Kept
from belated.decisions.report import ChooserReport, report_of
from belated.decisions.settings import Mode, Settings, check_model, checked, checked_mode
from belated.decisions.tally import OfAction, Tally, heard
from belated.errors import AlreadyObserved, BadFeedback, SpecError, UnknownTicket
from belated.explore import Exploration, GapWeighted
from belated.files import StrPath, write_whole
from belated.kernels.slots import ints as N
from belated.learner.extras import extras_of
from belated.learner.keys import Key, Keys
from belated.learner.turns import alone, busy
from belated.learner.whole import Whole
from belated.linear import whole_events
from belated.linear.clock import Duration, span_of
from belated.linear.features import Features
from belated.linear.given import Entries
from belated.linear.losses import LOSSES
from belated.linear.model import LinearModel
from belated.linear.moments import Moment, Time, read_time
from belated.linear.settings import Late, Wait
from belated.linear.times import NEVER
from belated.missing import is_missing
from belated.refusals import CLOSED_BEFORE
from belated.validation import checked_seed, checked_ticket

_as_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time
_FEW = 64
_ASKED: list[Any] = [None]  # answers where the counts of a model say whether it was told
Shown = tuple[int, int, str, OfAction, int]
"""What follows from a choice that is shown: its ticket of the model, of what kind times are, or 0,
the name of its action, the counts of that, and how often it was chosen."""


class Choice(NamedTuple):
    """What ``choose`` returns."""

    ticket: int
    """Number to give back with the reward."""
    action: str
    probability: float
    """With which the action was chosen; keep it with your log, for ``bl.evaluate``."""


class Option(NamedTuple):
    """An action as ``peek`` sees it."""

    action: str
    probability: float
    value: float
    """The reward that is predicted."""


class Chooser:
    """Chooses among actions and learns from rewards that come late, in any order, or never.

    ``actions`` is a list of names, or a dict of names and features; every call may bring its own.
    One linear model predicts the reward of an action in a context from the features of both and
    their products, and ``explore`` turns predictions into probabilities. ``interactions`` says
    which features of the context are multiplied with those of the action: "all", "none", or names.
    ``loss`` is "squared", or "logistic" for rewards 0 and 1.

    ``silence`` is the reward of what nothing is heard of, ``deadline`` how long one waits; these,
    ``wait``, ``max_open``, ``late`` and ``bits`` are those of ``LinearModel``.

    With ``mode="apprentice"`` the ``baseline`` is played, and ``report`` says how often the chooser
    would agree and what it expects to gain; set ``chooser.mode = "learn"`` to let it take over.
    ``decide`` is a rule of your own in the place of ``explore``. The pick is a function of the
    seed, the ticket and the probabilities, so that everything can be replayed; ``seed=None`` draws
    one that nobody can guess.

    >>> import belated as bl
    >>> chooser = bl.Chooser(["blue", "green"], silence=0.0, deadline=1000)
    >>> for visit in range(300):
    ...     choice = chooser.choose({"country": "PT" if visit % 2 else "NO"})
    ...     if (choice.action == "blue") == (visit % 2 == 1):
    ...         used = chooser.observe(choice.ticket, 1.0)
    >>> [option.action for option in chooser.peek({"country": "PT"})]
    ['blue', 'green']
    >>> [option.action for option in chooser.peek({"country": "NO"})]
    ['green', 'blue']

    For one thread at a time, as a ``LinearModel`` is.
    """

    __slots__ = (
        *("__dict__", "__weakref__", "_drawer", "_hidden", "_kept", "_keys", "_labels", "_mode"),
        *("_model", "_most_kept", "_rounds", "_scorer", "_settings", "_tally", "_turn", "_whole"),
    )

    def __init__(
        self,
        actions: Actions | None = None,
        *,
        explore: Exploration = GapWeighted(),  # noqa: B008  # a frozen value
        loss: str = "squared",
        silence: float | None = None,
        deadline: Duration | None = None,
        late: Late = "drop",
        wait: Wait = "adaptive",
        max_open: int | None = None,
        baseline: str | None = None,
        mode: Mode = "learn",
        interactions: str | Iterable[str] = "all",
        bits: int = 18,
        decide: Decide | None = None,
        seed: int | None = 0,
    ) -> None:
        settings = checked(
            actions=actions,
            explore=explore,
            baseline=baseline,
            interactions=interactions,
            seed=checked_seed(seed, "Chooser"),
        )
        model = LinearModel(
            loss,  # type: ignore[arg-type]  # checked there
            bits=bits,
            silence=silence,
            deadline=deadline,
            late=late,
            wait=wait,
            max_open=max_open,
        )
        self._connect(settings, model, Keys(), checked_mode(mode), decide)

    def _connect(
        self, settings: Settings, model: LinearModel, keys: Keys, mode: Mode, decide: Any
    ) -> None:
        check_model(model)
        self._settings, self._model, self._keys, self._mode = settings, model, keys, mode
        self._labels = LOSSES[model.settings.loss].labels
        self._drawer = Drawer(model, settings, decide)
        self._scorer = self._drawer.scorer
        self._turn: list[None] = [None]
        self._rounds = 0
        self._kept: dict[int, Kept] = {}
        self._hidden: dict[int, None] = {}
        self._most_kept = _FEW
        self._tally = Tally()
        self._whole = Whole()

    def fresh(self, seed: int | None = None) -> Self:
        """Return a chooser with the same settings that has seen nothing; with another seed maybe.

        >>> Chooser(["a", "b"]).fresh(seed=7).rounds
        0
        """
        settings = self._settings
        if seed is not None:
            settings = replace(settings, seed=checked_seed(seed, "fresh"))
        chooser = type(self).__new__(type(self))
        chooser._connect(settings, self._model.fresh(), Keys(), self._mode, self._drawer.decide)
        return chooser

    @property
    def model(self) -> LinearModel:
        """The model that predicts rewards."""
        return self._model

    @property
    def rounds(self) -> int:
        """Choices so far; also the next ticket."""
        return self._rounds

    @property
    def mode(self) -> Mode:
        """Whether its own choices are played, or those of the baseline."""
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._mode = checked_mode(mode)

    # --- Choices --------------------------------------------------------------------------------

    @alone
    def choose(
        self,
        context: Features | None = None,
        actions: Actions | None = None,
        *,
        key: Key | None = None,
        at: Time | None = None,
        deadline: Duration | None = None,
        baseline: str | None = None,
        shown: bool = True,
    ) -> Choice:
        """Return the next ticket, an action, and the probability with which it was chosen.

        ``context`` is a dict of numbers and strings. ``actions`` and ``baseline`` are those of this
        call alone; ``key``, ``at`` and ``deadline`` are those of ``LinearModel.predict``. What is
        not ``shown`` at once teaches nothing until ``shown(ticket)`` says that it was.
        """
        return self._chosen(context, actions, key, at, deadline, baseline, shown, None)

    def _chosen(
        self,
        context: Features | None,
        actions: Actions | None,
        key: Key | None,
        at: Time | None,
        deadline: Duration | None,
        baseline: str | None,
        shown: bool,
        played: tuple[str, float] | None,
    ) -> Choice:
        """Choose; an action that was ``played`` with a probability stands for the own pick."""
        if self._whole.left is not None:
            self._whole.finish()
        if key is not None:
            self._keys.check(key, self._is_open)
        moment = read_time(at, "choose")
        deadline = None if is_missing(deadline) else deadline
        if not shown and (moment is not None or deadline is not None):
            self._model._times.issued(moment, deadline)
        table = self._scorer.table(actions)
        usual = -1
        if baseline is not None or self._settings.baseline is not None:
            usual = self._usual(table, baseline)
        instead = self._instead(usual) if played is None else self._place(table, played[0])
        ticket, tally = self._rounds, self._tally
        place, length, best = self._drawer.draw(context, table, actions, instead, ticket, tally)
        if instead < 0:
            probability = self._scorer.probabilities.item(place)
        else:
            place, probability = instead, 1.0 if played is None else played[1]
        action = table.names[place]
        row = self._scorer.row(length)
        kept = Kept(action, probability)
        if not shown:
            kept.row = row[0][:length].copy(), row[1][:length].copy()
            if deadline is not None:
                kept.span = span_of(deadline, "choose: deadline must be a duration of at least 0")
        gone = self._crowded_out(ticket, shown=shown) if self._hidden or not shown else ()
        counted = tally.compared, tally.agreed, tally.gain
        if usual >= 0:
            counted = self._compared(len(table.names), usual)
        own, explored = tally.own + (self._mode != "apprentice"), tally.explored + (1.0 - best)
        choice: Choice = _as_tuple(Choice, (ticket, action, probability))
        noted = choice, kept, key, gone, own, explored, tally.withdrawn + len(gone), counted
        if shown:
            self._tell(self._keep, action, row, moment, deadline, noted)
        else:
            self._whole.left = self._keep_hidden, _ASKED, (), noted
            self._whole.finish()
        if len(self._kept) > self._most_kept:
            self._tidy()
        return choice

    def _tell(
        self,
        then: Callable[..., None],
        action: str,
        row: Entries,
        at: Moment | None,
        deadline: Duration | None,
        noted: tuple[Any, ...],
    ) -> None:
        """Let the model issue a ticket for a row, and do what comes then: both, or nothing."""
        model, whole = self._model, self._whole
        times, kind = (NEVER, NEVER), 0
        if at is not None or deadline is not None or model._settings.deadline is not None:
            times = model._times.issued(at, deadline)
        if at is not None:
            kind = model._base.times_with(at.kind)
        name, counts = action, self._tally.actions.get(action)
        if counts is None:
            name, counts = self._tally.of(action)
        turn = model._turn
        try:
            turn.pop()
        except IndexError:
            raise busy("choose") from None
        except BaseException:  # an interrupt, with the turn taken
            turn.append(None)
            raise
        try:
            shown = model._base.n.item(N.ROUNDS), kind, name, counts, counts.chosen + 1
            whole.left = self._told, _ASKED, (), (then, shown, noted)
            try:
                whole_events.issue_alone(model, row, times, row[:2])
            finally:
                whole.finish()
        finally:
            turn.append(None)

    # What comes then may be interrupted and done again: all that is put into place is noted.

    def _told(
        self, _: Sequence[Any], then: Callable[..., None], shown: Shown, noted: tuple[Any, ...]
    ) -> None:
        """Do what comes then, if the model has issued a ticket."""
        twin, kind, name, counts, chosen = shown
        n = self._model._base.n
        if n.item(N.ROUNDS) > twin:
            if kind:
                n[N.HAS_TIMES] = kind
            counts.chosen = chosen
            self._tally.actions[name] = counts
            then(twin, *noted)

    def _keep_hidden(self, _: Sequence[Any], choice: Choice, *noted: Any) -> None:
        """Keep a choice that was not shown."""
        self._hidden[choice.ticket] = None
        self._keep(-1, choice, *noted)

    def _keep(
        self,
        twin: int,
        choice: Choice,
        kept: Kept,
        key: Key | None,
        gone: Iterable[int],
        own: int,
        explored: float,
        withdrawn: int,
        counted: tuple[int, float, float],
    ) -> None:
        """Keep a choice, and what is counted of all; those that are gone are forgotten."""
        ticket, tally = choice[0], self._tally
        self._kept[ticket] = kept
        kept.twin = twin
        for each in gone:
            self._kept.pop(each, None)
            self._hidden.pop(each, None)
        if key is not None:
            self._keys.give(key, ticket)
        tally.own, tally.explored, tally.withdrawn = own, explored, withdrawn
        tally.compared, tally.agreed, tally.gain = counted
        self._rounds = ticket + 1

    def _instead(self, usual: int) -> int:
        """Return the place of the action that is played instead of the own pick; -1: that one."""
        if self._mode != "apprentice":
            return -1
        if usual < 0:
            raise SpecError(
                "choose: an apprentice plays the baseline, so there must be one; nothing has "
                "changed: give baseline="
            )
        return usual

    @alone
    def peek(self, context: Features | None = None, actions: Actions | None = None) -> list[Option]:
        """Return what ``choose`` would draw from, the best first, without a ticket or a change."""
        self._whole.finish()
        table = self._scorer.table(actions)
        self._drawer.draw(context, table, actions, -1, self._rounds, self._tally)
        found = self._scorer.probabilities.tolist(), self._scorer.scores.tolist()
        options = [Option(*option) for option in zip(table.names, *found, strict=False)]
        return sorted(options, key=lambda option: -option.value)

    @alone
    def shown(self, ticket: int | Key, *, at: Time | None = None) -> None:
        """Say that a choice was shown that was made with ``shown=False``; its time begins now."""
        self._whole.finish()
        number = self._number(ticket)
        kept = self._found(number, "shown")
        if kept.row is None:
            raise AlreadyObserved(f"shown: {ticket!r} was shown before; nothing has changed")
        deadline = None if math.isnan(kept.span) else kept.span
        row = *kept.row, kept.row[0].size
        moment = read_time(at, "shown")
        self._tell(self._show, kept.action, row, moment, deadline, (number, kept))

    def _show(self, twin: int, number: int, kept: Kept) -> None:
        """Note that a choice was shown."""
        self._hidden.pop(number, None)
        kept.twin, kept.row, kept.span = twin, None, math.nan

    def _usual(self, table: Table, baseline: str | None) -> int:
        """Return the place of the baseline among the actions; there is one."""
        name = self._settings.baseline if baseline is None else baseline
        if name not in table.names:
            raise SpecError(
                f"choose: the baseline {name!r} is not among the actions; nothing has changed"
            )
        return table.names.index(name)

    def _place(self, table: Table, action: str) -> int:
        """Return the place of an action that was played."""
        if action not in table.names:
            raise SpecError(
                f"choose: {action!r}, which was played, is not among the actions; nothing has "
                "changed"
            )
        return table.names.index(action)

    def _compared(self, count: int, usual: int) -> tuple[int, float, float]:
        """Return what is counted of baselines with what the last draw says of one."""
        tally = self._tally
        scores, p = self._scorer.scores[:count], self._scorer.probabilities[:count]
        gain = float(p @ scores) - float(scores[usual])
        return tally.compared + 1, tally.agreed + float(p[usual]), tally.gain + gain

    # --- Rewards --------------------------------------------------------------------------------

    @alone
    def observe(self, ticket: int | Key, reward: float, *, at: Time | None = None) -> bool:
        """Learn the reward of a choice, the last word on it.

        Returns and raises what ``LinearModel.observe`` does.
        """
        return self._hear("observe", ticket, reward, at)

    @alone
    def revise(self, ticket: int | Key, reward: float, *, at: Time | None = None) -> bool:
        """Learn the reward so far; the ticket stays open, and the reward may change again."""
        return self._hear("revise", ticket, reward, at)

    @alone
    def add(self, ticket: int | Key, amount: float, *, at: Time | None = None) -> bool:
        """Add an amount to the reward so far, which is that of silence where nothing was heard."""
        return self._hear("add", ticket, amount, at)

    def _hear(self, who: str, ticket: int | Key, given: float, at: Time | None) -> bool:
        whole = self._whole
        if whole.left is not None:
            whole.finish()
        number = self._number(ticket)
        kept = self._kept.get(number) or self._found(number, who)
        if kept.row is not None:
            raise BadFeedback(
                f"{who}: {ticket!r} was not shown, so nothing can be heard of it; nothing has "
                f"changed: say shown({ticket!r}) first"
            )
        model, is_last, reward = self._model, who == "observe", given
        if not (is_last and reward.__class__ is float and self._labels.takes(reward)):
            reward = self._reward(who, kept, given)
        if not is_last:
            model._answers.check_revisable("revise")
        now = NEVER
        if at is not None:
            now = model._times.of_answer(read_time(at, who), who)
        name, counts = kept.action, self._tally.actions.get(kept.action)
        if counts is None:
            name, counts = self._tally.of(name)
        said = (*heard(counts, kept.reward, reward), reward)
        noted = name, counts, kept, said, number, ticket, is_last
        answers: list[Any] = []
        whole.left = self._note, answers, (), noted
        turn = model._turn
        try:
            turn.pop()
        except IndexError:
            raise busy(who) from None
        except BaseException:  # an interrupt, with the turn taken
            turn.append(None)
            raise
        try:
            whole_events.hear(model, answers, (kept.twin, reward, now), who, is_last=is_last)
        except (AlreadyObserved, UnknownTicket):
            raise self._closed(number, who) from None
        finally:
            turn.append(None)
            used = whole.finish()
        return bool(used)

    def _note(
        self,
        answers: Sequence[Any],
        name: str,
        counts: OfAction,
        kept: Kept,
        said: tuple[int, float, float],
        number: int,
        ticket: int | Key,
        is_last: bool,
    ) -> bool:
        """Note a reward, if it was used; a choice is forgotten with the last word on it."""
        if is_last:
            self._kept.pop(number, None)
            if self._keys.tickets:
                self._keys.drop(ticket)
        is_used: bool = answers[0]
        if is_used:
            counts.answered, counts.total, kept.reward = said
            self._tally.actions[name] = counts
        return is_used

    def _reward(self, who: str, kept: Kept, given: float) -> float:
        """Return the reward that is to be learned, or say why it cannot be."""
        reward = given
        if given.__class__ is not float:
            try:
                reward = math.nan if isinstance(given, str | bytes) else float(given)
            except (TypeError, ValueError, OverflowError):
                reward = math.nan
        if who == "add":
            silence = self._model.settings.silence
            silence = math.nan if silence is None else silence
            before = silence if math.isnan(kept.reward) else kept.reward
            if math.isnan(before):
                raise BadFeedback(
                    "add: there is no reward yet to add to; nothing has changed: revise it first, "
                    "or make the Chooser with silence=0"
                )
            reward += before
        if not self._labels.takes(reward):
            raise BadFeedback(
                f"{who}: rewards of the {self._model.settings.loss} loss must be "
                f"{self._labels.words}, got {given!r}; nothing has changed"
            )
        return reward

    @alone
    def cancel(self, ticket: int | Key) -> None:
        """Close a choice of which nothing more will be heard, or which was never shown."""
        self._whole.finish()
        number = self._number(ticket)
        kept = self._found(number, "cancel")
        if kept.row is None:
            try:
                self._model.cancel(kept.twin)
            except (AlreadyObserved, UnknownTicket):
                raise self._closed(number, "cancel") from None
        else:
            self._withdraw(number)
        self._kept.pop(number, None)
        self._keys.drop(ticket)

    @alone
    def tick(self, at: Time) -> None:
        """Let the clock go on without a choice: what is due by then is closed."""
        self._whole.finish()
        self._model.tick(at)

    def choice(self, ticket: int | Key) -> Choice:
        """Return the choice that a ticket or key stands for, as it was made.

        That is known until its last word, also after its deadline, until the choice is forgotten.

        >>> chooser = Chooser(["a", "b"])
        >>> made = chooser.choose(key="visit")
        >>> chooser.choice("visit") == made
        True
        """
        number = self._number(ticket)
        kept = self._found(number, "choice")
        return Choice(number, kept.action, kept.probability)

    # --- Tickets --------------------------------------------------------------------------------

    def ticket(self, name: int | Key) -> int:
        """Return the ticket that a key stands for; a ticket stands for itself."""
        return self._number(name)

    def is_open(self, ticket: int | Key) -> bool:
        """Tell whether a choice, by ticket or key, still waits for its reward, or to be shown."""
        return self._keys.is_open(ticket, self._is_open)

    def _number(self, name: int | Key) -> int:
        if name.__class__ is int:
            return name
        return checked_ticket(self._keys.ticket(name))

    def _found(self, number: int, who: str) -> Kept:
        kept = self._kept.get(number)
        if kept is not None:
            return kept
        if 0 <= number < self._rounds:
            raise self._closed(number, who)
        raise UnknownTicket(f"{who}: ticket {number} was never handed out; nothing has changed")

    def _closed(self, number: int, who: str) -> AlreadyObserved:
        return AlreadyObserved(f"{who}: ticket {number} {CLOSED_BEFORE}")

    def _is_open(self, number: int) -> bool:
        kept = self._kept.get(number)
        return kept is not None and (kept.row is not None or self._model.is_open(kept.twin))

    @property
    def open(self) -> int:
        """Choices that still wait for their reward, or to be shown."""
        return self._model.open + len(self._hidden)

    def _withdraw(self, number: int) -> None:
        """Forget a choice that nobody was shown."""
        del self._kept[number], self._hidden[number]
        self._tally.withdrawn += 1

    def _crowded_out(self, ticket: int, *, shown: bool) -> list[int]:
        """Return the oldest that nobody was shown and that are too many, with one choice more."""
        most = self._model.settings.max_open
        hidden = len(self._hidden) + (not shown)
        if most is None or hidden <= most:
            return []
        return list(islice(chain(self._hidden, [ticket]), hidden - most))

    def _tidy(self) -> None:
        """Forget choices that the model has forgotten."""
        alive = self._model.answerable()
        kept = {t: k for t, k in self._kept.items() if k.row is not None or k.twin in alive}
        self._most_kept = max(_FEW, 2 * len(kept))
        self._kept = kept
        self._keys.tidy(lambda: set(kept))

    # --- State ----------------------------------------------------------------------------------

    @alone
    def report(self) -> ChooserReport:
        """Return counts, what exploring takes, and the comparison with the baseline."""
        self._whole.finish()
        silence = self._model.settings.silence
        model = self._model.report()
        counts = self._rounds, self.open, len(self._hidden)
        return report_of(*counts, self._mode, self._tally, silence, model)

    @alone
    def snapshot(self, *, secret: bytes | None = None) -> bytes:
        """Return all of it, the model included, as one blob; a rule of your own is not in it.

        With a ``secret``, only those who know it can write or change one unseen.
        """
        self._whole.finish()
        return snapshot.pack(self, secret)

    @classmethod
    def restore(
        cls, blob: bytes, *, secret: bytes | None = None, decide: Decide | None = None
    ) -> Self:
        """Return what a snapshot holds; it goes on as if nothing had happened.

        ``secret`` is the one that ``snapshot`` was given, ``decide`` the rule of your own, if there
        was one. Raises ``SnapshotError``.
        """
        chooser = cls.__new__(cls)
        snapshot.unpack(chooser, blob, secret, decide)
        return chooser

    def save(self, path: StrPath, *, secret: bytes | None = None) -> None:
        """Write a snapshot to a file as a whole, or leave the file as it was."""
        write_whole(path, self.snapshot(secret=secret))

    @classmethod
    def load(
        cls, path: StrPath, *, secret: bytes | None = None, decide: Decide | None = None
    ) -> Self:
        """Return what a file holds; what ``LinearModel.load`` says of later tickets holds here."""
        return cls.restore(Path(path).read_bytes(), secret=secret, decide=decide)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
        """Pickle and copy by snapshot, and what subclasses add."""
        return (
            _restored,
            (type(self), self.snapshot(), self._drawer.decide),
            extras_of(self, Chooser),
        )

    def __repr__(self) -> str:
        """Return what this is and where it stands."""
        return f"<Chooser, {self._settings.explore!r}: {self._rounds} choices, {self.open} open>"


def _restored(kind: type[Chooser], blob: bytes, decide: Decide | None) -> Chooser:
    return kind.restore(blob, decide=decide)
