"""``belated backup``: a copy of a store in a file, also while a server writes it."""

from __future__ import annotations

import argparse

from belated.arguments import Commands


def add_backup(commands: Commands) -> None:
    """Add ``backup`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "backup",
        help="copy the store of a running server",
        description="Copy a store to a new file, as it is at one moment, also while a server "
        "writes it. The copy is a store. For PostgreSQL use pg_dump.",
    )
    parser.add_argument("data", help="the file of the store")
    parser.add_argument("to", help="the new file")
    parser.set_defaults(run=_backup)


def _backup(arguments: argparse.Namespace) -> None:
    from belated.errors import StoreError
    from belated.store.sqlite import backup

    if "://" in arguments.data:
        raise StoreError("backup: DATA is the file of a store; for PostgreSQL use pg_dump")
    size = backup(arguments.data, arguments.to)
    print(
        f"{arguments.to} has {size:,} bytes; belated serve --store {arguments.to} goes on from it"
    )
