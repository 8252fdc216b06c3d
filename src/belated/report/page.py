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
from string import Template
from typing import Any

from belated.charts import CONFIG, DARK, packed_script
from belated.errors import BelatedError, MissingExtra
from belated.report.contents import Entry, Page, Table
from belated.report.figures import Figure
from belated.report.plain import NOT_AVAILABLE, plain
from belated.report.vega import chart_of, note_of

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
    numbers = "".join(
        f"<div><dt>{escape(what)}</dt><dd>{escape(number)}</dd></div>"
        for number, what in page.numbers
    )
    links = "\n".join(
        f'<li><a href="#section-{i}">{escape(section.question)}</a></li>'
        for i, section in enumerate(page.sections, start=1)
    )
    has_contents = len(page.sections) >= LEAST_FOR_CONTENTS
    return Template(_own("page.html")).substitute(
        title=escape(page.title),
        style=_own("page.css"),
        # A title is broken, if it must be, behind the signs of a file name.
        heading=re.sub(r"([_./-])(?=\w)", r"\1<wbr>", escape(page.title)),
        numbers=f'<dl class="numbers">{numbers}</dl>' if numbers else "",
        lead=_paragraphs(page.lead, ' class="lead"'),
        contents=f'<nav aria-label="Contents"><ol>{links}</ol></nav>' if has_contents else "",
        sections="\n".join([*_sections(page), _about(page)]),
        scripts="\n".join(_scripts(page)),
    )


def _sections(page: Page) -> Iterable[str]:
    """Return all sections; the first figures have images, until these fill their room."""
    room = IMAGES
    for i, section in enumerate(page.sections, start=1):
        image = embedded(section.figure) if section.figure is not None and room > 0 else ""
        room -= len(image)
        parts = [_paragraphs(section.says)]
        if section.figure is not None:
            parts.insert(0, _figure(section.figure, section.says, i, image if room > 0 else ""))
        if section.table is not None:
            parts.append(_table(section.table, section.question))
        yield _section(f"section-{i}", section.question, parts)


def _about(page: Page) -> str:
    """Return what to type for the same page, and what it was made from."""
    facts = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in page.facts.items())
    typed = f'<pre tabindex="0"><code>{escape(page.reproduce)}</code></pre>'
    question = "How to get this page again" if page.reproduce else "About this page"
    parts = [typed if page.reproduce else "", f"<dl>{facts}</dl>" if facts else ""]
    return _section("reproduce", question, parts)


def _section(name: str, question: str, parts: list[str]) -> str:
    """Return a section; its heading is a link to itself, so that the keyboard reaches it."""
    heading = f'<h2 id="{name}"><a href="#{name}">{escape(question)}</a></h2>'
    body = "\n".join([heading, *filter(None, parts)])
    return f'<section aria-labelledby="{name}">\n{body}\n</section>'


def _paragraphs(text: str, attributes: str = "") -> str:
    """Return text as paragraphs, which are parted by empty lines."""
    parts = (part.strip() for part in text.split("\n\n"))
    return "\n".join(f"<p{attributes}>{_kept(escape(part))}</p>" for part in parts if part)


def _kept(text: str) -> str:
    """Return text in which numbers and their units stay on one line."""
    return re.sub(r"(\d) (%|[mun]?s|min|h|days?)(?!\w)", "\\1\N{NO-BREAK SPACE}\\2", text)


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
    heads, cells = [], []
    for i, (name, column) in enumerate(zip(table.columns, columns, strict=True)):
        is_text = any(isinstance(cell, str) for cell in column) or not any(
            cell is not None for cell in column
        )
        kind = "" if is_text else ' class="number"'
        heads.append(f'<th scope="col"{kind}>{escape(name)}</th>')
        if not is_text:
            cells.append([f"<td{kind}>{text}</td>" for text in _number_cells(column)])
            continue
        texts = [escape(_text(cell)) for cell in column]
        if i == 0:  # a text in front is the heading of its row
            cells.append([f'<th scope="row">{text}</th>' for text in texts])
        else:
            long = ' class="long"'
            cells.append([f"<td{long if len(text) > LONG else ''}>{text}</td>" for text in texts])
    rows = "\n".join(f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True))
    label, caption = escape(table.caption or f"Table: {question}"), escape(table.caption)
    return f"""<figure class="table">
{f"<figcaption>{caption}</figcaption>" if caption else ""}
<div class="scroll" tabindex="0" role="region" aria-label="{label}">
<table aria-label="{label}">
<thead><tr>{"".join(heads)}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>
</figure>"""


def _text(cell: Entry) -> str:
    if cell is None:
        return NOT_AVAILABLE
    return cell if isinstance(cell, str) else plain(cell)


def _number_cells(column: Sequence[Entry]) -> list[str]:
    """Return numbers whose decimal points stand below each other."""
    parted = [_text(cell).partition(".") for cell in column]
    room = max((1 + len(fraction) for _, _, fraction in parted if fraction), default=0)
    return [
        f'{whole}<span class="rest" style="width: {room}ch">{point}{fraction}</span>'
        if room and whole != NOT_AVAILABLE
        else whole
        for whole, point, fraction in parted
    ]
