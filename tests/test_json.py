"""Specs from texts that anybody may have written: a spec or a SpecError, and soon."""

from __future__ import annotations

import json
import math
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
import compositions
import rival_laws
from belated.errors import SpecError

SPECS = [
    *(each.spec() for each in compositions.ALL if not each.has_user_code),
    *(rival_laws.rival(case) for case in rival_laws.CHOSEN),
]
BALL = {"type": "Ball", "dim": 3, "radius": 1.0, "center": None}


def _text(spec: Any) -> str:
    return json.dumps({"belated": 1, "spec": spec})


def _refused(text: Any) -> str:
    start = time.perf_counter()
    with pytest.raises(SpecError) as caught:
        bl.from_json(text)
    assert time.perf_counter() - start < 0.5  # a slow machine; it takes a few milliseconds
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dim": 300_000_000}, "limit of 1000000"),
        ({"dim": 10**400}, "at most 64 bits"),
        ({"dim": 2**63}, "limit"),
        ({"dim": True}, "whole number"),
        ({"dim": "2"}, "whole number"),
        ({"dim": None}, "whole number"),
        ({"dim": 2.0}, "whole number"),
        ({"dim": -5}, "at least 1"),
        ({"dim": [3]}, "whole number"),
        ({"radius": True}, "must be a number, got True"),
        ({"radius": "2"}, "must be a number, got '2'"),
        ({"radius": None}, "must be a number"),
        ({"radius": 10**400}, "at most 64 bits"),
        ({"radius": math.inf}, "must be finite"),
        ({"radius": math.nan}, "must be finite"),
        ({"radius": 1e300}, "between 1e-100 and 1e100"),
        ({"radius": {}}, "unknown type None"),
        ({"center": [1.0, "2", 3.0]}, r"center\[1\] must be a number"),
        ({"center": [1.0, True, 3.0]}, r"center\[1\] must be a number"),
        ({"center": "abc"}, "sequence"),
        ({"type": ["Ball"]}, "unknown type"),
        ({"type": None}, "unknown type"),
        ({"type": "ConvexSet"}, "ConvexSet"),
        ({"kind": 3}, "unexpected keyword"),
    ],
    ids=str,
)
def test_one_field_of_a_ball(change: dict[str, Any], words: str) -> None:
    message = _refused(_text(BALL | change))
    assert re.search(words, message), message
    assert len(message) < 500 or "known:" in message


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"belated": 1, "spec": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"belated": 1, "spec": ' + '{"type": "Skip", "learner": ' * 500 + "null" + "}" * 501,
        '{"belated": 1, "spec": ' + '{"a": ' * 90_000 + "1" + "}" * 90_001,
        '{"belated": true, "spec": {"type": "Ball", "dim": 3}}',
        '{"belated": 1, "spec": null}',
        '{"belated": 1, "spec": 3}',
        '{"belated": ' + "9" * 5000 + ', "spec": 3}',
        "null",
        "",
        "{",
        None,
        3,
        b"\xff\xfe\xff",
    ],
    ids=range(14),
)
def test_no_spec_at_all(text: Any) -> None:
    _refused(text)


def test_reach_and_other_whole_numbers() -> None:
    leader = json.loads(bl.Leader(bl.Ball(2), bl.rates.StronglyConvex(0.5)).to_json())
    for reach in (1e30, 10**30, 2**63, "9", True, None, 0, -1, 1.5):
        leader["spec"]["reach"] = reach
        _refused(json.dumps(leader))
    for reach in (2**63, 10**400):
        with pytest.raises(SpecError, match="reach must be below"):
            bl.Leader(bl.Ball(2), bl.rates.StronglyConvex(0.5), reach=reach)
    with pytest.raises(SpecError, match="radius must be finite"):
        bl.Ball(2, radius=10**400)


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["Ball", "Skip", "FirstOrder", "rivals.BOLD", 10**400, 3 * 10**8, "2"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "dim", "base", "domain", "rate"]), inner)
    ),
    max_leaves=6,
)


def _fields(part: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the places of all fields in a document."""
    inner = part.items() if isinstance(part, dict) else enumerate(part)
    deeper = [((*path, key), value) for key, value in inner]
    return [
        *(place for place, _ in deeper),
        *(
            more
            for place, value in deeper
            if isinstance(value, dict | list)
            for more in _fields(value, place)
        ),
    ]


@given(st.sampled_from(SPECS), st.data())
def test_anything_in_the_place_of_a_field(spec: Any, data: st.DataObject) -> None:
    document = json.loads(spec.to_json())
    assert bl.from_json(json.dumps(document)) == spec
    path = data.draw(st.sampled_from(_fields(document)))
    part = document
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = data.draw(JUNK)
    try:
        found = bl.from_json(json.dumps(document))
    except SpecError:
        return
    assert bl.from_json(found.to_json()) == found
