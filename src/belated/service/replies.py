"""Answers as they are sent: their headers, and all of their bytes."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus

from belated.service.requests import Answer

_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def headers_of(given: Answer, is_last: bool) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer; after the last one the connection is closed."""
    headers = [(name.encode(), value.encode("latin-1")) for name, value in given.headers]
    if given.status != 204:
        headers.append((b"content-type", given.kind.encode()))
        headers.append((b"content-length", str(len(given.body)).encode()))
    if is_last:
        headers.append((b"connection", b"close"))
    return [*headers, *_SAFE]


def whole(given: Answer, is_last: bool = False) -> bytes:
    """Return the bytes of an answer that has a body."""
    before, after = _around(given.status, given.kind, given.headers, is_last)
    return b"%b%d%b%b" % (before, len(given.body), after, given.body)


@lru_cache(maxsize=100)
def _around(
    status: int, kind: str, headers: tuple[tuple[str, str], ...], is_last: bool
) -> tuple[bytes, bytes]:
    """Return what stands before and after the length of a body."""
    listed = headers_of(Answer(status, b"", kind, headers), is_last)
    lines = [name + b": " + value for name, value in listed]
    start = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()
    before, length, after = b"\r\n".join((start, *lines, b"", b"")).partition(b"content-length: 0")
    return before + length[:-1], after
