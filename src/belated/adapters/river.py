"""``LinearModel`` as estimators of river, for its pipelines, metrics and delayed evaluation.

River's ``predict_one`` may be called any number of times, or never, and its ``learn_one`` does not
say which prediction a label belongs to. So a plain ``predict_one(x)`` changes nothing, and a plain
``learn_one(x, y)`` predicts and learns at once. Late labels come with a ``key`` that both calls
share: ``predict_one(x, key="7")`` hands out a ticket; ``learn_one(x, y, key="7")`` answers it.
``keyed`` puts keys into a data set, and river passes them through pipelines and evaluations.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from belated.errors import BadFeedback, MissingExtra, SpecError, UnknownTicket
from belated.keys import check_key
from belated.models.linear import LinearModel
from belated.models.linear.losses import BINARY
from belated.research.worlds import Labelled, Lateness
from belated.research.worlds.rounds import AT_ONCE

try:
    from river import base
except ImportError:
    raise MissingExtra("river", extra="river", where="belated.adapters.river") from None

__all__ = ["LinearClassifier", "LinearRegressor", "keyed", "world"]

X = Mapping[Any, Any]
Wait = Literal["adaptive"] | Mapping[str, int] | None


def keyed(dataset: Iterable[Sequence[Any]]) -> Iterator[Any]:
    """Yield the rows of a data set, each with its number as the key of its late label.

    Rows are (x, y) or (x, y, arguments), as everywhere in river.

    >>> list(keyed([({"a": 1.0}, 5.0), ({"a": 2.0}, 7.0, {"w": 0.5})]))
    [({'a': 1.0}, 5.0, {'key': '0'}), ({'a': 2.0}, 7.0, {'w': 0.5, 'key': '1'})]
    """
    for number, (x, y, *extra) in enumerate(dataset):
        yield x, y, {**(extra[0] if extra else {}), "key": str(number)}


def world(
    dataset: Iterable[tuple[Mapping[str, Any], Any]],
    lateness: Lateness = AT_ONCE,
) -> Labelled:
    """Return a data set of river with classes as decisions: name the class, hear later if it was.

    Of those that come with river, Bananas, ImageSegments and Phishing have classes.

    >>> from river import datasets
    >>> world(datasets.ImageSegments())
    worlds.Labelled(<2,310 rows>, <7 classes>)
    """
    return Labelled.of(dataset, lateness)


class _Late(base.Estimator):
    """The base of both estimators: a model, and the tickets of the keys that wait."""

    interactions: Any

    def _start(self, **settings: Any) -> None:
        # River looks for a class at the start of any tuple that it clones; a list is safe.
        if self.interactions != "auto":
            self.interactions = [tuple(names) for names in self.interactions or ()]
        self._linear = LinearModel(**settings, **self._get_params())
        self._waiting: dict[str, int] = {}

    @property
    def linear(self) -> LinearModel:
        """The model itself, for its report and its weights; it also takes tickets directly."""
        return self._linear

    @property
    def _raw_memory_usage(self) -> int:
        """Count what the model holds; river would walk on into code that all share."""
        return self._linear.nbytes + sys.getsizeof(self._waiting)

    def cancel_one(self, key: str) -> None:
        """Forget a key whose label will never come."""
        self._linear.cancel(self._ticket(key, "cancel_one"))
        del self._waiting[key]

    def _predicted(self, x: X, key: str | None) -> float:
        if key is None:
            return self._linear.peek(_named(x))
        check_key(key)
        if key in self._waiting:
            raise SpecError(
                f"{type(self).__name__}: key {key!r} already waits for its label; every prediction "
                "needs a key of its own"
            )
        ticket, value = self._linear.predict(_named(x))
        self._waiting[key] = ticket
        return value

    def _learned(self, x: X, label: float, w: float, key: str | None) -> None:
        if key is not None:
            self._linear.observe(self._ticket(key, "learn_one"), label, weight=w)
            del self._waiting[key]
            return
        ticket = self._linear.predict(_named(x)).ticket
        try:
            self._linear.observe(ticket, label, weight=w)
        except BadFeedback:
            self._linear.cancel(ticket)  # no caller knows it
            raise

    def _ticket(self, key: str, who: str) -> int:
        try:
            return self._waiting[key]
        except KeyError:
            raise UnknownTicket(
                f"{type(self).__name__}: {who}: no prediction waits under the key {key!r}; give it "
                "to predict_one or predict_proba_one first"
            ) from None


@dataclass(eq=False, repr=False)
class LinearRegressor(_Late, base.Regressor):
    """``belated.LinearModel`` as a regressor of river.

    ``loss`` is "squared", "absolute", "quantile", "huber" or "poisson"; everything else is as for
    ``LinearModel``. Features are numbers and strings, and need neither scaling nor encoding.

    >>> from river import datasets, evaluate, metrics
    >>> model = LinearRegressor()
    >>> rows = keyed(datasets.TrumpApproval())
    >>> found = evaluate.progressive_val_score(rows, model, metrics.MAE(), delay=20)
    >>> round(found.get(), 1), model.linear.report().max_delay
    (1.5, 19)
    """

    loss: Literal["squared", "absolute", "quantile", "huber", "poisson"] = "squared"
    bits: int = 20
    quantile: float = 0.5
    delta: float = 1.0
    l1: float = 0.0
    l2: float = 0.0
    intercept: bool = True
    interactions: Iterable[Sequence[str]] | Literal["auto"] | None = None
    wait: Wait = "adaptive"

    def __post_init__(self) -> None:
        """Refuse losses for classes, and make the model."""
        if self.loss in BINARY:
            raise SpecError(f"LinearRegressor: {self.loss!r} is a loss for classes")
        self._start()

    def predict_one(self, x: X, *, key: str | None = None) -> float:
        """Predict; with a key, remember it for the label that comes later under that key."""
        return self._predicted(x, key)

    def learn_one(self, x: X, y: float, w: float = 1.0, *, key: str | None = None) -> None:
        """Learn a label that counts ``w`` times.

        With a key it belongs to the prediction under that key, and ``x`` is not used again.
        """
        self._learned(x, y, w, key)


@dataclass(eq=False, repr=False)
class LinearClassifier(_Late, base.Classifier):
    """``belated.LinearModel`` with logistic loss as a classifier of river, for two classes.

    Everything is as for ``LinearModel``. Features are numbers and strings, and need neither scaling
    nor encoding.

    >>> from river import datasets, evaluate, metrics
    >>> model = LinearClassifier()
    >>> rows = keyed(datasets.Phishing().take(500))
    >>> found = evaluate.progressive_val_score(rows, model, metrics.ROCAUC(), delay=50)
    >>> print(f"{found.get():.2f}")
    0.91
    """

    bits: int = 20
    l1: float = 0.0
    l2: float = 0.0
    intercept: bool = True
    interactions: Iterable[Sequence[str]] | Literal["auto"] | None = None
    wait: Wait = "adaptive"

    def __post_init__(self) -> None:
        """Make the model."""
        self._start(loss="logistic")

    def predict_proba_one(
        self, x: X, *, key: str | None = None, **_: Any
    ) -> dict[base.typing.ClfTarget, float]:
        """Predict probabilities; with a key, remember it for the label under that key."""
        probability = self._predicted(x, key)
        return {False: 1.0 - probability, True: probability}

    def learn_one(
        self, x: X, y: base.typing.ClfTarget, w: float = 1.0, *, key: str | None = None
    ) -> None:
        """Learn a label, False or True (or 0 or 1), that counts ``w`` times.

        With a key it belongs to the prediction under that key, and ``x`` is not used again.
        """
        if y not in (0, 1):
            raise BadFeedback(f"LinearClassifier: labels must be False or True, got {y!r}")
        self._learned(x, float(y), w, key)


def _named(x: X) -> Mapping[str, Any]:
    """Return features whose names are strings; river's may be anything that can be hashed."""
    if set(map(type, x)) <= {str}:
        return x
    return {str(name): value for name, value in x.items()}
