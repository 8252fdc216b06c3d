"""Snapshots that somebody wrote on purpose: refused, or harmless, but never a crash."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import belated as bl
import forging
import rival_laws
from belated.errors import SnapshotError
from conftest import Python
from sealing import arrays_of, forged, header_of, rewritten, with_arrays


@pytest.mark.parametrize("most", [20, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", forging.CASES)
def test_one_number_of_a_snapshot_changed(name: str, most: int) -> None:
    """Of all the forgeries that ``python tests/forging.py`` tries, so many."""
    assert forging.check(forging.CASES[name], most) == []


FEW = ["first-pftrl-l1-gradient-3", "squared model"]


def parts() -> Iterator[Any]:
    """Yield how many forgeries of which cases; more than a few of a few are slow."""
    yield pytest.param(100, FEW, id="few", marks=pytest.mark.compiled)
    published = [case.name for case in rival_laws.CASES if case.name in forging.CASES]
    ours = [name for name in forging.CASES if name not in published]
    for part in range(2):
        yield pytest.param(400, ours[part::2], id=f"ours {part}", marks=pytest.mark.slow)
    for part in range(4):
        yield pytest.param(400, published[part::4], id=f"others {part}", marks=pytest.mark.slow)


@pytest.mark.needs_compiler
@pytest.mark.parametrize(("most", "names"), [*parts()])
def test_the_compiled_core_survives_them_too(python: Python, most: int, names: list[str]) -> None:
    """In a process of its own, so that a crash or a claim for memory is seen."""
    assert "memory grew by" in python("forging.py", str(most), *names, BELATED_INTERPRETED="0")


def _blob(spec: Any, rounds: int = 9) -> bytes:
    learner = bl.Learner(spec)
    size = learner._player.answer_size
    for ticket in range(rounds):
        learner.predict()
        if ticket % 3:
            learner.observe(ticket, np.full(size, 0.1))
    return learner.snapshot()


PFTRL = bl.FirstOrder(bl.PFTRL(bl.Ball(3), bl.rates.Tight(1.0)))


@pytest.mark.parametrize(
    "change",
    [
        ("tickets.rounds", 10**15),
        ("tickets.arrived", 10),
        ("tickets.sum_dual", -5),
        ("tickets.sum_dual", 1.0),
        ("tickets.expired", 1),
        ("tickets.fed", 9),
        ("tickets.lag", True),
        ("tickets.weight", 2),
        ("tickets.capacity", 10**9),
        ("base.sums.rate", np.nan),
        ("base.sums.rate", "much"),
        ("base.sums.learned", -1.0),
        ("base.sums.lipschitz", 3.0),
        ("base.domain.radius", 2.0),
        ("base.point", 7.0, 0),
        ("base.inner", 1e200, 0),
        ("tickets.number", 3, 0),
        ("tickets.number", 9, 2),
        ("tickets.seen", 5, 0),
        ("tickets.seen", -1, 1),
        ("tickets.seen", -3, 1),
    ],
    ids=str,
)
def test_numbers_that_cannot_have_come_to_be(change: tuple[Any, ...]) -> None:
    with pytest.raises(SnapshotError, match=r"restore: .*fit together"):
        bl.Learner.restore(forged(_blob(PFTRL), *change))


def test_seeds_and_switches_that_are_none() -> None:
    blob = _blob(PFTRL)
    for inside in ({"seed": -1}, {"seed": 1 << 64}, {"seed": 1.0}, {"strict": 1}, {"more": 1}):
        with pytest.raises(SnapshotError, match=r"restore: .*fit together"):
            bl.Learner.restore(rewritten(blob, inside))


def test_a_spec_larger_than_its_numbers_is_never_built() -> None:
    """A few letters could ask for terabytes."""
    text = json.loads(header_of(_blob(PFTRL))["about"]["spec"])
    text["spec"]["base"]["domain"]["dim"] = 10**12
    wide = rewritten(_blob(PFTRL), {"spec": json.dumps(text)})
    ball, member = bl.Ball(2), bl.OMD(bl.Ball(2), bl.rates.InverseRoot(1.0))
    few = _blob(bl.FirstOrder(bl.Portfolio([member])))
    many = bl.FirstOrder(bl.Portfolio([member] * 400, reach=1 << 60))
    far = bl.FirstOrder(bl.Leader(ball, bl.rates.StronglyConvex(0.5), reach=1 << 62))
    copies = bl.rivals.WeinbergerOrdentlich(PFTRL, delay=1 << 40)
    for blob in (
        wide,
        rewritten(few, {"spec": many.to_json()}),
        rewritten(few, {"spec": far.to_json()}),
        rewritten(few, {"spec": copies.to_json()}),
    ):
        start = time.perf_counter()
        with pytest.raises(SnapshotError):
            bl.Learner.restore(blob)
        assert time.perf_counter() - start < 1.0


def test_a_spec_that_cannot_run() -> None:
    told = bl.rivals.WeinbergerOrdentlich(PFTRL, delay=3)
    text = told.to_json().replace('"delay": 3', '"delay": null')
    with pytest.raises(SnapshotError, match="cannot be read"):
        bl.Learner.restore(rewritten(_blob(told, 2), {"spec": text}))


def test_copies_that_cannot_be_are_refused() -> None:
    learner = bl.Learner(bl.rivals.BOLD(PFTRL))
    for _ in range(4):
        learner.predict()
    for ticket in (2, 0):
        learner.observe(ticket, np.full(3, 0.1))
    blob = learner.snapshot()
    state, idle = header_of(blob)["about"]["state"], arrays_of(blob)["idle"]
    assert idle.tolist() == [2, 0]
    forgeries = [
        with_arrays(blob, {"idle": idle[[0, 0]]}),
        with_arrays(blob, {"idle": idle[1:]}),
        forged(blob, "tickets.records", float(idle[0]), (0, 0)),
        forged(blob, "copy0.tickets.arrived", state["copy0.tickets.arrived"] - 1),
        forged(blob, "copy99.tickets.rounds", 3),
    ]
    for each in forgeries:
        with pytest.raises(SnapshotError):
            bl.Learner.restore(each)


def test_what_a_base_cannot_load() -> None:
    case = forging.CASES["first-adagrad-skip-2"]
    name = "base.user.object"
    for saved in ("00", None, {name: "00"}, {name: None}, {name: 3}, {"base.object": "00"}):
        with pytest.raises(SnapshotError):
            case.restore(rewritten(case.blob(), {"base": saved}))


def test_models_refuse_what_does_not_add_up() -> None:
    case = forging.CASES["squared model"]
    blob = case.blob()
    arrays = arrays_of(blob)
    for changes in (
        {"experts.touched": arrays["experts.touched"][::-1].copy()},
        {"experts.x": np.full_like(arrays["experts.x"], 1e9)},
        {"experts.x": np.full_like(arrays["experts.x"], np.nan)},
        {"experts.index": arrays["experts.index"] + 1},
        {"experts.root": -arrays["experts.root"] - 1.0},
        {"tickets.records": arrays["tickets.records"] + 1.0},
    ):
        with pytest.raises(SnapshotError, match=r"restore: .*fit together"):
            case.restore(with_arrays(blob, changes))


def test_the_oldest_ticket_that_counts_is_open() -> None:
    """Else plays would pass all tickets from there on, of which a forged snapshot can have 2^47."""
    blob = _blob(bl.rivals.ZimmertSeldin(3, skipping=True), 30)
    state = header_of(blob)["about"]["state"]
    assert state["counted"] > 0
    oldest = state["oldest"]
    assert oldest in arrays_of(blob)["tickets.number"]
    assert oldest % 3 == 0 < oldest
    for wrong in (oldest - 1, oldest - 2, oldest + 1):
        with pytest.raises(SnapshotError, match=r"restore: .*ticket.* that count"):
            bl.Learner.restore(forged(blob, "oldest", wrong))


# --- Secrets -------------------------------------------------------------------------------------


def _things() -> list[Any]:
    learner, model = bl.Learner(PFTRL), bl.LinearModel(bits=4)
    learner.predict()
    model.predict({"a": 1.0})
    return [learner, model]


@pytest.mark.parametrize("secret", ["text", b"", 3, [1]])
def test_what_is_no_secret(secret: Any) -> None:
    for thing in _things():
        with pytest.raises(SnapshotError, match="snapshot: a secret is bytes"):
            thing.snapshot(secret=secret)
        with pytest.raises(SnapshotError, match="restore: a secret is bytes"):
            type(thing).restore(thing.snapshot(), secret=secret)


def test_weights_of_a_portfolio_are_weights() -> None:
    """Those that the leash holds back are played when it is slack, so they are looked at too."""
    ball = bl.Ball(2)
    wild, tight = bl.OMD(ball, bl.rates.InverseRoot(1.0)), bl.PFTRL(ball, bl.rates.Tight(1.0))
    learner = bl.Learner(bl.FirstOrder(bl.Portfolio([wild, tight])))
    learner._player.base.targets[:] = 0.75
    with pytest.raises(SnapshotError, match="weights of members"):
        bl.Learner.restore(learner.snapshot())
