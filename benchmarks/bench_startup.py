"""Start-up in fresh processes: importing, and the first event of each model, beyond NumPy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from statistics import quantiles
from time import perf_counter

from benchmarks.timing import Result, interleaved

LIMIT = 0.08
"""Most seconds beyond ``import numpy`` until the first event is done."""

BARE = "pass"
NUMPY = "import numpy"
IMPORT = "import belated"
FIRST_EVENTS = {
    "learner": """
learner = bl.Learner(bl.FirstOrder(bl.PFTRL(bl.Ball(10), bl.rates.DelayAdaptive(1.0))))
ticket, x = learner.predict()
learner.observe(ticket, 0.1 * x + 0.1)
""",
    "linear model": """
model = bl.LinearModel("logistic")
model.observe(model.predict({"hour": 9.0}).ticket, 1)
""",
    "chooser": """
chooser = bl.Chooser(["a", "b"])
chooser.observe(chooser.choose({"hour": 9.0}).ticket, 1.0)
""",
    "knobs": """
knobs = bl.Knobs({"price": (10, 200)})
knobs.observe(knobs.predict().ticket, 1.0)
""",
}


def run(code: str) -> None:
    """Run code in a fresh process."""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def seconds_beyond(code: str, base: str) -> list[float]:
    """Return by how much one program takes longer than another, for repeated pairs."""
    times = interleaved({"all": lambda: run(code), "base": lambda: run(base)}, 21, perf_counter)
    return [a - b for a, b in zip(times["all"], times["base"], strict=True)]


def result(name: str, seconds: list[float], limit: float) -> Result:
    """Return a figure in seconds against a limit."""
    low, middle, high = quantiles(seconds, n=4)
    return Result(
        name=name,
        ratio=middle / limit,
        target=1.0,
        ours=middle,
        floor=limit,
        unit="s",
        spread=(high - low) / 2.0 / middle,
    )


def main() -> Iterator[Result]:
    """Yield seconds against their limits."""
    yield result("import belated, over bare", seconds_beyond(IMPORT, BARE), 0.060)
    for name, event in FIRST_EVENTS.items():
        program = f"import numpy, belated as bl\n{event}"
        yield result(f"first event of a {name}", seconds_beyond(program, NUMPY), LIMIT)
