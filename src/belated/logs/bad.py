"""Rows of a log that cannot be used: how many there are, the first of them, and why."""

from __future__ import annotations

from dataclasses import dataclass

SHOWN = 5
"""How many bad rows a message shows."""
LONGEST = 60
"""Characters of a value that a message shows."""


@dataclass(frozen=True)
class BadRow:
    """One row that cannot be used."""

    place: str
    """Where it stands: ``line 7`` of a text file, or ``row 5``, counted from 0."""
    column: str
    value: str
    reason: str

    def __str__(self) -> str:
        """Return the row on one line.

        >>> print(BadRow("line 7", "asked_at", "yesterday", "is no time"))
        line 7: asked_at = 'yesterday' is no time
        """
        if not self.column:
            return f"{self.place}: {self.reason}"
        value = self.value if len(self.value) <= LONGEST else f"{self.value[:LONGEST]}..."
        shown = repr(value) if self.value else "(empty)"
        return f"{self.place}: {self.column} = {shown} {self.reason}"


@dataclass(frozen=True)
class BadRows:
    """What was left out of a log: how many rows, and the first few of them.

    >>> bool(BadRows()), len(BadRows(2))
    (False, 2)
    """

    count: int = 0
    first: tuple[BadRow, ...] = ()

    def __len__(self) -> int:
        """Return the number of bad rows."""
        return self.count

    def __add__(self, other: BadRows) -> BadRows:
        """Return these and later ones."""
        return BadRows(self.count + other.count, (self.first + other.first)[:SHOWN])

    def __str__(self) -> str:
        """Return the count and the first rows, each on a line of its own."""
        lines = [f"{self.count:,} bad {'row' if self.count == 1 else 'rows'}"]
        lines += [f"  {row}" for row in self.first]
        if self.count > len(self.first):
            lines.append(f"  and {self.count - len(self.first):,} more")
        return "\n".join(lines)


NONE_BAD = BadRows()
