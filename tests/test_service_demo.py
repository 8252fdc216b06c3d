"""``belated serve --demo`` has a store of its own; durations are read in one way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from belated.errors import ServiceError, SpecError
from belated.service import bodies, demo
from belated.service.refusals import Refused
from service_calls import Caller, serving


@pytest.mark.parametrize("option", ["--data", "--store", "--tokens"])
def test_a_demonstration_leaves_the_stores_of_others_alone(tmp_path: Path, option: str) -> None:
    file = tmp_path / "own.db"
    command = [sys.executable, "-m", "belated", "serve", "--demo", option, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode != 0
    assert "--demo has a store of its own" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SpecError("no flights"), "no flights"),
        (ServiceError("no", status=409), "no"),
        (ServiceError("gone"), None),
    ],
)
def test_a_demonstration_says_why_it_stopped(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    said: str | None,
) -> None:
    def broken(client: Any) -> None:
        raise error

    monkeypatch.setattr(demo, "Flights", broken)
    with serving(tmp_path) as ask:
        assert isinstance(ask, Caller)
        demo._play(ask.server)
    found = capsys.readouterr().err
    assert found == "" if said is None else f"the demonstration: {said}" in found


@pytest.mark.parametrize("given", ["", "P", "30", "P1Y", "1 parsec", "-3d", "1e99d", True, None])
def test_what_is_no_duration_is_refused(given: Any) -> None:
    with pytest.raises(Refused, match="deadline must be"):
        bodies.span(given, "deadline")
