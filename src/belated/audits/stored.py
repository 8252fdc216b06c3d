"""Logs of stores, recognised without loading what reads them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from belated.logs.files import is_parquet

if TYPE_CHECKING:
    from belated.store.as_log import StoredLog


def stored_in(data: Any) -> StoredLog | None:
    """Return the log of a store, or of its export; None: it is something else."""
    if not is_parquet(data) and "belated.store" not in sys.modules:
        return None  # and nothing need be loaded to see that
    from belated.store.as_log import stored_log

    return stored_log(data)
