"""Notebooks without Jupyter; ``python tests/notebooks.py PATH`` writes what the cells print."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def run(notebook: dict[str, Any]) -> list[str]:
    """Run all cells in one namespace, and return what each cell with code prints."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
            printed.append(said.getvalue())
    return printed


def shown(notebook: dict[str, Any]) -> list[str]:
    """Return what the notebook shows below each cell with code."""
    cells = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return ["".join(line for each in outputs for line in each["text"]) for outputs in cells]


def written(notebook: dict[str, Any]) -> str:
    """Return the text of a notebook with what its cells print."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, text) in enumerate(zip(cells, run(notebook), strict=True), start=1):
        lines = text.splitlines(keepends=True)
        stream = {"name": "stdout", "output_type": "stream", "text": lines}
        cell["execution_count"], cell["outputs"] = number, [stream] if lines else []
    return json.dumps(notebook, indent=1) + "\n"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written(json.loads(path.read_text())))
