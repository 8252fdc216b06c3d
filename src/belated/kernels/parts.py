"""Where parts declare themselves: what a spec is called, its code, and its leaves.

A table has one line per part. Switches, codes of programs and the tests are derived from it, so a
part that has no line is an error wherever it is met, and never something else by accident.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from belated.errors import SpecError

Leaf = Callable[..., Any]


class Part:
    """One part: the kind of its spec, its code (for ever, as snapshots hold it), its leaves."""

    def __init__(self, kind: str, code: int, **leaves: Leaf) -> None:
        self.kind = kind
        self.code = code
        self.leaves = leaves


class Parts:
    """All parts that one slot of ``code`` can choose.

    >>> colours = Parts("colour", Part("Red", 0, mix=max), Part("Blue", 1, mix=min))
    >>> colours.code("Blue"), colours.choices("mix")[0] is max
    (1, True)
    >>> colours.code("Green")
    Traceback (most recent call last):
    belated.errors.SpecError: no kernel is known for the colour Green; known are Red, Blue
    """

    def __init__(self, what: str, *parts: Part) -> None:
        self._what = what
        self._by_kind = {part.kind: part for part in parts}
        if len({part.code for part in parts}) < len(parts) or len(self._by_kind) < len(parts):
            raise ValueError(f"two parts of the table for {what} have the same code or kind")

    def __iter__(self) -> Iterator[Part]:
        """Go through the table."""
        return iter(self._by_kind.values())

    def code(self, kind: str) -> int:
        """Return the code of a kind of spec."""
        if kind not in self._by_kind:
            raise SpecError(
                f"no kernel is known for the {self._what} {kind}; known are "
                f"{', '.join(self._by_kind)}"
            )
        return self._by_kind[kind].code

    def choices(self, leaf: str) -> dict[int, Leaf]:
        """Return one leaf of every part that has it, by code."""
        return {part.code: part.leaves[leaf] for part in self if leaf in part.leaves}
