"""Tickets as clients see them: signed, so that nobody can answer what was not asked of him."""

from __future__ import annotations

import hmac
from binascii import b2a_base64
from hashlib import blake2b

from belated.errors import UnknownTicket

_IN_URLS = bytes.maketrans(b"+/", b"-_")  # Base64 as it may stand in a path


class Signer:
    """Signs the tickets of all models of a store with the key of the store, by keyed BLAKE2b.

    >>> signer = Signer(b"k" * 32)
    >>> ticket = signer.sign(3, 17)
    >>> signer.number(3, ticket)
    17
    """

    def __init__(self, key: bytes) -> None:
        self._keyed = blake2b(digest_size=12, key=key)  # the key is taken in once for all tickets

    def sign(self, model: int, ticket: int) -> str:
        """Return a ticket of a model, as a client gets it."""
        said = self._keyed.copy()
        said.update(b"%d.%d" % (model, ticket))
        text = b2a_base64(said.digest(), newline=False).translate(_IN_URLS)
        return f"{ticket}.{text.decode()}"

    def number(self, model: int, ticket: str) -> int:
        """Return the number of a ticket, or refuse one that this store never gave."""
        number, _, _ = ticket.partition(".")
        is_plain = number.isascii() and number.isdigit() and len(number) < 19
        if not is_plain or not hmac.compare_digest(
            self.sign(model, int(number)).encode(), ticket.encode("utf-8", "surrogatepass")
        ):
            raise UnknownTicket("this ticket was never handed out by this model")
        return int(number)
