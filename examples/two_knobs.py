"""Two knobs of a live system: a cache whose settings are found from costs that come late.

Run it with ``python examples/two_knobs.py [MINUTES]``. It starts a server of its own on a free
port.
It needs ``belated[service]``.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import deque
from pathlib import Path

import belated as bl
from belated.service import Server, Settings

START = {"seconds": 60.0, "workers": 8}
MINUTES = 300
SMALLEST = 30.0
"""The system keeps nothing for less than this, whatever it is told."""


def cost(setting: dict[str, float], rng: random.Random) -> float:
    """Return what a minute costs: stale pages, misses and idle workers; nobody knows this."""
    stale = 0.004 * setting["seconds"]
    misses = 60.0 / setting["seconds"]
    idle = 0.05 * abs(setting["workers"] - 12)
    return stale + misses + idle + rng.gauss(0.0, 0.1)


def main(minutes: int) -> None:
    """Play minutes whose costs are known some minutes later, and print what was found."""
    rng = random.Random(3)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(store=Path(folder) / "cache.db", port=0)
        with Server(settings) as server, bl.Client(server.url, str(server.token)) as client:
            cache = client.create(
                "cache",
                "Knobs",
                knobs={
                    "seconds": {"type": "Log", "low": 10, "high": 1000},
                    "workers": {"type": "Int", "low": 1, "high": 32},
                },
                start=START,
                holdout=0.1,
            )
            due: deque[tuple[int, float]] = deque()
            for minute in range(minutes):
                ticket, setting = cache.predict()
                if setting["seconds"] < SMALLEST:  # it was not played as it was told
                    setting["seconds"] = SMALLEST
                    cache.played(ticket, setting)
                due.append((ticket, cost(setting, rng)))
                if minute >= minutes // 12:
                    ticket, paid = due.popleft()
                    cache.observe(ticket, paid)
            report = cache.report()
            cache.pause()  # from now on the last setting is played
    best = report["best"]
    print(f"minutes   {report['rounds']}, {report['open']} of them not paid yet")
    print(f"start     {START['seconds']:.0f} s, {START['workers']} workers")
    print(f"best      {best['seconds']:.0f} s, {best['workers']} workers")
    print(f"a minute  {report['expected_at_start']:.2f} at the start, {report['expected']:.2f} now")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else MINUTES)
