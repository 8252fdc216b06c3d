"""What the pages about growth share: regret over something, and its exponents in a table."""

from __future__ import annotations

from collections.abc import Mapping

from belated.report import Lines, Section, Series, Table
from belated.research.study.contestants import Field
from belated.research.study.tables import (
    BAND,
    Column,
    Rows,
    by,
    growth,
    least,
    lines,
    means,
    quoted,
    where,
)


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


def growth_section(
    question: str,
    title: str,
    rows: Rows,
    x: tuple[str, str, str],
    field: Field,
    more: Mapping[str, Column],
    caption: str,
    *series: Series,
    says: str = "",
) -> Section:
    """Show regret over a column with a label and a symbol, and its exponent for every method.

    The table says what methods were told; ``more`` are further columns of it. The text names the
    method that loses least at the far end.
    """
    name, label, symbol = x
    end = max(row[name] for row in rows)
    last = means(where(rows, **{name: end}), "method")
    best = quoted(least(last, last.get))
    body = []
    for method, group in by(rows, "method").items():
        fit = growth(group, name, "regret")
        exponent = (None, None) if fit is None else (round(fit.slope, 3), _unbroken(fit.interval))
        body.append(
            (method, field[method].told, *exponent, *(cell(group) for cell in more.values()))
        )
    return Section(
        question=question,
        figure=regret_figure(title, rows, name, label, *series),
        says=f"At {symbol} = {end:,} the least regret is that of {best}.{says}",
        table=Table(
            columns=("method", "told in advance", f"exponent in {symbol}", "95%", *more),
            rows=tuple(body),
            caption=caption,
        ),
    )
