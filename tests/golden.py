"""Snapshots that were written once, in ``golden``: they stay readable, and are written the same.

``python tests/golden.py --write`` writes them anew, with digests of how each goes on. That is right
together with a new number of the format, since it orphans what users have stored.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import belated as bl
import compositions
import rival_laws
from pins import digest, numbers
from rivals_convex import RivalCase

FOLDER = Path(__file__).with_name("golden")
DIGESTS = FOLDER / "digests.json"

COMPOSITIONS = (
    "first-pftrl-l1-gradient-3",
    "first-adagrad-skip-2",
    "first-portfolio-floored-tight-3",
    "mean-omd-box-table-root-2",
    "two-omd-ball-constant-root-skip-3",
    "mean-pftrl-l1-delay-root-forgetful_deadline-3",
)
RIVALS = ("BOLD, two values, box", "GOLD, ball", "DelayedExp3")
MODELS: dict[str, dict[str, Any]] = {
    "squared": {"wait": {"predictions": 15}},
    "logistic": {"l1": 1e-3, "intercept": False},
    "poisson": {"silence": 0, "deadline": 9, "late": "learn"},
}

Life: TypeAlias = list[compositions.Event]
Thing: TypeAlias = bl.Learner | bl.LinearModel | bl.Intervals | bl.Chooser | bl.Knobs


class Case(NamedTuple):
    """Something with a life of which the snapshot is taken in the middle."""

    name: str
    life: Life
    start: Callable[[], Any]
    restore: Callable[[bytes], Any]
    follow: Callable[[Any, Life], Any]

    @property
    def file(self) -> Path:
        """Where its snapshot is kept."""
        return FOLDER / f"{self.name.replace(', ', '-').replace(' ', '-').lower()}.blob"

    def at_half_time(self) -> Thing:
        """Return the thing as it is in its snapshot."""
        thing: Thing = self.start()
        self.follow(thing, self.life[: len(self.life) // 2])
        return thing

    def rest(self, thing: Thing) -> str:
        """Live the second half; return a digest of it, and of the report at the end."""
        seen = self.follow(thing, self.life[len(self.life) // 2 :])
        return digest(seen, numbers(json.loads(thing.report().to_json())))


def _cases() -> Iterable[Case]:
    """Yield learners, rivals, models, intervals and a chooser."""
    for name in COMPOSITIONS:
        yield _composition(compositions.COMPOSITIONS[name])
    for case in rival_laws.CASES:
        if case.name in RIVALS:
            yield _rival(case)
    for loss, settings in MODELS.items():
        yield _model(loss, settings)
    yield Case(
        "intervals", compositions.events(12, seed=4), _intervals, bl.Intervals.restore, _labels
    )
    yield Case("chooser", compositions.events(16, seed=4), _chooser, bl.Chooser.restore, _rewards)
    yield Case("knobs", compositions.events(24, seed=4), _knobs, bl.Knobs.restore, _costs)


def _chooser() -> bl.Chooser:
    return bl.Chooser(["a", "b", "c"], bits=6, silence=0.0, deadline=7)


def _knobs() -> bl.Knobs:
    return bl.Knobs({"x": (0, 1)}, holdout=0.2, silence=1.0, deadline=9)


def _costs(knobs: bl.Knobs, life: Life) -> list[Any]:
    seen: list[Any] = []
    for kind, ticket in life:
        if kind == "predict":
            seen.append([*knobs.predict(key=f"k{ticket}").setting.values()])
        elif kind == "cancel":
            knobs.cancel(f"k{ticket}")
        else:
            seen.append(knobs.observe(f"k{ticket}", float(ticket % 3)))
    return seen


def _rewards(chooser: bl.Chooser, life: Life) -> list[Any]:
    seen: list[Any] = []
    for kind, ticket in life:
        draw = random.Random(ticket)
        if kind == "predict":
            shown = ticket % 4 > 0
            seen.append([*chooser.choose({"x": draw.random()}, key=f"k{ticket}", shown=shown)])
        elif kind == "cancel":
            chooser.cancel(f"k{ticket}")
        else:
            if ticket % 4 == 0:
                chooser.shown(f"k{ticket}")
            seen.append(chooser.observe(f"k{ticket}", float(draw.random() < 0.4)))
    return seen


def _composition(each: compositions.Composition) -> Case:
    def follow(learner: bl.Learner, life: Life) -> Any:
        drive = compositions.Drive(each, each.answers())
        drive(learner, life)
        return [drive.plays, drive.used]

    spec = each.spec() if each.has_user_code else None
    restore = lambda blob: bl.Learner.restore(blob, spec)  # noqa: E731
    return Case(each.name, compositions.events(), each.learner, restore, follow)


def _rival(case: RivalCase) -> Case:
    def follow(learner: bl.Learner, life: Life) -> Any:
        return rival_laws.follow(learner, life, rival_laws.answers(case).fast)

    def start() -> bl.Learner:
        return bl.Learner(case.spec, rival_laws.SEED)

    return Case(case.name, rival_laws.life(case), start, bl.Learner.restore, follow)


def _model(loss: Any, settings: dict[str, Any]) -> Case:
    def start() -> bl.LinearModel:
        return bl.LinearModel(loss, bits=6, **settings)

    life = compositions.events(24, seed=4)
    return Case(f"{loss} model", life, start, bl.LinearModel.restore, _labels)


def _intervals() -> bl.Intervals:
    return bl.Intervals(bl.LinearModel("absolute", bits=6), coverage=0.6)


def _labels(model: bl.LinearModel | bl.Intervals, life: Life) -> list[Any]:
    seen: list[Any] = []
    for kind, ticket in life:
        draw = random.Random(ticket)
        if kind == "predict":
            entries = sorted(draw.sample(range(64), 4))
            seen.append([*model.predict((entries, [draw.uniform(-2.0, 2.0) for _ in entries]))])
        elif kind == "cancel":
            model.cancel(ticket)
        else:
            seen.append(model.observe(ticket, float(draw.random() < 0.4)))
    return seen


CASES = tuple(_cases())


def write() -> None:
    """Write all snapshots and digests anew."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.blob"):
        old.unlink()
    digests = {}
    for case in CASES:
        thing = case.at_half_time()
        case.file.write_bytes(thing.snapshot())
        digests[case.name] = case.rest(thing)
    DIGESTS.write_text(json.dumps(digests, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(digests)} snapshots written")


if __name__ == "__main__" and "--write" in sys.argv:
    if "BELATED_INTERPRETED" not in os.environ:  # it is read at import, so start again
        os.environ["BELATED_INTERPRETED"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    write()
