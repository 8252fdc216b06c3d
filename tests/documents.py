"""What the pages of the documentation hold, and how their code is run.

A page is run from top to bottom as a reader would: one namespace, which is empty at first, in one
folder, where the logs lie that a reader is taken to have (:func:`lay_out_logs`). Examples of the
README each have a namespace of their own.

* A ``python`` block runs as it stands. A comment behind a ``print`` is what it prints.
* A line of an ``sh`` block is a command of belated, and runs too.
* A ``text`` block right below is what the block above prints; ``...`` stands for anything.
* Code that says ``(network)`` or ``(minutes)``, or more words between these parentheses, in a
  comment is not run.
"""

from __future__ import annotations

import contextlib
import csv
import doctest
import io
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from belated import cli

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
LANGUAGES = {"python", "sh", "text", "toml", "json"}
LEFT_OUT = re.compile(r"#.*\([^)]*\b(network|minutes)\b[^)]*\)")

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SHOWN = re.compile(r"^ *print\(.*\)  # (?P<said>.*)$")
_LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A piece of a page between fences."""

    language: str
    text: str
    line: int
    """Line of the page on which the text begins, from 1 on."""
    output: str | None
    """What the block says that it prints."""


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, in order, each with the output that is shown below it."""
    text, found = page.read_text(), list(_FENCE.finditer(page.read_text()))
    taken = []
    for place, one in enumerate(found):
        after = found[place + 1] if place + 1 < len(found) else None
        output = None
        if after and after[1] == "text" and not text[one.end() : after.start()].strip():
            output = after[2]
        taken.append(Block(one[1], one[2], text.count("\n", 0, one.start(2)) + 1, output))
    return taken


def run(page: Path, folder: Path) -> None:
    """Run all code of a page in a folder, and compare what it prints with what the page shows."""
    lay_out_logs(folder)
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        for block in blocks(page):
            if page.name == "README.md":
                names = {"__name__": "__main__"}
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                if block.language == "python":
                    _run_python(block, page, names)
                elif block.language == "sh":
                    _run_commands(block, page)
            if block.output is not None:
                _compare(block.output, said.getvalue(), f"{page.name}:{block.line}")


def _run_python(block: Block, page: Path, names: dict[str, Any]) -> None:
    if LEFT_OUT.search(block.text):
        return
    printed: dict[int, str] = {}

    def show(*things: Any, **how: Any) -> None:
        one = io.StringIO()
        print(*things, file=one, **how)
        printed[sys._getframe(1).f_lineno] = one.getvalue()
        sys.stdout.write(one.getvalue())

    code = "\n" * (block.line - 1) + block.text
    names["print"] = show
    exec(compile(code, str(page), "exec", dont_inherit=True), names)
    for line, text in enumerate(code.splitlines(), start=1):
        if (shown := _SHOWN.match(text)) is not None:
            _compare(shown["said"] + "\n", printed[line], f"{page.name}:{line}")


def _run_commands(block: Block, page: Path) -> None:
    for line in block.text.splitlines():
        words = shlex.split(line, comments=True)
        if words and not LEFT_OUT.search(line):
            assert words[0] == "belated", f"{page.name}: cannot run {line!r}"
            assert cli.main(words[1:]) == 0, f"{page.name}: {line!r} failed"


def _compare(shown: str, printed: str, where: str) -> None:
    agree = doctest.OutputChecker().check_output(shown, printed, _LOOSE)
    assert agree, f"{where} shows\n{shown}and prints\n{printed}"


def lay_out_logs(folder: Path) -> None:
    """Write the logs that commands in the pages are given."""
    calls, clicks, sales = [], [], []
    for i in range(60):
        asked, wait, hour = f"2026-03-{1 + i // 8:02}T{10 + i % 8}:00", 1 + 5 * i % 9, 10 + i % 8
        answered = f"2026-03-{1 + i // 8 + wait // 4:02}T{10 + i % 8}:30" if i % 11 else ""
        town = ("Bonn", "Lyon", "Porto")[i % 3]
        calls.append([asked, answered, town, hour, 20.0 * wait + hour if answered else ""])
        outcome = ("bought", "left")[wait % 2] if answered else ""
        clicks.append([asked, answered, town, hour, outcome])
        sold = outcome == "bought"
        sales.append([asked, answered if sold else "", town, hour, int(sold) or ""])
    for name, last, rows in (
        ("calls", "duration", calls),
        ("clicks", "outcome", clicks),
        ("sales", "sold", sales),
    ):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["asked_at", "answered_at", "town", "hour", last], *rows])
    _lay_out_orders(folder / "orders.csv")
    _as_parquet(folder / "calls.csv")
    (folder / "calls").mkdir(exist_ok=True)
    for month in ("2026-02", "2026-03"):
        (folder / "calls" / f"{month}.csv").write_text((folder / "calls.csv").read_text())
    _lay_out_visits(folder / "visits.csv")


def _lay_out_orders(path: Path) -> None:
    """Write orders, each with a name, a price with a decimal comma, and a day when it is due."""
    rows = []
    for i in range(60):
        asked, wait = f"2026-03-{1 + i // 8:02}T{10 + i % 8}:00", 1 + 5 * i % 9
        answered = f"2026-03-{1 + i // 8 + wait:02}T{10 + i % 8}:30" if i % 11 else ""
        price, due = f"{10 + 7 * i % 31},50", f"2026-03-{10 + i % 9}"
        days = wait + 0.5 if answered else ""
        rows.append([asked, answered, f"A-{1000 + i}", ("north", "south")[i % 2], price, due, days])
    names = ["asked_at", "answered_at", "order", "shop", "price", "due", "days"]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


def _lay_out_visits(path: Path) -> None:
    """Write decisions with their probabilities, and those of a new policy."""
    visits = []
    for i in range(120):
        shown, country = f"2026-03-{1 + i // 12:02}T{8 + i % 12:02}:00", ("PT", "NO")[i % 2]
        action, p = (("blue", 0.75), ("blue", 0.75), ("green", 0.25), ("blue", 0.75))[i % 4]
        later = f"2026-03-{1 + i // 12:02}T{8 + i % 12:02}:40" if i % 3 == 0 else ""
        new = (0.5, 0.5) if country == "PT" else (0.2, 0.8)
        visits.append([shown, country, action, p, 1 if later else "", later, *new])
    heads = ["shown_at", "country", "action", "probability", "bought", "bought_at"]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([[*heads, "new_blue", "new_green"], *visits])


def _as_parquet(path: Path) -> None:
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    parquet.write_table(arrow_csv.read_csv(path), path.with_suffix(".parquet"))
