"""The service over HTTP: durable events against a handler that only parses and answers JSON.

Both are a process of their own, and so is the client, which is Python too. Rates are per processor
second of the server, in all of its threads: what one core gives, also where the machine is shared.
The floor is an application on the same server library with the same parser and settings. It reads
the body as JSON with msgspec and writes a response of the same shape.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from statistics import median
from typing import Any

import belated as bl
from benchmarks.service_load import Where, at_random, load, request, serving
from benchmarks.timing import Result

PAIRS = 2000
MANY = 8000  # pairs, where processor time counts, which is told in hundredths of a second
BATCHES = 300
SIZE = 100
REPEATS = 9
_numbers = count()


def features(visit: int) -> dict[str, Any]:
    """Return a row: a word, a number and a whole number."""
    return {"campaign": f"spring{visit % 50}", "price": visit % 97 * 0.5, "hour": visit % 24}


def pairs(where: Where, size: int) -> Iterator[bytes]:
    """Return predictions, and some requests later their labels."""
    keys: list[str] = []
    for _ in range(size):
        key = f"k{next(_numbers)}"
        body = {"features": features(len(keys)), "key": key}
        yield request(where, "/models/cvr/predict", body)
        keys.append(key)
        if len(keys) > 64:
            old = keys[len(keys) - 65]
            yield request(where, "/models/cvr/observe", {"key": old, "value": 1})


def batches(where: Where, size: int) -> Iterator[bytes]:
    """Return a hundred predictions in a request, and later their labels."""
    sent: list[list[str]] = []
    for _ in range(size):
        keys = [f"k{next(_numbers)}" for _ in range(SIZE)]
        items = [{"features": features(place), "key": key} for place, key in enumerate(keys)]
        yield request(where, "/models/cvr/predict", {"items": items})
        sent.append(keys)
        if len(sent) > 40:
            told = [{"key": key, "value": 1} for key in sent[len(sent) - 41]]
            yield request(where, "/models/cvr/observe", {"items": told})


def main() -> list[Result]:
    """Return single events, batches, and how long the slowest wait at half load."""
    found = []
    with _both("h11") as (ours, floor):
        found += _compared(ours, floor, "")
        found += [_batched(ours), *_tails(ours, floor)]
    with _both("httptools") as (ours, floor):
        found += _compared(ours, floor, ", httptools")
    return found


@contextmanager
def _both(parser: str) -> Iterator[tuple[Where, Where]]:
    """Serve models, and the floor."""
    with serving("ours", parser) as ours, serving("floor", parser) as floor:
        with bl.Client(f"http://127.0.0.1:{ours.port}", ours.token) as client:
            client.create("cvr", "LinearModel", loss="logistic", silence=0, bits=18)
        for warm in (ours, floor):
            load(warm, pairs(warm, 300))
        yield ours, floor


def _compared(ours: Where, floor: Where, how: str) -> list[Result]:
    rates: dict[Where, list[float]] = {ours: [], floor: []}
    for turn in range(REPEATS):
        for where in (ours, floor) if turn % 2 else (floor, ours):
            ready = list(pairs(where, MANY))
            rates[where].append(len(ready) / load(where, iter(ready)).used)
    ratios = sorted(b / a for a, b in zip(rates[ours], rates[floor], strict=True))
    middle, rate = median(ratios), median(rates[ours])
    spread = (ratios[-2] - ratios[1]) / 2 / middle
    what, target = f"durable predict + observe over HTTP{how}", 7_000.0
    return [
        Result(
            *(what, middle, 2.0 if not how else math.inf, rate, median(rates[floor])),
            *("per cpu s", spread),
            note="32 connections; the ratio is floor over ours",
        ),
        Result(f"{what}, at least", target / rate, 1.0, rate, target, "per cpu s", spread),
    ]


def _batched(ours: Where) -> Result:
    rates = []
    for _ in range(REPEATS):
        ready = list(batches(ours, BATCHES))
        rates.append(len(ready) * SIZE / load(ours, iter(ready)).used)
    rate, target = median(rates), 45_000.0
    spread = (max(rates) - min(rates)) / 2 / rate
    return Result(
        "events over HTTP, batches of 100", target / rate, 1.0, rate, target, "per cpu s", spread
    )


def _tails(ours: Where, floor: Where) -> list[Result]:
    """Return the 99th percentile over the median, at half of the requests; and the floor's.

    That of the handler which only answers says what the machine adds to any answer, now and then.
    """
    full = list(pairs(ours, PAIRS))
    rate = len(full) / load(ours, iter(full)).seconds
    gc.collect()
    gc.freeze()  # or the client itself stops, for longer than any answer takes
    found: dict[Where, list[tuple[float, float]]] = {ours: [], floor: []}
    for turn in range(REPEATS):
        for where, tails in found.items():
            times = sorted(at_random(where, list(pairs(where, PAIRS)), rate / 2, turn))
            tails.append((times[int(0.99 * len(times))], median(times)))
    gc.unfreeze()
    return [
        _slowest("slowest 1 % at half load, over the median", found[ours], 4.0),
        _slowest("slowest 1 % at half load, that handler", found[floor], math.inf),
    ]


def _slowest(name: str, tails: list[tuple[float, float]], target: float) -> Result:
    slow, usual = (median(each) for each in zip(*tails, strict=True))
    ratios = sorted(a / b for a, b in tails)
    middle = median(ratios)
    return Result(
        name,
        middle,
        target,
        1e3 * slow,
        1e3 * usual,
        "ms",
        (ratios[-2] - ratios[1]) / 2 / middle,
        note="requests at random times; each counts from when it was due",
    )
