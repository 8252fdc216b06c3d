"""What stays for as long as the server runs is not looked through for garbage.

Python looks for garbage in all that has been there for long, about once for every quarter that is
added to it, and nobody is answered meanwhile. Nearly all objects come with what is imported, and
never go. What goes, such as a model that is deleted, is freed without a look
(``tests/test_service_garbage.py``).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def left_out() -> Iterator[None]:
    """Leave out all that is there now, until the end: for a process that does nothing else."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def leave_out() -> None:
    """Leave out what has come since, too, less the garbage in it."""
    gc.collect()
    gc.freeze()
