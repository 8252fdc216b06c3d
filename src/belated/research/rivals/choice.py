"""Which methods suit a problem, and what each must know in advance."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any, NamedTuple, cast

from belated.domains import Simplex
from belated.errors import SpecError
from belated.problem import Problem
from belated.research import rivals
from belated.research.rivals.base import FACTS, AnswerKind, Rival
from belated.timeline import Timeline

_CONSTANTS = ("domain", "lipschitz", "magnitude", "curvature", "exp_concavity")


class Suited(NamedTuple):
    """A method that can play."""

    name: str
    must_know: tuple[str, ...]
    """The facts about the future that it is told here; see ``rivals.base.FACTS``."""
    spec: Rival
    """The method, told these facts."""


def suited(
    problem: Problem,
    timeline: Timeline,
    told: Collection[str] = tuple(FACTS),
    *,
    feedback: AnswerKind = "gradient",
) -> list[Suited]:
    """Return the methods that can play under these assumptions on these delays.

    ``told`` are the facts that can be known in advance: by default all, () for methods that are
    told nothing. Constants come from the problem, facts from the timeline. With one value on a
    ``Simplex`` these are the methods for arms. Left out are methods whose answers are of another
    kind, that need a constant which the problem does not have, or that refuse such delays; and
    those with a number of their own to choose, such as a step size.

    >>> from belated import Ball, delays
    >>> problem, timeline = Problem(Ball(2), lipschitz=1.0), delays.constant(100, 5)
    >>> [each.name for each in suited(problem, timeline, told=())]
    ['AdaGrad', 'AdaptiveRevision', 'BOLD', 'Delayed dual averaging', 'Zinkevich']
    >>> [each.must_know for each in suited(problem, timeline) if each.name == "Mild-OGD"]
    [('rounds', 'max_delay')]
    """
    if not isinstance(problem, Problem) or not isinstance(timeline, Timeline):
        raise SpecError(f"suited: takes a Problem and a Timeline, got {problem!r} and {timeline!r}")
    if unknown := [fact for fact in told if fact not in FACTS]:
        raise SpecError(f"suited: facts are {', '.join(FACTS)}, got {unknown[0]!r}")
    found = []
    for kind in methods():
        spec = _made(kind, problem, feedback)
        if spec is None or spec.feedback != feedback or not set(spec.needs) <= set(told):
            continue
        spec = spec.told(timeline)
        if spec.takes(timeline):
            found.append(Suited(spec.title, spec.needs, spec))
    return sorted(found, key=lambda each: each.name.lower())


def methods() -> list[type[Rival]]:
    """Return all methods."""
    kinds = [vars(rivals)[name] for name in rivals.__all__]
    return [kind for kind in kinds if isinstance(kind, type) and Rival in kind.__mro__[1:]]


def assuming(kind: type[Rival], problem: Problem) -> Rival:
    """Return a method with those constants of the problem that it has a field for."""
    names = {field.name for field in dataclasses.fields(cast(Any, kind))}
    known = {name: getattr(problem, name) for name in _CONSTANTS}
    known["arms"] = problem.domain.dim
    given = {name: value for name, value in known.items() if name in names and value}
    return cast(Rival, cast(Any, kind)(**given))


def _made(kind: type[Rival], problem: Problem, feedback: AnswerKind) -> Rival | None:
    """Return a method with its constants; None if one is missing or the set does not fit."""
    fields = dataclasses.fields(cast(Any, kind))
    if fields[0].name == "arms" and not isinstance(problem.domain, Simplex):
        return None
    known = {name for name in _CONSTANTS if getattr(problem, name)}
    needed = {field.name for field in fields if field.default is dataclasses.MISSING}
    if not needed <= known | {"arms", "base"}:
        return None
    try:
        if "base" not in needed:
            return assuming(kind, problem)
        answer: Any = feedback.replace(" ", "-")
        return cast(Rival, cast(Any, kind)(problem.learner(answer, base="pftrl")))
    except SpecError:  # the set, or the kind of answer, does not fit
        return None
