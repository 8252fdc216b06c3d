"""A page as one HTML file that needs nothing else: no network, no other files.

Figures are interactive where scripts run. Where they do not, and on paper, the page shows the same
figures as images; a page with very many figures prints the last ones as they are on the screen.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from contextlib import suppress
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from belated.charts import CONFIG, DARK, packed_script
from belated.errors import BelatedError, MissingExtra
from belated.report.contents import Entry, Page, Section, Table
from belated.report.figures import Figure
from belated.report.plain import NOT_AVAILABLE, plain
from belated.report.vega import chart_of, note_of

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
"""What browsers may load for the page: only what is inside it."""
LONG = 40
"""Letters from which on a cell needs a wide column."""
IMAGES = 300_000
"""Most bytes of all images in a page, which the scripts replace."""
IN_NOTEBOOKS = 2
"""Most figures of a report in a notebook."""
LEAST_FOR_CONTENTS = 3
"""Sections from which on a list of contents helps."""


def write_page(path: str | PathLike[str], page: Page) -> None:
    """Write a page into one file, which works from any place, also without a network.

    Needs vl-convert-python, the ``report`` extra, where the page has figures.
    """
    text = to_html(page)
    target = Path(path)
    unfinished = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(target)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise BelatedError(f"cannot write {target}: {error}") from error


def save_images(folder: str | PathLike[str], page: Page) -> list[Path]:
    """Write every figure of a page as PNG and SVG into a folder, and return the files."""
    home, written = Path(folder), []
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BelatedError(f"cannot write into {home}: {error}") from error
    for i, section in enumerate(page.sections, start=1):
        if section.figure is not None:
            for ending in ("png", "svg"):
                path = home / f"{i:02}-{file_name(section.figure.title)}.{ending}"
                chart_of(section.figure, titled=True).save(path)
                written.append(path)
    return written


def file_name(title: str) -> str:
    """Return a title as part of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].rstrip("-") or "figure"


def to_html(page: Page) -> str:
    """Return the page as HTML."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            _head(page),
            "<body>",
            '<a class="skip" href="#content">Skip to the content</a>',
            _header(page),
            '<main id="content">',
            *_sections(page),
            _reproduce(page),
            "</main>",
            *_scripts(page),
            "</body>",
            "</html>\n",
        ]
    )


def _head(page: Page) -> str:
    return f"""<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(page.title)}</title>
<style>
{_own("page.css")}</style>
</head>"""


def _header(page: Page) -> str:
    parts = ["<header>", f"<h1>{_parted(page.title)}</h1>"]
    if page.numbers:
        shown = [
            f"<div><dt>{escape(what)}</dt><dd>{escape(number)}</dd></div>"
            for number, what in page.numbers
        ]
        parts += ['<dl class="numbers">', *shown, "</dl>"]
    parts.append(_paragraphs(page.lead, ' class="lead"'))
    if len(page.sections) >= LEAST_FOR_CONTENTS:
        links = [
            f'<li><a href="#section-{i}">{escape(section.question)}</a></li>'
            for i, section in enumerate(page.sections, start=1)
        ]
        parts += ['<nav aria-label="Contents">', "<ol>", *links, "</ol>", "</nav>"]
    return "\n".join([*parts, "</header>"])


def _sections(page: Page) -> Iterable[str]:
    """Return all sections; the first figures have images, until these fill their room."""
    room = IMAGES
    for i, section in enumerate(page.sections, start=1):
        image = embedded(section.figure) if section.figure is not None and room > 0 else ""
        room -= len(image)
        yield _section(section, i, image if room > 0 else "")


def _section(section: Section, i: int, image: str) -> str:
    """Return the question, the figure, what it says, and the table."""
    parts = [f'<section aria-labelledby="section-{i}">', _heading(section.question, f"section-{i}")]
    if section.figure is not None:
        parts.append(_figure(section.figure, section.says, i, image))
    parts.append(_paragraphs(section.says))
    if section.table is not None:
        parts.append(_table(section.table, section.question))
    return "\n".join([*parts, "</section>"])


def _heading(text: str, name: str) -> str:
    """Return a heading that is a link to itself, so that the keyboard reaches it."""
    return f'<h2 id="{name}"><a href="#{name}">{escape(text)}</a></h2>'


def _paragraphs(text: str, attributes: str = "") -> str:
    """Return text as paragraphs, which are parted by empty lines."""
    parts = (part.strip() for part in text.split("\n\n"))
    return "\n".join(f"<p{attributes}>{_kept(escape(part))}</p>" for part in parts if part)


def _kept(text: str) -> str:
    """Return text in which numbers and their units stay on one line."""
    return re.sub(r"(\d) (%|[mun]?s|min|h|days?)(?!\w)", "\\1\N{NO-BREAK SPACE}\\2", text)


def _parted(title: str) -> str:
    """Return a title that is broken, if it must be, behind the signs of a file name."""
    return re.sub(r"([_./-])(?=\w)", r"\1<wbr>", escape(title))


# ---- figures -----------------------------------------------------------------------------------


def _figure(figure: Figure, says: str, i: int, image: str) -> str:
    """Return the title, the place for the interactive figure, its image, and the note."""
    title, label = _kept(escape(figure.title)), escape(f"{figure.title}. {says}")
    note = note_of(figure)
    parts = [
        f'<figure class="chart" id="figure-{i}">',
        f"<figcaption>{title}</figcaption>",
        f'<div class="scroll" tabindex="0" role="group" aria-label="{title}">',
        f'<div class="plot" role="img" aria-label="{label}"></div>',
        "</div>",
        f'<img alt="{label}" src="{image}">' if image else "",
        f'<p class="note">{escape(note)}</p>' if note else "",
        "</figure>",
    ]
    return "\n".join(filter(None, parts))


def embedded(figure: Figure) -> str:
    """Return the figure as the address of an image that holds it."""
    return f"data:image/svg+xml;base64,{b64encode(chart_of(figure).image()).decode('ascii')}"


def figures_html(page: Page) -> str:
    """Return the first figures of a page for notebooks, or nothing where they cannot be drawn."""
    shown = [section.figure for section in page.sections if section.figure is not None]
    parts = []
    with suppress(MissingExtra):
        for figure in shown[:IN_NOTEBOOKS]:
            title = escape(figure.title)
            image = f'<img alt="{title}" src="{embedded(figure)}">'
            parts.append(f"<figure><figcaption><b>{title}</b></figcaption>{image}</figure>")
    return "".join(parts)


def script() -> str:
    """Return what draws figures in a browser; the page unpacks it."""
    return b64encode(packed_script()).decode("ascii")


def _scripts(page: Page) -> Iterable[str]:
    """Return the figures as data, and what draws them; nothing where there are none."""
    figures = {
        f"figure-{i}": {k: v for k, v in chart_of(section.figure).spec.items() if k != "config"}
        for i, section in enumerate(page.sections, start=1)
        if section.figure is not None
    }
    if figures:
        yield _data("figures", figures)
        yield _data("style", {"config": CONFIG, "dark": DARK})
        yield f'<script type="text/plain" id="vega">{script()}</script>'
        yield f"<script>\n{_own('page.js')}</script>"


def _data(name: str, value: Any) -> str:
    """Return data for the scripts, in which no text can end or open an element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _own(name: str) -> str:
    return files("belated.report").joinpath(name).read_text(encoding="utf-8")


# ---- tables ------------------------------------------------------------------------------------


def _table(table: Table, question: str) -> str:
    """Return a table that scrolls by itself where the screen is too narrow."""
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    kinds = [_is_numeric(column) for column in columns]
    cells = [
        _number_cells(column) if numeric else [_text_cell(cell) for cell in column]
        for column, numeric in zip(columns, kinds, strict=True)
    ]
    heads = [
        f'<th scope="col"{_class(numeric)}>{escape(name)}</th>'
        for name, numeric in zip(table.columns, kinds, strict=True)
    ]
    rows = [f"<tr>{_row(row, kinds)}</tr>" for row in zip(*cells, strict=True)]
    label = escape(table.caption or f"Table: {question}")
    parts = [
        '<figure class="table">',
        f"<figcaption>{escape(table.caption)}</figcaption>" if table.caption else "",
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">',
        f'<table aria-label="{label}">',
        f"<thead><tr>{''.join(heads)}</tr></thead>",
        "<tbody>",
        *rows,
        "</tbody>",
        "</table>",
        "</div>",
        "</figure>",
    ]
    return "\n".join(filter(None, parts))


def _row(cells: Sequence[str], kinds: list[bool]) -> str:
    """Return the cells of a row; a text in front is its heading."""
    texts = [
        f"<td{_class(numeric) or _breadth(cell)}>{cell}</td>"
        for cell, numeric in zip(cells, kinds, strict=True)
    ]
    if not kinds[0]:
        texts[0] = f'<th scope="row">{cells[0]}</th>'
    return "".join(texts)


def _breadth(cell: str) -> str:
    """Return the mark of a text that would be squeezed in a narrow column."""
    return ' class="long"' if len(cell) > LONG else ""


def _class(numeric: bool) -> str:
    return ' class="number"' if numeric else ""


def _is_numeric(column: Iterable[Entry]) -> bool:
    known = [cell for cell in column if cell is not None]
    return bool(known) and not any(isinstance(cell, str) for cell in known)


def _text_cell(cell: Entry) -> str:
    if cell is None:
        return NOT_AVAILABLE
    return escape(cell if isinstance(cell, str) else plain(cell))


def _number_cells(column: Iterable[Entry]) -> list[str]:
    """Return numbers whose decimal points stand below each other."""
    texts = [NOT_AVAILABLE if cell is None else _text_cell(cell) for cell in column]
    fractions = [text.partition(".")[2] for text in texts]
    room = max((1 + len(fraction) for fraction in fractions if fraction), default=0)
    if not room:
        return texts
    cells = []
    for text, fraction in zip(texts, fractions, strict=True):
        if text == NOT_AVAILABLE:
            cells.append(text)
            continue
        whole = text.removesuffix(f".{fraction}") if fraction else text
        rest = f".{fraction}" if fraction else ""
        cells.append(f'{whole}<span class="rest" style="width: {room}ch">{rest}</span>')
    return cells


# ---- the end of the page -----------------------------------------------------------------------


def _reproduce(page: Page) -> str:
    facts = [f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in page.facts.items()]
    typed = f'<pre tabindex="0"><code>{escape(page.reproduce)}</code></pre>'
    parts = [
        '<section aria-labelledby="reproduce" class="reproduce">',
        _heading(
            "How to get this page again" if page.reproduce else "About this page", "reproduce"
        ),
        *([typed] if page.reproduce else []),
        *(["<dl>", *facts, "</dl>"] if facts else []),
        "</section>",
    ]
    return "\n".join(parts)
