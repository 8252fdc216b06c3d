"""Processes that were forked from one that uses models."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

import belated as bl
from belated.service.client import Client

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


def child(work: Callable[[], Any]) -> bytes:
    """Return what a forked process returns."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.write(write, work())
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    with open(read, "rb") as pipe:
        found = pipe.read()
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    return found


def test_a_model_goes_on_in_both_processes_on_its_own() -> None:
    model = bl.LinearModel(bits=6)
    ticket = model.predict({"x": 1.0}).ticket

    def go_on() -> bytes:
        model.observe(ticket, 2.0)
        model.predict({"x": 3.0})
        return model.snapshot()

    before = model.snapshot()
    found: list[bytes] = []
    thread = threading.Thread(target=lambda: found.append(child(go_on)))
    thread.start()
    thread.join()
    assert model.snapshot() == before
    assert found == [go_on()]


def test_a_fork_during_a_call_is_refused_in_the_child() -> None:
    """The child has the model in the middle of a call that nobody ends there."""
    refused: list[bytes] = []

    def call_again() -> bytes:
        try:
            chooser.choose({"x": 1.0})
        except bl.errors.BusyError:
            return b"busy"
        return b"done"

    def decide(values: dict[str, float], ticket: int) -> dict[str, float]:
        refused.append(child(call_again))
        return dict.fromkeys(values, 0.5)

    chooser = bl.Chooser(["a", "b"], bits=6, decide=decide)
    chooser.choose({"x": 1.0})
    assert refused == [b"busy"]
    assert chooser.rounds == 1


def test_a_client_has_connections_of_its_own_in_the_child() -> None:
    client = Client("http://127.0.0.1:9", "token", retry_for=0.0)
    theirs: Any = object()
    client._sender.connections._idle.append(theirs)

    def use() -> bytes:
        with pytest.raises(bl.errors.ServiceError):  # nothing listens there
            client.models()
        return b"new"

    assert child(use) == b"new"
    assert client._sender.connections._idle == [theirs]
