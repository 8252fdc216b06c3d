"""Messages of a command beside its results, such as that a disk is full."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def notices() -> Iterator[None]:
    """Show on a terminal what belated logs; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield
        return
    logger, handler = logging.getLogger("belated"), _Lines(logging.INFO)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


PAUSE = 3.0
"""Seconds after which a message is worth repeating."""


class _Lines(logging.Handler):
    """Writes messages on lines of their own; one that comes again and again, now and then."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._said: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message to where errors go now: a progress bar may have put itself there."""
        text, now = record.getMessage(), time.monotonic()
        if now - self._said.get(text, -PAUSE) >= PAUSE:
            self._said[text] = now
            # From the start of the line, on which there may be a word on progress.
            print(f"\rbelated: {text}", file=sys.stderr, flush=True)
