"""The ``belated`` command.

Every command is two small functions: one that adds its arguments, one that runs it. What a command
needs is imported when it runs, so ``belated --help`` is instant.

Exit codes: 0 done, 1 an error of our own (one line on stderr), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from belated._version import __version__
from belated.cli.backup import add_backup
from belated.cli.completion import add_completion
from belated.cli.erase import add_erase
from belated.cli.logs import add_audit, add_demo, add_evaluate, add_replay
from belated.cli.notices import notices
from belated.cli.serve import add_release, add_serve
from belated.errors import BelatedError
from belated.research.study.command import add_study_command


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    arguments = _parser().parse_args(argv)
    arguments.typed = shlex.join(["belated", *argv])
    _tolerate_plain_terminals()
    try:
        with notices():
            arguments.run(arguments)
        sys.stdout.flush()
    except BelatedError as error:
        print(f"belated: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("belated: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader has seen enough (belated demo | head). Python would complain when it flushes
        # the closed pipe at exit, so it gets another place to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = _Parser(
        prog="belated", description="Online learning when the answers come late."
    )
    parser.add_argument("--version", action="version", version=f"belated {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    for add in (
        *(add_demo, add_audit, add_replay, add_evaluate, add_study_command),
        *(add_serve, add_release, add_backup, add_erase, add_completion),
    ):
        add(commands)
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser, and with it those of its commands, that takes no beginnings for whole options."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})


def _tolerate_plain_terminals() -> None:
    """Show a substitute for what the terminal cannot, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
