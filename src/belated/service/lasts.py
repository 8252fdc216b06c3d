"""What is said last on a connection: refusals of what is not read on."""

from __future__ import annotations

import logging
from typing import NamedTuple

from belated.service.refusals import Refused
from belated.service.replies import whole
from belated.service.requests import AFTER, no
from belated.service.wire import BYTES

HEADERS = 100
"""Of the head of a request."""
WAITING = 64
"""Requests of a connection that wait for the ones before them."""


class Last(NamedTuple):
    """A refusal after which the connection ends."""

    code: str
    message: str
    content: bytes
    """The bytes that are sent."""

    def log(self, logger: logging.Logger) -> None:
        """Write down what was refused, with its code, as of any other request."""
        logger.warning("%s", self.message, extra={"code": self.code})


def _last(status: int, code: str, message: str, logged: str = "") -> Last:
    refused = Refused(status, code, message, AFTER if status == 429 else ())
    return Last(code, logged or f"Request refused: {message}.", whole(no(refused), is_last=True))


BAD = _last(400, "bad_http", "what came is no HTTP request", "Invalid HTTP request received.")
BAD_HOST = _last(400, "bad_host", "an HTTP/1.1 request has exactly one Host header")
BAD_CODING = _last(501, "bad_coding", "a Transfer-Encoding is chunked, or there is none")
FULL = _last(503, "too_many_connections", "the server has as many connections as it can have")
TOO_LARGE = _last(431, "head_too_large", f"a head has {BYTES} bytes and {HEADERS} headers at most")
TOO_WORDY = _last(
    431,
    "chunks_too_large",
    f"around the chunks of a body (extensions, trailers) there are {BYTES} bytes at most",
)
TOO_MANY = _last(429, "too_many_waiting", f"{WAITING} requests of a connection may wait at once")
