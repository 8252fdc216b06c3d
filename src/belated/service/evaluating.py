"""What other policies would have earned in the choices of a model, over HTTP."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from belated.errors import LogError, SpecError
from belated.evaluations import evaluate
from belated.service import bodies
from belated.service.limits import Limits
from belated.service.refusals import Refused
from belated.service.served import Served
from belated.store import Store


class Evaluations:
    """Evaluates one log at a time.

    It has a thread of its own: what waits for it must not take those that bring models back.
    """

    def __init__(self, store: Store, limits: Limits) -> None:
        self._store, self._limits = store, limits
        self._pool = ThreadPoolExecutor(1, "belated-evaluate")

    async def of(self, served: Served) -> dict[str, Any]:
        """Return what ``bl.evaluate`` says of a chooser, as plain data; it may take a while."""
        if served.kind != "Chooser":
            raise Refused(
                409,
                "no_such_verb",
                f"{served.name!r} is of kind {served.kind}, and chooses nothing",
            )
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._evaluated, served)

    def close(self) -> None:
        """Begin nothing more, and return when nothing is under way."""
        self._pool.shutdown(cancel_futures=True)

    def _evaluated(self, served: Served) -> dict[str, Any]:
        events, first, _ = served.stored.history
        if events - first > self._limits.evaluated:
            raise Refused(
                409,
                "log_too_long",
                f"the log has more than {self._limits.evaluated} events; export it, and "
                "evaluate the file",
            )
        settings = served.stored.read(lambda model: model.model.settings)
        deadline = settings.deadline
        if deadline is not None and served.reader.unit == bodies.PREDICTIONS:
            raise Refused(
                409,
                "cannot_evaluate",
                "the deadline is a number of predictions, and choices are evaluated by time; "
                "export the log, and evaluate the file with a deadline in time",
            )
        if deadline is not None and settings.needs_times:
            deadline = bodies.in_seconds(deadline)
        try:
            found = evaluate(
                self._store.log(served.name), silence=settings.silence, deadline=deadline
            )
        except (LogError, SpecError) as error:
            raise Refused(409, "cannot_evaluate", str(error)) from error
        return found.to_dict()
