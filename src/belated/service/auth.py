"""Access: tokens with scopes, how often each is used, and the signatures of tickets.

Tokens are kept as hashes and compared in constant time. A token is 32 random bytes, so that a plain
SHA-256 of it cannot be turned around: what a slow hash is for are secrets that people choose. A
file of tokens holds nothing that opens anything. It is JSON,

    {"tokens": [{"name": "shop", "sha256": "9f86d0...", "scopes": ["decide", "answer"]}]}
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from binascii import b2a_base64
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from belated.errors import SpecError, UnknownTicket
from belated.files import StrPath, write_whole

SCOPES = ("decide", "answer", "read", "admin")
"""To predict and choose; to bring answers; to look; to make, change and delete models."""
_PREFIX = "bl_"
_MOST = 10_000  # buckets
_IN_URLS = bytes.maketrans(b"+/", b"-_")  # Base64 as it may stand in a path


@dataclass(frozen=True)
class Token:
    """What is known of a token."""

    name: str
    sha256: str
    scopes: frozenset[str]

    def may(self, scope: str) -> bool:
        """Tell whether the token opens something; admin opens all."""
        return scope in self.scopes or "admin" in self.scopes

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        kept = [scope for scope in SCOPES if scope in self.scopes]
        return {"name": self.name, "sha256": self.sha256, "scopes": kept}


def made(name: str, scopes: Iterable[str]) -> tuple[str, Token]:
    """Return a new token, and what is kept of it."""
    secret = _PREFIX + secrets.token_urlsafe(32)
    return secret, checked({"name": name, "sha256": digest(secret), "scopes": list(scopes)})


def digest(secret: str) -> str:
    """Return the hash that is kept of a token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


class Tokens:
    """The tokens of a server."""

    def __init__(self, known: Iterable[Token]) -> None:
        self.known = tuple(known)
        self._last: tuple[bytes, Token] | None = None  # the header that was let in last

    def shown(self, header: bytes) -> Token | None:
        """Return the token of a header, ``Authorization: Bearer ...``.

        Most come from few clients, so that the last one that was let in is compared first: all of
        it, in constant time.
        """
        last = self._last
        if last is not None and hmac.compare_digest(header, last[0]):
            return last[1]
        kind, _, secret = header.decode("latin-1").partition(" ")
        token = self.find(secret.strip()) if kind.lower() == "bearer" else None
        if token is not None:
            self._last = header, token
        return token

    def find(self, secret: str) -> Token | None:
        """Return the token that a client has shown; every one is compared, and in full."""
        shown, found = digest(secret), None
        for token in self.known:
            if hmac.compare_digest(shown, token.sha256):
                found = token
        return found


def read(path: StrPath) -> Tokens:
    """Return the tokens of a file."""
    try:
        document = json.loads(Path(path).read_text("utf-8"))
        listed = document["tokens"]
        found = [checked(each) for each in listed]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SpecError(f"tokens: {path} cannot be read: {error}") from error
    if len({token.name for token in found}) < len(found):
        raise SpecError(f"tokens: {path} has two tokens of one name")
    return Tokens(found)


def add(path: StrPath, name: str, scopes: Iterable[str]) -> str:
    """Add a new token to a file, and return it; the file has its hash."""
    known = read(path).known if Path(path).exists() else ()
    if name in {token.name for token in known}:
        raise SpecError(f"tokens: {path} has a token {name!r}")
    secret, token = made(name, scopes)
    document = {"tokens": [each.to_dict() for each in (*known, token)]}
    write_whole(path, (json.dumps(document, indent=2) + "\n").encode())
    return secret


def checked(given: Any) -> Token:
    """Return a token as it is written down, or say what is wrong with it."""
    name, sha256, scopes = given["name"], given["sha256"], given["scopes"]
    if not isinstance(name, str) or not 0 < len(name) <= 100:
        raise SpecError("tokens: a token has a name of 1 to 100 characters")
    if not isinstance(sha256, str) or len(sha256) != 64 or set(sha256) - set("0123456789abcdef"):
        raise SpecError(f"tokens: {name!r}: sha256 is 64 hexadecimal digits")
    if not scopes or set(scopes) - set(SCOPES):
        raise SpecError(f"tokens: {name!r}: scopes are some of {', '.join(SCOPES)}")
    return Token(name, sha256, frozenset(scopes))


# --- Rates ----------------------------------------------------------------------------------------


class Rates:
    """Buckets that fill at a rate, and hold what comes in a second.

    >>> rates = Rates(2.0)
    >>> [rates.take("a", 0.0) for _ in range(3)], rates.take("b", 0.0), rates.take("a", 0.5)
    ([True, True, False], True, True)
    >>> slow = Rates(0.5)
    >>> slow.take("a", 0.0), slow.take("a", 1.0), slow.take("a", 2.0)
    (True, False, True)
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, who: str, now: float) -> bool:
        """Tell whether one more may come; 0 is any number."""
        if self._rate <= 0.0:
            return True
        most = max(self._rate, 1.0)
        left, since = self._left.get(who, (most, now))
        left = min(left + (now - since) * self._rate, most)
        if len(self._left) > _MOST:
            self._left.clear()
        self._left[who] = (left - 1.0, now) if left >= 1.0 else (left, now)
        return left >= 1.0


# --- Tickets --------------------------------------------------------------------------------------


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
