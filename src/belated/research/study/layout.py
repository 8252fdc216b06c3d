"""What the pages about growth share: regret over something, and its exponents in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from belated.report import Lines, Series, Table
from belated.research.study.contestants import Field
from belated.research.study.tables import BAND, Rows, by, growth, lines

Column = Callable[[Rows], float | None]
"""From the rows of one method to what stands in its cell."""


def regret_figure(
    title: str, rows: Rows, x: str, x_label: str, *more: Series, per: str = "method", note: str = ""
) -> Lines:
    """Draw regret over a column of the rows with a line per method, on logarithmic axes."""
    return Lines(
        title=title,
        x_label=x_label,
        y_label="regret",
        series=(*lines(rows, per, x, "regret"), *more),
        log_x=True,
        log_y=True,
        note=f"{BAND} {note}".strip(),
    )


def _unbroken(text: str) -> str:
    """Keep a short text on one line, where browsers would make its column narrow."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def growth_table(
    field: Field, rows: Rows, x: str, symbol: str, more: Mapping[str, Column], caption: str
) -> Table:
    """List methods with what they were told, the exponent of regret in ``x``, and more columns."""
    body = []
    for name, group in by(rows, "method").items():
        fit = growth(group, x, "regret")
        exponent = (None, None) if fit is None else (round(fit.slope, 3), _unbroken(fit.interval))
        body.append((name, field[name].told, *exponent, *(cell(group) for cell in more.values())))
    return Table(
        columns=("method", "told in advance", f"exponent in {symbol}", "95%", *more),
        rows=tuple(body),
        caption=caption,
    )
