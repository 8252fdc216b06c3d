"""``belated serve``: its arguments."""

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
_FORMS = ("quiet", "text", "json")
_HUGE_PAGES = "NUMPY_MADVISE_HUGEPAGE"  # a model of few features has few pages; of 2 MB each, 4 MB


def add_serve(commands: Commands) -> None:
    """Add ``serve`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "serve",
        help="models over HTTP: decisions now, answers whenever, nothing lost",
        description="Serve the models of a store over HTTP, with a dashboard. Without arguments it "
        "uses belated.db in this folder, and listens on this machine alone.",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--data", metavar="FILE", help="the store (belated.db)")
    where.add_argument("--store", metavar="URL", help="the store as a URL")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8765, help="0: any that is free (8765)")
    parser.add_argument(
        "--advertise",
        metavar="URL",
        help="where other servers of the same database find this one (where it listens)",
    )
    parser.add_argument(
        "--proxy",
        metavar="ADDRESS",
        action="append",
        default=[],
        help="address or network of a proxy whose X-Forwarded-For is trusted; repeatable",
    )
    parser.add_argument(
        "--parser",
        choices=("h11", "httptools"),
        default="h11",
        help="what parses requests (h11); httptools is faster, for servers behind a proxy",
    )
    parser.add_argument("--tokens", metavar="FILE", help="hashed tokens and what they may do")
    parser.add_argument(
        "--add-token",
        metavar="NAME:SCOPES",
        help="add a token to the file of tokens, print it and exit: shop:decide,answer",
    )
    parser.add_argument(
        "--new-token", action="store_true", help="make a new token of the owner, and print it"
    )
    parser.add_argument("--log", choices=_FORMS, default="quiet", help="what to write of requests")
    parser.add_argument("--rate", type=float, default=0.0, help="requests a second of one token")
    parser.add_argument("--models", type=int, default=1000, help="the most models (1000)")
    parser.add_argument("--open", type=int, default=1_000_000, help="the most open tickets a model")
    parser.add_argument("--demo", action="store_true", help=f"play flights and a shop into {_DEMO}")
    parser.set_defaults(run=_serve)


def _serve(arguments: argparse.Namespace) -> None:
    if arguments.add_token is not None:
        _add_token(arguments)
        return
    _check_demo(arguments)
    os.environ.setdefault(_HUGE_PAGES, "0")  # which NumPy looks at when it is loaded
    from belated.service import Limits, Server, Settings
    from belated.service.run import allow_connections

    allow_connections()
    limits = Limits(rate=arguments.rate, models=arguments.models, open=arguments.open)
    data = arguments.store or arguments.data or (_DEMO if arguments.demo else "belated.db")
    server = Server(
        Settings(
            data=data,
            host=arguments.host,
            port=arguments.port,
            tokens=arguments.tokens,
            advertise=arguments.advertise,
            proxies=tuple(arguments.proxy),
            parser=arguments.parser,
            new_token=arguments.new_token or arguments.demo,
            log=arguments.log,
            limits=limits,
        )
    )
    _tell(server)
    if arguments.demo:
        from belated.service.demo import SPEED, play

        speed = f"every second plays {SPEED / 60:g} minutes of the flights"
        print(f"To be watched, {speed}; the shop is as fast as any.", flush=True)
        play(server)
    server.run()


def _check_demo(arguments: argparse.Namespace) -> None:
    """Refuse a demonstration on a store of one's own: it makes models, and a new token."""
    for name in ("data", "store", "tokens"):
        if arguments.demo and getattr(arguments, name) is not None:
            raise SpecError(f"serve: --demo has a store of its own, {_DEMO}; leave --{name} out")


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


def _add_token(arguments: argparse.Namespace) -> None:
    from belated.service.auth import add

    name, _, scopes = arguments.add_token.partition(":")
    if arguments.tokens is None or not scopes:
        raise SpecError("serve: --add-token NAME:SCOPE,SCOPE goes with --tokens FILE")
    print(add(arguments.tokens, name, scopes.split(",")))
