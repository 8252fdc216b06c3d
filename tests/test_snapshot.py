"""Snapshots: whatever else the bytes are, restoring them says so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import belated as bl
from belated.errors import SnapshotError, SpecError
from compositions import COMPOSITIONS, Composition, Drive, events
from golden import CASES, DIGESTS, FOLDER, Case
from sealing import PREFIX, header_of, rewritten, sealed

NAMES = ["first-pftrl-l1-gradient-3", "mean-omd-box-table-root-2", "first-adagrad-3"]


def blob_of(composition: Composition) -> bytes:
    learner = composition.learner()
    Drive(composition, composition.answers())(learner, events())
    return learner.snapshot()


def refused(composition: Composition, blob: bytes) -> str:
    """Return the message of the refusal."""
    spec = composition.spec() if composition.has_user_code else None
    with pytest.raises(SnapshotError) as caught:
        bl.Learner.restore(blob, spec)
    message = str(caught.value)
    assert message.startswith("restore: ")
    assert len(message) > 25
    return message


def test_what_is_no_snapshot_at_all() -> None:
    composition = COMPOSITIONS[NAMES[0]]
    for blob in (
        b"",
        b"x",
        b"belated\0",
        b"\0" * 1000,
        b"{}" * 50,
        composition.spec().to_json().encode(),
    ):
        assert "not a belated snapshot" in refused(composition, blob)


def test_another_format_number() -> None:
    composition = COMPOSITIONS[NAMES[0]]
    blob = blob_of(composition)
    magic, version, length = PREFIX.unpack_from(blob)
    other = sealed(PREFIX.pack(magic, version + 1, length) + blob[PREFIX.size : -16])
    message = refused(composition, other)
    assert f"snapshot format {version + 1}" in message
    assert f"reads format {version}" in message


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": ...},
        {"kind": "LinearModel"},
        {"about": ...},
        {"about": 3},
        {"arrays": ...},
        {"arrays": {}},
        {"arrays": None},
        {"arrays": {"base.point": 3}},
    ],
    ids=str,
)
def test_a_sealed_snapshot_with_a_wrong_header(changes: dict[str, Any]) -> None:
    """Nobody writes such bytes by accident; still the error is ours."""
    composition = COMPOSITIONS[NAMES[0]]
    refused(composition, rewritten(blob_of(composition), **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"components": {"class": "Composition"}},
        {"components": ["a"]},
        {"components": ...},
        {"state": {}},
        {"state": 3},
        {"keys": ...},
        {"keys": None},
        {"keys": [["a"]]},
        {"keys": [["a", 1 << 40]]},
        {"keys": [["a", 59], ["a", 58]]},
        {"keys": [["a", 59], ["b", 59]]},
        {"keys": [[3, 59]]},
        {"keys": [[None, 59]]},
        {"keys": [["a", "59"]]},
        {"spec": None},
        {"spec": bl.Ball(3).to_json()},
        {"spec": "{}"},
        {"spec": "nonsense"},
        {"spec": 3},
        {"base": ...},
        {"base": "xyz"},
    ],
    ids=str,
)
def test_a_sealed_snapshot_that_is_not_of_a_learner(changes: dict[str, Any]) -> None:
    composition = COMPOSITIONS[NAMES[0]]
    refused(composition, rewritten(blob_of(composition), changes))


@pytest.mark.parametrize(
    "name", ["base.point", "base.inner", "tickets.number", "tickets.seen", "tickets.records"]
)
@pytest.mark.parametrize("form", [["<f4", [1]], ["<f8", [-1]], ["<f8", [1 << 60]], ["<i8", [1.5]]])
def test_a_sealed_snapshot_with_wrong_arrays(name: str, form: list[Any]) -> None:
    composition = COMPOSITIONS[NAMES[0]]
    blob = blob_of(composition)
    forms = header_of(blob)["arrays"]
    refused(composition, rewritten(blob, arrays=forms | {name: form}))
    refused(composition, rewritten(blob, arrays=forms | {name: [forms[name][0], form[1]]}))
    others = {other: forms[other] for other in forms if other != name}
    refused(composition, rewritten(blob, arrays=others))


# --- What was written once -----------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden_snapshots_go_on_as_they_did(case: Case) -> None:
    blob = case.file.read_bytes()
    thing = case.restore(blob)
    assert thing.snapshot() == blob
    assert case.rest(thing) == json.loads(DIGESTS.read_text(encoding="utf-8"))[case.name]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_equal_learners_still_write_the_golden_bytes(case: Case) -> None:
    assert case.at_half_time().snapshot() == case.file.read_bytes()


def test_golden_snapshots_are_small_and_none_is_left_over() -> None:
    files = sorted(FOLDER.glob("*.blob"))
    assert files == sorted(case.file for case in CASES)
    most = {"knobs.blob": 60_000, "intervals.blob": 26_000}  # of several models
    assert all(file.stat().st_size < most.get(file.name, 15_000) for file in files)


def test_headers_meant_to_harm_are_refused() -> None:
    learner = bl.Learner(bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.Constant(0.1))))
    blob = learner.snapshot()
    deep = "[" * 100_000
    with pytest.raises(SnapshotError):
        bl.Learner.restore(rewritten(blob, {"spec": deep}))
    with pytest.raises(SnapshotError):
        bl.Learner.restore(rewritten(blob, {"base": ""}))
    with pytest.raises(SnapshotError):
        bl.Learner.restore(rewritten(blob, {"components": json.loads("[" * 99 + "]" * 99)}))
    many = {name: [kind, [1] * 70] for name, (kind, _) in header_of(blob)["arrays"].items()}
    with pytest.raises(SnapshotError):
        bl.Learner.restore(rewritten(blob, arrays=many))


# --- Files of models are whole, or as they were; see also the laws --------------------------------


SPEC = bl.FirstOrder(bl.PFTRL(bl.Ball(1), bl.rates.DelayAdaptive(1.0)))


def lived() -> bl.Learner:
    """Return a learner with a past and with open tickets."""
    learner = bl.Learner(SPEC)
    for number in range(5):
        learner.predict(key=f"order-{number}")
    learner.observe("order-2", [0.5])
    return learner


def test_a_disk_that_fills_up_in_the_middle(tmp_path: Path) -> None:
    """The system itself refuses to let the new file grow."""
    resource = pytest.importorskip("resource")
    thing, path = lived(), tmp_path / "file"
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
    lived().save(path)
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
