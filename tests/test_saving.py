"""Files of learners, models and intervals: whole, or as they were."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import belated as bl
from belated.errors import SnapshotError, SpecError, UnknownTicket
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
def test_saved_and_loaded_is_the_same(kind: Kind, tmp_path: Path) -> None:
    thing, path = lived(kind), tmp_path / "file.belated"
    thing.save(path)
    thing.save(str(path))
    again = kind.of.load(path)
    assert again.snapshot() == thing.snapshot() == path.read_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["file.belated"]
    for each in (thing, again):
        each.observe("order-4", kind.told)
    assert again.snapshot() == thing.snapshot()


@each
def test_a_lost_ticket_is_unknown_after_a_restart(kind: Kind, tmp_path: Path) -> None:
    thing, path = lived(kind), tmp_path / "file"
    thing.save(path)
    thing.predict(*kind.asked, key="lost")
    again = kind.of.load(path)
    again.predict(*kind.asked, key="next")
    with pytest.raises(UnknownTicket, match="'lost'"):
        again.observe("lost", kind.told)
    assert again.observe("next", kind.told)


@each
def test_a_file_with_a_secret(kind: Kind, tmp_path: Path) -> None:
    thing, path = lived(kind), tmp_path / "file"
    thing.save(path, secret=b"secret")
    assert kind.of.load(path, secret=b"secret").snapshot() == thing.snapshot()
    for secret in (None, b"other"):
        with pytest.raises(SnapshotError, match="secret"):
            kind.of.load(path, secret=secret)


@each
def test_files_cut_off_or_of_another_kind(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "file"
    lived(kind).save(path)
    whole = path.read_bytes()
    for length in (0, 1, 40, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(SnapshotError, match="cut off"):
            kind.of.load(path)
    for other in KINDS.values():
        if other is not kind:
            lived(other).save(path)
            with pytest.raises(SnapshotError, match=f"of a {other.of.__name__}, not of a"):
                kind.of.load(path)
    with pytest.raises(FileNotFoundError):
        kind.of.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        kind.of.load(tmp_path)


def failing(name: str, code: int) -> Callable[..., Any]:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise OSError(code, os.strerror(code))

    fail.__name__ = name
    return fail


@each
@pytest.mark.parametrize(
    ("step", "code"),
    [
        ("fsync", errno.ENOSPC),  # a full disk says so here, or when it is written to
        ("replace", errno.EACCES),
        ("open", errno.EACCES),  # no permission to make a file in the folder
    ],
)
def test_what_cannot_be_written_leaves_the_old_file(
    kind: Kind, step: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thing, path = lived(kind), tmp_path / "file"
    thing.save(path)
    old = path.read_bytes()
    thing.observe("order-1", kind.told)
    before = thing.snapshot()
    with monkeypatch.context() as patch:
        patch.setattr(os, step, failing(step, code))
        with pytest.raises(OSError, match=r"No space left|Permission denied"):
            thing.save(path)
    assert path.read_bytes() == old
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert thing.snapshot() == before
    thing.save(path)
    assert path.read_bytes() == before


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


def test_the_rights_of_the_old_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "file"
    learner = lived(KINDS["Learner"])
    learner.save(path)
    path.chmod(0o640)
    learner.save(path)
    assert path.stat().st_mode & 0o777 == 0o640
