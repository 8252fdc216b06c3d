"""Memory of open tickets at dimension 1000, for every reduction."""

from __future__ import annotations

import tracemalloc

import belated as bl
from benchmarks.timing import Result

TICKETS = 1_000_000
DIM = 1000


def specs() -> dict[str, bl.FirstOrder | bl.FullInformation | bl.OnePoint | bl.TwoPoint | bl.Skip]:
    """Return one spec per reduction."""
    base = bl.PFTRL(bl.Ball(DIM), bl.rates.DelayAdaptive(1.0))
    return {
        "FirstOrder": bl.FirstOrder(base),
        "FullInformation": bl.FullInformation(base),
        "OnePoint": bl.OnePoint(base, magnitude=1.0),
        "OnePoint with baseline": bl.OnePoint(base, magnitude=1.0, baseline="mean"),
        "TwoPoint": bl.TwoPoint(base),
        "Skip(FirstOrder)": bl.Skip(bl.FirstOrder(base)),
    }


def bytes_per_ticket(learner: bl.Learner, tickets: int) -> float:
    """Open tickets and return how many bytes each one keeps."""
    learner.predict()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(tickets):
        learner.predict()
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return held / tickets


def main() -> list[Result]:
    """Return bytes per ticket against 100."""
    results = []
    for name, spec in specs().items():
        held = bytes_per_ticket(bl.Learner(spec), TICKETS)
        results.append(
            Result(
                name=f"open ticket, dim {DIM}, {name}",
                ratio=held / 100.0,
                target=1.0,
                ours=held,
                floor=100.0,
                unit="bytes",
                spread=0.0,
            )
        )
    return results
