"""A few rounds as they happen: tickets, late answers, and everything that goes wrong."""

from __future__ import annotations

import math

import numpy as np

from belated.demo.race import spec
from belated.demo.screen import Screen
from belated.demo.shop import Floats, Orders
from belated.errors import AlreadyObserved, BadFeedback
from belated.live import Decision, Learner


def play_live(screen: Screen, orders: Orders) -> Learner:
    """Take the first orders by hand, and return the learner."""
    learner = Learner(spec(skip=True))
    screen.code("learner = bl.Learner(spec)")
    lost, first = _take_order(screen, learner), _take_order(screen, learner)
    _hear_truth(screen, learner, orders, first)
    _refuse(screen, learner, first.ticket, np.zeros(2), "again")
    _refuse(screen, learner, lost.ticket, np.array([math.nan, 0.0]), "broken")
    learner = _move_house(screen, learner)
    later = [_take_order(screen, learner) for _ in range(2)]
    for decision in reversed(later):
        _hear_truth(screen, learner, orders, decision)
    _hear_truth(screen, learner, orders, lost)
    return learner


def _take_order(screen: Screen, learner: Learner) -> Decision:
    skipped = learner.report().skipped
    decision = learner.predict()
    text = f"ticket {decision.ticket}: we promise {show_promise(decision.x)}"
    given_up = learner.report().skipped - skipped
    if given_up:
        text += f"; gave up on {given_up} that took too long"
    screen.event("predict", f"{text} ({learner.open} open)")
    return decision


def _hear_truth(screen: Screen, learner: Learner, orders: Orders, decision: Decision) -> None:
    ticket, x = decision
    used = learner.observe(ticket, orders.gradient(ticket, x))
    outcome = "used" if used else "too late, it is dropped"
    text = f"ticket {ticket}: it took {show_promise(orders.truth[ticket])}; {outcome}"
    screen.event("observe", f"{text} ({learner.open} open)")


def _refuse(screen: Screen, learner: Learner, ticket: int, answer: Floats, label: str) -> None:
    """Give an answer that must be refused, and show how."""
    try:
        learner.observe(ticket, answer)
    except (AlreadyObserved, BadFeedback) as error:
        screen.event(label, f"{type(error).__name__}: {error}")


def _move_house(screen: Screen, learner: Learner) -> Learner:
    """Save the learner, restore it, and check that both would go on alike."""
    blob = learner.snapshot()
    # Asking a learner changes it, so a copy is asked beside the one that is left behind.
    copy, original = Learner.restore(blob).predict(), learner.predict()
    same = copy.ticket == original.ticket and bool((copy.x == original.x).all())
    verdict = "both go on alike, to the last bit" if same else "THE TWO DIFFER"
    screen.event("snapshot", f"{len(blob):,} bytes, restored elsewhere: {verdict}")
    return Learner.restore(blob)


def show_promise(x: Floats) -> str:
    """Write a pair of numbers with their units."""
    return f"{x[0]:.0f} h, {x[1]:.2f} euros"
