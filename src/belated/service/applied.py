"""Items of a request: read and applied in their order, committed together, then counted."""

from __future__ import annotations

from collections import Counter
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple

from belated.errors import BelatedError
from belated.service.answered import Ahead
from belated.service.calls import ASKING, Call, Said, refused
from belated.service.refusals import Refused
from belated.service.served import Served
from belated.service.tokens import Token
from belated.store import Pending

if TYPE_CHECKING:
    from belated.service.hub import Hub
    from belated.service.known import Known

_OPEN = Said(0, {})  # stands where what came of an item is not known yet


class Applied(NamedTuple):
    """Items that were applied; what is said of them counts once they are committed."""

    served: Served
    verb: str
    said: list[Said]
    pending: Pending | None
    """What is committed; None where nothing has changed."""
    now: float
    """When they were applied, in seconds since 1970."""
    ahead: Ahead
    """What they say of keys."""

    def over(self, hub: Hub, error: BaseException | None) -> None:
        """Note what was committed, for those who count and watch, or forget what is lost."""
        if error is not None:
            self.ahead.drop()
            return
        self.ahead.keep()
        if self.pending is None:
            return
        for events, answer in zip(self.pending.events, self.pending.answer, strict=True):
            for event in events:
                self.served.watched(event, answer, self.now)
        name, verb, counts = self.served.name, self.verb, hub.metrics.events
        if len(self.said) == 1:
            counts[name, verb, self.said[0].body["outcome"]] += 1
            return
        for outcome, count in Counter([one.body["outcome"] for one in self.said]).items():
            counts[name, verb, outcome] += count


class Items(NamedTuple):
    """Items of a request that were read, and are not applied yet."""

    verb: str
    said: list[Said]
    """What is said of those that are refused."""
    places: list[int]
    """Of the others among them."""
    calls: list[Call]
    """What these stand for."""
    products: int
    """Numbers that these compute with."""


def begun(served: Served, items: Items, known: Known) -> Applied:
    """Apply items in order, without waiting for their commit."""
    now, ahead = time(), served.ahead()
    verb, said, places, calls, _ = items
    if not calls:
        return Applied(served, verb, said, None, now, ahead)

    def tell(answers: list[Any]) -> None:
        for place, answer, call in zip(places, answers, calls, strict=True):
            said[place] = served.said(call, answer, ahead)

    if not known.name:
        pending = served.stored.begin_many(calls)
        tell(pending.answer)
        return Applied(served, verb, said, pending, now, ahead)

    def noted(answers: list[Any]) -> tuple[str, bytes]:
        tell(answers)
        return known.note(said)

    try:
        pending = served.stored.begin_many(calls, noted)
    except BaseException:  # after it was noted: none of it has happened
        ahead.drop()
        raise
    if said[places[0]] is _OPEN:  # all were refused, and no note was written
        tell(pending.answer)
    return Applied(served, verb, said, pending, now, ahead)


def read_items(hub: Hub, served: Served, verb: str, items: list[Any], token: Token) -> Items:
    """Read the items of a request; those that are refused are told why."""
    served.reader.check(verb)
    said: list[Said] = []
    places: list[int] = []
    calls: list[Call] = []
    products = 0
    is_asking, may_date = verb in ASKING, token.may("admin")
    room = hub.limits.open - served.open if is_asking else 0
    for item in items:
        try:
            call = served.reader.call(verb, item, may_date)
            found = hub.check_products(served, verb, call[1], products)
            if is_asking and room <= len(calls):
                raise Refused(
                    409,
                    "too_many_open",
                    f"{hub.limits.open} tickets are open; answer or cancel some, or give the "
                    "model a deadline",
                )
        except (BelatedError, Refused) as error:
            said.append(refused(error))
        else:
            products += found
            places.append(len(said))
            said.append(_OPEN)
            calls.append(call)
    return Items(verb, said, places, calls, products)
