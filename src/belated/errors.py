"""Every error that belated raises on purpose.

Each one is a :class:`BelatedError` and also the builtin that a caller would expect, so
``except ValueError`` and ``except BelatedError`` both work.
"""

from __future__ import annotations


class BelatedError(Exception):
    """Root of all errors raised by belated."""

    def __str__(self) -> str:
        """Return the plain message (``KeyError`` would show it in quotes)."""
        return str(self.args[0]) if self.args else ""


class SpecError(BelatedError, ValueError):
    """A part was given a bad number, or two parts do not fit together."""


class TimelineError(BelatedError, ValueError):
    """Times or delays from which no timeline can be built."""


class OutOfOrder(TimelineError):
    """A log that is not in order of prediction, and so cannot be counted as it is read."""


class LogError(BelatedError, ValueError):
    """A log that cannot be read, or rows of it that cannot be used."""


class UnknownTicket(BelatedError, KeyError):
    """A ticket that this learner never handed out, or gave up on and has forgotten."""


class AlreadyObserved(BelatedError, ValueError):
    """A ticket whose answer was used, or that was cancelled, earlier."""


class BadFeedback(BelatedError, ValueError):
    """An answer of the wrong shape or kind, not finite, or too large to compute with."""


class BadFeatures(BelatedError, ValueError):
    """Features of the wrong kind or shape, not finite, or too large to compute with."""


class BadKey(BelatedError, ValueError):
    """A key that cannot be one, or that an open ticket has."""


class ClockError(BelatedError, ValueError):
    """A time that cannot be used, or none where one is needed."""


class Unsupported(BelatedError, TypeError):
    """A method or an argument that this kind of model does not have; nothing has changed."""


class BusyError(BelatedError, RuntimeError):
    """A call while another one is at work on the same learner or model; nothing has changed.

    The other is in another thread, or this one was made from inside it, by a user's function. Use
    one thread, or hold a lock around every call, or give every thread a learner of its own.
    """


class SnapshotError(BelatedError, ValueError):
    """Bytes that are not a whole snapshot of this version, of something that can be."""


class StudyError(BelatedError, ValueError):
    """A study that cannot be run as asked, or rows on disk that do not belong to it."""


class StoreError(BelatedError, RuntimeError):
    """A store that cannot be opened, read or written, or is closed."""


class StoreInUse(StoreError):
    """A store, or a model of a shared one, that another process or part of this one has open.

    ``address`` is where that process says that it is found; None where it says nothing. ``model``
    is the name of the model; None where it is the whole store.
    """

    def __init__(self, message: str, address: str | None = None, model: str | None = None) -> None:
        super().__init__(message)
        self.address, self.model = address, model


class StoreUnavailable(StoreError):
    """A store whose database cannot be reached or written at the moment.

    ``is_full`` tells whether that is for want of space. The call changed nothing, unless
    ``is_unknown``: then the connection broke while it was committed, and it may have been done.
    """

    is_full = is_unknown = False

    def __init__(self, message: str, is_full: bool = False, is_unknown: bool = False) -> None:
        super().__init__(message)
        self.is_full, self.is_unknown = is_full, is_unknown


class StoreDamaged(StoreError):
    """A store that does not have what was written there, or whose database will not give it.

    Neither the caller nor a retry can fix this; an operator must.
    """


class StoreClosed(StoreError):
    """A store that was closed before, by a server that is being stopped or by a program."""


class NotCommitted(StoreError):
    """An event that could not be written, so that it does not count.

    The model is brought back to what was committed before it is used again. Where the connection
    broke in the middle of a commit, the event may be there after all, as a whole: then
    ``is_unknown`` is true, and what the model says later tells.
    """

    is_unknown = False

    def __init__(self, message: str, is_unknown: bool = False) -> None:
        super().__init__(message)
        self.is_unknown = is_unknown


class UnknownModel(StoreError, KeyError):
    """A name that no model of the store has."""


class ServiceError(BelatedError, RuntimeError):
    """A refusal or an error of a server, or a server that could not be reached.

    ``status`` is that of the answer (0: there was none), ``code`` a word for programs.
    """

    def __init__(self, message: str, *, status: int = 0, code: str = "unreachable") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class MissingExtra(BelatedError, ImportError):
    """An optional dependency that is not installed.

    >>> print(MissingExtra("ray", extra="ray", where="this"))
    this needs ray, which is not installed: pip install 'belated[ray]'; in a clone:
    pip install '.[ray]'
    """

    def __init__(self, package: str, *, extra: str, where: str) -> None:
        super().__init__(
            f"{where} needs {package}, which is not installed: pip install 'belated[{extra}]'; "
            f"in a clone: pip install '.[{extra}]'"
        )
