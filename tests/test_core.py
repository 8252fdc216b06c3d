"""The core in both modes: which one runs, what it needs, and that its state is what it says."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from randomgen import Philox

import belated as bl
import compositions
from belated import core
from belated.core.component import Component
from belated.errors import SnapshotError
from conftest import Python
from pins import differing, stored

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


@pytest.mark.needs_compiler
@pytest.mark.compiled
def test_compiled_is_interpreted_bit_for_bit(python: Python) -> None:
    """All pins are of what runs without a compiler."""
    found = python("pins.py", "--print", BELATED_INTERPRETED="0", BELATED_REQUIRE_COMPILED="1")
    lines = differing(stored(), json.loads(found))
    assert not lines, "\n".join([f"{len(lines)} pins differ:", *lines])


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


VALUES = """
import json, sys
from belated.core import numerics
wanted = json.loads(sys.argv[1])
found = {name: [getattr(numerics, name)(x) for x in xs] for name, xs in wanted["of"].items()}
found["words"] = [[0] * 4 for _ in wanted["counters"]]
for words, (block, stream, low, high, *key) in zip(found["words"], wanted["counters"]):
    numerics.philox(block, stream, low | high << 32, key[0] | key[1] << 32, words)
print(json.dumps(found))
"""


def interpreted_values(python: Python, counters: Any = (), **of: Any) -> dict[str, list[Any]]:
    """Return what functions of the core return, which only interpreted sources let Python call."""
    wanted = json.dumps({"of": of, "counters": counters})
    found: dict[str, list[Any]] = json.loads(python("-c", VALUES, wanted, BELATED_INTERPRETED="1"))
    return found


def ulps(got: list[float], x: list[float], function: Callable[[Decimal], Decimal]) -> float:
    """Return the largest error in units of the last place, against 40 digits."""
    worst = 0.0
    with localcontext(prec=40):
        for value, argument in zip(got, x, strict=True):
            wanted = function(Decimal(argument))
            error = abs(Decimal(value) - wanted) / Decimal(math.ulp(float(wanted)))
            worst = max(worst, float(error))
    return worst


def test_ln_exp_and_cube_root_are_within_two_units_of_the_last_place(python: Python) -> None:
    rng = np.random.default_rng(1)
    x = [
        *np.exp(rng.uniform(-690.0, 690.0, 600)).tolist(),
        *rng.random(500).tolist(),
        *(1.0 + rng.uniform(-1e-3, 1e-3, 400)).tolist(),
        *rng.uniform(0.5, 2.0, 400).tolist(),
        *np.arange(1.0, 200.0).tolist(),
        *(2.0 ** np.arange(-1000, 1000, 17)).tolist(),
        *np.nextafter([1.0, 0.5, 2.0, 0.7071067811865476, 1.4142135623730951, 8.0], 0.0).tolist(),
        *(2.2250738585072014e-308, 1.7976931348623157e308, 708.0, 0.7071067811865476),
        *(5e-324, 1e-323, 1e-320, 1e-310, 2.2e-308),
    ]
    y = [-value for value in x if value <= 708.0]
    found = interpreted_values(python, ln=[*x, 1.0], exp=[*y, -709.0], cube_root=[*x, 27.0])
    assert ulps(found["ln"][:-1], x, Decimal.ln) <= 2.0
    assert ulps(found["exp"][:-1], y, Decimal.exp) <= 2.0
    assert ulps(found["cube_root"][:-1], x, lambda v: v ** (Decimal(1) / 3)) <= 2.0
    assert (found["ln"][-1], found["exp"][-1], found["cube_root"][-1]) == (0.0, 0.0, 3.0)


def test_philox_against_published_vectors_and_another_implementation(python: Python) -> None:
    published = [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (
            (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF),
            (0xFFFFFFFF, 0xFFFFFFFF),
            (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        ),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ]
    rng = np.random.default_rng(2)
    drawn = rng.integers(0, 2**32 - 1, (20, 6)).tolist()
    counters = [[*counter, *key] for counter, key, _ in published]
    counters += [[block + 1, *others] for block, *others in drawn]
    found = interpreted_values(python, counters)["words"]
    assert found[:3] == [list(words) for _, _, words in published]
    for (*counter, low, high), words in zip(drawn, found[3:], strict=True):
        position = sum(word << 32 * i for i, word in enumerate(counter))
        other = Philox(counter=position, key=low | high << 32, number=4, width=32)
        assert words == [int(word) for word in other.random_raw(4)]


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
