"""Models that survive: every event is on disk before it is answered.

    with bl.open("shop.db") as store:
        cvr = store.model("cvr", bl.LinearModel("logistic", silence=0))
        cvr.predict({"campaign": "spring"}, key="click-81f")
        cvr.observe("click-81f", 1)

The log of events is the truth. A call is checked and applied to the state in memory, under the lock
of its model, and appended to the log in that order; then it waits for a commit, which it shares
with all calls that wait (``belated.store.writer``), and only then it is answered. So an answer
never stands on something that can still be lost. Snapshots are a shortcut: a model is the newest
good one plus the events after it, bit for bit what it was.

When a commit fails, what was applied and not committed must not survive: the models it touched are
marked, calls that wait get ``NotCommitted``, and the next call builds the model anew from what the
database has. A refused call (bad features, an unknown ticket) changes nothing and is not logged.
"""

from __future__ import annotations

from belated.errors import SpecError, StoreError
from belated.files import StrPath
from belated.store.erasure import Erased, erase_from_export
from belated.store.kinds import (
    StoredChooser,
    StoredIntervals,
    StoredKnobs,
    StoredLearner,
    StoredLinear,
)
from belated.store.lines import Logged
from belated.store.sqlite import SQLite
from belated.store.store import SNAPSHOT_EVERY, Store
from belated.store.stored import History, Pending, StoredModel
from belated.store.tables import Tables

__all__ = [
    "Erased",
    "History",
    "Logged",
    "Pending",
    "Store",
    "StoredChooser",
    "StoredIntervals",
    "StoredKnobs",
    "StoredLearner",
    "StoredLinear",
    "StoredModel",
    "erase_from_export",
    "open",
]


def open(
    path_or_url: StrPath, *, snapshot_every: int = SNAPSHOT_EVERY, address: str | None = None
) -> Store:
    """Return the store in a file of SQLite, which is made if it is not there, or behind a URL.

    One process has a file open at a time. A database of PostgreSQL ("postgresql://...", with the
    extra ``postgres``) may be shared, and then one process at a time has each model.
    ``snapshot_every`` is how many events of a model are read again at most when it is opened.
    ``address`` is where this process is found by those with whom it shares a database; they are
    told it (``StoreInUse.address``) when they want a model that is written here.

    >>> import belated as bl, pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with bl.open(pathlib.Path(folder.name) / "shop.db") as store:
    ...     value = store.model("value", bl.LinearModel("squared", bits=8))
    ...     ticket = value.predict([1.0, 0.5], key="order-7").ticket
    >>> with bl.open(pathlib.Path(folder.name) / "shop.db") as store:
    ...     store.models(), store.model("value").observe("order-7", 12.0)
    (['value'], True)
    >>> folder.cleanup()
    """
    if not isinstance(snapshot_every, int) or snapshot_every < 1:
        raise SpecError(f"open: snapshot_every must be a whole number from 1, got {snapshot_every}")
    where = str(path_or_url)
    scheme, is_url, _ = where.partition("://")
    if not is_url:
        return _opened(SQLite(path_or_url), where, snapshot_every)
    if scheme not in ("postgresql", "postgres"):
        raise StoreError(f"open: no store is known at {scheme}://; a path, or postgresql://")
    from belated.store.postgres import PostgreSQL

    database = PostgreSQL(where, address)
    return _opened(database, database.where, snapshot_every)


def _opened(database: Tables, where: str, snapshot_every: int) -> Store:
    try:
        return Store(database, where, snapshot_every)
    except BaseException:
        database.close()
        raise
