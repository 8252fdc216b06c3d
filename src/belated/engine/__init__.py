"""Many independent jobs: in turn, in threads, in processes, or on a Ray cluster.

All engines give the same outcomes; only their order differs.
"""

from __future__ import annotations

from belated.engine.outcome import Outcome
from belated.engine.progress import Progress, progress_bar, row_counter
from belated.engine.run import Engine, check_engine, run_jobs

__all__ = [
    "Engine",
    "Outcome",
    "Progress",
    "check_engine",
    "progress_bar",
    "row_counter",
    "run_jobs",
]
