"""Engines that do not exist; what the others do, ``test_play_many`` and ``test_study`` show."""

from __future__ import annotations

from typing import Any, cast

import pytest

from belated.engine import run_jobs
from belated.errors import SpecError


def test_unknown_engines_are_refused() -> None:
    with pytest.raises(SpecError, match=r"work: engine is one of 'processes', .*, got 'cluster'"):
        run_jobs(lambda job: {}, [], print, title="work", engine=cast(Any, "cluster"))
