"""Commits that fail: what counts as one, and how often it is tried again."""

from __future__ import annotations

from time import monotonic

from belated.errors import NotCommitted, StoreError

_MOST = 3  # in a row, after which commits are tried only now and then
_FIRST_REST, _LONGEST_REST = 0.05, 2.0  # seconds between two tries


def is_fault(error: BaseException) -> bool:
    """Tell whether an error is what a database or the system says of a write that has failed.

    All else that comes out of a write is an interrupt, after which nobody knows what is on disk:
    the handler of a signal may raise anything. A time limit is mostly a ``TimeoutError``, which is
    an ``OSError`` as well; but those of the system have a number.
    """
    return isinstance(error, StoreError) or (isinstance(error, OSError) and error.errno is not None)


class Faults:
    """Commits in a row that have failed."""

    def __init__(self) -> None:
        self.count = 0
        """How many; 0 after one that did not."""
        self._rests_until = 0.0
        self._reason = ""

    def add(self, error: Exception) -> None:
        """Note one more."""
        self.count += 1
        if self.count >= _MOST:
            rest = min(_FIRST_REST * 2.0 ** (self.count - _MOST), _LONGEST_REST)
            self._rests_until, self._reason = monotonic() + rest, str(error)

    def check(self) -> None:
        """Refuse events while there is no use in trying.

        Every event that is applied and then lost has its model built anew. So after some failures
        in a row a commit is tried only now and then.
        """
        if self._rests_until and self._rests_until > monotonic():
            raise NotCommitted(
                f"the store cannot be written at the moment ({self._reason}); nothing has changed: "
                f"it is tried again within {_LONGEST_REST:g} s"
            )
