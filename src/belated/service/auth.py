"""Tokens with scopes, how often each is used, and the signatures of tickets.

Tokens are kept as hashes and compared in constant time. A token is 32 random bytes, so a plain
SHA-256 cannot be inverted; slow hashes are for secrets that people choose. A file of tokens is

    {"tokens": [{"name": "shop", "sha256": "9f86d0...", "scopes": ["decide", "answer"]}]}
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from belated.errors import SpecError
from belated.files import StrPath, write_whole

SCOPES = ("decide", "answer", "read", "admin")
"""To predict and choose; to bring answers; to look; to make, change and delete models."""
_MOST = 10_000  # buckets


@dataclass(frozen=True)
class Token:
    """A token, without its secret."""

    name: str
    sha256: str
    scopes: frozenset[str]
    """The scopes of the token; admin includes all."""

    def to_dict(self) -> dict[str, Any]:
        kept = [scope for scope in SCOPES if scope in self.scopes]
        named = ["admin"] if "admin" in kept else kept
        return {"name": self.name, "sha256": self.sha256, "scopes": named}


def made(name: str, scopes: Iterable[str]) -> tuple[str, Token]:
    """Return a new token, and what is kept of it."""
    secret = f"bl_{secrets.token_urlsafe(32)}"
    return secret, checked({"name": name, "sha256": _digest(secret), "scopes": list(scopes)})


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def find(tokens: Iterable[Token], secret: str) -> Token | None:
    """Return the token that a client has shown; every one is compared, and in full."""
    shown, found = _digest(secret), None
    for token in tokens:
        if hmac.compare_digest(shown, token.sha256):
            found = token
    return found


def read(path: StrPath) -> tuple[Token, ...]:
    """Return the tokens of a file."""
    try:
        found = tuple(checked(each) for each in json.loads(Path(path).read_text("utf-8"))["tokens"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SpecError(f"tokens: {path} cannot be read: {error}") from error
    if len({token.name for token in found}) < len(found):
        raise SpecError(f"tokens: {path} has two tokens of one name")
    return found


def add(path: StrPath, name: str, scopes: Iterable[str]) -> str:
    """Add a new token to a file, and return it; the file has its hash."""
    known = read(path) if Path(path).exists() else ()
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
    return Token(name, sha256, frozenset(SCOPES if "admin" in scopes else scopes))


class Rates:
    """Buckets that fill at a rate above 0, and hold the requests of a second.

    >>> rates = Rates(2.0)
    >>> [rates.take("a", 0.0) for _ in range(3)], rates.take("b", 0.0), rates.take("a", 0.5)
    ([True, True, False], True, True)
    >>> slow = Rates(0.5)
    >>> slow.take("a", 0.0), slow.take("a", 1.0), slow.take("a", 2.0)
    (True, False, True)
    """

    def __init__(self, rate: float) -> None:
        self._rate, self._most = rate, max(rate, 1.0)
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str, now: float) -> bool:
        """Tell whether one more request is allowed."""
        left, since = self._left.get(name, (self._most, now))
        left = min(left + (now - since) * self._rate, self._most)
        if len(self._left) > _MOST:
            self._left.clear()
        self._left[name] = (left - 1.0, now) if left >= 1.0 else (left, now)
        return left >= 1.0
