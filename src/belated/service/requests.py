"""Requests, responses and refusals: what all handlers take, return and raise."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import msgspec

from belated import errors
from belated.errors import BelatedError
from belated.service.settings import ACTIONS, BATCH, FEATURES, TEXT, Limits

if TYPE_CHECKING:
    from belated.service.auth import Token

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

JSON = "application/json"
_LONGEST = 500  # characters of a message, which may hold what clients sent
_STEADY = 1 << 20  # bytes of a body after which its time begins again
_DISCARDED = 64 << 20  # bytes of a body that is too large, and discarded before the refusal
AFTER = (("retry-after", "1"),)
_CLOSE = (("connection", "close"),)
_OVER = -1.0
_REFUSALS: tuple[tuple[type[BelatedError], int, str], ...] = (
    (errors.NotCommitted, 503, "not_committed"),
    (errors.StoreUnavailable, 503, "store_unavailable"),
    (errors.StoreInUse, 503, "written_elsewhere"),
    (errors.StoreClosed, 503, "store_closed"),
    (errors.StoreDamaged, 500, "store_damaged"),
    (errors.BusyError, 503, "model_busy"),
    (errors.UnknownModel, 404, "unknown_model"),
    (errors.UnknownTicket, 404, "unknown_ticket"),
    (errors.AlreadyObserved, 409, "already_answered"),
    (errors.BadKey, 409, "bad_key"),
    (errors.BadFeatures, 422, "bad_features"),
    (errors.BadFeedback, 422, "bad_answer"),
    (errors.ClockError, 422, "bad_time"),
    (errors.SpecError, 422, "bad_settings"),
    (errors.Unsupported, 422, "unsupported"),
    (errors.LogError, 422, "bad_file"),
    (errors.SnapshotError, 500, "store_damaged"),
    (errors.MissingExtra, 501, "not_installed"),
    (errors.StoreError, 409, "store"),
    (BelatedError, 422, "refused"),
)


# --- Refusals -------------------------------------------------------------------------------------


class Refused(Exception):
    """A refusal: a status, a code for programs, a message for people."""

    def __init__(
        self, status: int, code: str, message: str, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(message)
        is_short = len(message) <= _LONGEST
        self.status, self.code, self.headers = status, code, headers
        self.message = message if is_short else message[: _LONGEST - 3] + "..."

    def to_dict(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message}}


class OtherRequest(Refused):
    """A request whose key was used for something else."""

    def __init__(self) -> None:
        super().__init__(
            422, "other_request", "this Idempotency-Key was used for another request; use a new one"
        )


def refusal_of(error: BelatedError) -> Refused:
    """Return what clients are told of an error of ours."""
    if isinstance(error, errors.StoreUnavailable) and error.is_full:
        return Refused(507, "disk_full", str(error))
    is_store = isinstance(error, (errors.NotCommitted, errors.StoreUnavailable))
    if is_store and error.is_unknown:  # type: ignore[attr-defined]
        return Refused(504, "outcome_unknown", str(error))
    return next(
        Refused(s, code, str(error)) for kind, s, code in _REFUSALS if isinstance(error, kind)
    )


def validation_error(message: str) -> Refused:
    """Return the refusal of a body that is JSON, but not what it should be."""
    return Refused(422, "bad_request", message)


# --- JSON -----------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else dict(value)


encode = msgspec.json.Encoder(enc_hook=plain).encode
"""Writes JSON; what is not finite becomes null."""
_decoder = cache(msgspec.json.Decoder)
_PLACE = re.compile(r"(.*?)(?: - at (?:`key` in )?`\$\.?(.*)`)?\Z", re.DOTALL)


def decode(body: bytes | msgspec.Raw, type_: Any) -> Any:
    try:
        return _decoder(type_).decode(body)
    except msgspec.ValidationError as error:
        raise _invalid(str(error), bytes(body), type_) from None
    except RecursionError:
        raise Refused(400, "bad_json", "the body is nested too deep") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, "bad_json", f"the body is not JSON: {error}") from None


def convert(value: Any, type_: Any, what: str) -> Any:
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise validation_error(f"{what}: {error}") from None


def _invalid(message: str, body: bytes, type_: Any) -> Refused:
    """Return the refusal of JSON that a struct does not allow, in words."""
    match = _PLACE.match(message)
    assert match is not None
    said, where = match[1], match[2] or ""
    if where.endswith("[...]"):
        where = where.removesuffix("[...]")
        name = _culprit(body, where.split(".")[-1])
        where += f": {name!r}" if name else ""
    if "Object contains unknown field" in said:
        there = ", ".join(sorted(type_.__struct_fields__)) or "none"
        return validation_error(
            f"no such member: {said.partition('field ')[2]}; there are: {there}"
        )
    if said.startswith("Invalid enum value"):
        allowed = ", ".join(_values(get_type_hints(type_)[where]))
        return validation_error(f"{where}: {said[0].lower()}{said[1:]}; there are: {allowed}")
    if where == "key" and re.search(r"got `(int|float)`", said):
        return validation_error(
            "key must be a text, not a number: send an id that is a number as str(id)"
        )
    if said.startswith(("Number out of range", "Expected `float`, got")):
        return validation_error(f"{where or 'a number'} must be a finite number")
    if "of length <=" in said and where.endswith(("features", "context", "setting")):
        return Refused(422, "too_many_features", f"{where}: at most {FEATURES} features")
    if "of length <=" in said and where == "actions":
        return Refused(422, "too_many_actions", f"there may be {ACTIONS} actions")
    if "of length <=" in said and where == "items":
        return Refused(413, "batch_too_large", f"a request may have {BATCH} items")
    return validation_error(f"{where}: {said[0].lower()}{said[1:]}" if where else said.lower())


def _values(type_: Any) -> list[str]:
    """Return the texts that a ``Literal`` allows, also within a union."""
    nested = [[each] if isinstance(each, str) else _values(each) for each in get_args(type_)]
    return [value for values in nested for value in values]


def _culprit(body: bytes, name: str) -> str | None:
    """Return the first member of an object that is no finite number, text, bool or null."""
    try:
        for key, value in json.loads(body)[name].items():
            is_number = isinstance(value, int | float) and abs(value) <= sys.float_info.max
            if not (is_number or value is None or (isinstance(value, str) and len(value) <= TEXT)):
                return str(key)
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        pass  # it is wrong elsewhere, too
    return None


# --- Requests and responses -----------------------------------------------------------------------


class Answer(msgspec.Struct):
    """A response."""

    status: int
    body: bytes
    kind: str = JSON
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def code(self) -> str | None:
        """The code of a refusal; None: the response is something else."""
        try:
            return str(json.loads(self.body)["error"]["code"])
        except (ValueError, KeyError, TypeError):
            return None


class Reading:
    """The tasks that read bodies, and until when; one loop ends those that take too long.

    A timer for each would take a tenth of the time of a small request.
    """

    def __init__(self) -> None:
        self._until: dict[asyncio.Task[Any] | None, float] = {}

    def begin(self, seconds: float) -> None:
        """Give the current task so many seconds from now on."""
        self._until[asyncio.current_task()] = asyncio.get_running_loop().time() + seconds

    def end(self) -> bool:
        """Forget the current task, and tell whether it was in time."""
        return self._until.pop(asyncio.current_task(), 0.0) != _OVER

    def give_up(self, now: float) -> None:
        for task, until in list(self._until.items()):
            if task is not None and _OVER < until <= now:
                self._until[task] = _OVER
                task.cancel()


class Request:
    """An HTTP request; the body is read when it is asked for."""

    __slots__ = ("_headers", "_reading", "_receive", "content", "limits", "path", "scope", "token")

    def __init__(self, scope: Scope, receive: Receive, limits: Limits, reading: Reading) -> None:
        self.scope, self._receive, self.limits = scope, receive, limits
        self._reading = reading
        self._headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
        self.path: dict[str, str] = {}
        """Parts of the path by name, decoded."""
        self.token: Token
        self.content: bytes | None = None
        """The body, once it was read."""

    @property
    def method(self) -> str:
        """The method; a HEAD request is processed as GET."""
        method: str = self.scope["method"]
        return "GET" if method == "HEAD" else method

    @property
    def where(self) -> str:
        """The path as it was sent, without the query."""
        raw: bytes = self.scope["raw_path"]
        return raw.partition(b"?")[0].decode("latin-1")

    def header(self, name: bytes) -> str | None:
        """Return a header, by its name in lower case; of several the first."""
        value = self._headers.get(name)
        return None if value is None else value.decode("latin-1")

    def raw(self, name: bytes) -> bytes | None:
        return self._headers.get(name)

    def add_header(self, name: bytes, value: bytes) -> None:
        self.scope["headers"] = [*self.scope["headers"], (name, value)]
        self._headers[name] = value

    async def body(self, most: int | None = None) -> bytes:
        """Return the body, or refuse one that is too large, too slow or encoded."""
        if self.content is None:
            self._reading.begin(self.limits.patience)
            try:
                self.content = await self._read(most or self.limits.body)
            except asyncio.CancelledError:
                if self._reading.end():
                    raise
                asyncio.current_task().uncancel()  # type: ignore[union-attr]
                raise Refused(408, "too_slow", "the body did not arrive in time", _CLOSE) from None
            finally:
                self._reading.end()
        encoding = self.raw(b"content-encoding")
        if encoding is not None and encoding.strip().lower() not in (b"", b"identity"):
            raise Refused(
                415,
                "encoded_body",
                "a body is sent as it is, without Content-Encoding; this one has "
                f"{encoding.decode('latin-1')!r}",
                (("accept-encoding", "identity"),),
            )
        return self.content

    async def _read(self, most: int) -> bytes:
        """Read a body; discard one that is too large, since many clients read only afterwards."""
        parts: list[bytes] = []
        size, counted, is_coming = 0, 0, True
        while is_coming:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Refused(400, "gone", "the client has disconnected")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            is_coming = message.get("more_body", False)
            if size > most:
                parts.clear()
                if size > most + _DISCARDED or self.raw(b"expect") is not None:
                    break
            elif size - counted >= _STEADY:  # it is large, and arrives
                self._reading.begin(self.limits.patience)
                counted = size
        if size > most:
            raise Refused(413, "body_too_large", f"a body may have {most} bytes", _CLOSE)
        return parts[0] if len(parts) == 1 else b"".join(parts)
