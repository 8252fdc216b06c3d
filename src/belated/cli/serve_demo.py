"""``belated serve --demo``: real flights and a small shop, played into a server over HTTP.

The flights are two weeks of February 2013, of which every second plays ten minutes: a flight is
predicted when it is to leave, and how late it was is known when it has arrived. The shop is made
up: visitors see one of three layouts, and those who buy do so seconds to minutes later.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from belated.datasets.shipped import read_shipped
from belated.errors import BelatedError, ServiceError
from belated.service.client import Client, RemoteModel

if TYPE_CHECKING:
    from belated.service.run import Server

SPEED = 600.0
"""Seconds of the flights that pass in one."""
_TICK = 0.25
_OVER = (0, 503)  # what is heard of a server that is going, or has gone
_VISITS = 6.0  # per second
_LAYOUTS = ("calm", "bold", "list")
_TASTES = {"phone": (0.06, 0.03, 0.14), "desktop": (0.08, 0.16, 0.05)}


def play(server: Server) -> None:
    """Play into a server from a thread, as soon as it is ready."""

    def begin() -> None:
        threading.Thread(target=_play, args=(server,), name="belated-demo", daemon=True).start()

    server.on_ready = begin


def _play(server: Server) -> None:
    try:
        with Client(server.url, str(server.token)) as client:
            played = Flights(client), Shop(client, random.Random(7))
            begin = time.monotonic()
            while True:
                for each in played:
                    each.go_on(time.monotonic() - begin)
                time.sleep(_TICK)
    except ServiceError as error:
        if error.status in _OVER:
            return  # the server was stopped
        server.app.access_log.write("failed", why=f"the demonstration: {error}")
    except BelatedError as error:
        server.app.access_log.write("failed", why=f"the demonstration: {error}")


class Flights:
    """The flights of two weeks, over and over."""

    def __init__(self, client: Client) -> None:
        self._model = client.create("flights", "LinearModel", loss="absolute", bits=18)
        self._run = f"{time.time():.0f}"
        self._coming = self._rows()
        self._next = next(self._coming)
        self._known: list[tuple[float, str, float]] = []

    def _rows(self) -> Iterator[tuple[float, float, str, dict[str, Any], float]]:
        """Yield when a flight is predicted, when its delay is known, its key, features, delay."""
        log = read_shipped()
        assert log.target is not None  # flights have one
        asked = log.predicted_at.astype("datetime64[s]").astype(float)
        known = log.observed_at.astype("datetime64[s]").astype(float)
        shift = -asked[0]
        for turn in itertools.count():
            for place in range(asked.size):
                row = {name: column[place] for name, column in log.features.items()}
                plain = {n: v if isinstance(v, str) else float(v) for n, v in row.items()}
                times = (asked[place] + shift) / SPEED, (known[place] + shift) / SPEED
                yield *times, f"{self._run}-{turn}-{place}", plain, float(log.target[place])
            shift += asked[-1] - asked[0] + 3600.0

    def go_on(self, now: float) -> None:
        """Predict what leaves by now, and tell what has arrived."""
        leaving = []
        while self._next[0] <= now:
            _, known, key, features, delay = self._next
            leaving.append({"features": features, "key": key})
            if not math.isnan(known) and not math.isnan(delay):
                heapq.heappush(self._known, (known, key, delay))
            self._next = next(self._coming)
        self._model.many("predict", leaving)
        _tell(self._model, self._known, now)


class Shop:
    """Visitors who see a layout; some buy, later."""

    def __init__(self, client: Client, rng: random.Random) -> None:
        self._model = client.create(
            "shop",
            "Chooser",
            actions=list(_LAYOUTS),
            baseline="calm",
            silence=0,
            deadline="PT10M",
            loss="logistic",
            bits=16,
        )
        self._rng = rng
        self._run = f"{time.time():.0f}"
        self._bought: list[tuple[float, str, float]] = []
        self._visits, self._last = 0, 0.0

    def go_on(self, now: float) -> None:
        """Show layouts to new visitors, and report purchases."""
        rng, coming = self._rng, []
        while self._last <= now:
            self._last += rng.expovariate(_VISITS)
            self._visits += 1
            context = {"device": rng.choice(tuple(_TASTES)), "hour": int(now / 60.0) % 24}
            coming.append({"context": context, "key": f"{self._run}-{self._visits}"})
        for visit, said in zip(coming, self._model.many("choose", coming), strict=True):
            taste = _TASTES[visit["context"]["device"]]  # type: ignore[index]
            if rng.random() < taste[_LAYOUTS.index(said["action"])]:
                later = now + rng.lognormvariate(2.5, 1.0)
                heapq.heappush(self._bought, (later, str(visit["key"]), 1.0))
        _tell(self._model, self._bought, now)


def _tell(
    model: RemoteModel[Any, Any], waiting: list[tuple[float, str, float]], now: float
) -> None:
    """Bring the answers that are known by now."""
    due = []
    while waiting and waiting[0][0] <= now:
        _, key, value = heapq.heappop(waiting)
        due.append({"key": key, "value": value})
    model.many("observe", due)
