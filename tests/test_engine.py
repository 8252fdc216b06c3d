"""Jobs take turns; what engines do with them, ``test_play_many`` and ``test_study`` show."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.engine import run_jobs
from belated.engine.turns import Turns
from belated.errors import SpecError


def test_unknown_engines_are_refused() -> None:
    with pytest.raises(SpecError, match=r"work: engine is one of 'processes', .*, got 'cluster'"):
        run_jobs(lambda job: {}, [], print, title="work", engine=cast(Any, "cluster"))


@given(st.lists(st.integers(0, 4), max_size=30), st.integers(1, 4), st.randoms())
def test_no_group_is_compiled_twice_at_once(groups: list[int], workers: int, random: Any) -> None:
    turns = Turns(range(len(groups)), groups.__getitem__)
    running, compiled, done = list[int](), set[int](), list[int]()
    while True:
        while len(running) < workers and (job := turns.next()) is not None:
            cold = [groups[other] for other in running if groups[other] not in compiled]
            assert groups[job] not in cold
            running.append(job)
        if not running:
            break
        job = running.pop(random.randrange(len(running)))
        turns.finished(job)
        compiled.add(groups[job])
        done.append(job)
    assert sorted(done) == list(range(len(groups)))
