"""Digests of every kind of play and report, so that a change of the inside is seen to change none.

``python tests/pins.py`` says how many pins differ from ``pins.json`` and which, ``--write`` writes
that file anew, and ``--print`` prints the pins. Only public names of belated are used here, and the
lists of cases that other tests have. Everything runs without a compiler, unless the environment has
a BELATED_INTERPRETED of its own: interpreted and compiled runs agree bit for bit.

Numbers enter by their exact bytes. Texts for people have pins of their own, with a name that ends
in ``words``, so that rewording a sentence does not hide a changed number. What a solver found is
rounded, as its last digits depend on its version.
"""

from __future__ import annotations

import processor  # noqa: F401, before NumPy

# isort: split
import dataclasses
import hashlib
import inspect
import itertools
import json
import math
import os
import random
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

import belated as bl
import capacities
import compositions
import rival_laws
from adaptive import least_wait
from compositions import Composition
from rivals_convex import RivalCase

FILE = Path(__file__).with_name("pins.json")

Array = npt.NDArray[np.float64]
Pin = tuple[str, str]

# --- Digests -------------------------------------------------------------------------------------

_DIGITS = 6  # of what a solver found


def digest(*values: Any) -> str:
    """Return a short digest of plain data, arrays and texts."""
    mixed = hashlib.sha256()
    for part in _bytes(values):
        mixed.update(part)
    return mixed.hexdigest()[:16]


def _bytes(value: Any) -> Iterator[bytes]:
    """Yield what tells a value from all others."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        yield from _bytes_of_array(value)
    elif isinstance(value, float):
        yield b"f" + struct.pack("<d", math.nan if math.isnan(value) else value)
    elif value is None or isinstance(value, bool | int | str):
        yield f"{type(value).__name__} {value!r};".encode()
    elif isinstance(value, Mapping):
        yield b"{"
        for key in sorted(value):
            yield from _bytes(key)
            yield from _bytes(value[key])
        yield b"}"
    elif isinstance(value, tuple | list | range):
        yield b"("
        for item in value:
            yield from _bytes(item)
        yield b")"
    else:
        raise TypeError(f"no digest of {value!r}")


def _bytes_of_array(array: npt.NDArray[Any]) -> Iterator[bytes]:
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.nan, array)
    yield f"{array.dtype.str} {array.shape};".encode()
    yield array.tobytes()


_LEFT_OUT = ("seconds", "new_columns", "gone_columns", "shadow")


def numbers(value: Any) -> Any:
    """Return plain data without its texts and without what no replay repeats."""
    if isinstance(value, Mapping):
        return {
            key: numbers(item)
            for key, item in value.items()
            if not isinstance(item, str) and key not in _LEFT_OUT
        }
    if isinstance(value, list | tuple):
        return [numbers(item) for item in value if not isinstance(item, str)]
    return value


def rounded(value: float) -> str:
    """Return a number to as many digits as every good solver finds."""
    return f"{value:.{_DIGITS}g}"


def _report(
    report: bl.reports.Report
    | bl.reports.LinearReport
    | bl.reports.IntervalsReport
    | bl.reports.ChooserReport
    | bl.reports.KnobsReport,
) -> Any:
    return numbers(json.loads(report.to_json()))


def _bound(bound: bl.bounds.Bound | None) -> Any:
    return None if bound is None else numbers(bound.to_dict())


# --- Learners, event by event --------------------------------------------------------------------

CERTIFIED = 250


def of_compositions() -> Iterator[Pin]:
    """Every composition of the tests, in a life with late, lost and cancelled answers."""
    for each in compositions.ALL:
        for name, value in _of_composition(each):
            yield f"composition {each.name}: {name}", value


def of_capacities() -> Iterator[Pin]:
    """The same for learners with a capacity."""
    for each in capacities.CASES:
        for name, value in _of_composition(each):
            yield f"capacity {each.name}: {name}", value


def _of_composition(each: Composition) -> Iterator[Pin]:
    answers, life = each.answers(), compositions.events()
    cut = len(life) // 2
    learner, drive = each.learner(), compositions.Drive(each, answers)
    drive(learner, life[:cut])
    blob = learner.snapshot()
    drive(learner, life[cut:])
    yield "plays", digest(drive.plays, drive.used)
    yield "report", digest(_report(learner.report()), learner.rounds, learner.open)
    spec = each.spec() if each.has_user_code else None
    restored, rest = bl.Learner.restore(blob, spec), compositions.Drive(each, answers)
    rest(restored, life[cut:])
    yield "restored", digest(rest.plays, rest.used, _report(restored.report()))
    yield "strict", digest(*_strict(each.learner(strict=True), life, each, answers))
    if each.answer != "function":
        batch = each.learner()
        codes = compositions.codes(compositions.events(cancel=False))
        yield "batch", digest(batch.replay(codes, answers), _report(batch.report()))


def of_certificates() -> Iterator[Pin]:
    """Longer lives with small answers, after which regret can be certified."""
    for each in compositions.ALL:
        if each.answer not in ("gradient", "function") or each.row.base == "adagrad":
            continue
        learner, drive = each.learner(), compositions.Drive(each, 0.1 * each.answers(CERTIFIED))
        drive(learner, _prompt(CERTIFIED))
        found = learner.report()
        yield f"certificate of {each.name}", digest(drive.plays[-1], _report(found))
        yield f"certificate of {each.name}: words", digest(found.certificate_note, str(found))


def _prompt(rounds: int) -> Iterator[compositions.Event]:
    """Yield events in which every answer is one round late, and the first never comes."""
    for t in range(rounds):
        yield "predict", t
        if t > 1:
            yield "observe", t - 1


def _strict(
    learner: bl.Learner, life: Iterable[compositions.Event], each: Composition, answers: Array
) -> tuple[list[Array], list[int]]:
    """Return the plays of a learner that refuses large answers, and the tickets it refused."""
    plays, refused = [], []
    for kind, ticket in life:
        if kind == "predict":
            plays.append(learner.predict().x)
            continue
        with each.forgiving():
            try:
                if kind == "cancel":
                    learner.cancel(ticket)
                else:
                    learner.observe(ticket, each.feedback(answers[ticket]))
            except bl.errors.BadFeedback:
                refused.append(ticket)
    return plays, refused


def of_rivals() -> Iterator[Pin]:
    """Every published method, in a life that it takes."""
    for case in rival_laws.CASES:
        for name, value in _of_rival(case):
            yield f"rival {case.name}: {name}", value


def _of_rival(case: RivalCase) -> Iterator[Pin]:
    answers, life = rival_laws.answers(case), rival_laws.life(case)
    cut = len(life) // 2
    learner = bl.Learner(case.spec, rival_laws.SEED)
    first = rival_laws.follow(learner, life[:cut], answers.fast)
    blob = learner.snapshot()
    second = rival_laws.follow(learner, life[cut:], answers.fast)
    yield "plays", digest(first, second)
    yield "report", digest(_report(learner.report()), learner.rounds, learner.open)
    restored = bl.Learner.restore(blob)
    rest = rival_laws.follow(restored, life[cut:], answers.fast)
    yield "restored", digest(rest, _report(restored.report()))
    if case.answer != "function":
        batch = bl.Learner(case.spec, rival_laws.SEED)
        codes = compositions.codes(rival_laws.life(case, cancel=False))
        yield "batch", digest(batch.replay(codes, answers.rows), _report(batch.report()))
    yield "guarantee", digest(*_guarantees(case))


def _guarantees(case: RivalCase) -> Iterator[Any]:
    """Yield what the method is told of a few timelines, and what it then promises."""
    spec = rival_laws.rival(case)
    for name in ("none", "constant") if case.delay is not None else ("none", "uniform", "lost"):
        timeline = bl.delays.PATTERNS[name](50, 1)
        told = spec.told(timeline)
        yield [told.to_json(), _bound(told.bound(timeline))]


# --- Games ---------------------------------------------------------------------------------------

ROUNDS = 20
DIM = 2
FEEDBACKS = ("gradient", "value", "two-values", "function")
DOMAINS = (
    bl.Ball(DIM, 1.25, (0.5, -0.25)),
    bl.Box([-1.0, 0.5], [2.0, 1.5]),
    bl.L1Ball(DIM, 1.5),
)
FLAT = bl.Simplex(3, floor=0.05)
LATE = bl.delays.lost(bl.delays.uniform(ROUNDS, low=0, high=6, seed=1), 0.1, seed=1)
_rng = np.random.default_rng(7)
VECTORS: Array = _rng.uniform(-1.0, 1.0, (ROUNDS, DIM))
TARGETS: Array = _rng.uniform(-1.0, 1.0, ROUNDS)
LABELS: Array = np.where(TARGETS > 0.0, 1.0, -1.0)

PLAIN: dict[str, type[bl.losses.Linear | bl.losses.Quadratic]] = {
    "Linear": bl.losses.Linear,
    "Quadratic": bl.losses.Quadratic,
}
SUPERVISED: dict[
    str, type[bl.losses.Absolute | bl.losses.Squared | bl.losses.Logistic | bl.losses.Hinge]
] = {
    "Absolute": bl.losses.Absolute,
    "Squared": bl.losses.Squared,
    "Logistic": bl.losses.Logistic,
    "Hinge": bl.losses.Hinge,
}


def sources(dim: int = DIM) -> dict[str, bl.losses.Source]:
    """Return one source of every kind that every family takes."""
    return {
        "Random": bl.losses.Random(dim, scale=1.5, noise=0.3, seed=5),
        "Drifting": bl.losses.Drifting(dim, period=7, seed=2**40 + 1),
        "Switching": bl.losses.Switching(dim, every=6, noise=0.2, seed=3),
        "Blocks": bl.losses.Blocks(dim, length=4, scale=0.8, seed=4),
        "Alternating": bl.losses.Alternating(dim, scale=1.2),
    }


def all_losses() -> dict[str, bl.losses.Loss]:
    """Return every family with every source that it takes."""
    found: dict[str, bl.losses.Loss] = {
        f"{family} of {name}": kind(source)
        for family, kind in {**PLAIN, **SUPERVISED}.items()
        for name, source in sources().items()
    }
    found["Linear of Given"] = bl.losses.Linear(VECTORS)
    found["Quadratic of Given"] = bl.losses.Quadratic(VECTORS, curvature=0.7)
    for family, supervised in SUPERVISED.items():
        is_label = family in ("Logistic", "Hinge")
        found[f"{family} of Given"] = supervised(VECTORS, LABELS if is_label else TARGETS)
    found["Linear of Adaptive"] = bl.losses.Linear(bl.losses.Adaptive(DIM, scale=0.9))
    return found


def of_losses() -> Iterator[Pin]:
    """Losses by themselves: values, gradients, sums, constants, and the best action."""
    for (name, losses), domain in zip(all_losses().items(), itertools.cycle(DOMAINS), strict=False):
        x = np.array(domain.center) + 0.125
        single = [[losses.value(t, x), losses.gradient(t, x)] for t in range(ROUNDS)]
        known = [list(losses.constants(each)) for each in DOMAINS]
        yield f"losses {name}: values", digest(single)
        yield f"losses {name}: constants", digest(known)
        if not losses.is_adaptive:
            sums = [losses.total(x, ROUNDS), losses.curve(x, [0, 3, ROUNDS])]
            yield f"losses {name}: sums", digest(losses.rows(0, ROUNDS), sums)
            yield f"losses {name}: best", digest(*_best(losses, domain))


def _best(losses: bl.losses.Loss, domain: Any) -> Iterator[Any]:
    best = bl.research.best_action(losses, domain, ROUNDS)
    yield best.how
    if best.how == "closed form":
        yield [best.x, best.loss, best.gap]
    else:
        yield rounded(best.loss)


def of_games() -> Iterator[Pin]:
    """Every family, source and feedback in a game; every composition and rival in another one."""
    for (name, losses), domain in zip(all_losses().items(), itertools.cycle(DOMAINS), strict=False):
        game = bl.Game(losses, LATE, name)
        for how, spec in _players(game, domain):
            for record in ("detail", "totals"):
                yield f"game {name}, {how}, {record}", _of_play(spec, game, record)
    for how, spec in _players(_flat_game(), FLAT, ("gradient", "function")):
        yield f"game on a simplex, {how}", _of_play(spec, _flat_game(), "plays")
    for each in compositions.ALL:
        yield f"game of composition {each.name}", _of_play(each.spec(), _own_game(each))
    for case in rival_laws.CASES:
        yield f"game of rival {case.name}", _of_play(case.spec, _rival_game(case))


def _players(
    game: bl.Game, domain: Any, feedbacks: Sequence[str] = FEEDBACKS
) -> Iterator[tuple[str, Any]]:
    """Yield our learners for a game; adaptive losses have no function to show."""
    problem: Any = game.problem(domain)
    for feedback in feedbacks:
        if feedback != "function" or not game.losses.is_adaptive:
            yield feedback, problem.learner(feedback)
    yield "gradient by omd", problem.learner("gradient", base="omd")
    yield "gradient with skip", problem.learner("gradient", base="pftrl", skip=True)
    yield "gradient by a deadline", problem.learner("gradient", base="pftrl", deadline=3, forget=2)


def _flat_game() -> bl.Game:
    return bl.Game(bl.losses.Squared(bl.losses.Random(FLAT.dim, seed=9)), LATE)


def _own_game(each: Composition) -> bl.Game:
    losses = bl.losses.Quadratic(bl.losses.Random(each.row.dim, seed=8), curvature=0.5)
    return bl.Game(losses, bl.delays.lost(bl.delays.uniform(30, 0, 9, seed=2), 0.1, seed=2))


def _rival_game(case: RivalCase) -> bl.Game:
    losses = bl.losses.Linear(bl.losses.Random(rival_laws.rival(case).domain.dim, seed=6))
    if case.delay is not None:
        return bl.Game(losses, bl.delays.constant(30, case.delay))
    return bl.Game(losses, bl.delays.lost(bl.delays.uniform(30, 0, 7, seed=3), 0.1, seed=3))


def _of_play(spec: Any, game: bl.Game, record: Any = "plays") -> str:
    run = bl.play(spec, game, seed=11, record=record, checkpoints=7)
    return digest(*_of_run(run))


def _of_run(run: bl.reports.Run) -> Iterator[Any]:
    """Yield all numbers of a run."""
    centre = np.zeros(run.game.losses.dim) + 0.25
    yield [run.loss, run.checkpoints, run.loss_curve, run.losses, run.plays, run.vectors]
    yield _compared(run, run.regret_against(centre), run.regret_curve_against(centre))
    yield [_report(run.report), _bound(run.bound), run.delays_depend_on_plays]
    yield _arrays(run.timeline)
    for sums in (run.linear, run.base):
        yield None if sums is None else [sums.played, sums.gradients, sums.against(centre)]
    if run.base is not None:
        yield [run.drift, run.undelayed_loss]
    if _has_closed_form(run):
        yield [run.best.x, run.best.loss, run.regret, numbers(run.to_dict())]
        yield _compared(run, run.regret, run.regret_curve)


def _compared(run: bl.reports.Run, regret: float, curve: Array) -> list[Any]:
    """Return regrets; of adaptive losses without the digits in which products of matrices differ.

    How such a product rounds is up to the machine.
    """
    if run.vectors is None:
        return [regret, curve]
    return [f"{value:.9f}" for value in (regret, *curve)]


def _has_closed_form(run: bl.reports.Run) -> bool:
    is_known = run.domain is not None and not isinstance(run.domain, bl.ConvexSet)
    return is_known and isinstance(run.game.losses, bl.losses.Linear | bl.losses.Quadratic)


def of_delays_by_play() -> Iterator[Pin]:
    """Delays that depend on the plays, by a user's rule."""
    environment = bl.delays.ByRule(_rule, rounds=ROUNDS)
    for family in ("Linear", "Quadratic", "Hinge"):
        losses = all_losses()[f"{family} of Random"]
        game = bl.Game(losses, environment)
        for how, spec in _players(game, DOMAINS[0]):
            for record in ("plays", "totals"):
                yield f"ByRule, {family}, {how}, {record}", _of_play(spec, game, record)
    for case in rival_laws.CASES:
        if rival_laws.rival(case).domain.dim == DIM and case.delay is None:
            game = bl.Game(bl.losses.Linear(sources()["Random"]), environment)
            yield f"ByRule, rival {case.name}", _of_play(case.spec, game)


def _rule(t: int, x: Array) -> int | None:
    """Answer late where x is large, and sometimes never."""
    return None if t % 9 == 8 else int(4.0 * float(np.abs(x).max())) + t % 3


def _value(t: int, x: Any) -> float:
    """Return the user's loss: a bowl around a point that moves."""
    away = np.asarray(x) - VECTORS[t]
    return float(0.3 * away[0] * away[0] + 0.2 * away[1] * away[1])


def _gradient(t: int, x: Any) -> Array:
    return np.asarray(np.array([0.6, 0.4]) * (np.asarray(x) - VECTORS[t]))


def of_custom_losses() -> Iterator[Pin]:
    """A user's losses, which run outside the core."""
    losses = bl.losses.Custom(DIM, _value, _gradient, lipschitz=3.0, magnitude=4.0)
    curved = dataclasses.replace(losses, curvature=0.2)
    yield "custom losses: sums", digest(losses.total([0.1, 0.2], ROUNDS))
    for name, mine in {"convex": losses, "curved": curved}.items():
        game = bl.Game(mine, LATE)
        for how, spec in _players(game, DOMAINS[0]):
            for record in ("plays", "totals"):
                yield f"custom losses, {name}, {how}, {record}", _of_play(spec, game, record)
    best = bl.research.best_action(losses, DOMAINS[0], ROUNDS)
    yield "custom losses: best", digest(best.how, rounded(best.loss))


def of_many_games() -> Iterator[Pin]:
    """Several learners, games and seeds at once."""
    games = [bl.Game(bl.losses.Linear(source), LATE, name) for name, source in sources().items()]
    problem = games[0].problem(DOMAINS[0])
    specs: list[Any] = [problem.learner("value"), lambda game: problem.learner("two-values")]
    runs = bl.play_many(specs, games, seeds=[0, 3], engine="serial", progress=False)
    yield "play_many", digest([list(cell) for cell in runs.cells], numbers(runs.to_dicts()))
    yield "play_many: runs", digest([list(_of_run(run)) for run in runs])


# --- The linear model ----------------------------------------------------------------------------

MODELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "l1": {"l1": 0.05},
    "l2": {"l2": 0.1},
    "l1 and l2": {"l1": 0.02, "l2": 0.03},
    "without intercept": {"intercept": False},
    "wait 3": {"wait": {"predictions": 3}},
    "wait for ever": {"wait": None},
    "few bits": {"bits": 2},
    "many bits": {"bits": 18},
    "interactions": {"interactions": [("place", "size"), ("place", "kind")]},
    "pairs": {"interactions": "auto"},
    "parameters": {"quantile": 0.8, "delta": 0.3},
}
LINEAR_LOSSES = ("squared", "absolute", "quantile", "huber", "logistic", "hinge", "poisson")
LINEAR_ROUNDS = 24


def of_linear_models() -> Iterator[Pin]:
    """Linear models with every loss and all kinds of settings."""
    for loss, (name, settings) in itertools.product(LINEAR_LOSSES, MODELS.items()):
        for what, value in _of_model(loss, {"bits": 8} | settings):
            yield f"linear {loss}, {name}: {what}", value
    for loss in LINEAR_LOSSES:
        for what, value in _of_batches(loss):
            yield f"linear {loss}: {what}", value


REVISED: dict[str, dict[str, Any]] = {
    "revised": {},
    "silence": {"silence": 0},
    "silence until a deadline": {"silence": 0, "deadline": 6},
    "deadline in times": {"deadline": 2.5},
    "late ones learned": {"silence": 1, "deadline": 3.0, "late": "learn"},
    "four open": {"silence": 0, "max_open": 4, "l2": 0.05},
}


def of_labels() -> Iterator[Pin]:
    """Linear models whose labels change, settle by themselves, or are given up on."""
    for loss, (name, settings) in itertools.product(
        ("squared", "logistic", "poisson"), REVISED.items()
    ):
        for what, value in _of_revised(loss, settings):
            yield f"labels {loss}, {name}: {what}", value
    for loss, silence in (("squared", None), ("absolute", None), ("logistic", 0)):
        yield f"labels {loss}, silence {silence}: by ages", _by_ages(loss, silence)


def _of_revised(loss: str, settings: dict[str, Any]) -> Iterator[Pin]:
    model = bl.LinearModel(cast(Any, loss), bits=8, **settings)
    times = isinstance(settings.get("deadline"), float)
    labels, draw = _labels(loss), random.Random(3)
    seen: list[Any] = []
    for t in range(LINEAR_ROUNDS):
        at = {"at": 0.75 * t} if times else {}
        span = {"deadline": draw.uniform(0.0, 9.0)} if "deadline" in settings and t % 3 == 0 else {}
        seen.append(tuple(model.predict(_features(t), key=f"key {t}", **at, **span)))
        for ticket in sorted({draw.randrange(t + 1) for _ in range(2)}):
            verb = model.revise if draw.random() < 0.5 else model.observe
            label = float(labels[draw.randrange(LINEAR_ROUNDS)])
            with suppress(bl.errors.UnknownTicket, bl.errors.AlreadyObserved):
                seen.append(verb(f"key {ticket}", label, **at))
        if t == LINEAR_ROUNDS // 2:
            model = bl.LinearModel.restore(model.snapshot())
    yield "forecasts", digest(seen)
    yield "report", digest(_report(model.report()), model.rounds, model.open)
    why = model.explain(_features(1))
    yield "explanation", digest(why.value, why.constant, why.parts, model.weights(["size"]))


def _by_ages(loss: str, silence: float | None) -> str:
    """Most labels come within 20 predictions and a third never; the ages say when to stop."""
    with least_wait(10):
        model = bl.LinearModel(cast(Any, loss), bits=4, silence=silence)
    draw, due = random.Random(4), dict[int, list[int]]()
    seen: list[Any] = []
    for t in range(800):
        seen.append(model.predict([draw.gauss(0.0, 1.0)]).value)
        if draw.random() < 0.66:
            due.setdefault(t + int(draw.expovariate(0.2)), []).append(t)
        seen += [model.observe(ticket, float(ticket % 2)) for ticket in due.pop(t, [])]
    return digest(seen, _report(model.report()))


def _of_model(loss: str, settings: dict[str, Any]) -> Iterator[Pin]:
    model = bl.LinearModel(cast(Any, loss), **settings)
    life = compositions.events(LINEAR_ROUNDS, seed=4)
    cut = len(life) // 2
    seen = _live(model, life[:cut], loss)
    blob = model.snapshot()
    seen += _live(model, life[cut:], loss)
    yield "forecasts", digest(seen)
    yield "report", digest(_report(model.report()), model.rounds, model.open)
    yield "peeks", digest([model.peek(_features(t)) for t in range(5)])
    restored = bl.LinearModel.restore(blob)
    rest = _live(restored, life[cut:], loss)
    yield "restored", digest(rest, _report(restored.report()))


def _live(model: bl.LinearModel, life: Iterable[compositions.Event], loss: str) -> list[Any]:
    """Lead a model through events; return what it forecast and which labels it used."""
    seen: list[Any] = []
    labels = _labels(loss)
    for kind, ticket in life:
        if kind == "predict":
            seen.append(tuple(model.predict(_features(ticket))))
        elif kind == "cancel":
            model.cancel(ticket)
        else:
            seen.append(
                model.observe(ticket, float(labels[ticket]), weight=0.5 + 0.25 * (ticket % 4))
            )
    return seen


def _features(t: int) -> dict[str, Any]:
    draw = random.Random(t)
    return {
        "place": draw.choice(["here", "there", "far away"]),
        "size": draw.uniform(-2.0, 30.0),
        "kind": draw.choice(["a", "b", None]),
        "count": draw.randrange(5),
        f"rare {draw.randrange(40)}": 1.0,
    }


def _labels(loss: str) -> Array:
    rng = np.random.default_rng(12)
    raw = 3.0 * rng.standard_normal(LINEAR_ROUNDS) + 1.0
    if loss == "poisson":
        return np.abs(np.round(raw))
    if loss in ("logistic", "hinge"):
        return np.where(raw > 0.0, 1.0, 0.0 if loss == "logistic" else -1.0)
    return raw


def _matrix() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Array]:
    rng = np.random.default_rng(13)
    sizes = rng.integers(0, 6, LINEAR_ROUNDS)
    indices = np.concatenate([np.sort(rng.permutation(50)[:size]) for size in sizes])
    return np.append(0, np.cumsum(sizes)), indices, rng.standard_normal(int(sizes.sum()))


def _of_batches(loss: str) -> Iterator[Pin]:
    """Many rows at once: sparse, dense and by name, and a whole log."""
    labels = _labels(loss)
    sparse = _matrix()
    dense = np.random.default_rng(14).standard_normal((LINEAR_ROUNDS, 4))
    model = bl.LinearModel(cast(Any, loss), bits=8)
    tickets, values = model.predict_many(sparse)
    order = tickets[::-1][5:]
    used = model.observe_many(order, labels[order], weights=0.5 + labels[order] ** 2)
    again = model.predict_many(dense)
    more = model.predict_many(model.hasher.rows([_features(t) for t in range(6)]))
    found = [tickets, values, used, again, more, model.losses(values, labels)]
    yield "many", digest(found, _report(model.report()))
    timeline = bl.delays.lost(bl.delays.uniform(LINEAR_ROUNDS, 0, 7, seed=5), 0.2, seed=5)
    tables: dict[str, Any] = {"sparse": sparse, "dense": dense}
    for name, rows in tables.items():
        log = bl.LinearModel(cast(Any, loss), bits=8, l2=0.01)
        first = log.replay(rows, labels, timeline)
        second = log.replay(rows, labels, timeline.events + _shift(timeline), first=LINEAR_ROUNDS)
        yield f"replay, {name}", digest(first, second, _report(log.report()))


def _shift(timeline: bl.Timeline) -> npt.NDArray[np.int64]:
    """Return what turns events into those of the tickets after them."""
    return np.where(timeline.events >= 0, LINEAR_ROUNDS, -LINEAR_ROUNDS)


def of_intervals() -> Iterator[Pin]:
    """Ranges around predictions, for every loss of numbers."""
    for loss in LINEAR_LOSSES:
        if loss in ("logistic", "hinge"):
            continue
        intervals = bl.Intervals(bl.LinearModel(cast(Any, loss), bits=8), coverage=0.7)
        labels, seen = _labels(loss), list[Any]()
        for kind, ticket in compositions.events(LINEAR_ROUNDS, seed=4):
            if kind == "predict":
                seen.append(tuple(intervals.predict(_features(ticket))))
            elif kind == "cancel":
                intervals.cancel(ticket)
            else:
                seen.append(intervals.observe(ticket, float(labels[ticket])))
        yield f"intervals {loss}: played", digest(seen)
        yield f"intervals {loss}: report", digest(_report(intervals.report()))


CHOOSERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "logistic": {"loss": "logistic"},
    "silence": {"silence": 0.0, "deadline": 6},
    "uniform": {"explore": bl.explore.Uniform(0.2, floor=0.05)},
    "greedy": {"explore": bl.explore.Greedy(), "interactions": "none"},
    "some interactions": {"interactions": ["place"], "max_open": 4},
    "apprentice": {"mode": "apprentice", "baseline": "b"},
}


def of_choosers() -> Iterator[Pin]:
    """Choices among actions, with and without features."""
    for name, settings in CHOOSERS.items():
        chooser = bl.Chooser(["a", "b", "c"], bits=8, seed=5, **settings)
        seen = list[Any]()
        for kind, ticket in compositions.events(LINEAR_ROUNDS, seed=4):
            features = {"a": {"z": 0.5 * ticket}, "b": None, "d": {"w": "red"}}
            actions: Any = features if ticket % 3 == 0 else None
            if kind == "predict":
                seen.append(tuple(chooser.choose(_features(ticket), actions)))
            elif kind == "cancel":
                chooser.cancel(ticket)
            else:
                seen.append(chooser.observe(ticket, float(ticket % 2)))
        yield f"chooser, {name}: played", digest(seen)
        yield f"chooser, {name}: report", digest(_report(chooser.report()))


KNOBS: dict[str, dict[str, Any]] = {
    "plain": {},
    "live": {"hold": 2, "max_step": 0.2, "holdout": 0.3, "goal": "max"},
    "silence": {"silence": 1.0, "deadline": 6, "context": {"a": (0, 40)}},
    "constraints": {"max_step": 0.3, "constraints": [{"x0": 1, "at_most": 0.2}]},
}


def of_knobs() -> Iterator[Pin]:
    """Settings, with one knob and with three."""
    for name, settings in KNOBS.items():
        for k in (1, 3):
            knobs = bl.Knobs({f"x{i}": (-1, 1) for i in range(k)}, seed=5, **settings)
            seen = list[Any]()
            for kind, ticket in compositions.events(LINEAR_ROUNDS, seed=4):
                if kind == "predict":
                    context = {"a": ticket % 40} if "context" in settings else None
                    seen.append(list(knobs.predict(context).setting.values()))
                elif kind == "cancel":
                    knobs.cancel(ticket)
                else:
                    seen.append(knobs.observe(ticket, float(ticket * 7 % 5)))
            yield f"knobs, {name}, {k}: played", digest(seen)
            yield f"knobs, {name}, {k}: report", digest(_report(knobs.report()))


def of_worlds() -> Iterator[Pin]:
    """Worlds, as they are drawn."""
    late = bl.worlds.Lateness(8, by="action")
    kinds: list[Any] = [
        bl.worlds.Linear(20, 2, 3),
        bl.worlds.Logistic(20, 2, 3, late),
        bl.worlds.Switching(20, 2, 3, lateness=bl.worlds.Lateness(8, "heavy", lost=0.2)),
        bl.worlds.Featured(20, 2, 3, 2, lateness=bl.worlds.Lateness(8, "constant")),
        bl.worlds.Changing(20, 2, 10, 2, stay=5, lateness=bl.worlds.Lateness(8, by="context")),
        bl.worlds.Labelled(np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 2.0]]), ["a", "b", "a"], late),
        bl.worlds.Recorded(
            [{"x": 1.0}, {}],
            ["a", "b"],
            np.array([[1.0, math.nan], [0.0, 2.0]]),
            np.array([[0, 0], [1, 0]]),
        ),
    ]
    for world in kinds:
        yield f"world {type(world).__name__}", digest(list(world.drawn(3)))


def of_hashers() -> Iterator[Pin]:
    groups = [("place", "size"), ("place", "kind", "count")]
    for bits in (3, 12, 20):
        hasher = bl.LinearModel(bits=bits, interactions=groups).hasher
        rows = hasher.rows([_features(t) for t in range(10)])
        columns: dict[str, Any] = {"place": ["here", None, "there"], "size": [1.0, 2.0, 3.5]}
        table = hasher.table(columns)
        yield f"hasher, {bits} bits", digest(rows, table)


# --- Timelines and bounds ------------------------------------------------------------------------


def timelines() -> dict[str, bl.Timeline]:
    """Return timelines of every kind."""
    make = bl.delays
    found = {f"{name} of PATTERNS": pattern(120, 3) for name, pattern in make.PATTERNS.items()}
    return found | {
        "empty": make.constant(0, 3),
        "one": make.constant(1, 0),
        "constant": make.constant(30, 50),
        "uniform": make.uniform(60, 2, 9, seed=4),
        "geometric": make.geometric(60, 3.5, seed=4),
        "pareto": make.pareto(60, 0.6, 2.0, seed=4),
        "batches": make.batches(50, 7, lag=3),
        "bursts": make.bursts(50, 6, 4),
        "outages": make.outages(50, 6, 15, delay=2),
        "shuffled": make.shuffled(50, 8, seed=4),
        "footnote": make.footnote(40),
        "first_rounds": make.first_rounds(40, 5),
        "lost": make.lost(make.shuffled(60, 9, seed=1), 0.3, seed=4),
        "queue": make.queue(60, 3, 1.1, seed=4),
        "lognormal queue": make.queue(60, 3, 0.8, seed=4, service="lognormal"),
        "pareto queue": make.queue(60, 2, 0.8, seed=4, service="pareto"),
        "from_log": make.from_log([5.0, 2.0, 2.0, 9.0, 7.0], [6.0, 9.0, math.nan, 9.0, 8.0]),
        "predict first": bl.Timeline.from_intervals(
            [1, 2, 3, 5, 8], [9, 5, 3, 8, None], ties="predict-first"
        ),
    }


def _arrays(timeline: bl.Timeline) -> list[Any]:
    return [timeline.order, timeline.boundaries, timeline.observed, timeline.rows]


def of_timelines() -> Iterator[Pin]:
    """All arrays and counts of timelines, and the same counted online."""
    for name, timeline in timelines().items():
        yield f"timeline {name}", digest(*_of_timeline(timeline))
        yield f"timeline {name}: words", digest(timeline.summary(), repr(timeline))
        yield f"timeline {name}: counters", digest(*_of_counters(timeline))
    blocks = [([1, 2, 3], [9, 6, 4]), ([5, 8], [7, None]), ([8, 11], [12, 11])]
    for ties in ("observe-first", "predict-first"):
        stretches = [
            dataclasses.asdict(part) for part in bl.Timeline.chunks(blocks, cast(Any, ties))
        ]
        joined = {key: np.concatenate([part[key] for part in stretches]) for key in stretches[0]}
        yield f"timeline in chunks, {ties}", digest(joined)


def _of_timeline(timeline: bl.Timeline) -> Iterator[Any]:
    yield _arrays(timeline)
    yield [timeline.delay, timeline.backlog, timeline.rank, timeline.events]
    yield [timeline.dual_delay, timeline.dual_backlog]
    yield [timeline.rounds, timeline.total_delay, timeline.max_delay]
    yield [timeline.max_backlog, timeline.max_dual_delay]
    yield [list(timeline.partition(n)) for n in range(timeline.rounds)]
    yield dataclasses.asdict(timeline.skip_tradeoff())


def _of_counters(timeline: bl.Timeline) -> Iterator[Any]:
    counters = bl.Counters()
    for event in timeline.events.tolist():
        yield counters.predict() if event >= 0 else list(counters.observe(~event))
        yield [counters.rounds, counters.open, counters.total_delay, counters.max_backlog]


def of_bounds() -> Iterator[Pin]:
    """Every function of ``bounds``, on a few timelines."""
    late = timelines()
    few = {name: late[name] for name in ("empty", "one", "uniform", "pareto", "lost", "footnote")}
    for name, timeline in few.items():
        for which, bound in _bounds(timeline):
            yield f"bound {which}, {name}", bound


def _bounds(timeline: bl.Timeline) -> Iterator[Pin]:
    for which, function, words in _calls(timeline.rounds):
        yield which, _asked(function, timeline, **words)
        if not words.get("curvature"):
            skipped = _asked(bl.bounds.corollary_6_2, timeline, function, **words)
            yield f"corollary_6_2 over {which}", skipped
            expired = _asked(bl.bounds.deadline, timeline, 3, function, **words)
            yield f"deadline over {which}", expired
    found = bl.bounds.skipping(timeline)
    yield "skipping", digest(found.skipped, found.total_delay, *_of_timeline(found.timeline))
    found = bl.bounds.expiring(timeline, 3)
    yield "expiring", digest(found.skipped, found.total_delay, *_of_timeline(found.timeline))


def _asked(ask: Callable[..., Any], *arguments: Any, **words: Any) -> str:
    """Return the digest of an answer, or of the kind of a refusal, whatever its message."""
    try:
        answer = ask(*arguments, **words)
    except bl.BelatedError as error:
        return digest(f"refused: {type(error).__name__}")
    if isinstance(answer, bl.bounds.Bound):
        return digest(_bound(answer))
    return digest(answer if isinstance(answer, str) else answer.to_json())


def _calls(rounds: int) -> Iterator[tuple[str, Callable[..., bl.bounds.Bound], dict[str, Any]]]:
    """Yield all bounds with their keywords."""
    of, ball = bl.bounds, bl.Ball(3, 1.5)
    known: dict[str, Any] = {"lipschitz": 2.0, "diameter": 3.0}
    curved = {"lipschitz": 2.0, "curvature": 0.4}
    yield "corollary_5_3", of.corollary_5_3, known
    yield "tight", of.tight, known
    yield "gradient_adaptive", of.gradient_adaptive, known
    norms = np.linspace(0.0, 2.0, rounds)
    yield "gradient_adaptive of norms", of.gradient_adaptive, {**known, "norms": norms}
    yield "corollary_5_4 of P-FTRL", of.corollary_5_4, curved
    yield "corollary_5_4 of OMD", of.corollary_5_4, {**curved, "base": "omd", "diameter": 3.0}
    yield "leader", of.leader, {**known, "curvature": 0.4}
    yield "leader of small reach", of.leader, {**known, "curvature": 0.4, "reach": 5}
    for horizon in (None, 100):
        there: dict[str, Any] = {"domain": ball, "horizon": horizon}
        values = {**there, "magnitude": 1.5}
        yield f"corollary_5_7 to {horizon}", of.corollary_5_7, {**values, "lipschitz": 2.0}
        yield f"corollary_5_8 to {horizon}", of.corollary_5_8, {**values, **curved}
        yield f"corollary_g_3 to {horizon}", of.corollary_g_3, {**there, "lipschitz": 2.0}
        yield f"corollary_g_4 to {horizon}", of.corollary_g_4, {**there, **curved}
    yield from _calls_of_bases()


def _calls_of_bases() -> Iterator[tuple[str, Callable[..., bl.bounds.Bound], dict[str, Any]]]:
    of = bl.bounds
    sets = {"ball": bl.Ball(2), "floored": bl.Simplex(3, floor=0.1)}
    for place, domain in sets.items():
        for rate in RATES:
            known = {"lipschitz": 2.0, "curvature": 0.4 if rate.kind.endswith("Convex") else 0.0}
            which = f"{place}, {rate.kind}"
            yield f"theorem_e_1, {which}", of.theorem_e_1, {"base": bl.PFTRL(domain, rate), **known}
            yield f"theorem_e_2, {which}", of.theorem_e_2, {"base": bl.OMD(domain, rate), **known}
        entropy = {"base": bl.OMD(sets["floored"], bl.rates.Tight(1.0), "entropy")}
        yield f"theorem_e_2 of entropy, {place}", of.theorem_e_2, entropy
        members = (bl.PFTRL(domain, RATES[0]), bl.OMD(domain, RATES[5]))
        for reach in (3, 1000):
            base = bl.Portfolio(members, reach)
            yield f"portfolio of reach {reach}, {place}", of.portfolio, {"base": base}


# --- Problems and specs --------------------------------------------------------------------------

RATES: tuple[Any, ...] = (
    bl.rates.DelayAdaptive(2.0),
    bl.rates.Tight(2.0, scale=0.5),
    bl.rates.GradientAdaptive(2.0),
    bl.rates.StronglyConvex(0.4, 2.0),
    bl.rates.Constant(0.07, 2.0),
    bl.rates.InverseRoot(0.4, 2.0),
    bl.rates.Table((0.5, 0.25, 0.25), 2.0),
)
SMOOTHINGS: tuple[Any, ...] = (
    bl.smoothing.Convex(0.2, 25),
    bl.smoothing.StronglyConvex(0.3),
    bl.smoothing.InverseRoot(100),
    bl.smoothing.Inverse(),
    bl.smoothing.Constant(0.25),
)


def of_problems() -> Iterator[Pin]:
    """What ``Problem`` says for all feedbacks and options: the learner, the bound and the words."""
    domains = {"ball": bl.Ball(3, 1.5), "box": bl.Box([0.0, -2.0], 1.0), "simplex": bl.Simplex(4)}
    facts: dict[str, dict[str, Any]] = {
        "convex": {},
        "curved": {"curvature": 0.5},
        "valued": {"magnitude": 2.0},
        "all known": {"curvature": 0.5, "magnitude": 2.0, "horizon": 100},
        "to horizon": {"magnitude": 2.0, "horizon": 100},
    }
    for (place, domain), (known, words) in itertools.product(domains.items(), facts.items()):
        problem = bl.Problem(domain, lipschitz=1.5, **words)
        yield f"problem {place}, {known}", digest(problem.to_json(), repr(problem))
        for feedback in FEEDBACKS:
            for what, value in _of_problem(problem, feedback):
                yield f"problem {place}, {known}, {feedback}: {what}", value


def _of_problem(problem: Any, feedback: str) -> Iterator[Pin]:
    """Go through all options; those that are refused count by the kind of the refusal."""
    timeline = bl.delays.lost(bl.delays.uniform(40, 0, 9, seed=6), 0.1, seed=6)
    bases = (None, "pftrl", "omd", "portfolio", "leader")
    rates = ("paper", "tight", "gradient")
    options = list(itertools.product([feedback], bases, (False, True), rates))
    yield "learners", digest([_asked(problem.learner, *each) for each in options])
    yield "bounds", digest([_asked(problem.bound, timeline, *each) for each in options])
    yield "words", digest([_asked(problem.explain, *each) for each in options])
    late = {"deadline": 3, "forget": 9}
    timely = [(feedback, base, False, rate) for base in bases for rate in rates]
    asked = [_asked(problem.learner, *each, **late) for each in timely]
    yield "learners with a deadline", digest(asked)
    asked = [_asked(problem.bound, timeline, *each, **late) for each in timely]
    yield "bounds with a deadline", digest(asked)
    asked = [_asked(problem.explain, *each, **late) for each in timely]
    yield "deadline: words", digest(asked)


def specs() -> list[Any]:
    """Return specs of every kind that has one, with and without their defaults."""
    ball, floored = bl.Ball(2), bl.Simplex(3, floor=0.1)
    base = bl.PFTRL(ball, RATES[0])
    members = (base, bl.OMD(ball, RATES[5]), bl.DualAveraging(ball, RATES[1]))
    one_point = bl.OnePoint(base, 1.5, bl.smoothing.Convex(0.2), "mean")
    return [
        *(ball, floored, bl.Ball(2, 1.5, (1.0, -2.0)), bl.Box(0.0, 1.0), bl.Simplex(4)),
        *(bl.Box([0.0, -1.0], [1.0, 3.0]), bl.Box(0.0, 2.0, dim=3), bl.L1Ball(3, 2.0)),
        *RATES,
        *(bl.rates.GradientAdaptive(), bl.rates.Constant(0.1), bl.rates.Mixed(1.0)),
        *SMOOTHINGS,
        *members,
        *(bl.OMD(floored, RATES[1], "entropy"), bl.Leader(ball, RATES[3], 24)),
        *(bl.Portfolio(members), bl.Portfolio(members, 24)),
        *(bl.FirstOrder(base), bl.FullInformation(base), one_point, bl.TwoPoint(base)),
        *(bl.TwoPoint(base, bl.smoothing.Inverse()), bl.OnePoint(base, 1.5), bl.Skip(one_point)),
        *(bl.Skip(one_point, 9), bl.Deadline(one_point, 5), bl.Deadline(one_point, 0, forget=0)),
        *(bl.Capacity(one_point, 5), bl.Capacity(one_point, 9, backlog=4)),
        bl.Problem(ball, 1.0, 0.5, 2.0, 100),
        *sources().values(),
        bl.losses.Adaptive(2, 0.5),
        *(kind(bl.losses.Random(2)) for kind in (*PLAIN.values(), *SUPERVISED.values())),
        bl.losses.Quadratic(bl.losses.Random(2), curvature=0.3),
        *(case.spec for case in rival_laws.CASES),
        *(each.spec() for each in compositions.ALL if not each.has_user_code),
    ]


def _without_json() -> list[Any]:
    """Return specs that hold Python objects or arrays, which have a repr only."""
    half = compositions.SETS["moved"].spec(2)
    given = bl.losses.Given(VECTORS, TARGETS)
    return [half, bl.PFTRL(half, RATES[0]), given, bl.losses.Squared(given)]


def kinds() -> set[str]:
    """Return the kinds of all specs that can be found under public names."""
    modules = (bl, bl.rates, bl.smoothing, bl.losses, bl.rivals)
    found = set()
    for module in modules:
        for name in dir(module):
            part = getattr(module, name)
            if inspect.isclass(part) and dataclasses.is_dataclass(part) and hasattr(part, "kind"):
                found.add(str(part.kind))
    return found


def of_specs() -> Iterator[Pin]:
    """JSON and repr of every kind of spec."""
    texts: dict[str, list[str]] = {}
    for spec in specs():
        text = spec.to_json()
        assert bl.from_json(text) == spec
        texts.setdefault(spec.kind, []).extend([text, repr(spec)])
    for spec in _without_json():
        texts.setdefault(spec.kind, []).append(repr(spec))
    custom = {"losses.Custom", "rates.Custom", "smoothing.Custom"}  # whose repr has addresses
    missing = kinds() - set(texts) - custom
    assert not missing, f"kinds without a pin: {sorted(missing)}"
    for kind, lines in texts.items():
        yield f"spec {kind}", digest(lines)


# --- Logs ----------------------------------------------------------------------------------------

AUDITED = 1500
REPLAYED = 150


def of_audits() -> Iterator[Pin]:
    flights = bl.datasets.flights()
    yield "flights", digest(*_arrays(flights.timeline), flights.target)
    for name, log in {"whole": flights, "part": flights.take(slice(4000, 4000 + AUDITED))}.items():
        found = bl.audit(log)
        more = [_bound(promise.bound) for promise in found.more_promises] if name == "part" else []
        yield f"audit of flights, {name}", digest(numbers(json.loads(found.to_json())), more)
        waits = [dataclasses.asdict(each) for each in (found.patience, found.patience_in_rounds)]
        yield f"audit of flights, {name}: patience", digest(numbers(waits))
        yield f"audit of flights, {name}: words", digest(found.verdict, found.summary())
    ties = bl.audit(flights.take(slice(0, AUDITED)), ties="predict-first")
    yield "audit of flights, predict first", digest(numbers(json.loads(ties.to_json())))


def of_replays() -> Iterator[Pin]:
    flights = bl.datasets.flights().take(slice(4000, 4000 + REPLAYED))
    ways: dict[str, dict[str, Any]] = {
        "squared": {"clip": (-30.0, 120.0)},
        "logistic": {
            "threshold": 15.0,
            "features": ["carrier", "origin", "hour"],
            "window": "5h",
        },
        "quantile": {"loss": "quantile", "quantile": 0.9, "slices": ["origin"]},
    }
    for name, words in ways.items():
        found = bl.replay(flights, **words)
        yield f"replay of flights, {name}", digest(numbers(json.loads(found.to_json())))
        yield f"replay of flights, {name}: words", digest(found.verdict)
        for method in found.methods.values():
            told = [method.predictions, method.losses, method.mean_loss, method.used]
            yield f"replay of flights, {name}, {method.name}", digest(told)


def of_evaluations() -> Iterator[Pin]:
    """A log of decisions, with and without a deadline."""
    rng = np.random.default_rng(7)
    rounds = 200
    at, action = np.arange(float(rounds)), rng.integers(0, 3, rounds)
    heard = rng.random(rounds) < 0.2 + 0.2 * action
    wait = rng.exponential(3.0, rounds)
    visits = {
        "decided_at": at,
        "rewarded_at": np.where(heard, at + wait, np.nan),
        "reward": np.where(heard, 1.0 + action, np.nan),
        "action": np.array(["blue", "green", "red"])[action],
        "probability": np.full(rounds, 1.0 / 3.0),
        "shop": np.array(["north", "south"])[rng.integers(0, 2, rounds)],
    }
    for name, deadline in (("a deadline", 12), ("no deadline", None)):
        found = bl.evaluate(visits, silence=0.0, deadline=deadline, blocks=8)
        yield f"evaluation, {name}", digest(numbers(json.loads(found.to_json())))
        yield f"evaluation, {name}: words", digest(str(found))


# --- All of them ---------------------------------------------------------------------------------

GROUPS: tuple[Callable[[], Iterator[Pin]], ...] = (
    of_compositions,
    of_capacities,
    of_certificates,
    of_rivals,
    of_losses,
    of_games,
    of_delays_by_play,
    of_custom_losses,
    of_many_games,
    of_linear_models,
    of_labels,
    of_intervals,
    of_choosers,
    of_knobs,
    of_worlds,
    of_hashers,
    of_timelines,
    of_bounds,
    of_problems,
    of_specs,
    of_audits,
    of_replays,
    of_evaluations,
)


def pins() -> dict[str, str]:
    """Compute all pins, by name."""
    found: dict[str, str] = {}
    for group in GROUPS:
        for name, value in group():
            assert name not in found, f"two pins have the name {name!r}"
            found[name] = value
    return found


def stored() -> dict[str, str]:
    """Return the pins of the file."""
    return cast("dict[str, str]", json.loads(FILE.read_text(encoding="utf-8")))


def differing(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return a line for every pin that is not the same in both."""
    lines = []
    for name in sorted({*old, *new}):
        if name not in new:
            lines.append(f"gone: {name}")
        elif name not in old:
            lines.append(f"new: {name}")
        elif old[name] != new[name]:
            lines.append(f"changed: {name}")
    return lines


def main(arguments: Sequence[str]) -> int:
    """Compare, write or print the pins; return the exit status."""
    found = pins()
    if "--print" in arguments:
        print(json.dumps(found))
        return 0
    if "--write" in arguments:
        FILE.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{len(found)} pins written")
        return 0
    lines = differing(stored(), found)
    print("\n".join([*lines, f"{len(lines)} of {len(found)} pins differ"]))
    return 1 if lines else 0


if __name__ == "__main__":
    if "BELATED_INTERPRETED" not in os.environ:  # it is read at import, so start again
        os.environ["BELATED_INTERPRETED"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    sys.exit(main(sys.argv[1:]))
