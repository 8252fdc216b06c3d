"""Start-up in fresh processes.

Importing; the first live round from nothing (imports included) with a warm cache; and, with an
empty cache once numba itself is running, how long it takes in processor seconds until a learner is
ready (predict, observe and cancel), until a first run and a first game are done on top, and until a
linear model is ready.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from statistics import median, quantiles
from time import perf_counter

from benchmarks.timing import Result

_IMPORT = "import belated"
_BARE = "pass"
_CALLS = """
learner = bl.Learner({spec})
ticket, x = learner.predict()
learner.observe(ticket, {answer})
"""
_FROM_NOTHING = (
    "import time; start = time.perf_counter(); import belated as bl"
    + _CALLS
    + "print(time.perf_counter() - start)"
)
# Processor seconds, as these machines are shared, once numba itself is running.
_NUMBA_RUNNING = """
import time, numba, numpy as np, belated as bl, belated.linear.model, belated.game
import belated.learner.learner
numba.njit(lambda x: x + 1)(1)
start = time.process_time()
"""
_READY = (
    _NUMBA_RUNNING
    + _CALLS
    + """
learner.cancel(learner.predict().ticket)
ready = time.process_time()
bl.Learner({spec}).run([0, ~0], np.full((1, {width}), 0.1))
ran = time.process_time()
losses = bl.losses.Quadratic(bl.losses.Random({dim}))
bl.play({spec}, bl.Game(losses, bl.delays.constant(100, 3)))
print(ready - start, ran - ready, time.process_time() - ran)
"""
)
_MODEL = (
    _NUMBA_RUNNING
    + """
model = bl.LinearModel("{loss}")
model.observe(model.predict(np.ones(3)).ticket, 1.0)
model.cancel(model.predict(np.ones(3)).ticket)
print(time.process_time() - start)
"""
)
_GRADIENT, _VALUE = "0.1 * x + 0.1", "0.5"
_PROBLEM = "bl.Problem(bl.Ball(10), lipschitz=1.0, magnitude=1.0, curvature={curvature})"
_PFTRL = "bl.FirstOrder(bl.PFTRL(bl.Ball(10), bl.rates.DelayAdaptive(1.0)))"
_COLD = {  # spec, answer, most seconds until it is ready
    "the default": (_PROBLEM.format(curvature=0.0) + ".learner('gradient')", _GRADIENT, 5.0),
    "P-FTRL": (_PFTRL, _GRADIENT, 2.0),
    "Leader": (_PROBLEM.format(curvature=0.1) + ".learner('gradient')", _GRADIENT, 2.5),
    "one point": (_PROBLEM.format(curvature=0.0) + ".learner('value')", _VALUE, 3.0),
}
_WARM = {"P-FTRL": (_PFTRL, _GRADIENT)}
_RUN, _GAME, _LINEAR = 1.2, 3.0, 3.0
"""Most seconds for a first run on top, for a first game, and for a linear model."""


def _run(code: str, cache: str) -> list[float]:
    """Return the seconds that a fresh process prints, or its whole time when it prints none."""
    start = perf_counter()
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    whole = perf_counter() - start
    return [float(word) for word in result.stdout.split()] or [whole]


def _cold(code: str) -> list[list[float]]:
    """Return what five processes print, each with an empty cache."""
    found = []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as empty:
            found.append(_run(code, empty))
    return found


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


def main() -> Iterator[Result]:
    """Yield seconds against their limits."""
    with tempfile.TemporaryDirectory() as cache:
        pairs = [(_run(_IMPORT, cache)[0], _run(_BARE, cache)[0]) for _ in range(21)]
        bare = median(b for _, b in pairs)
        yield _result("import belated, over bare", [a - bare for a, _ in pairs], 0.060)
        for name, (spec, answer) in _WARM.items():
            warm = _FROM_NOTHING.format(spec=spec, answer=answer)
            _run(warm, cache)
            warms = [_run(warm, cache)[0] for _ in range(9)]
            yield _result(f"first call from nothing, warm, {name}", warms, 0.7)
    for name, (spec, answer, limit) in _COLD.items():
        width = 10 if answer == _GRADIENT else 1
        times = _cold(_READY.format(spec=spec, answer=answer, width=width, dim=10))
        ready, run, game = zip(*times, strict=True)
        yield _result(f"cold, {name}: predict, observe, cancel", list(ready), limit)
        yield _result(f"cold, {name}: a first run on top", list(run), _RUN)
        yield _result(f"cold, {name}: a first game on top", list(game), _GAME)
    for loss in ("squared", "logistic"):
        times = _cold(_MODEL.format(loss=loss))
        yield _result(f"cold, linear model, {loss}", [each[0] for each in times], _LINEAR)
