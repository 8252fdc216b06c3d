"""Start-up in fresh processes.

Importing; compiling a composition with an empty cache once numba itself is running; and the first
live round from nothing (imports included) with a warm cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from statistics import median, quantiles

from benchmarks.timing import Result

_IMPORT = "import belated"
_BARE = "pass"
_CALLS = """
learner = bl.Learner({spec})
ticket, x = learner.predict()
learner.observe(ticket, {answer})
print(time.perf_counter() - start)
"""
_FROM_NOTHING = "import time; start = time.perf_counter(); import belated as bl" + _CALLS
_NUMBA_RUNNING = (
    "import time, numba, belated as bl, belated.learner.learner; numba.njit(lambda x: x + 1)(1); "
    "start = time.perf_counter()" + _CALLS
)
_CASES = {
    "first order": (
        "bl.FirstOrder(bl.PFTRL(bl.Ball(10), bl.rates.DelayAdaptive(1.0)))",
        "0.1 * x + 0.1",
    ),
    "one point": (
        "bl.OnePoint(bl.PFTRL(bl.Box(0.0, 1.0, dim=10), bl.rates.DelayAdaptive(1.0)), 1.0)",
        "0.5",
    ),
    "largest": (
        "bl.Skip(bl.OnePoint(bl.PFTRL(bl.L1Ball(10), bl.rates.StronglyConvex(1.0, 2.0)), 1.0, "
        "baseline='mean'))",
        "0.5",
    ),
}


def _run(code: str, cache: str) -> float:
    """Return the seconds that a fresh process prints, or its whole time when it prints none."""
    from time import perf_counter

    start = perf_counter()
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    whole = perf_counter() - start
    return float(result.stdout) if result.stdout.strip() else whole


def _result(name: str, seconds: list[float], limit: float) -> Result:
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


def main() -> list[Result]:
    """Return seconds against the limits: 60 ms, 0.7 s and 4 s."""
    results = []
    with tempfile.TemporaryDirectory() as cache:
        pairs = [(_run(_IMPORT, cache), _run(_BARE, cache)) for _ in range(21)]
        bare = median(b for _, b in pairs)
        results.append(_result("import belated, over bare", [a - bare for a, _ in pairs], 0.060))
        for name, (spec, answer) in _CASES.items():
            cold = _NUMBA_RUNNING.format(spec=spec, answer=answer)
            colds = []
            for _ in range(5):
                with tempfile.TemporaryDirectory() as empty:
                    colds.append(_run(cold, empty))
            results.append(_result(f"cold compile, numba running, {name}", colds, 4.0))
            warm = _FROM_NOTHING.format(spec=spec, answer=answer)
            _run(warm, cache)
            warms = [_run(warm, cache) for _ in range(9)]
            results.append(_result(f"first call from nothing, warm, {name}", warms, 0.7))
    return results
