"""Every kind of model follows the laws of ``laws.py``: in memory, in stores, and behind clients."""

from __future__ import annotations

import asyncio
import inspect
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import belated as bl
from belated.errors import BelatedError
from belated.store.recovery import recover_model
from conftest import everything, shortened
from kinds import KINDS, Event, Kind, Served, life, outcome
from laws import Law, check_growth, check_interrupted, check_memory, laws

INTERPRETED = (
    *("learner, gradients", "learner, portfolio", "learner, forgetful", "linear, silence of sums"),
    *("linear, clock", "linear, impatient", "intervals", "chooser, clock", "knobs, clock"),
)
"""Kinds that bring all parts together; the others follow the laws in the compiled pass alone."""


def kinds(*names: str) -> pytest.MarkDecorator:
    """Run a test for these kinds."""
    alone = pytest.mark.needs_compiler
    return pytest.mark.parametrize(
        "kind",
        [
            pytest.param(KINDS[name], id=name, marks=[alone] * (name not in INTERPRETED))
            for name in names
        ],
    )


every = kinds(*KINDS)


@pytest.mark.compiled
@pytest.mark.parametrize("law", laws(), ids=lambda law: law.__name__)
@every
def test_laws(kind: Kind, law: Law) -> None:
    law(kind)


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # see interrupts
@every
def test_events_are_atomic_under_signals(kind: Kind) -> None:
    check_interrupted(kind, KeyboardInterrupt, 1 if everything() else 7)


@pytest.mark.compiled
@pytest.mark.needs_compiler
@every
def test_a_model_without_memory_is_as_it_was(kind: Kind) -> None:
    check_memory(kind)
    check_growth(kind)


# --- Stores ---------------------------------------------------------------------------------------


@pytest.mark.compiled
@every
def test_a_stored_model_is_the_one_in_memory(kind: Kind, tmp_path: Path) -> None:
    """Also after the store was closed, compacted, or copied in the middle, as a crash leaves it."""
    twin, path = kind.make(), tmp_path / "0.db"
    store = bl.open(path, snapshot_every=7)
    model: Any = store.model("m", kind.make())
    for turn, event in enumerate(life(kind, shortened(240), 5)):
        if not hasattr(model, event.verb if event.verb != "ask" else kind.asks):
            continue
        assert outcome(kind, twin, event) == outcome(kind, model, event), event
        if event.at is not None and turn % 4 == 3:
            twin.tick(event.at + 0.1)
            model.tick(event.at + 0.1)
        if turn % 5 == 4 and kind.has("observe_many"):
            assert repr(batch(kind, twin, turn, event)) == repr(batch(kind, model, turn, event))
        entry = store._models["m"]
        assert recover_model(store._database, entry._about, entry._objects).model.snapshot() == (
            twin.snapshot()
        )
        if turn % 11 == 10:
            assert kind.looks(model) == kind.looks(twin)
            if turn % 2:
                store.compact("m")
            copied = tmp_path / f"{turn}.db"
            for file in tmp_path.glob(f"{path.name}*"):
                shutil.copy(file, str(file).replace(str(path), str(copied)))
            store.close()
            path = path if turn % 3 else copied
            store = bl.open(path, snapshot_every=7)
            model = store.model("m")
        assert model.snapshot() == twin.snapshot()
    count = model.history.events
    store.export("m", tmp_path / "log.parquet")
    again: Any = store.load("again", tmp_path / "log.parquet")
    assert (again.history.events, again.snapshot()) == (count, twin.snapshot())
    store.close()


def batch(kind: Kind, model: Any, turn: int, event: Event) -> list[Any]:
    """Ask for three tickets at once, answer two of them, and return what the model says.

    Before, batches are refused of which one row or answer is wrong.
    """
    more: dict[str, Any] = {} if event.at is None else {"at": event.at}
    each = {"at": [event.at] * 3} if more and turn % 2 else more
    rows: Any = [kind.row(turn + place)[0] for place in range(3)] if kind.rows else 3
    keys, many = [f"many{turn}", None, f"more{turn}"], getattr(model, f"{kind.asks}_many")
    refuse(model, lambda: many(rows, keys=[keys[0], None, keys[0]], **each))
    said = many(rows, keys=keys, **each)
    tickets, answers = [keys[2], int(said[0][1])], [kind.answer(turn), kind.answer(turn + 1)]
    wrong = [answers[0], kind.wrong_answers[turn % len(kind.wrong_answers)]]
    refuse(model, lambda: model.observe_many(tickets, wrong, **more))
    refuse(model, lambda: model.observe_many([*tickets, -1], [*answers, answers[0]], **more))
    return [*said, model.observe_many(iter(tickets), iter(answers), **more)]


def refuse(model: Any, call: Callable[[], Any]) -> None:
    """Check that a batch is refused, and changes nothing."""
    before = model.snapshot()
    with pytest.raises(BelatedError):
        call()
    assert model.snapshot() == before


@pytest.mark.compiled
@every
def test_a_rebuilt_model_is_the_one_in_memory(kind: Kind, tmp_path: Path) -> None:
    if kind.name == "knobs, clock":
        pytest.skip("the log has what was played, and not whether it was held out")
    with bl.open(tmp_path / "m.db") as store:
        model: Any = store.model("m", kind.make())
        for turn, event in enumerate(life(kind, shortened(240), 6)):
            outcome(kind, model, event)
            if turn % 5 == 4 and kind.has("observe_many"):
                batch(kind, model, turn, event)
        specs: tuple[Any, ...] = (kind.make(), None, {})  # what is not given keeps its value
        for spec in specs:
            assert store.rebuild("m", spec).snapshot() == model.snapshot()


# --- Clients --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a caller of the server of all these tests."""
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    from service_calls import serving

    with serving(tmp_path_factory.mktemp("conformance")) as caller:
        yield caller


@pytest.fixture(params=["client", "async client"])
def client(ask: Any, request: pytest.FixtureRequest) -> Iterator[tuple[Any, Any]]:
    """Return either client, and what waits for its answers."""
    url, token = ask.server.url, str(ask.token)
    if request.param == "client":
        with bl.Client(url, token) as found:
            yield found, lambda said: said
        return

    async def begin() -> bl.AsyncClient:
        return bl.AsyncClient(url, token)

    async def result(said: Any) -> Any:
        return await said

    with asyncio.Runner() as runner:
        other = runner.run(begin())
        yield other, lambda said: runner.run(result(said)) if inspect.isawaitable(said) else said
        runner.run(other.close())


@pytest.mark.compiled
@kinds(*(name for name, kind in KINDS.items() if kind.served))
def test_a_served_model_is_the_one_in_memory(kind: Kind, ask: Any, client: Any) -> None:
    """Any life that is told to a client goes as it does in memory, refusals included."""
    assert kind.served
    (what, settings), (caller, wait) = kind.served, client
    name = f"{type(caller).__name__}-{kind.name}".replace(", ", "-").replace(" ", "-")
    remote, twin = Served(wait(caller.create(name, what, **settings)), wait), kind.make()
    for event in life(kind, shortened(160), 7):
        if event.verb != "tick" and isinstance(event.name, str | None) and is_json(event.wrong):
            assert outcome(kind, remote, event) == outcome(kind, twin, event), event
    model, looks = ask.server.hub.models[name].stored, 2 + len(kind.rows)
    assert kind.looks(model)[:looks] == kind.looks(twin)[:looks]
    for row in kind.rows:
        if "linear" in kind.name:
            assert remote.explain(row) == twin.explain(row)
        assert repr(remote.peek(row)) == repr(twin.peek(row))


def is_json(wrong: Any) -> bool:
    """Tell whether an argument is the same as JSON."""
    try:
        return wrong is ... or json.loads(json.dumps(wrong)) == wrong
    except (TypeError, ValueError):
        return False
