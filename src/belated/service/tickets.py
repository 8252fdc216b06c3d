"""Tickets as clients see them: signed, so that nobody can answer what was not asked of him."""

from __future__ import annotations

import base64
import hmac
from hashlib import blake2b

from belated.errors import UnknownTicket


class Signer:
    """Signs the tickets of all models of a store with the key of the store, by keyed BLAKE2b.

    >>> signer = Signer(b"k" * 32)
    >>> ticket = signer.sign(3, 17)
    >>> signer.number(3, ticket)
    17
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def sign(self, model: int, ticket: int) -> str:
        """Return a ticket of a model, as a client gets it."""
        said = blake2b(b"%d.%d" % (model, ticket), digest_size=12, key=self._key).digest()
        return f"{ticket}.{base64.urlsafe_b64encode(said).decode()}"

    def number(self, model: int, ticket: str) -> int:
        """Return the number of a ticket, or refuse one that this store never gave."""
        number, _, _ = ticket.partition(".")
        is_plain = number.isascii() and number.isdigit() and len(number) < 19
        if not is_plain or not hmac.compare_digest(
            self.sign(model, int(number)).encode(), ticket.encode("utf-8", "surrogatepass")
        ):
            raise UnknownTicket("this ticket was never handed out by this model")
        return int(number)
