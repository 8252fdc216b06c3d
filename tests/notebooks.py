"""Notebooks without Jupyter; ``python tests/notebooks.py PATH`` writes what the cells print."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

from belated.charts import Chart


def run(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Run all cells in one namespace, and return the outputs of each cell with code."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree, last, text = ast.parse("".join(cell["source"])), None, io.StringIO()
        if isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
        with contextlib.redirect_stdout(text):
            exec(compile(tree, cell["id"], "exec"), names)
            value = eval(compile(last, cell["id"], "eval"), names) if last else None
        lines = text.getvalue().splitlines(keepends=True)
        outputs: list[dict[str, Any]] = []
        if lines:
            outputs = [{"name": "stdout", "output_type": "stream", "text": lines}]
        if isinstance(value, Chart):
            data = {"image/svg+xml": value.image().decode(), "text/plain": type(value).__name__}
            outputs += [{"data": data, "metadata": {}, "output_type": "display_data"}]
        found.append(outputs)
    return found


def texts(cells: list[list[dict[str, Any]]]) -> list[str]:
    """Return the text of each cell: printed lines, and figures by their short description."""
    return [
        "".join(
            "".join(each.get("text", ())) + each.get("data", {}).get("text/plain", "")
            for each in outputs
        )
        for outputs in cells
    ]


def shown(notebook: dict[str, Any]) -> list[str]:
    """Return the text below each cell with code, as the notebook has it."""
    return texts([cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"])


def written(notebook: dict[str, Any]) -> str:
    """Return the text of a notebook with the outputs of its cells."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(cells, run(notebook), strict=True), start=1):
        cell["execution_count"], cell["outputs"] = number, outputs
    return json.dumps(notebook, indent=1) + "\n"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written(json.loads(path.read_text())))
