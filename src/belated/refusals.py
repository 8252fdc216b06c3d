"""Why an event is refused, as a number and in words. Then nothing has changed."""

from __future__ import annotations

from belated.errors import AlreadyObserved, BadFeedback, UnknownTicket

UNKNOWN, CLOSED, BAD, TOO_LARGE = -1, -2, -3, -4
OUT_OF_ORDER = -6  # the method needs answers in order
FORGOTTEN = -7  # given up on, or closed otherwise, so long ago that nothing is known any more

CLOSED_BEFORE = (
    "was answered or cancelled before, or its deadline has passed and a late answer was dropped "
    "before, or it was given up on long ago; nothing has changed"
)
"""The message about a ticket that may have closed by itself, where the cause is not known."""

SEVERAL_CLASSES = "for several classes use one model with labels 1 and 0 for each, or a Chooser"
"""The advice for labels that are texts."""


def of_ticket(
    status: int, ticket: int, rounds: int, where: str
) -> UnknownTicket | AlreadyObserved | None:
    """Return the error for a ticket that is not open; None when the ticket is not to blame."""
    if status == UNKNOWN and rounds == 0:
        return UnknownTicket(f"{where}no ticket was handed out yet")
    if status == UNKNOWN:
        return UnknownTicket(
            f"{where}ticket {ticket} was never handed out; tickets so far: 0 to {rounds - 1}; "
            "keys are strings: for a key give str(id)"
        )
    if status == FORGOTTEN:
        return UnknownTicket(
            f"{where}ticket {ticket} is forgotten: it was given up on, or answered or cancelled "
            "before one that was; a larger forget in Skip or Deadline keeps tickets longer"
        )
    if status == CLOSED:
        return AlreadyObserved(
            f"{where}ticket {ticket} was answered or cancelled before; nothing has changed"
        )
    return None


def of_answer(status: int, ticket: int, kind: str, where: str) -> BadFeedback:
    """Return the error for an answer that a learner of some kind does not take."""
    if status == TOO_LARGE:
        return BadFeedback(
            f"{where}the answer to ticket {ticket} exceeds the assumed bound; raise lipschitz "
            "or magnitude, or use strict=False to count such answers instead"
        )
    if status == OUT_OF_ORDER:
        return BadFeedback(
            f"{where}{kind} takes answers only in the order, and with the delay, that it was "
            f"told; ticket {ticket} is not the one that it waits for; nothing has changed"
        )
    return BadFeedback(
        f"{where}the answer to ticket {ticket} is not finite, or too large to compute with "
        "(1e100); nothing has changed: send a finite one, or cancel the ticket"
    )


def of_shape(wanted: tuple[int, ...], got: tuple[int, ...], where: str) -> BadFeedback:
    """Return the error for an answer of the wrong shape."""
    return BadFeedback(f"{where}an answer has shape {wanted}, got {got}")


def too_early(kind: str, where: str) -> BadFeedback:
    """Return the error of a method that cannot predict before an answer is in."""
    return BadFeedback(
        f"{where}{kind} was told that answers take no longer, and cannot predict before the "
        "oldest one is in; observe or cancel it, or tell a longer delay"
    )


def out_of_turn(rounds: int, ticket: int, where: str) -> UnknownTicket:
    """Return the error for a prediction of another ticket than the next one."""
    return UnknownTicket(
        f"{where}the next prediction is ticket {rounds}, the timeline says {ticket}"
    )
