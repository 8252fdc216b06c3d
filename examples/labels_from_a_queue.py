"""Labels that come from a queue: some late, some twice, some never, some of nobody.

Run it with ``python examples/labels_from_a_queue.py``. A consumer puts what it reads into an
outbox, which sends many at a time, tries again when the server is away, and holds the consumer up
when too much is under way.
It needs ``belated[service]``.
"""

from __future__ import annotations

import queue
import random
import tempfile
import threading
from pathlib import Path
from typing import Any

import belated as bl
from belated.service import RemoteModel, Server, Settings

ORDERS = 200


def consume(labels: queue.Queue[tuple[str, float] | None], model: RemoteModel[Any, Any]) -> None:
    """Bring the labels of a queue to a model until there are no more."""
    with model.outbox(most=50, every=0.02) as outbox:
        while (label := labels.get()) is not None:
            outbox.put("observe", *label)
    for outcome, count in sorted(outbox.outcomes.items()):
        print(f"{outcome:<10} {count}")


def main() -> None:
    """Predict how many days orders take, and let their labels come as queues bring them."""
    rng = random.Random(11)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(store=Path(folder) / "orders.db", port=0)
        with Server(settings) as server, bl.Client(server.url, str(server.token)) as client:
            model = client.create("days", "LinearModel", loss="absolute", bits=12)
            labels: queue.Queue[tuple[str, float] | None] = queue.Queue()
            consumer = threading.Thread(target=consume, args=(labels, model))
            consumer.start()
            orders = [
                {"features": {"far": rng.random()}, "key": f"order-{i}"} for i in range(ORDERS)
            ]
            model.many("predict", orders)
            rng.shuffle(orders)
            for place, order in enumerate(orders):
                days = 1.0 + 4.0 * order["features"]["far"]  # type: ignore[index]
                if place % 10:  # every tenth is lost on the way
                    labels.put((str(order["key"]), days))
                if place % 25 == 1:  # the queue delivers at least once
                    labels.put((str(order["key"]), days))
            labels.put(("order-of-somebody-else", 3.0))
            labels.put(None)
            consumer.join()
            print(f"open       {model.report()['open']}")


if __name__ == "__main__":
    main()
