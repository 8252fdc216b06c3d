"""The adaptive wait of linear models, with a shorter least wait, so that short tests reach it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock


@contextmanager
def least_wait(predictions: int) -> Iterator[None]:
    """Let models that are made or restored here wait at least so many predictions."""
    with mock.patch("belated.models.linear.settings.LEAST_WAIT", predictions):
        yield
