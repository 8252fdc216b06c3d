"""Plain text for a terminal, in colour where that is welcome."""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass
from typing import TextIO

from belated.report.terminal import WIDTH

_BOLD, _DIM, _CODE, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[0m"


@dataclass(frozen=True)
class Screen:
    """Where the story is written."""

    out: TextIO

    @property
    def is_coloured(self) -> bool:
        """Whether a person looks on and did not ask for plain text (no-color.org)."""
        return self.out.isatty() and not os.environ.get("NO_COLOR")

    def title(self, text: str) -> None:
        """Write a heading, set off by an empty line."""
        self._write("\n" + self._styled(_BOLD, text))

    def say(self, text: str) -> None:
        """Write a paragraph."""
        self._write(textwrap.fill(" ".join(text.split()), WIDTH))

    def code(self, source: str) -> None:
        """Write a line of Python that has just been run."""
        self._write(self._styled(_CODE, f"  >>> {source}"))

    def show(self, text: str) -> None:
        """Write lines as they are, indented; those that are too long are wrapped."""
        for line in text.splitlines():
            self._write(textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="  "))

    def event(self, what: str, text: str) -> None:
        """Write one thing that happened."""
        label = f"  {what:<10}"
        body = textwrap.fill(text, WIDTH - len(label), subsequent_indent=" " * len(label))
        self._write(self._styled(_DIM, label) + body)

    def progress(self, text: str) -> None:
        """Write over the current line; only for a person who looks on."""
        if self.out.isatty():
            self.out.write(f"\r\x1b[2K{text}")
            self.out.flush()

    def _styled(self, style: str, text: str) -> str:
        return f"{style}{text}{_PLAIN}" if self.is_coloured else text

    def _write(self, text: str) -> None:
        self.out.write(text + "\n")
        self.out.flush()
