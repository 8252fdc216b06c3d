"""Tickets as clients see them: signed, so that nobody can answer what was not asked of him."""

from __future__ import annotations

import base64
import hmac

from belated.errors import UnknownTicket

_LENGTH = 16  # characters of a signature, six bits each


class Signer:
    """Signs the tickets of all models of a store with the key of the store.

    >>> signer = Signer(b"k" * 32)
    >>> ticket = signer.sign(3, 17)
    >>> signer.number(3, ticket)
    17
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def sign(self, model: int, ticket: int) -> str:
        """Return a ticket of a model, as a client gets it."""
        said = hmac.digest(self._key, b"%d.%d" % (model, ticket), "sha256")
        return f"{ticket}.{base64.urlsafe_b64encode(said[:12]).decode()}"

    def number(self, model: int, ticket: str) -> int:
        """Return the number of a ticket, or refuse one that this store never gave."""
        number, _, _ = ticket.partition(".")
        is_plain = number.isascii() and number.isdigit() and len(number) < 19
        if not is_plain or not hmac.compare_digest(
            self.sign(model, int(number)).encode(), ticket.encode("utf-8", "surrogatepass")
        ):
            raise UnknownTicket("this ticket was never handed out by this model")
        return int(number)
