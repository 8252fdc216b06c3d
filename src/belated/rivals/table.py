"""The page ``docs/rivals.md``: ``python -m belated.rivals.table`` prints it."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterable
from typing import Any, NamedTuple, cast

from belated import rivals
from belated.rivals.arms import Bandit
from belated.rivals.base import FACTS, Rival

_SYMBOLS = {
    "base": "a learner inside",
    "curvature": "lambda",
    "delay": "d",
    "exp_concavity": "alpha",
    "lipschitz": "G",
    "magnitude": "M",
    "max_delay": "d_max",
    "rounds": "T",
    "scale": "a scale",
    "smoothness": "L",
    "stalest": "how stale a gradient may be",
    "step": "a step size",
    "strength": "a strength",
    "total_delay": "d_tot",
    "workers": "the number of workers",
}
_IS_THE_SET = ("domain", "arms")
_TOLD_BY_SETTINGS = {
    "DMD": "T, d_tot; with curvature nothing (with the entropy T)",
    "GOLD": "a, where delays are of order t^a (0 unless told)",
    "MildOGD": "T, and d_max (d_tot where answers keep their order)",
    "SDMD": "T, d_tot; with curvature nothing (with the entropy T)",
}
"""What the names of the facts do not say."""
_GROUPS = (
    "that of the learner inside",
    "gradient",
    "gradient, or function",
    "function",
    "coefficients",
    "two values",
    "k + 1 values",
    "value",
    "value of the arm drawn",
)
"""What an answer can be, in the order of the table."""


class Row(NamedTuple):
    """One row of the table, as it is printed."""

    method: str
    answers: str
    assumes: str
    told: str
    memory: str
    order: str
    guarantee: str
    reference: str


_HEADINGS = Row(
    "method",
    "an answer is",
    "assumes",
    "must be told in advance",
    "memory beyond O(k)",
    "answers out of order, or lost",
    "guarantee",
    "reference",
)
_PAPER = "Ryabchenko, Attias and Roy 2026"
_COUNTED = "any order; an open ticket is counted, a cancelled one is zero feedback"

OURS = (
    Row(
        "`FirstOrder`",
        "gradient",
        "G, or nothing with `rates.GradientAdaptive`",
        "nothing",
        "none",
        _COUNTED,
        "3 G D sqrt(T + d_tot); 2 G D sqrt(T/2 + d_tot) with `rates.Tight`; "
        "(9 G^2/lambda) (min{sigma_max ln(e T), 2 sqrt(d_tot)} + ln(e T)) if strongly convex",
        f"{_PAPER}, Corollaries 5.3, 5.4",
    ),
    Row(
        "`TwoPoint`",
        "two values",
        "G",
        "nothing",
        "none",
        _COUNTED,
        "of order G D (sqrt(k T) + sqrt(d_tot)), in expectation",
        f"{_PAPER}, Corollaries G.3, G.4",
    ),
    Row(
        "`OnePoint`",
        "value",
        "G, M",
        "nothing",
        "none",
        _COUNTED,
        "of order T^(3/4) sqrt(k) + sqrt(d_tot), in expectation",
        f"{_PAPER}, Corollaries 5.7, 5.8",
    ),
    Row(
        "`Skip` of any of these",
        "that of the learner inside",
        "as the learner inside",
        "nothing",
        "16 bytes per ticket given up on, until it is forgotten",
        "any order; gives up on what is older than sqrt(D_t)",
        "min over sets Q of rounds of #Q + sqrt(delays outside Q) in place of sqrt(d_tot), "
        "up to a constant",
        f"{_PAPER}, Theorem 6.1",
    ),
    Row(
        "`Deadline` of any of these",
        "that of the learner inside",
        "as the learner inside",
        "how long to wait",
        "16 bytes per ticket given up on, until it is forgotten",
        "any order; gives up on what is older than the deadline",
        "that of the learner inside with delays of at most the deadline, plus G D per round given "
        "up on",
        "ours, after Theorem 6.1",
    ),
    Row(
        "`Capacity` of `FirstOrder`, `OnePoint` or `TwoPoint`",
        "that of the learner inside",
        "as the learner inside",
        "the most tickets; for coins a bound on the backlog",
        "24 bytes per tracked ticket, and up to 3 times that with room to grow",
        "any order; tracks at most C tickets",
        "gradients: that of the learner inside with the sum of max{1, (d_t + 1) / B} in place of "
        "T, B of the order of C / log T; with coins, for gradients and values, T / p, p of the "
        "order of C / backlog; on average over which tickets are tracked",
        "after Ryabchenko, Attias, Roy 2026",
    ),
)
"""The learners of the paper that this library implements."""

_INTRO = """\
# Rivals

{count} published methods, behind the same two events as our own learners: `predict` hands out a
ticket and a play, `observe` brings the answer. So they can be run on the same delays and losses,
and compared. {late} of them were made for late answers. {prompt} know nothing about delays, and
take late answers as if they were prompt, as one would without this library:
{names}.
These are not all that were ever published, but those in the table.

Each is a class in `src/belated/rivals/`, with a slow second version in the tests that it must agree
with. Where a paper leaves something open, or a printed formula cannot be right, the docstring
says what was chosen. Rules and constants that are derived here, or were not compared with those of
the paper, are said to be, in the docstring and in the words of the bound. "After" before a
reference marks a tuning that is ours. The studies play all of them, each with losses and answers
that it is made for, against ours: [who is best where](results.md#who-is-best-where).
"""

_SYMBOLS_EXPLAINED = """\
T rounds, k dimensions (or arms), D the diameter of the set, R its outer and r its inner radius, G
bounds the gradients, M the values, lambda is the strong convexity; d_t is the delay of round t,
d_tot the sum of all of them, d_max the largest; sigma_t counts the answers that are out at play t,
and sigma_max is the most at once. #Q is the number of rounds in Q.
"""

_RUNNING = """\
## How to run one

Like any other spec. Many methods must be told facts about the delays before the first round:
`told` takes them from a timeline, which no real learner could know. That is the method at its
best.

```python
import numpy as np
import belated as bl

timeline = bl.delays.pareto(1000, shape=1.5, scale=5.0, seed=1)
spec = bl.rivals.QuanrudKhashabi(bl.Ball(3), lipschitz=1.0)
print(spec.facts())  # ('rounds', 'total_delay')

spec = spec.told(timeline)
promised = spec.bound(timeline)  # on these delays, where constants are known

gradients = np.random.default_rng(0).normal(size=(1000, 3)) / 3.0
plays = bl.Learner(spec).run(timeline, gradients)  # or predict and observe, one by one
```

A method for arms draws one in every round: its play is the unit vector of that arm, and its answer
what that arm lost.

```python
learner = bl.Learner(bl.rivals.BankerTINF(3), seed=7)
ticket, x = learner.predict()
print(x)  # [1. 0. 0.]
learner.observe(ticket, 0.25)  # whenever it is heard
```

A method that misses a fact refuses to run and names it, and has no bound. `facts` are all that a
method may have to be told, `needs` those that it uses with its settings; it takes no others.
Snapshots, JSON, `cancel`, seeds and `strict` are as for our own learners. There is no certificate
in the report: that is a theorem about our own.
"""

_FEATURES = """\
## With features at the prediction

`DelayedVAW` is the one method here that is no spec but a model, as its predictions need features:
Vovk-Azoury-Warmuth regression under late labels, after Qiu, Esposito and Zhang 2025, for dense
features in up to a few hundred dimensions. It is told bounds on the labels and on the weights, and
says in turn what its losses exceed those of any such weights at most by.

```python
model = bl.rivals.DelayedVAW(2, magnitude=1.0, norm=1.0)
ticket, value = model.predict([0.6, -0.3])
later = model.predict([0.1, 0.9], key="order 2")
used = model.observe("order 2", 0.5)  # labels in any order; or cancel, snapshot, restore, replay
most = model.regret_within(norm=0.8)
```

`LinearModel` asks for none of that, takes names and sparse features and forgets what is out of
date; which of the two predicts better is in [results](results.md).
"""


_READING = """\
## How to read the table

* **assumes** is about the losses. Everything is measured in the chart of the set, as for our own
  learners: on a `Box`, in half-widths. What has a default is left out here.
* **must be told in advance** is about the future: facts that a live system does not have. Our own
  learners, and those with "nothing" here, count what they need while they run.
* **memory** is what is kept besides a few vectors, and besides a few numbers per open ticket.
  Directions of exploration are never kept: they are recomputed from (seed, ticket).
* **answers out of order, or lost**: a few methods need answers in the order of the tickets; they
  wait, or refuse. A lost answer is one whose ticket you `cancel`; one that just never comes stays
  open.
* **guarantee** is on the regret against the best fixed play, as far as we know it, of a method that
  was told the truth. `bound` turns it into a number, except where it is an order of growth only
  ("of order", "O"), or where it contains numbers that the method is not told. It takes the steps as
  they are: told something wrong, a method still has a bound, and a larger one, or none where the
  delays are longer than it can take or was told. "In expectation" is over the draws of the method,
  for losses and delays that do not depend on them. "Without delay" marks the methods that were not
  made for late answers.
"""


def methods() -> list[type[Rival]]:
    """Return all rivals: by what an answer is, then by year, then by name."""
    for module in pkgutil.iter_modules(rivals.__path__):
        importlib.import_module(f"{rivals.__name__}.{module.name}")
    found = {kind for kind in _below(Rival) if hasattr(kind, "title")}
    return sorted(found, key=_place)


def _place(kind: type[Rival]) -> tuple[int, str, str]:
    return _GROUPS.index(_answers(kind)), kind.reference[-4:], kind.title


def _below(kind: type[Rival]) -> Iterable[type[Rival]]:
    """All subclasses, however deep."""
    for child in kind.__subclasses__():
        yield child
        yield from _below(child)


def _row(method: type[Rival]) -> Row:
    name, facts = method.__name__, ", ".join(_SYMBOLS[fact] for fact in method.facts())
    return Row(
        f"`{name}`" if method.title == name else f"{method.title}, `{name}`",
        _answers(method),
        _assumes(method),
        _TOLD_BY_SETTINGS.get(name, facts or "nothing"),
        method.memory,
        method.order,
        method.guarantee,
        method.reference,
    )


def _fields(method: type[Rival]) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(cast(Any, method))}


def _answers(method: type[Rival]) -> str:
    fields = _fields(method)
    if "base" in fields:
        return "that of the learner inside"
    if issubclass(method, Bandit):
        return "value of the arm drawn"
    return "gradient, or function" if "feedback" in fields else method.answers


def _assumes(method: type[Rival]) -> str:
    if issubclass(method, Bandit):
        return method.assumes
    required = [
        _SYMBOLS[name]
        for name, field in _fields(method).items()
        if field.default is dataclasses.MISSING and name not in (*_IS_THE_SET, *FACTS)
    ]
    return ", ".join(required) or "nothing"


def table() -> str:
    """Return the Markdown table of all methods, ours first.

    >>> table().splitlines()[2].split(" | ")[:2]
    ['| `FirstOrder`', 'gradient']
    """
    rows = [_HEADINGS, Row(*["---"] * len(_HEADINGS)), *OURS, *map(_row, methods())]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def undelayed() -> list[type[Rival]]:
    """Return the rivals that know nothing about delays."""
    return [method for method in methods() if "without delay" in method.guarantee]


def _intro() -> str:
    prompt = undelayed()
    names = ", ".join(method.title for method in prompt)
    late = len(methods()) - len(prompt)
    return _INTRO.format(count=len(methods()), late=late, prompt=len(prompt), names=names)


def page() -> str:
    """Return the page in full."""
    parts = [
        _intro(),
        "## The table\n",
        _SYMBOLS_EXPLAINED,
        table(),
        _RUNNING,
        _FEATURES,
        _READING,
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
