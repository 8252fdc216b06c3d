"""The engine of many machines: Ray."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from belated.engine.driver import AHEAD, drive
from belated.engine.outcome import Job, Outcome, Work, outcome_of
from belated.errors import MissingExtra


def on_ray(
    work: Work[Job], jobs: deque[Job], workers: int | None, address: str | None
) -> Iterator[tuple[Job, Outcome]]:
    """Do every job as a Ray task on one core; belated must be installed on all nodes."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("ray", extra="ray", where="the engine 'ray'") from error
    ours = not ray.is_initialized()
    if ours:
        ray.init(address=address, log_to_driver=False)
    try:
        task: Any = ray.remote(num_cpus=1)(outcome_of)
        shared = ray.put(work)
        ahead = workers or AHEAD * int(ray.cluster_resources().get("CPU", 1))

        def finished(handles: Sequence[Any]) -> list[tuple[Any, Outcome]]:
            done, _ = ray.wait(list(handles), num_returns=1)
            return [(handle, _fetched(handle)) for handle in done]

        yield from drive(jobs, {}, lambda job: task.remote(shared, job), finished, ahead)
    finally:
        if ours:
            ray.shutdown()


def _fetched(handle: Any) -> Outcome:
    """Return the outcome of a task; a lost worker or node is the failure of its job."""
    import ray

    try:
        outcome: Outcome = ray.get(handle)
    except ray.exceptions.RayError as error:
        return Outcome(None, f"{type(error).__name__}: {error}")
    return outcome
