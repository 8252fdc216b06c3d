"""``belated demo``: its arguments."""

from __future__ import annotations

import argparse
import sys

from belated.arguments import Commands, add_path


def add_demo(commands: Commands) -> None:
    """Add ``demo`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "demo",
        help="a short story: flights whose arrival is known hours later, or never",
        description="Tell a short story of late labels on two weeks of real flights: what lateness "
        "costs, a few flights live, and a replay beside the alternatives, with a page.",
    )
    add_path(parser, "--out", "FILE", "belated-demo.html", "where to write the page")
    parser.add_argument("--fast", action="store_true", help="a quarter of the flights")
    parser.set_defaults(run=_demo)


def _demo(arguments: argparse.Namespace) -> None:
    from belated.demo import tell

    tell(sys.stdout, arguments.out, fast=arguments.fast)
