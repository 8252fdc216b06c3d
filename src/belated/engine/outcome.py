"""The outcome of one job."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar

Job = TypeVar("Job")
Work: TypeAlias = Callable[[Job], Mapping[str, Any]]
"""The function that does every job; a method or a function of a module, so that it can travel."""


class Outcome(NamedTuple):
    """The results of a job, or the reason why there are none."""

    results: Mapping[str, Any] | None
    failure: str = ""
    """Kind and message of the error."""
    details: str = ""
    """Where it happened."""


def outcome_of(work: Work[Job], job: Job) -> Outcome:
    """Do one job; whatever goes wrong in it is its own."""
    try:
        return Outcome(work(job))
    except (Exception, SystemExit) as error:  # of user code, too
        return Outcome(None, f"{type(error).__name__}: {error}", traceback.format_exc())
