"""What the server writes down of requests: lines of JSON, or lines for people.

Everything that came from outside is written as JSON has it, so that a line is always one line.
"""

from __future__ import annotations

import json
import logging
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal, Self, TextIO

Form = Literal["quiet", "text", "json"]


class AccessLog:
    """Writes to a stream; ``quiet`` writes nothing but failures of the server itself."""

    def __init__(self, form: Form = "quiet", stream: TextIO | None = None) -> None:
        self._form, self._stream = form, stream
        self.is_quiet = form == "quiet"
        """Whether requests are left out."""

    def write(self, what: str, **about: Any) -> None:
        """Write a line."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        if self._form == "json":
            line = json.dumps({"time": moment, "what": what, **about})
        else:
            said = " ".join(f"{name}={json.dumps(value)}" for name, value in about.items())
            line = f"{moment} {what} {said}"
        with suppress(OSError, ValueError):  # full, or closed: requests do not wait for a log
            print(line, file=self._stream or sys.stderr, flush=True)


class LogForwarder(logging.Handler):
    """Forwards warnings of the server library and of the store to the access log."""

    LOGGERS = ("uvicorn", "belated")

    def __init__(self, access_log: AccessLog) -> None:
        super().__init__(logging.WARNING)
        self._access_log = access_log
        self._before: dict[str, bool] = {}  # whether others wrote these lines too

    def __enter__(self) -> Self:
        """Listen, and let nobody else write these lines."""
        for name in self.LOGGERS:
            logger = logging.getLogger(name)
            logger.addHandler(self)
            self._before[name], logger.propagate = logger.propagate, False
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more, and leave everything as it was."""
        for name in self.LOGGERS:
            logger = logging.getLogger(name)
            logger.removeHandler(self)
            logger.propagate = self._before[name]

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        about = {"level": record.levelname.lower(), "by": record.name}
        if hasattr(record, "code"):  # of a refusal
            about["code"] = record.code
        if record.exc_info:
            about["trace"] = logging.Formatter().formatException(record.exc_info)
        self._access_log.write("logged", **about, message=record.getMessage())
