"""Snapshots with one number changed and the checksum made right again, and what they must do.

Each is refused, or harmless: a few events and a report later every play is finite, and nothing was
raised but errors of belated. Run as a script it does so for the cases named, or for all; it exits
with the number of forgeries that did harm, so that a crash of the interpreter is seen as well.
"""

from __future__ import annotations

import contextlib
import copy
import math
import random
import resource
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

import belated as bl
import compositions
import rival_laws
from belated.errors import BelatedError, SnapshotError
from belated.reductions import takes_functions
from sealing import arrays_of, header_of, rewritten, with_arrays

LEAST, MOST = -(1 << 63), (1 << 63) - 1
INTS = (-1, 0, 1, 2, 7, 63, 65, 10**6, 10**9, 1 << 31, 1 << 40, 1 << 53, 1 << 62, LEAST, MOST)
FLOATS = (0.0, -0.5, -1.0, 0.5, 1.0, 2.0, 1e-300, 1e9, -1e9, 1e18, 1e120, -1e200, 1e308)
NEVER = (math.nan, math.inf, -math.inf)
TOLD: tuple[Any, ...] = (
    *(None, True, -1, 0, 0.5, 3, 1e308, -1e308, 10**400, 1 << 62, math.nan, math.inf),
    *("x", [], {}, [1e308], {"x": 1e308}),
)

COMPOSITIONS = (
    "first-pftrl-l1-gradient-3",
    "first-adagrad-skip-2",
    "first-portfolio-floored-tight-3",
    "first-leader-floored-curved-skip-3",
    "mean-omd-box-table-root-2",
    "two-omd-ball-constant-root-skip-3",
    "mean-omd-user-root-curved-3",
    "full-omd-l1-tight-7",
)
MODELS: dict[str, dict[str, Any]] = {
    "squared": {"wait": {"predictions": 15}},
    "logistic": {"l1": 1e-3, "intercept": False},
    "poisson": {},
    "quantile": {"wait": None, "l2": 0.1},
}
WIDE = 70  # entries: more than a new model has room for
ROUNDS = 30


class Case(NamedTuple):
    """Something that was alive for a while, and how it is restored."""

    name: str
    blob: Callable[[], bytes]
    restore: Callable[[bytes], Any]
    live: Callable[[Any], list[float]]


def _compositions() -> Iterator[Case]:
    for name in COMPOSITIONS:
        each = compositions.COMPOSITIONS[name]

        def blob(each: compositions.Composition = each) -> bytes:
            learner = each.learner()
            life = compositions.events(ROUNDS, seed=3)
            compositions.Drive(each, each.answers())(learner, life)
            return learner.snapshot()

        spec = each.spec() if each.has_user_code else None
        yield Case(name, blob, partial(bl.Learner.restore, parts=spec), live)


def _rivals() -> Iterator[Case]:
    skipping = [case for case in rival_laws.CASES if getattr(case.spec, "skipping", False)]
    for case in [*rival_laws.ONE_OF_EACH, skipping[0]]:

        def blob(case: Any = case) -> bytes:
            learner = rival_laws.learner(case)
            life = rival_laws.life(case)
            life = life[: _crowded(life)]
            rival_laws.follow(learner, life, rival_laws.answers(case).fast)
            return learner.snapshot()

        yield Case(case.name, blob, bl.Learner.restore, live)


def _crowded(life: list[Any]) -> int:
    """Return how many events to live so that many tickets are open at the end."""
    balance = np.cumsum([1 if kind == "predict" else -1 for kind, _ in life])
    late = len(life) // 2
    return late + int(np.argmax(balance[late:])) + 1


def _models() -> Iterator[Case]:
    def blob(loss: Any, entries: int, **settings: Any) -> bytes:
        model = bl.LinearModel(loss, **settings)
        draw = random.Random(3)
        for kind, ticket in compositions.events(ROUNDS, seed=4):
            if kind == "predict":
                model.predict(_row(draw, entries))
            elif kind == "cancel":
                model.cancel(ticket)
            else:
                model.observe(ticket, float(draw.random() < 0.4))
        return model.snapshot()

    for loss, settings in MODELS.items():
        made = partial(blob, loss, 3, bits=5, **settings)
        yield Case(f"{loss} model", made, bl.LinearModel.restore, live_model)
    wide = partial(blob, "squared", WIDE, bits=7)
    paired = partial(blob, "squared", 3, interactions="auto", bits=6)
    yield Case("model with pairs", paired, bl.LinearModel.restore, live_model)
    yield Case("model with wide rows", wide, bl.LinearModel.restore, live_model)


def _around() -> Iterator[Case]:
    """Yield what is made around linear models, and knobs."""

    def intervals() -> bytes:
        made = bl.Intervals(bl.LinearModel(bits=5), coverage=0.8)
        _live_once(made, lambda draw: made.predict(_row(draw), key=f"k{made.rounds}"))
        return made.snapshot()

    def chooser() -> bytes:
        made = bl.Chooser(["a", "b", "c"], bits=5, baseline="a", silence=0.0, deadline=9)
        _live_once(made, lambda draw: made.choose({"x": draw.random()}, key=f"k{made.rounds}"))
        made.choose({"x": 0.5}, shown=False)
        return made.snapshot()

    def knobs(**settings: Any) -> bytes:
        made = bl.Knobs({"a": (0, 1), "b": bl.ranges.Int(0, 4)}, **settings)
        times: dict[str, Any] = {"at": 5.0} if "deadline" in settings else {}
        _live_once(made, lambda _: made.predict(key=f"k{made.rounds}", **times))
        return made.snapshot()

    yield Case("intervals", intervals, bl.Intervals.restore, live_intervals)
    yield Case("chooser", chooser, bl.Chooser.restore, live_chooser)
    yield Case("knobs", knobs, bl.Knobs.restore, live_knobs)
    timed = partial(knobs, deadline="1h", silence=2.0, holdout=0.1)
    yield Case("knobs with a clock", timed, bl.Knobs.restore, live_knobs)


def _live_once(made: Any, begin: Callable[[random.Random], Any]) -> None:
    draw = random.Random(3)
    for kind, ticket in compositions.events(ROUNDS, seed=4):
        if kind == "predict":
            begin(draw)
        elif kind == "cancel":
            made.cancel(ticket)
        else:
            made.observe(ticket, draw.random())


def _row(draw: random.Random, entries: int = 3) -> tuple[list[int], list[float]]:
    places = sorted(draw.sample(range(max(32, entries)), entries))
    return places, [draw.uniform(-2.0, 2.0) for _ in places]


def _slope(x: Any) -> Any:
    return np.full(x.shape, 0.25)


def live(learner: bl.Learner) -> list[float]:
    """Live for a few events; return all plays."""
    plays: list[float] = []
    answer: Any = np.full(learner._player.answer_size, 0.25)
    if takes_functions(learner.spec):
        answer = _slope
    for step in range(6):
        with contextlib.suppress(BelatedError):
            plays += learner.predict().x.ravel().tolist()
        known = sorted(learner._player.tickets.answerable())
        for ticket in {*known[:1], *known[-2:]}:
            with contextlib.suppress(BelatedError):
                if step == 2:
                    learner.cancel(ticket)
                else:
                    learner.observe(ticket, answer)
    learner.report()
    learner.snapshot()
    return plays


def live_model(model: bl.LinearModel) -> list[float]:
    """Live for a few events; return all predictions."""
    plays: list[float] = []
    draw = random.Random(5)
    for step in range(6):
        plays += [model.peek(_row(draw)), model.predict(_row(draw)).value]
        known = sorted(model.answerable())
        for ticket in {*known[:1], *known[-2:]}:
            with contextlib.suppress(BelatedError):
                if step == 2:
                    model.cancel(ticket)
                else:
                    model.observe(ticket, 1.0)
    model.report()
    model.snapshot()
    return plays


def live_intervals(intervals: bl.Intervals) -> list[float]:
    """Live for a few events; return all values, and the ends that are bounded."""
    plays: list[float] = []
    draw = random.Random(5)
    for step in range(6):
        issued = intervals.predict(_row(draw))
        plays += [issued.value, max(issued.low, -1.0), min(issued.high, 1.0)]
        _answer(intervals, step, (*intervals._coverage.issued,))
    intervals.report()
    intervals.snapshot()
    return plays


def live_chooser(chooser: bl.Chooser) -> list[float]:
    """Live for a few events; return all probabilities."""
    plays: list[float] = []
    actions = None if chooser._settings.actions else ["a"]
    for step in range(6):
        with contextlib.suppress(BelatedError):
            plays.append(chooser.choose({"x": 0.1 * step}, actions).probability)
            plays += [option.value for option in chooser.peek({"x": 0.5}, actions)]
        _answer(chooser, step, (*chooser._choices.open,))
    chooser.report()
    chooser.snapshot()
    return plays


def live_knobs(knobs: bl.Knobs) -> list[float]:
    """Live for a few events; return all settings."""
    plays: list[float] = []
    is_timed = knobs.settings.deadline is not None and knobs._tuner.has_times
    times: dict[str, Any] = {"at": 2e9} if is_timed or knobs.settings.needs_times else {}
    for step in range(6):
        with contextlib.suppress(BelatedError):
            plays += [float(value) for value in knobs.predict(**times).setting.values()]
        _answer(knobs, step, (*sorted(knobs._tuner.tickets.answerable()),))
    knobs.best()
    knobs.report()
    knobs.snapshot()
    return plays


def _answer(made: Any, step: int, known: tuple[int, ...]) -> None:
    """Answer or cancel some tickets."""
    for ticket in {*known[:1], *known[-2:]}:
        with contextlib.suppress(BelatedError):
            if step == 2:
                made.cancel(ticket)
            else:
                made.observe(ticket, 0.5)


CASES = {case.name: case for case in (*_compositions(), *_rivals(), *_models(), *_around())}


def told_otherwise(blob: bytes, most: int | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield snapshots with one thing changed that is told beside the arrays."""
    about = header_of(blob)["about"]
    changes = [(path, value) for path in _paths(about) for value in TOLD]
    if most is not None and most < len(changes):
        changes = random.Random(8).sample(changes, most)
    for path, value in changes:
        changed = copy.deepcopy(about)
        inside: Any = changed
        for step in path[:-1]:
            inside = inside[step]
        inside[path[-1]] = value
        yield f"{path} = {str(value)[:30]}", rewritten(blob, changed)


def _paths(told: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all there is inside of lists and dicts, and of these themselves."""
    items: Any = told.items() if isinstance(told, dict) else ()
    items = enumerate(told) if isinstance(told, list) else items
    for step, each in items:
        yield (*path, step)
        yield from _paths(each, (*path, step))


def forgeries(blob: bytes, most: int | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield snapshots with one number changed; at most so many, chosen by a seed."""
    arrays = arrays_of(blob)
    fields = header_of(blob)["about"].get("state", {})
    places: list[tuple[str, int | None, Any]] = [
        (name, place, value)
        for name, array in arrays.items()
        for place in range(array.size)
        for value in _others(array.reshape(-1)[place])
    ]
    places += [(name, None, value) for name, field in fields.items() for value in _others(field)]
    if most is not None and most < len(places):
        places = random.Random(7).sample(places, most)
    for name, place, value in places:
        if place is None:
            if value != fields[name]:
                yield f"{name} = {value!r}", rewritten(blob, {"state": {**fields, name: value}})
            continue
        changed = arrays[name].copy()
        if np.array_equal(changed.reshape(-1)[place], value):
            continue
        with np.errstate(over="ignore"):  # single precision has fewer numbers
            changed.reshape(-1)[place] = value
        yield f"{name}[{place}] = {value!r}", with_arrays(blob, {name: changed})


def _others(number: Any) -> list[Any]:
    """Return what to put in the place of a number."""
    if isinstance(number, int | np.integer):
        near = (int(number) - 1, int(number) + 1, -int(number))
        kind = np.iinfo(number.dtype if isinstance(number, np.integer) else np.int64)
        return [value for value in (*INTS, *near) if kind.min <= value <= kind.max]
    return [*FLOATS, *NEVER, number - 1.0, number + 1.0, -number]


def harm(case: Case, blob: bytes) -> str | None:
    """Return what a snapshot did that it must not do, or None; "refused" is None too."""
    try:
        thing = case.restore(blob)
    except SnapshotError:
        return None
    except Exception as error:
        return f"restore raised {error!r}"
    try:
        plays = case.live(thing)
    except Exception as error:
        return f"an event raised {error!r}"
    return None if np.isfinite(plays).all() else "a play is not finite"


def check(case: Case, most: int | None = None) -> list[str]:
    """Return all harm that forgeries of a case have done."""
    blob = case.blob()
    case.restore(blob)
    assert harm(case, blob) is None
    found = []
    for what, forged in chain(forgeries(blob, most), told_otherwise(blob, most)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            wrong = harm(case, forged)
        if wrong is not None:
            found.append(f"{case.name}: {what}: {wrong}")
    return found


def main(arguments: list[str]) -> int:
    """Check the cases named, or all; return how many forgeries did harm."""
    most = int(arguments[0]) if arguments and arguments[0].isdigit() else None
    names = [name for name in arguments if not name.isdigit()] or list(CASES)
    for name in names:  # compiled first, so that what follows measures forgeries alone
        CASES[name].live(CASES[name].restore(CASES[name].blob()))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    total = 0
    for name in names:
        found = check(CASES[name], most)
        total += len(found)
        print(f"{name}: {len(found)} did harm", *found[:12], sep="\n    ", flush=True)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"memory grew by {grown:.0f} MiB")
    return total if grown < 64 else 255


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 255))
