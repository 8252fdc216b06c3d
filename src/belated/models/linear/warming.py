"""Have the memory of a model at hand before its time is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from belated.models.linear.model import LinearModel

PAGE = 4096
"""Bytes that systems hand out at a time, and only when they are first written."""


def touch(model: LinearModel) -> None:
    """Write something into every page of a model's memory, which changes nothing in it."""
    table = model._linear.experts.table
    some = table[:: PAGE // table.itemsize]
    some[:] = some.copy()
