"""``belated erase``: remove all that a store has of a key."""

from __future__ import annotations

import argparse
from pathlib import Path

from belated.arguments import Commands
from belated.errors import StoreError


def add_erase(commands: Commands) -> None:
    """Add ``erase`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "erase",
        help="remove all that a store has of a key",
        description="Remove a key from the log, the snapshots and the kept responses of a store "
        "that no server has open (a server does it itself: see docs/service.md), and from files "
        "that were exported from it.",
    )
    parser.add_argument("data", help="the file of the store, or a URL of PostgreSQL")
    parser.add_argument("key", help="the key")
    parser.add_argument("--model", required=True, help="name of the model")
    parser.add_argument(
        "--rebuild", action="store_true", help="also unlearn: build the model anew from its log"
    )
    parser.add_argument(
        "--export", action="append", default=[], metavar="FILE", help="an exported log (repeatable)"
    )
    parser.set_defaults(run=_erase)


def _erase(arguments: argparse.Namespace) -> None:
    from belated.store import open as open_store
    from belated.store.erasure import erase_from_export

    key, rebuild = arguments.key, arguments.rebuild
    if "://" not in arguments.data and not Path(arguments.data).is_file():
        raise StoreError(f"erase: there is no file {arguments.data}")
    with open_store(arguments.data) as store:
        found = store.erase(arguments.model, key, rebuild=rebuild)
    print(f"{arguments.data}: {found.tickets} tickets, {found.events} events")
    for path in arguments.export:
        found = erase_from_export(path, key, rebuild=rebuild)
        print(f"{path}: {found.tickets} tickets, {found.events} events")
