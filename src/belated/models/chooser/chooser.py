"""``Chooser``: choose among actions now, learn from the reward when it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from belated.core import decisions as core_decisions
from belated.core.decisions import Choice, Option
from belated.core.user_parts import UserRule
from belated.errors import BadFeatures, BadFeedback, SpecError
from belated.explore import Exploration, GapWeighted
from belated.files import StrPath, write_whole
from belated.keys import Key
from belated.models.chooser import snapshot
from belated.models.chooser.actions import Actions, refusal
from belated.models.chooser.report import ChooserReport, report_of
from belated.models.chooser.settings import (
    Decide,
    Mode,
    Settings,
    check_model,
    checked,
    checked_mode,
    rule_of,
)
from belated.models.clock import Duration
from belated.models.extras import extras_of
from belated.models.linear.features import Features
from belated.models.linear.losses import LOSSES
from belated.models.linear.model import LinearModel
from belated.models.linear.settings import Late, Wait
from belated.models.moments import Time
from belated.validation import checked_seed

__all__ = ["Choice", "Chooser", "Option"]


class Chooser(core_decisions.Chooser):
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

    For one thread at a time: a call while another one is at work raises ``BusyError``.
    """

    __slots__ = ("__dict__", "__weakref__", "_decide")

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
        self._connect(settings, model, checked_mode(mode), decide)

    def _connect(self, settings: Settings, model: LinearModel, mode: Mode, decide: Any) -> None:
        """Take settings and a model, having made no choices."""
        check_model(model)
        if decide is not None and not callable(decide):
            raise SpecError(f"Chooser: decide must be a function, got {decide!r}")
        self._decide: Decide | None = decide
        rule = rule_of(settings.explore) if decide is None else UserRule(decide)
        self._begin(settings, model, rule, mode)

    if TYPE_CHECKING:  # what the core has

        def _begin(self, settings: Settings, model: LinearModel, rule: Any, mode: Mode) -> None: ...

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
        ) -> Choice: ...

        def _choose(
            self,
            context: Features | None,
            actions: Actions | None,
            key: Key | None,
            at: Time | None,
            deadline: Duration | None,
            baseline: str | None,
            shown: bool,
            played: tuple[str, float] | None,
        ) -> Choice: ...

        def peek(
            self, context: Features | None = None, actions: Actions | None = None
        ) -> list[Option]: ...

        def shown(self, ticket: int | Key, *, at: Time | None = None) -> None: ...

        def observe(self, ticket: int | Key, reward: float, *, at: Time | None = None) -> bool: ...

        def revise(self, ticket: int | Key, reward: float, *, at: Time | None = None) -> bool: ...

        def add(self, ticket: int | Key, amount: float, *, at: Time | None = None) -> bool: ...

        def cancel(self, ticket: int | Key) -> None: ...

        def tick(self, at: Time) -> None: ...

        def choice(self, ticket: int | Key) -> Choice: ...

        def ticket(self, name: int | Key) -> int: ...

        def is_open(self, ticket: int | Key) -> bool: ...

    _keys: Any = property(lambda self: self._names)
    """Keys of tickets."""

    def fresh(self, seed: int | None = None) -> Self:
        """Return a chooser with the same settings that has seen nothing; with another seed maybe.

        >>> Chooser(["a", "b"]).fresh(seed=7).rounds
        0
        """
        settings: Settings = self._settings
        if seed is not None:
            settings = replace(settings, seed=checked_seed(seed, "fresh"))
        chooser = type(self).__new__(type(self))
        chooser._connect(settings, self.model.fresh(), self.mode, self._decide)
        return chooser

    @property
    def model(self) -> LinearModel:
        """The model that predicts rewards."""
        model: LinearModel = self._model
        return model

    @property
    def rounds(self) -> int:
        """Choices so far; also the next ticket."""
        return int(self._choices.rounds)

    @property
    def open(self) -> int:
        """Choices that still wait for their reward, or to be shown."""
        return self.model.open + len(self._choices.hidden)

    @property
    def mode(self) -> Mode:
        """Whether its own choices are played, or those of the baseline."""
        mode: Mode = self._mode
        return mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._mode = checked_mode(mode)

    def _bad_reward(self, who: str, given: Any) -> BadFeedback:
        """Return the error for a reward that cannot be learned."""
        loss = self.model.settings.loss
        return BadFeedback(
            f"{who}: rewards of the {loss} loss must be {LOSSES[loss].labels.words}, got "
            f"{given!r}; nothing has changed"
        )

    def _bad_features(self, context: Features | None, actions: Any) -> BadFeatures:
        """Return the error for numbers that cannot be used."""
        return refusal(context or {}, actions)

    # --- State ----------------------------------------------------------------------------------

    def report(self) -> ChooserReport:
        """Return counts, what exploring takes, and the comparison with the baseline."""
        return report_of(self)

    def snapshot(self, *, secret: bytes | None = None) -> bytes:
        """Return all of it, the model included, as one blob; a rule of your own is not in it.

        With a ``secret``, only those who know it can write or change one unseen.
        """
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
            (type(self), self.snapshot(), self._decide),
            extras_of(self, Chooser),
        )

    def __repr__(self) -> str:
        """Return what this is and where it stands."""
        return f"<Chooser, {self._settings.explore!r}: {self.rounds} choices, {self.open} open>"


def _restored(kind: type[Chooser], blob: bytes, decide: Decide | None) -> Chooser:
    return kind.restore(blob, decide=decide)
