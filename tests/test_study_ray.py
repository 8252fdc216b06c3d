"""The same rows from a Ray cluster of two nodes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import belated as bl
from belated.research.study.contestants import OURS
from belated.research.study.delay_law import DelayLaw
from belated.research.study.plan import Cell, Plan
from belated.research.study.runner import finish_rows
from conftest import TESTS
from test_study import Tiny

pytestmark = [
    pytest.mark.filterwarnings("default"),  # ray has warnings of its own
    pytest.mark.slow,
]


@dataclass(frozen=True)
class Traced(Tiny):
    """Squares that leave a trace of the node they were computed on."""

    traces: str = ""

    def run(self, cell: Cell) -> dict[str, Any]:
        """Return a square, after long enough for others to get work too."""
        if self.traces:
            import ray

            time.sleep(0.3)
            (Path(self.traces) / ray.get_runtime_context().get_node_id()).touch()
        return super().run(cell)


SHORT = {"rounds": 500, "total": 250}


class ShortDelayLaw(DelayLaw):
    """A real study with short games, and with the paper's algorithm alone: little to compile."""

    def cells(self) -> Iterator[Cell]:
        """Those that fit into a short game."""
        for cell in super().cells():
            values = dict[str, Any](cell.parameters)
            if (
                values["seed"] < 3
                and values["method"] == OURS
                and values.get("wait", 0) < SHORT["rounds"]
            ):
                yield Cell.of(**values | {n: SHORT[n] for n in SHORT if n in values})


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Start two nodes with one core each; their workers can import this file."""
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS), prepend=":")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        try:
            nodes.add_node(num_cpus=1)
            nodes.wait_for_nodes()
            yield nodes
        finally:
            ray.shutdown()
            nodes.shutdown()


def test_two_nodes_give_the_same_rows(cluster: Any, tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    study = Traced(8, bad=(3,), traces=str(traces))
    path = tmp_path / "ray.jsonl"
    options: dict[str, Any] = {"engine": "ray", "address": cluster.address, "progress": False}
    results = finish_rows(Plan(study, False), path, **options)
    alone = Traced(8, bad=(3,))
    serial = finish_rows(
        Plan(alone, False), tmp_path / "serial.jsonl", engine="serial", progress=False
    )
    assert results.rows == serial.rows
    assert results.failures == serial.failures
    lines = [path.read_text().splitlines() for path in (path, tmp_path / "serial.jsonl")]
    assert sorted(lines[0]) == sorted(lines[1])
    assert len(list(traces.iterdir())) == 2


def test_two_nodes_give_the_same_rows_of_a_real_study(cluster: Any, tmp_path: Path) -> None:
    plan = Plan(ShortDelayLaw(), True)
    assert {cell["part"] for cell in plan.cells} == {"total delay", "backlog"}
    serial = finish_rows(plan, tmp_path / "serial.jsonl", engine="serial", progress=False)
    options: dict[str, Any] = {"engine": "ray", "address": cluster.address, "progress": False}
    results = finish_rows(plan, tmp_path / "ray.jsonl", **options)
    assert results.failures == ()
    assert len(results.rows) == len(plan.cells) >= 20
    assert results.rows == serial.rows
    assert tuple(plan.study.sections(results.rows)) == tuple(plan.study.sections(serial.rows))


def test_a_dying_worker_is_a_failure_of_its_cell(cluster: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"engine": "ray", "address": cluster.address, "progress": False}
    plan = Plan(Traced(4, deadly=(2,)), False)
    results = finish_rows(plan, tmp_path / "rows.jsonl", **options)
    assert len(results.rows) == 3
    [(cell, why)] = results.failures
    assert cell["n"] == 2
    assert "WorkerCrashedError" in why


def test_two_nodes_play_the_same_games(cluster: Any) -> None:
    spec = bl.FirstOrder(bl.PFTRL(bl.Ball(3), bl.rates.DelayAdaptive(1.0)))
    losses = bl.losses.Linear(bl.losses.Random(3, seed=2))
    games = [bl.Game(losses, bl.delays.constant(60, late)) for late in (0, 5)]
    options: dict[str, Any] = {"engine": "ray", "address": cluster.address, "progress": False}
    found = bl.play_many(spec, games, 3, **options)
    alone = bl.play_many(spec, games, 3, engine="serial")
    assert [run.loss for run in found] == [run.loss for run in alone]
    assert found.cells == alone.cells
