"""``Learner``: predict now, observe later, in any order, or never."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from belated import core
from belated.compose import compose, numbers_kept
from belated.core import learner as core_learner
from belated.core.component import demand
from belated.core.learner import Decision, Plays
from belated.core.user_parts import UserObject
from belated.errors import BadFeedback, BelatedError, SnapshotError, SpecError
from belated.models.online import Model
from belated.models.snapshots import Contents
from belated.reductions import LearnerSpec, Method, Reduction, Wrapper, takes_functions
from belated.spec import from_json, outline
from belated.validation import checked_seed, numbers

if TYPE_CHECKING:  # what the first event does not need is imported where it is used
    from numpy.typing import ArrayLike, NDArray

    from belated.arrays import Floats, Ints
    from belated.keys import Key
    from belated.models.learner.report import Report
    from belated.timeline import Timeline

__all__ = ["Decision", "Learner", "Plays", "Settings"]

_ABOUT = {"spec", "components", "seed", "strict", "state", "base", "keys"}


@dataclass(frozen=True)
class Settings:
    """The arguments of a ``Learner``."""

    spec: LearnerSpec
    seed: int
    strict: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {"spec": self.spec.to_json(), "seed": self.seed, "strict": self.strict}


class Learner(Model[Any, Settings], core_learner.Learner):
    """A learner that takes its answers late.

    ``spec`` says what to run, ``seed`` fixes the exploration directions, ``strict`` refuses answers
    that are larger than was assumed instead of counting them. ``seed=None`` draws an
    unpredictable one from the system, which ``learner.seed`` shows.

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

    __slots__ = ("__dict__", "__weakref__")

    _kind_name = "Learner"

    def __init__(self, spec: LearnerSpec, seed: int | None = 0, *, strict: bool = False) -> None:
        if not isinstance(spec, Reduction | Wrapper | Method):
            raise SpecError(
                "Learner: needs FirstOrder, FullInformation, OnePoint, TwoPoint, Skip, Deadline, "
                f"Capacity or one of belated.research.rivals, got {getattr(spec, 'kind', spec)!r}"
            )
        self._take(Settings(spec, checked_seed(seed, "Learner"), bool(strict)))

    def _take(self, settings: Settings, like: Any = None) -> None:
        """Compose what runs, and begin."""
        spec = settings.spec
        compose_player = spec.player if isinstance(spec, Method) else partial(compose, spec)
        core.warn_if_interpreted()
        try:
            player = compose_player(settings.seed, settings.strict)
        except MemoryError as error:
            raise SpecError("Learner: the spec is too large for this machine") from error
        points = player.play_size // player.dim
        shape = (player.dim,) if points == 1 else (points, player.dim)
        self._begin(settings, player, spec.kind, shape, takes_functions(spec))

    if TYPE_CHECKING:  # what the core has
        _player: Any

        def _begin(self, settings: Settings, *given: Any) -> None: ...

        def predict(  # type: ignore[override]  # there is no row
            self, *, key: Key | None = None, at: None = None, deadline: None = None
        ) -> Decision: ...

        def peek(self) -> Floats: ...  # type: ignore[override]

        def predict_many(
            self, count: int, *, keys: Any = None, at: None = None, deadline: None = None
        ) -> Plays: ...

        def replay(  # type: ignore[override]  # there are no rows
            self,
            timeline: Timeline | ArrayLike,
            answers: ArrayLike,
            *,
            first: int = 0,
            keep: bool = True,
        ) -> NDArray[np.float64]: ...

    @property
    def spec(self) -> LearnerSpec:
        """The spec of this learner."""
        return self.settings.spec

    @property
    def seed(self) -> int:
        """The seed of the exploration directions."""
        return self.settings.seed

    @property
    def strict(self) -> bool:
        """Whether answers larger than assumed are refused."""
        return self.settings.strict

    @property
    def _takes_function(self) -> bool:
        """Whether answers are gradient functions."""
        return takes_functions(self.spec)

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

    def _replay_arguments(
        self, timeline: Timeline | ArrayLike, feedback: ArrayLike
    ) -> tuple[Ints, Floats]:
        """Return events and answers of a log as arrays."""
        from belated.models.events import events_of

        return events_of(timeline, "replay"), self._answers(feedback)

    def _answers(self, feedback: ArrayLike) -> Floats:
        """Return one row per answer."""
        if self._takes_function:
            raise BadFeedback(
                f"replay: {self.spec.kind} takes a gradient function per answer; call observe in a "
                "loop"
            )
        size = self._player.answer_size
        answers = np.atleast_1d(numbers(feedback, "replay: feedback must be numbers", BadFeedback))
        if answers.size == 0:
            return np.empty((0, size))
        if answers.ndim == 1 and size == 1:
            answers = answers[:, None]
        if answers.ndim != 2 or answers.shape[1] != size:
            raise BadFeedback(
                f"replay: an answer has shape ({size},), so feedback has shape "
                f"(number of answers, {size}); got {answers.shape}"
            )
        return answers

    # --- Snapshots ------------------------------------------------------------------------------

    def _contents(self) -> Contents:
        """Of a spec with Python objects there is the outline, and what the objects save."""
        state, keys = self._state_now()
        objects = {name: each for name, each in state.items() if isinstance(each, UserObject)}
        spec = self.spec
        about = {
            "spec": {"outline": outline(spec)} if self._has_user_parts else spec.to_json(),
            "components": self._player.components(),
            "seed": self.seed,
            "strict": self.strict,
        }
        saved = {name: each.save() for name, each in objects.items()} or None
        fields = {name: value for name, value in state.items() if name not in objects}
        return Contents(about, fields, {"base": saved, **keys})

    def _read(self, about: dict[str, Any], arrays: dict[str, Any], parts: Any) -> dict[str, Any]:
        spec = _spec_of(about, sum(array.size for array in arrays.values()), parts)
        demand({"keys", *about} == _ABOUT, "the header")
        seed, strict = about["seed"], about["strict"]
        demand(type(seed) is int and 0 <= seed < 1 << 64 and type(strict) is bool, "the seed")
        self._take(Settings(spec, seed, strict))
        if about["components"] != self._player.components():
            raise SnapshotError("restore: the snapshot is of another composition than spec")
        saved = {} if about["base"] is None else about["base"]
        copies = self._player.state().items()
        objects = {name: each for name, each in copies if isinstance(each, UserObject)}
        demand(isinstance(saved, dict) and saved.keys() == objects.keys(), "objects of a user")
        for name, each in objects.items():
            each.load(saved[name])
        return objects

    @property
    def _loses(self) -> bool:  # type: ignore[override]
        return bool(self._player.loses)

    @property
    def _parts(self) -> LearnerSpec | None:
        """The spec, where it has Python objects."""
        return self.spec if self._has_user_parts else None

    def _title(self) -> str:
        return f"Learner of {shorten(repr(self.spec), 120, placeholder='...')}"


def _spec_of(about: dict[str, Any], room: int, spec: LearnerSpec | None) -> LearnerSpec:
    """Return the spec to restore with; a stored one cannot be larger than the arrays."""
    text = about.get("spec")
    if isinstance(text, dict):
        return _spec_again(text, spec)
    try:
        demand(isinstance(text, str), "the spec is no text")
        stored: Any = from_json(str(text), limit=room)
        is_learner = isinstance(stored, Reduction | Wrapper | Method)
        too_large = is_learner and numbers_kept(stored) > room
    except (ArithmeticError, BelatedError) as error:
        raise SnapshotError(
            f"restore: the spec in the snapshot cannot be read ({error})"
        ) from error
    if not is_learner:
        raise SnapshotError(f"restore: the snapshot is of a {stored.kind}, which is no learner")
    if too_large:
        raise SnapshotError("restore: the snapshot is of another composition than spec")
    if spec is not None and spec != stored:
        raise SnapshotError("restore: the snapshot is of another spec")
    learner: LearnerSpec = stored
    return learner


def _spec_again(about: dict[str, Any], spec: LearnerSpec | None) -> LearnerSpec:
    """Return the spec that was passed, if it is the one with Python objects that was stored."""
    if spec is None:
        raise SnapshotError(
            "restore: this learner has Python objects inside, which a snapshot cannot hold; pass "
            "its spec as well"
        )
    is_learner = isinstance(spec, Reduction | Wrapper | Method)
    if not is_learner or outline(spec) != about.get("outline"):
        raise SnapshotError("restore: the snapshot is of another spec")
    return spec
