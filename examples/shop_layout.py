"""A shop page that chooses its layout: a server, visitors, and purchases that come later.

Run it with ``python examples/shop_layout.py``. It starts a server of its own on a free port.
It needs ``belated[service]``.
"""

from __future__ import annotations

import random
import tempfile
from collections import deque
from pathlib import Path

import belated as bl
from belated.service import Server, Settings

LAYOUTS = ("calm", "bold", "list")
BUYS = {"phone": (0.10, 0.05, 0.60), "desktop": (0.10, 0.60, 0.05)}
"""How likely a visitor buys, by device and layout; the shop does not know."""
VISITS, LATE, AT_ONCE = 400, 60, 20


def main() -> None:
    """Play visits, twenty at a time, and print what was earned early and late."""
    rng = random.Random(3)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(store=Path(folder) / "shop.db", port=0)
        with Server(settings) as server, bl.Client(server.url, str(server.token)) as client:
            page = client.create(
                "page", "Chooser", actions=list(LAYOUTS), silence=0, deadline="P1D", bits=12
            )
            bought: deque[tuple[int, str]] = deque()
            earned = [0, 0]
            for first in range(0, VISITS, AT_ONCE):
                visits = [
                    {"context": {"device": rng.choice(tuple(BUYS))}, "key": f"visit-{first + i}"}
                    for i in range(AT_ONCE)
                ]
                for visit, said in zip(visits, page.many("choose", visits), strict=True):
                    chances = BUYS[visit["context"]["device"]]  # type: ignore[index]
                    if rng.random() < chances[LAYOUTS.index(said["action"])]:
                        bought.append((first + LATE, str(visit["key"])))
                        earned[first >= VISITS // 2] += 1
                due = []
                while bought and bought[0][0] <= first:  # it is known now that they bought
                    due.append({"key": bought.popleft()[1], "value": 1.0})
                page.many("observe", due)
            report = page.report()
    print(f"visits      {report['rounds']}, of which {report['answered']} bought so far")
    print(f"first half  {earned[0]} purchases")
    print(f"second half {earned[1]} purchases")


if __name__ == "__main__":
    main()
