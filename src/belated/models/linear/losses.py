"""The losses of linear models: what each is called, what it takes, and what it says.

Everything that people read or choose from is made of this table, which is light to import. What a
loss computes stands in ``belated.core.label_losses``.

>>> LOSSES["hinge"].labels.words, LOSSES["quantile"].parameter
('-1 or 1', 'quantile')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from belated.errors import SpecError
from belated.limits import HUGE_LABEL

Loss = Literal["squared", "absolute", "quantile", "huber", "logistic", "hinge", "poisson"]


@dataclass(frozen=True)
class Labels:
    """The labels that it accepts."""

    words: str
    """In messages: a label must be ..."""
    plural: str
    """In tables."""
    classes: tuple[float, float] | None = None
    """The no and the yes, where there are only two."""
    least: float = -HUGE_LABEL

    def takes(self, label: float) -> bool:
        """Tell whether a number can be a label."""
        if self.classes is not None:
            return label in self.classes
        return self.least <= label <= HUGE_LABEL


NUMBERS = Labels(f"a finite number of at most {HUGE_LABEL:g}", "numbers")
BITS = Labels("0 or 1", "0 and 1", (0.0, 1.0))
SIGNS = Labels("-1 or 1", "-1 and 1", (-1.0, 1.0))
AMOUNTS = Labels(f"a number from 0 to {HUGE_LABEL:g}", "from 0 on", least=0.0)


@dataclass(frozen=True)
class LinearLoss:
    """One of the losses, l(p, y) of a prediction p before the link and a label y."""

    formula: str
    says: str
    """The meaning of a prediction."""
    measure: str
    """The name of the mean loss."""
    labels: Labels = NUMBERS
    link: Literal["probability", "rate"] | None = None
    """The function that is applied to a prediction."""
    parameter: Literal["quantile", "delta"] | None = None
    """The setting that belongs to this loss."""
    per_loss: float = 1.0
    """How many times the loss the measure is."""
    is_linear_in_label: bool = False
    """Whether l(p, y) = A(p) - y p, up to what depends only on y."""

    @property
    def prior(self) -> float:
        """Labels, and as many complements, that a mean of labels starts from."""
        return 0.0 if self.link is None else 0.5


LOSSES: dict[str, LinearLoss] = {
    "squared": LinearLoss(
        "(p - y)^2 / 2",
        "an estimate of the mean",
        "mean squared error",
        per_loss=2.0,
        is_linear_in_label=True,
    ),
    "absolute": LinearLoss(r"\|p - y\|", "of the median", "mean absolute error"),
    "quantile": LinearLoss(
        "(1 - tau) (p - y) above, tau (y - p) below, tau = `quantile`",
        "of the quantile tau",
        "pinball loss",
        parameter="quantile",
    ),
    "huber": LinearLoss(
        "squared up to `delta`, then linear",
        "between mean and median",
        "Huber loss",
        parameter="delta",
    ),
    "logistic": LinearLoss(
        "ln(1 + e^p) - y p",
        "a probability",
        "log loss",
        BITS,
        link="probability",
        is_linear_in_label=True,
    ),
    "hinge": LinearLoss("max(0, 1 - y p)", "a score; its sign is the class", "hinge loss", SIGNS),
    "poisson": LinearLoss(
        "e^p - y p", "a rate", "Poisson loss", AMOUNTS, link="rate", is_linear_in_label=True
    ),
}
"""All losses by name."""
BINARY = tuple(name for name, loss in LOSSES.items() if loss.labels.classes)
"""Losses of a yes or no."""


def named(loss: Any, who: str) -> LinearLoss:
    """Return what is known of a loss, or say that there is no such one."""
    if not isinstance(loss, str) or loss not in LOSSES:
        raise SpecError(f"{who}: loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    return LOSSES[loss]


def table() -> str:
    """Return the table of losses in ``docs/linear.md``."""
    rows = [
        f'| `"{name}"` | {loss.formula} | {loss.labels.plural} | {loss.says} |'
        for name, loss in LOSSES.items()
    ]
    return "\n".join(["| `loss=` | l(p, y) | labels | `value` is |", "|---|---|---|---|", *rows])
