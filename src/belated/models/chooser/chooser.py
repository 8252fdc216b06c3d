"""``Chooser``: choose among actions now, learn from the reward when it comes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, overload

from belated.core import decisions as core_decisions
from belated.core.decisions import Choice, Option, Picks
from belated.core.user_parts import UserRule
from belated.errors import BadFeatures, BadFeedback, SpecError
from belated.explore import Exploration, GapWeighted
from belated.frames import Frame
from belated.keys import Key
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
from belated.models.linear.features import Features
from belated.models.linear.losses import LOSSES
from belated.models.linear.model import LinearModel
from belated.models.linear.settings import Late, Wait
from belated.models.moments import Time
from belated.models.online import Model
from belated.models.snapshots import Contents, inner_models
from belated.validation import checked_seed

__all__ = ["Choice", "Chooser", "Option", "Picks"]


class Chooser(Model[float, Settings], core_decisions.Chooser):
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
    an unpredictable one.

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

    _kind_name = "Chooser"

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
            interactions="auto" if settings.crossing == "auto" else (),
        )
        self._join(settings, model, checked_mode(mode), decide)

    def _join(self, settings: Settings, model: LinearModel, mode: Mode, decide: Any) -> None:
        """Take settings and a model, having made no choices."""
        check_model(model)
        if decide is not None and not callable(decide):
            raise SpecError(f"Chooser: decide must be a function, got {decide!r}")
        self._decide: Decide | None = decide
        rule = rule_of(settings.explore) if decide is None else UserRule(decide)
        self._begin(settings, model, rule, mode)
        self._times = model._times

    def _take(self, settings: Settings, like: Any = None) -> None:
        """Take settings and a fresh model."""
        self._join(settings, like.model.fresh(), like.mode, like._decide)

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

        def peek_many(
            self, contexts: Iterable[Features | None], actions: Actions | None = None
        ) -> list[list[Option]]: ...

        def shown(self, ticket: int | Key, *, at: Time | None = None) -> None: ...

        def choice(self, ticket: int | Key) -> Choice: ...

    @overload
    def choose_many(
        self,
        contexts: Any,
        actions: Actions | None = None,
        *,
        keys: Any = None,
        at: Any = None,
        deadline: Duration | None = None,
        as_frame: Literal[False] = False,
    ) -> Picks: ...

    @overload
    def choose_many(
        self,
        contexts: Any,
        actions: Actions | None = None,
        *,
        keys: Any = None,
        at: Any = None,
        deadline: Duration | None = None,
        as_frame: Literal[True],
    ) -> Any: ...

    def choose_many(
        self,
        contexts: Any,
        actions: Actions | None = None,
        *,
        keys: Any = None,
        at: Any = None,
        deadline: Duration | None = None,
        as_frame: bool = False,
    ) -> Any:
        """Choose in many contexts; return tickets, actions and probabilities.

        ``contexts`` is a list of what ``choose`` takes, a number of them without features, or a
        frame; then ``keys``, ``at`` and ``as_frame`` are those of ``LinearModel.predict_many``.
        ``actions`` are those of all. The result is the same, bit for bit, as one by one. Contexts,
        keys and times are checked first.
        """
        frame = Frame(contexts, "choose_many") if as_frame else None
        found = super().choose_many(contexts, actions, keys=keys, at=at, deadline=deadline)  # type: ignore[no-untyped-call]
        return found if frame is None else frame.of(found)

    @property
    def model(self) -> LinearModel:
        """The model that predicts rewards."""
        model: LinearModel = self._model
        return model

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
        self._alone("mode", lambda: setattr(self, "_mode", checked_mode(mode)))

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

    def _contents(self) -> Contents:
        model = self.model._contents()  # the first, as it takes back what is there for a time
        state, keys = self._state_now()
        names = state.pop("actions")
        about = {
            "settings": self.settings.to_dict(),
            "mode": self.mode,
            "bytes": 0,
            "actions": names,
        }
        return Contents(about, state, keys, {"model": ("LinearModel", model)})

    def _read(self, about: dict[str, Any], arrays: dict[str, Any], parts: Any) -> dict[str, Any]:
        (model,) = inner_models(about, arrays, ("model",), LinearModel)
        given = dict(about["settings"])
        given["explore"] = Exploration.from_json(given["explore"])
        self._join(checked(**given), model, checked_mode(about["mode"]), parts)
        return {"actions": about["actions"]}

    @property
    def _parts(self) -> Decide | None:
        """The rule of a user."""
        return self._decide

    def _title(self) -> str:
        return f"Chooser, {self.settings.explore!r}"
