"""``belated serve`` and ``belated release``: their arguments."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from belated.arguments import Commands
from belated.errors import SpecError

if TYPE_CHECKING:
    from belated.service import Server

_DEMO = "demo.db"
_HUGE_PAGES = "NUMPY_MADVISE_HUGEPAGE"  # a model of few features has few pages; of 2 MB each, 4 MB
_OWN = ("store", "tokens")  # settings that --demo has of its own


def add_serve(commands: Commands) -> None:
    """Add ``serve`` to the commands of ``belated``."""
    from belated.service.settings import TABLE, flag_of, variable_of

    parser = commands.add_parser(
        "serve",
        help="models over HTTP: decisions now, answers whenever, nothing lost",
        description="Serve the models of a store over HTTP, with a dashboard. Without arguments it "
        "uses belated.db in this folder, and listens on this machine alone. A flag goes before its "
        "environment variable, that before the file of --config, and that before the default.",
    )
    parser.add_argument("--config", metavar="FILE", help="settings in TOML [BELATED_CONFIG]")
    settings = parser.add_argument_group("settings")
    for name, each in TABLE.items():
        default = "" if each.default in (None, ()) else f" ({each.default})"
        settings.add_argument(
            flag_of(name),
            choices=each.choices or None,
            metavar=None if each.choices else "VALUE",
            action="append" if each.default == () else "store",
            help=f"{each.about}{default} [{variable_of(name)}]".replace("%", "%%"),
        )
    parser.add_argument("--check", action="store_true", help="print the settings, and exit")
    parser.add_argument(
        "--add-token",
        metavar="NAME:SCOPES",
        help="add a token to the file of tokens, print it and exit: shop:decide,answer",
    )
    parser.add_argument(
        "--new-token", action="store_true", help="make a new token of the owner, and print it"
    )
    parser.add_argument("--demo", action="store_true", help=f"play flights and a shop into {_DEMO}")
    parser.set_defaults(run=_serve)


def _serve(arguments: argparse.Namespace) -> None:
    os.environ.setdefault(_HUGE_PAGES, "0")  # which NumPy looks at when it is loaded
    from belated.service import auth
    from belated.service.settings import Configuration

    flags, environment = vars(arguments), dict(os.environ)
    if arguments.demo:
        for name in _OWN:
            if flags[name] is not None:
                raise SpecError(
                    f"serve: --demo has a store of its own, {_DEMO}; leave --{name} out"
                )
            environment.pop(f"BELATED_{name.upper()}", None)
        flags["store"] = _DEMO
    found = Configuration(flags, environment, new_token=arguments.new_token or arguments.demo)
    if arguments.add_token is not None:
        name, _, scopes = arguments.add_token.partition(":")
        if found.settings.tokens is None or not scopes:
            raise SpecError("serve: --add-token NAME:SCOPE,SCOPE goes with --tokens FILE")
        print(auth.add(found.settings.tokens, name, scopes.split(",")))
        return
    if arguments.check:
        if found.settings.tokens is not None:
            auth.read(found.settings.tokens)
        print(found)
        return
    from belated.service import Server
    from belated.service.run import allow_connections

    allow_connections()
    server = Server(found.settings)
    _tell(server)
    if arguments.demo:
        from belated.cli.serve_demo import SPEED, play

        speed = f"every second plays {SPEED / 60:g} minutes of the flights"
        print(f"To be watched, {speed}; the shop is as fast as any.", flush=True)
        play(server)
    server.run()


def _tell(server: Server) -> None:
    print(f"Serving the models of {server.store.where} at {server.url}")
    if server.token is not None:
        print(f"Token: {server.token}")
        print(f"Dashboard: {server.url}/#token={server.token}")
    elif server.settings.tokens is None:
        print("Token: as it was printed the first time (--new-token makes another)")
    if server.host not in ("127.0.0.1", "::1"):
        print("Others can reach it: put something before it that speaks TLS.", file=sys.stderr)
    sys.stdout.flush()


def add_release(commands: Commands) -> None:
    """Add ``release`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "release",
        help="let another server of the same database write a model",
        description="Ask a server to let go of a model: the next server that is asked for it "
        "writes it from then on. BELATED_TOKEN has a token with the scope admin.",
    )
    parser.add_argument("model", metavar="MODEL", help="the name of the model")
    url = "where the server is (default: %(default)s)"
    parser.add_argument("--url", default="http://127.0.0.1:8765", help=url)
    parser.set_defaults(run=_release)


def _release(arguments: argparse.Namespace) -> None:
    from belated.service import Client

    token = os.environ.get("BELATED_TOKEN")
    if not token:
        raise SpecError("release: give a token with the scope admin as BELATED_TOKEN")
    with Client(arguments.url, token) as client:
        client.model(arguments.model).release()
    print(f"{arguments.model} is released: the next server that is asked for it writes it")
