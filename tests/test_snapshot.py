"""Snapshots: whatever else the bytes are, restoring them says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

import belated as bl
from belated.errors import SnapshotError
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
    most = {"knobs.blob": 60_000, "intervals.blob": 25_000}  # of several models
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
