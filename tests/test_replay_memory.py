"""Replays of long files: memory does not grow with their length, and results are the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from belated.logs import read
from belated.replays import columns, contenders, measures, replay, task
from belated.replays.baselines import Arrivals, Feeder, RunningMean

MEASURED = """
import sys
from belated.logs import sources
from belated.replays import columns, contenders, replay, task
if sys.argv[2] == "small":
    columns.PART, contenders.SHORT, contenders.OPEN = 1 << 14, 1 << 14, 1 << 12
    sources.ROWS = task.ROWS = contenders.ROWS = task.LOOKED_AT = 1 << 13
replay(sys.argv[1], "sold", silence=0 if sys.argv[3] else None, deadline=sys.argv[3] or None,
       window="20s").to_json()
status = open("/proc/self/status").read().split()
print(int(status[status.index("VmHWM:") + 1]) // 1024)
"""


def written(path: Path, rows: int, group: int = 1 << 13) -> Path:
    """Write clicks, one a second, whose sale is known after about a minute."""
    rng = np.random.default_rng(1)
    asked = 1.7e9 + np.arange(float(rows))
    size = rng.normal(size=rows)
    sold = (rng.random(rows) < 1.0 / (1.0 + np.exp(1.0 - size))).astype(np.float64)
    times = [
        (1e9 * column).astype(np.int64).view("M8[ns]")
        for column in (asked, asked + rng.exponential(60.0, rows))
    ]
    shop = pa.array(np.char.add("s", rng.integers(0, 30, rows).astype(str)))
    lost = (rng.random(rows) < 0.1) | (sold == 0.0)
    table = {
        "asked_at": times[0],
        "answered_at": pa.array(times[1], mask=lost),
        "size": size,
        "shop": shop,
        "sold": pa.array(sold, mask=lost),
    }
    parquet.write_table(pa.table(table), path, row_group_size=group)
    return path


def peak(path: Path, scale: str, deadline: str) -> int:
    """Return how many MiB a process of its own needs to replay a file."""
    line = [sys.executable, "-c", MEASURED, str(path), scale, deadline]
    return int(subprocess.run(line, capture_output=True, text=True, check=True).stdout)


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    ("few", "many", "scale", "most"),
    [
        (40_000, 240_000, "small", 25),
        pytest.param(200_000, 2_000_000, "usual", 500, marks=pytest.mark.slow),
    ],
)
def test_memory_does_not_grow_with_the_log(
    few: int, many: int, scale: str, most: int, tmp_path: Path
) -> None:
    """With blocks of the usual size, a log of 0.2 million rows fills only some of them."""
    needed = [
        peak(written(tmp_path / f"{rows}.parquet", rows), scale, "2min") for rows in (few, many)
    ]
    assert needed[1] - needed[0] < most
    assert needed[1] < 1_000


def test_small_blocks_give_the_same_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "log.parquet", 700, group=100)
    whole = replay(read(path, target="sold", features="all"), silence=0, deadline="2min")
    monkeypatch.setattr(columns, "PART", 64)
    for module in (task, contenders):
        monkeypatch.setattr(module, "ROWS", 128)
    parts = replay(path, "sold", silence=0, deadline="2min")
    assert list(parts.methods) == list(whole.methods)
    for name, method in whole.methods.items():
        assert parts.methods[name].predictions.tolist() == method.predictions.tolist()
        assert parts.methods[name].mean_loss == pytest.approx(method.mean_loss, rel=1e-12)
        assert parts.scores[name] == pytest.approx(whole.scores[name], rel=1e-9)
        assert parts.curves[name].windowed == pytest.approx(whole.curves[name].windowed)
    assert parts.task.begun == whole.task.begun
    assert parts.model.report() == whole.model.report()
    shares = [(part.value, part.count) for part in whole.slices["shop"]]
    assert [(part.value, part.count) for part in parts.slices["shop"]] == shares


def test_a_file_in_another_order_is_sorted_first(tmp_path: Path) -> None:
    path = written(tmp_path / "log.parquet", 300)
    table = parquet.read_table(path)
    other = tmp_path / "shuffled.parquet"
    parquet.write_table(table.take(np.random.default_rng(0).permutation(300)), other)
    found, again = (replay(name, "sold", silence=0, deadline="2min") for name in (path, other))
    for name, method in found.methods.items():
        assert again.methods[name].predictions.tolist() == method.predictions.tolist()


@given(st.lists(st.floats(-5.0, 5.0).map(lambda x: round(x, 1)), min_size=1, max_size=80))
def test_ranks_are_those_of_a_sort(values: list[float]) -> None:
    array = np.array(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "PART", 8)
        ranks = np.arange(len(array))
        assert columns.at_ranks(array, ranks).tolist() == np.sort(array).tolist()
        weights = np.arange(1.0, len(array) + 1.0)
        found = measures.auc(array, array % 0.2, weights)
    assert found == pytest.approx(measures.auc(array, array % 0.2, weights), nan_ok=True)


@given(st.integers(0, 1000), st.integers(1, 40))
def test_feeds_in_parts_are_those_of_the_whole(seed: int, size: int) -> None:
    """Also with many events at one time."""
    rng = np.random.default_rng(seed)
    asked = np.sort(rng.integers(0, 40, 60)).astype(np.float64)
    due = asked + rng.integers(0, 20, 60)
    is_told = rng.random(60) < 0.7
    answered_at = np.where(is_told, due, np.nan)
    labels = rng.random(60)
    whole = Feeder().feed(asked, due, is_told, labels, labels, is_last=True)
    feeder, mean = Feeder(), RunningMean()
    events: list[int] = []
    means: list[float] = []
    for start in range(0, 60, size):
        rows = slice(start, start + size)
        part = feeder.feed(asked[rows], due[rows], is_told[rows], labels[rows], labels[rows])
        events += part.events.tolist()
        means += mean.predict(Arrivals(asked[rows], labels[rows], answered_at[rows])).tolist()
    rest = feeder.feed(asked[:0], due[:0], is_told[:0], labels[:0], labels[:0], is_last=True)
    assert events + rest.events.tolist() == whole.events.tolist()
    assert means == Arrivals(asked, labels, answered_at).running_mean().tolist()
