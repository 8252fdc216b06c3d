"""``Learner``: predict now, observe later, in any order, or never."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from belated import core
from belated.compose import compose
from belated.core import learner as core_learner
from belated.core.learner import Decision
from belated.errors import BadFeedback, SpecError
from belated.reductions import LearnerSpec, Method, Reduction, Wrapper, takes_functions
from belated.validation import checked_seed, numbers

if TYPE_CHECKING:  # what the first event does not need is imported where it is used
    from numpy.typing import ArrayLike, NDArray

    from belated.arrays import Floats, Ints
    from belated.files import StrPath
    from belated.keys import Key
    from belated.models.learner.report import Report
    from belated.timeline import Timeline

__all__ = ["Decision", "Learner"]


class Learner(core_learner.Learner):
    """A learner that takes its answers late.

    ``spec`` says what to run, ``seed`` fixes the exploration directions, ``strict`` refuses answers
    that are larger than was assumed instead of counting them. ``seed=None`` draws a fresh one from
    the system, so that nobody can know the directions in advance; ``learner.seed`` shows it.

    >>> import belated as bl
    >>> learner = bl.Learner(bl.Problem(bl.Ball(2), lipschitz=1.0).learner(base="pftrl"))
    >>> ticket, x = learner.predict()
    >>> later, _ = learner.predict()
    >>> learner.observe(later, [0.6, 0.8])
    True
    >>> learner.open, learner.predict().x
    (1, array([-0.6, -0.8]))

    Every event is one C call, so threads and signals see it as a whole or not at all. While a run
    over a log, or a part that a user wrote, is at work, other calls raise ``BusyError``, and
    nothing has changed. Different learners in different threads run logs in parallel.
    """

    __slots__ = ("__dict__", "__weakref__", "_seed", "_spec")

    def __init__(self, spec: LearnerSpec, seed: int | None = 0, *, strict: bool = False) -> None:
        if not isinstance(spec, Reduction | Wrapper | Method):
            raise SpecError(
                "Learner: needs FirstOrder, FullInformation, OnePoint, TwoPoint, Skip, Deadline, "
                f"Capacity or one of belated.research.rivals, got {getattr(spec, 'kind', spec)!r}"
            )
        self._take(spec, checked_seed(seed, "Learner"), bool(strict))

    def _take(self, spec: LearnerSpec, seed: int, strict: bool) -> None:
        """Compose what runs, and begin."""
        compose_player = spec.player if isinstance(spec, Method) else partial(compose, spec)
        core.warn_if_interpreted()
        try:
            player = compose_player(seed, strict)
        except MemoryError as error:
            raise SpecError("Learner: the spec is too large for this machine") from error
        self._spec, self._seed = spec, seed
        points = player.play_size // player.dim
        shape = (player.dim,) if points == 1 else (points, player.dim)
        self._begin(player, spec.kind, shape, takes_functions(spec))

    if TYPE_CHECKING:  # what the core has
        _keys: Any

        def _state(self, who: str) -> tuple[dict[str, Any], dict[str, Any]]: ...

        def ticket(self, name: int | Key) -> int: ...

        def is_open(self, ticket: int | Key) -> bool: ...

        def predict(self, key: Key | None = None) -> Decision: ...

        def observe(self, ticket: int | Key, feedback: Any) -> bool: ...

        def cancel(self, ticket: int | Key) -> None: ...

        def run(
            self,
            timeline: Timeline | ArrayLike,
            feedback: ArrayLike,
            *,
            first: int = 0,
            keep: bool = True,
        ) -> NDArray[np.float64]: ...

    @property
    def spec(self) -> LearnerSpec:
        """What this learner runs."""
        return self._spec

    @property
    def seed(self) -> int:
        """The seed of the exploration directions."""
        return self._seed

    @property
    def strict(self) -> bool:
        """Whether answers larger than assumed are refused."""
        return bool(self._player.strict)

    @property
    def rounds(self) -> int:
        """Predictions made so far; also the next ticket."""
        return int(self._player.tickets.rounds)

    @property
    def open(self) -> int:
        """Tickets that still wait for their answer (not those given up on or cancelled)."""
        return int(self._player.tickets.open)

    @property
    def _takes_function(self) -> bool:
        """Whether answers are gradient functions."""
        return takes_functions(self._spec)

    @property
    def _dim(self) -> int:
        """Coordinates of the base's point."""
        return int(self._player.base.dim)

    def _answerable(self) -> set[int]:
        """Return the tickets whose answer would not be refused."""
        return set(self._player.tickets.answerable())

    @property
    def _has_user_parts(self) -> bool:
        """Whether a user's Python objects take part in events."""
        return bool(self._player.has_user_parts)

    def report(self) -> Report:
        """Return counts, delays so far, the current rate, and the certificate."""
        from belated.models.learner.report import report_of

        return report_of(self.spec, self._player)

    def _run_arguments(
        self, timeline: Timeline | ArrayLike, feedback: ArrayLike
    ) -> tuple[Ints, Floats]:
        """Return events and answers of a log as arrays."""
        from belated.models.events import events_of

        return events_of(timeline, "run"), self._answers(feedback)

    def _answers(self, feedback: ArrayLike) -> Floats:
        """Return one row per answer."""
        if self._takes_function:
            raise BadFeedback(
                f"run: {self.spec.kind} takes a gradient function per answer; call observe in a "
                "loop"
            )
        size = self._player.answer_size
        answers = np.atleast_1d(numbers(feedback, "run: feedback must be numbers", BadFeedback))
        if answers.size == 0:
            return np.empty((0, size))
        if answers.ndim == 1 and size == 1:
            answers = answers[:, None]
        if answers.ndim != 2 or answers.shape[1] != size:
            raise BadFeedback(
                f"run: an answer has shape ({size},), so feedback has shape "
                f"(number of answers, {size}); got {answers.shape}"
            )
        return answers

    def snapshot(self, *, secret: bytes | None = None) -> bytes:
        """Return the whole learner as one blob; equal learners give equal blobs.

        With a ``secret``, only those who know it can write or change one unseen.
        """
        from belated.models.blob import pack

        return pack(self, secret)

    @classmethod
    def restore(
        cls, blob: bytes, spec: LearnerSpec | None = None, *, secret: bytes | None = None
    ) -> Self:
        """Return the learner that a snapshot holds; it goes on as if nothing had happened.

        ``spec`` is needed only when it contains Python objects, which a snapshot cannot hold.
        ``secret`` is the one that ``snapshot`` was given. Whatever the bytes are, there is a
        learner that plays in its set, or a ``SnapshotError``.

        Tickets that were handed out after the snapshot are not known to it, and their numbers are
        handed out again: an answer to one of them would be taken for another's. Keys do not have
        that problem, as a lost one is simply unknown.

        >>> import belated as bl
        >>> learner = bl.Learner(bl.FirstOrder(bl.PFTRL(bl.Ball(1), bl.rates.Tight(1.0))))
        >>> blob = learner.snapshot()
        >>> ticket, x = learner.predict(key="order-120")
        >>> learner = bl.Learner.restore(blob)
        >>> ticket, x = learner.predict(key="order-121")
        >>> learner.observe("order-120", [0.5])
        Traceback (most recent call last):
        ...
        belated.errors.UnknownTicket: no open ticket has the key 'order-120'; nothing has changed
        """
        from belated.models.blob import unpack

        learner = cls.__new__(cls)
        unpack(blob, spec, secret, learner)
        return learner

    def save(self, path: StrPath, *, secret: bytes | None = None) -> None:
        """Write a snapshot to a file as a whole, or leave the file as it was."""
        from belated.files import write_whole

        write_whole(path, self.snapshot(secret=secret))

    @classmethod
    def load(
        cls, path: StrPath, spec: LearnerSpec | None = None, *, secret: bytes | None = None
    ) -> Self:
        """Return the learner that a file holds.

        Arguments, checks and what becomes of later tickets are those of ``restore``.
        """
        with open(path, "rb") as file:
            return cls.restore(file.read(), spec, secret=secret)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
        """Pickle and copy by snapshot, and what subclasses add."""
        from belated.models.extras import extras_of

        spec = self.spec if self._has_user_parts else None
        return type(self).restore, (self.snapshot(), spec), extras_of(self, Learner)

    def __repr__(self) -> str:
        """Return what runs and where it stands."""
        return f"<Learner of {self.spec!r}: {self.rounds} rounds, {self.open} open>"
