"""The base of all findings about a log: words, numbers, and a page."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

from belated.report.contents import Page


class Finding:
    """A finding about a log; a subclass has its own words, numbers and page."""

    def summary(self) -> str:
        """Return the finding in words, for a terminal."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        raise NotImplementedError

    def _page(self, command: str) -> Page:
        raise NotImplementedError

    def page(self, path: str | PathLike[str], *, command: str = "") -> None:
        """Write the finding as one HTML page (``belated[report]``), with what was typed."""
        from belated.report.page import write_page

        write_page(path, self._page(command))

    def _repr_html_(self) -> str:
        raise NotImplementedError

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the finding for notebooks: its table and the first figures of its page."""
        from belated.report.page import figures_html

        figures = figures_html(self._page(""))
        return {"text/plain": repr(self), "text/html": self._repr_html_() + figures}

    def to_json(self, indent: int | None = None) -> str:
        """Return the numbers as JSON."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def __str__(self) -> str:
        """Return the summary."""
        return self.summary()
