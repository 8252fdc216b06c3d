"""The arguments of ``Knobs``, validated."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from belated import ranges
from belated.arrays import Floats
from belated.core.cost_models import MOST_CONTEXT, MOST_KNOBS, ROUNDING
from belated.core.knobs import HUGE_COST
from belated.errors import BadFeatures, SpecError
from belated.models.clock import has_unit, span_of
from belated.models.knobs import constraints
from belated.models.knobs.constraints import Constraint
from belated.models.knobs.constraints import checked as _constraints
from belated.ranges import Categories, Int, Log, Range, Span, range_of
from belated.spec import number, whole

Goal = Literal["min", "max"]
Setting = dict[str, Any]
"""A value for every knob, by its name."""
_LEAST_SHARE = 0.001  # of rounds that play the start
_LEAST_STEP = 1e-6  # of a range; places are known to 2^-25 of it
_GRID = 1.0 / ROUNDING


@dataclass(frozen=True)
class Settings:
    """The arguments of ``Knobs``, checked."""

    knobs: Mapping[str, Range]
    start: Mapping[str, Any]
    goal: Goal
    context: Mapping[str, Range]
    hold: int
    max_step: Mapping[str, float]
    """Largest step of each knob, as a part of its range."""
    holdout: float
    silence: float | None
    deadline: float | None
    """In rounds, or in the unit of the clock; None: tickets have none."""
    needs_times: bool
    """Whether the deadline is a length of time, so that predictions have to come with times."""
    counts_predictions: bool
    """Whether the deadline was given in predictions, so that times are refused."""
    seed: int
    constraints: tuple[Constraint, ...] = ()
    places: tuple[float, ...] = field(default=(), compare=False)
    """Where the start is."""

    def __post_init__(self) -> None:
        """Make dicts read-only, since the core has copies of them."""
        for name in ("knobs", "start", "context", "max_step"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by plain data."""
        return restored, (self.to_dict(),)

    @property
    def width(self) -> int:
        """Features of the context."""
        return sum(_width(each) for each in self.context.values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        more: dict[str, Any] = {"needs_times": True} if self.needs_times else {}
        if self.counts_predictions:
            more["counts_predictions"] = True
        if self.constraints:
            more["constraints"] = [dict(each) for each in self.constraints]
        return {
            "knobs": {name: ranges.to_dict(each) for name, each in self.knobs.items()},
            "start": dict(self.start),
            "goal": self.goal,
            "context": {name: ranges.to_dict(each) for name, each in self.context.items()},
            "hold": self.hold,
            "max_step": dict(self.max_step),
            "holdout": self.holdout,
            "silence": self.silence,
            "deadline": self.deadline,
            "seed": self.seed,
            **more,
        }

    def cost(self, value: float) -> float:
        """Return a cost as the core minimises it, and the other way round."""
        return -value if self.goal == "max" else value

    def setting(self, places: list[float]) -> Setting:
        """Return the values of places; those of the start are as they were given."""
        return {
            name: start if place == first else value(place)
            for (name, start, first, value), place in zip(self._knobs, places, strict=True)
        }

    @functools.cached_property
    def _knobs(self) -> list[tuple[str, Any, float, Callable[[float], Any]]]:
        """Name, start, its place, and what turns a place into a value, of every knob."""
        return [
            (name, self.start[name], first, knob.value)
            for (name, knob), first in zip(self.knobs.items(), self.places, strict=True)
        ]

    def places_of(self, setting: Any, who: str) -> Floats:
        """Return the places of a whole setting."""
        if not isinstance(setting, Mapping) or set(setting) != set(self.knobs):
            raise SpecError(
                f"{who}: a setting has a value for each of {', '.join(map(str, self.knobs))}, got "
                f"{setting!r}; nothing has changed"
            )
        try:
            found = [knob.place(setting[name], who, name) for name, knob in self.knobs.items()]
        except SpecError as error:
            raise SpecError(f"{error}; nothing has changed") from error
        return np.array([_rounded(place) for place in found], np.float64)

    def features(self, context: Any, who: str = "predict") -> Floats:
        """Return the features of a context; a missing number is the middle of its range."""
        values: list[float] = []
        given = {} if context is None else context
        if not isinstance(given, Mapping) or not set(given) <= set(self.context):
            names = ", ".join(self.context) or "none"
            raise BadFeatures(
                f"{who}: a context is a dict with names among: {names}; got {given}; nothing has "
                "changed"
            )
        for name, kind in self.context.items():
            place, value = 0.0, given.get(name)
            if name in given:
                try:
                    place = kind.place(value, who, f"{name} of the context")
                except SpecError as error:
                    raise BadFeatures(f"{error}; nothing has changed") from error
            if isinstance(kind, Categories):
                values += [float(value == each) for each in kind.values]
            else:
                values.append(place)
        return np.array(values, np.float64)

    def typical_contexts(
        self, means: Floats, deviations: Floats
    ) -> Iterator[tuple[str, Any, float | None, Floats]]:
        """Yield contexts for a report: name, value, share of the rounds, features.

        Categories have one context for each value that occurred. Numbers have two, a deviation
        below and above the mean, without a share. Other features have their means.
        """
        at = 0
        for name, kind in self.context.items():
            width, features = _width(kind), means.copy()
            if isinstance(kind, Categories):
                for i in np.flatnonzero(means[at : at + width] > 0.0).tolist():
                    features[at : at + width] = np.arange(width) == i
                    yield name, kind.values[i], float(means[at + i]), features.copy()
            else:
                for sign in (-1.0, 1.0):
                    place = min(max(float(means[at] + sign * deviations[at]), -1.0), 1.0)
                    features[at] = place
                    yield name, kind.value(place), None, features.copy()
            at += width

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``core.knobs.Tuner``."""
        return {
            "knobs": len(self.knobs),
            "context": self.width,
            "seed": self.seed,
            "hold": self.hold,
            "holdout": self.holdout,
            "silence": None if self.silence is None else self.cost(self.silence),
            "deadline": self.deadline,
            "start": self.places,
            "steps": [2.0 * self.max_step[name] for name in self.knobs],
            "levels": [float(knob.levels) for knob in self.knobs.values()],
            "limits": constraints.rows(self.constraints, self.knobs),
        }


def checked(
    *,
    knobs: Any,
    start: Any,
    goal: Any,
    context: Any,
    hold: Any,
    max_step: Any,
    holdout: Any,
    silence: Any,
    deadline: Any,
    seed: Any,
    needs_times: Any = False,
    counts_predictions: Any = False,
    constraints: Any = None,
) -> Settings:
    """Return the settings, or say which one is wrong."""
    found = _ranges(knobs)
    if not isinstance(goal, str) or goal not in ("min", "max"):
        raise SpecError(f"Knobs: goal must be 'min' or 'max', got {goal!r}")
    share = number("Knobs", "holdout", holdout)
    if share != 0.0 and not _LEAST_SHARE <= share <= 0.5:
        raise SpecError(f"Knobs: holdout must be 0, or from 0.001 to 0.5, got {holdout!r}")
    silent = None if silence is None else number("Knobs", "silence", silence)
    if silent is not None and abs(silent) > HUGE_COST:
        raise SpecError(f"Knobs: silence must be at most 1e50, got {silence!r}")
    if silent is not None and deadline is None:
        raise SpecError(
            "Knobs: silence is what a cost is when its deadline passes, so give deadline= too, in "
            'rounds or as a length of time, such as "7d"'
        )
    is_length = deadline is not None and (bool(needs_times) or has_unit(deadline))
    first = _start(found, start)
    return Settings(
        knobs=found,
        start={name: first[name] for name in found},
        goal="max" if goal == "max" else "min",
        context=_context(context),
        hold=whole("Knobs", "hold", hold, bits=30),
        max_step=_steps(found, max_step),
        holdout=share,
        silence=silent,
        deadline=_wait(deadline, is_length),
        needs_times=is_length,
        counts_predictions=bool(counts_predictions) or isinstance(deadline, Mapping),
        constraints=_constraints(constraints, found, first),
        seed=whole("Knobs", "seed", seed, least=0, bits=64),
        places=tuple(_rounded(found[n].place(first[n], "Knobs", f"start of {n}")) for n in found),
    )


def restored(data: Mapping[str, Any]) -> Settings:
    """Return the settings of ``Settings.to_dict``."""
    arguments = dict(data)
    for name in ("knobs", "context"):
        arguments[name] = {key: ranges.from_dict(each) for key, each in data[name].items()}
    return checked(**arguments)


def _ranges(knobs: Any) -> dict[str, Range]:
    if not isinstance(knobs, Mapping) or not 1 <= len(knobs) <= MOST_KNOBS:
        raise SpecError(
            f"Knobs: knobs must be a dict of 1 to {MOST_KNOBS} names and ranges, such as "
            f"{{'price': (10, 200)}}, got {knobs!r}"
        )
    if not all(isinstance(name, str) and _is_text(name) for name in knobs):
        raise SpecError(f"Knobs: names of knobs must be texts, got {list(knobs)!r}")
    taken = [name for name in constraints.ENDS if name in knobs]
    if taken:
        raise SpecError(
            f"Knobs: a knob cannot be called {taken[0]}, which says what a constraint allows; "
            "give it another name"
        )
    return {name: range_of(given, name) for name, given in knobs.items()}


def _start(knobs: dict[str, Range], start: Any) -> Setting:
    """Return the first setting; the middle of all ranges by default."""
    if start is None:
        return {name: knob.value(0.0) for name, knob in knobs.items()}
    if not isinstance(start, Mapping) or set(start) != set(knobs):
        raise SpecError(
            f"Knobs: start must have a value for each of {', '.join(knobs)}, got {start!r}"
        )
    found: Setting = {}
    for name, knob in knobs.items():
        value = start[name].item() if isinstance(start[name], np.generic) else start[name]
        knob.place(value, "Knobs", f"start of {name}")
        found[name] = int(value) if isinstance(knob, Int) else value
    return found


def _wait(deadline: Any, is_length: bool) -> float | None:
    """Return a deadline as a number; whole ones stay whole, as rounds are."""
    if deadline is None:
        return None
    rule = "Knobs: deadline must be a number of rounds, or a length of time of at least 0"
    span = span_of(deadline, rule)
    if math.isinf(span):
        raise SpecError(f"{rule}, got {deadline!r}")
    return span if is_length or span != math.floor(span) else int(span)


def _steps(knobs: dict[str, Range], max_step: Any) -> dict[str, float]:
    """Return the largest steps as parts of ranges; knobs with levels can always go one further."""
    if max_step is None or isinstance(max_step, Mapping):
        given = max_step or {}
        if not set(given) <= set(knobs):
            raise SpecError(f"Knobs: max_step has names that are no knobs: {max_step!r}")
        steps = {name: given.get(name, 1.0) for name in knobs}
    else:
        steps = dict.fromkeys(knobs, max_step)
    found = {name: number("Knobs", "max_step", step) for name, step in steps.items()}
    if not all(_LEAST_STEP <= step <= 1.0 for step in found.values()):
        raise SpecError(
            f"Knobs: max_step must be a part of the range, from 1e-6 to 1, got {max_step!r}"
        )
    least = {name: 1.0 / (each.levels - 1) if each.levels else 0.0 for name, each in knobs.items()}
    return {name: max(step, least[name]) for name, step in found.items()}


def _context(context: Any) -> dict[str, Range]:
    if context is None:
        return {}
    if not isinstance(context, Mapping) or not all(isinstance(name, str) for name in context):
        raise SpecError(f"Knobs: context must be a dict of names and ranges, got {context!r}")
    found: dict[str, Range] = {}
    for name, given in context.items():
        is_range = isinstance(given, Span | Log | Int | Categories)
        is_pair = isinstance(given, tuple) and len(given) == 2
        is_range = is_range or (is_pair and not any(isinstance(each, str) for each in given))
        found[name] = range_of(given, name) if is_range else Categories(given)
    if sum(_width(each) for each in found.values()) > MOST_CONTEXT:
        raise SpecError(f"Knobs: a context has at most {MOST_CONTEXT} numbers and values in all")
    return found


def _is_text(name: str) -> bool:
    """Return whether a name can be encoded: half a surrogate pair cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _width(kind: Range) -> int:
    """Return the number of features: one of a number, one for each category."""
    return kind.levels if isinstance(kind, Categories) else 1


def _rounded(place: float) -> float:
    """Return a place as the core keeps it."""
    return math.floor((place + 1.0) * _GRID + 0.5) / _GRID - 1.0
