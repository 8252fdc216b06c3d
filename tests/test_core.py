"""The core in both modes: which one runs, what it needs, and that its state is what it says."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import belated as bl
import compositions
from belated import core
from belated.core.component import Component
from belated.errors import SnapshotError
from conftest import Python

MODE = "import belated.core as c, belated.core.tickets as t; print(c.COMPILED, t.__file__)"


def test_sources_are_chosen_beside_extensions(python: Python) -> None:
    compiled, file = python("-c", MODE, BELATED_INTERPRETED="1").split()
    assert compiled == "False"
    assert file.endswith("tickets.py")


@pytest.mark.needs_compiler
@pytest.mark.compiled
def test_extensions_are_used_where_they_are_built(python: Python) -> None:
    found = python("-c", MODE, BELATED_INTERPRETED="0", BELATED_REQUIRE_COMPILED="1").split()
    assert found[0] == "True"
    assert not found[1].endswith(".py")


LIFE = """
import numpy as np, belated as bl
spec = bl.Skip(bl.OnePoint(bl.PFTRL(bl.Ball(3), bl.rates.DelayAdaptive(1.0)), magnitude=1.0))
learner = bl.Learner(spec, seed=3)
for t in range(40):
    learner.predict()
    if t % 3 and t > 5:
        learner.observe(t - 5, 0.5 - t % 2)
print(learner.snapshot().hex())
"""


def test_interpreted_sources_need_no_cython(python: Python) -> None:
    expected = python("-c", LIFE, BELATED_INTERPRETED="1")
    assert python("-c", LIFE, BELATED_INTERPRETED="0") == expected
    stand_in = (
        "import importlib.util as u; old = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'cython' else old(n, *a)\n"
    )
    told = "\nimport sys; assert sys.modules['cython'].__name__ == 'belated.core._cython'\n"
    assert python("-c", stand_in + LIFE + told, BELATED_INTERPRETED="1") == expected


def test_a_core_that_is_not_compiled_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0)))
    monkeypatch.setattr(core, "COMPILED", False)
    monkeypatch.setattr(core, "_warned", False)
    with pytest.warns(RuntimeWarning, match=r"belated\.core is not compiled"):
        bl.Learner(spec)
    bl.Learner(spec)


ACCURACY = """
import json, math
from belated.core import numerics as n
rng = __import__("random").Random(1)
xs = [10.0 ** rng.uniform(-300, 300) for _ in range(2000)] + [5e-324, 1.0, 0.5, 2.0, 1e-310]
ys = [-rng.uniform(0, 700) for _ in range(2000)] + [0.0, -708.0, -1e-18]
print(json.dumps({
    "ln": max(abs(n.ln(x) - math.log(x)) / math.ulp(math.log(x)) for x in xs if x != 1.0),
    "exp": max(abs(n.exp(y) - math.exp(y)) / math.ulp(math.exp(y)) for y in ys),
    "cube root": max(abs(n.cube_root(x) ** 3 / x - 1.0) for x in xs if x > 1e-300),
    "far": n.exp(-709.0),
}))
"""


def test_ln_exp_and_cube_root_are_accurate(python: Python) -> None:
    found = json.loads(python("-c", ACCURACY, BELATED_INTERPRETED="1"))
    assert found["ln"] <= 2.0
    assert found["exp"] <= 2.0
    assert found["cube root"] <= 2e-15
    assert found["far"] == 0.0


def components(component: Component) -> list[Component]:
    """Return a component and all inside of it."""
    inside = [each for part in component.parts().values() for each in components(part)]
    return [component, *inside]


@pytest.mark.parametrize("each", compositions.ALL, ids=lambda each: each.name)
def test_every_field_is_checked_and_restored(each: compositions.Composition) -> None:
    """A field out of its range, of another kind, missing or unknown is refused, whichever it is."""
    learner = each.learner()
    compositions.Drive(each, each.answers())(learner, compositions.events(20))
    player = learner._player
    state: dict[str, Any] = player.state()
    player.check(state)
    fresh = each.learner()._player
    fresh.restore(state)
    for name, value in fresh.state().items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, state[name])
        else:
            assert value == state[name], name
    for name, value in state.items():
        wrong: list[Any] = [None, "1"]
        if isinstance(value, np.ndarray):
            wrong += [value.astype(np.float32), np.append(value, value)]
            wrong += [value[..., None]]
        elif not isinstance(value, bytes):
            wrong += [-1e300, math.nan, 10**80]
        for bad in wrong:
            with pytest.raises(SnapshotError, match="fit together"):
                player.check({**state, name: bad})
        with pytest.raises(SnapshotError, match="fit together"):
            player.check({key: value for key, value in state.items() if key != name})
    with pytest.raises(SnapshotError, match="fit together"):
        player.check({**state, "tickets.capacity": 64})


def test_what_changes_is_a_field() -> None:
    """Everything that a life changes and Python can see is in the state."""
    for each in compositions.ALL[::7]:
        learner = each.learner()
        before = [dict(_visible(part)) for part in components(learner._player)]
        compositions.Drive(each, each.answers())(learner, compositions.events(20))
        for part, old in zip(components(learner._player), before, strict=True):
            for name, value in _visible(part).items():
                known = name in part.FIELDS or name in _PLACES
                assert known or value == old[name], (type(part).__name__, name)


_PLACES = {"head", "faded", "sparse", "offset", "capacity", "calm", "next_entry"}
"""Where things stand in the table of tickets, which depends on its past."""
_DERIVED = {"open", "given_up", "unanswered", "total_delay", "max_backlog", "oldest_age", "rate"}
"""What follows from other fields."""


def _visible(component: Component) -> dict[str, Any]:
    """Return the numbers that a component shows."""
    shown = {name: getattr(component, name, None) for name in dir(component)}
    return {
        name: value
        for name, value in shown.items()
        if not name.startswith("_")
        and name not in _DERIVED
        and isinstance(value, bool | int | float)
    }
