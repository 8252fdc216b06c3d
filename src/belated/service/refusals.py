"""Requests that are refused: one shape for all, ``{"error": {"code", "message"}}``."""

from __future__ import annotations

import json
from typing import Any

from belated.errors import (
    AlreadyObserved,
    BadFeatures,
    BadFeedback,
    BadKey,
    BelatedError,
    BusyError,
    ClockError,
    LogError,
    MissingExtra,
    NotCommitted,
    SnapshotError,
    SpecError,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreInUse,
    StoreUnavailable,
    UnknownModel,
    UnknownTicket,
    Unsupported,
)

_LONGEST = 500  # characters of a message; what clients sent may be in it
_KINDS: tuple[tuple[type[BelatedError], int, str], ...] = (
    (NotCommitted, 503, "not_committed"),
    (StoreUnavailable, 503, "store_unavailable"),
    (StoreInUse, 503, "written_elsewhere"),
    (StoreClosed, 503, "store_closed"),
    (StoreDamaged, 500, "store_damaged"),
    (BusyError, 503, "model_busy"),
    (UnknownModel, 404, "unknown_model"),
    (UnknownTicket, 404, "unknown_ticket"),
    (AlreadyObserved, 409, "already_answered"),
    (BadKey, 409, "bad_key"),
    (BadFeatures, 422, "bad_features"),
    (BadFeedback, 422, "bad_answer"),
    (ClockError, 422, "bad_time"),
    (SpecError, 422, "bad_settings"),
    (Unsupported, 422, "unsupported"),
    (LogError, 422, "bad_file"),
    (SnapshotError, 500, "store_damaged"),
    (MissingExtra, 501, "not_installed"),
    (StoreError, 409, "store"),
)


class Refused(Exception):
    """An answer that is no: a status, a code for programs, a sentence for people."""

    def __init__(
        self, status: int, code: str, message: str, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, _short(message)
        self.headers = headers

    def to_dict(self) -> dict[str, Any]:
        """Return the body of the answer."""
        return {"error": {"code": self.code, "message": self.message}}


class OtherRequest(Refused):
    """What has a key that was used for something else."""

    def __init__(self) -> None:
        super().__init__(
            422, "other_request", "this Idempotency-Key was used for another request; use a new one"
        )


def refusal_of(error: BelatedError) -> Refused:
    """Return what clients are told of an error of ours."""
    if isinstance(error, StoreUnavailable) and error.is_full:
        return Refused(507, "disk_full", str(error))
    if isinstance(error, (NotCommitted, StoreUnavailable)) and error.is_unknown:
        return Refused(504, "outcome_unknown", str(error))
    for kind, status, code in _KINDS:
        if isinstance(error, kind):
            return Refused(status, code, str(error))
    return Refused(422, "refused", str(error))


def code_of(body: bytes) -> str | None:
    """Return the code of a refusal that is sent as it is; None: this is something else."""
    try:
        return str(json.loads(body)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return None


def _short(message: str) -> str:
    return message if len(message) <= _LONGEST else message[: _LONGEST - 3] + "..."
