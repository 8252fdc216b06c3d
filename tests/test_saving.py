"""Files of learners, models and intervals: whole, or as they were."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import belated as bl
from belated.errors import SnapshotError, SpecError
from compositions import COMPOSITIONS

SPEC = bl.FirstOrder(bl.PFTRL(bl.Ball(1), bl.rates.DelayAdaptive(1.0)))


class Kind(NamedTuple):
    """Something that can be saved, and what it is asked and told."""

    of: Any
    make: Callable[[], Any]
    asked: tuple[Any, ...]
    told: Any


KINDS = {
    "Learner": Kind(bl.Learner, lambda: bl.Learner(SPEC), (), [0.5]),
    "LinearModel": Kind(bl.LinearModel, lambda: bl.LinearModel(bits=4), ([1.0],), 0.5),
    "Intervals": Kind(bl.Intervals, lambda: bl.Intervals(bl.LinearModel(bits=4)), ([1.0],), 0.5),
}
each = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def lived(kind: Kind) -> Any:
    """Return one with a past and with open tickets."""
    thing = kind.make()
    for number in range(5):
        thing.predict(*kind.asked, key=f"order-{number}")
    thing.observe("order-2", kind.told)
    return thing


@each
def test_a_disk_that_fills_up_in_the_middle(kind: Kind, tmp_path: Path) -> None:
    """The system itself refuses to let the new file grow."""
    resource = pytest.importorskip("resource")
    thing, path = lived(kind), tmp_path / "file"
    thing.save(path)
    old = path.read_bytes()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(old) // 2, limit[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            thing.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == old
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


KILLED = """
import os, signal, sys
import belated as bl

learner = bl.Learner.load(sys.argv[1])
learner.observe("order-1", [0.5])
setattr(os, sys.argv[2], lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL))
learner.save(sys.argv[1])
"""


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_process_that_is_killed_while_it_saves_leaves_the_old_file(
    step: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    lived(KINDS["Learner"]).save(path)
    old = path.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), step],
        env=os.environ | {"BELATED_INTERPRETED": "1"},
        check=False,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == old
    assert bl.Learner.load(path).observe("order-1", [0.5])


def test_a_learner_with_python_inside_needs_its_spec(tmp_path: Path) -> None:
    composition, path = COMPOSITIONS["first-adagrad-3"], tmp_path / "file"
    learner = composition.learner()
    learner.predict(key="a")
    learner.save(path)
    with pytest.raises(SnapshotError, match="pass its spec"):
        bl.Learner.load(path)
    again = bl.Learner.load(path, composition.spec())
    assert again.observe("a", [0.1, 0.2, 0.3])
    with pytest.raises((SnapshotError, SpecError)):
        bl.Learner.load(path, SPEC)
