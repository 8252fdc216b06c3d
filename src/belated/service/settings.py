"""The settings of a server; each is defined once, for flags, variables, files and documentation.

A flag goes before an environment variable, that before the TOML file, and that before the default.
"""

from __future__ import annotations

import ipaddress
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import SplitResult, urlsplit

from belated.errors import SpecError
from belated.files import StrPath

BATCH, FEATURES, ACTIONS, TEXT = 1000, 1000, 1000, 500
"""Limits that are fixed: items of a request, features of a row, actions of a choice, characters."""
PORT = 8765
LogFormat = Literal["quiet", "text", "json"]
Parser = Literal["h11", "httptools"]
_PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^/]*@|([?&](?:ssl)?password=)[^&\s\"']+")


@dataclass(frozen=True)
class Limits:
    """Bounds on requests; a request beyond one gets a response that names it."""

    body: Annotated[int, "bytes of a request"] = 4 << 20
    upload: Annotated[int, "bytes of a file that is imported"] = 256 << 20
    products: Annotated[
        int,
        "numbers that a request computes with: features of a context times those of all actions, "
        "features and interactions of rows, coordinates of a Learner",
    ] = 1_000_000
    choice_products: Annotated[int, "the same for one choice"] = 250_000
    bits: Annotated[int, "a model has at most 2^bits coordinates"] = 22
    models: Annotated[int, "models"] = 1000
    open: Annotated[int, "open tickets of a model"] = 1_000_000
    evaluated: Annotated[int, "events of a log that is evaluated"] = 100_000
    at_once: Annotated[int, "requests at once"] = 2000
    rate: Annotated[float, "requests per second and token; 0: any number"] = 0.0
    patience: Annotated[float, "seconds for a body, or for a MiB of a larger one"] = 30.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if TABLE[each.name].type is int and (type(value) is not int or value < 1):
                raise SpecError(
                    f"Limits: {each.name} must be a whole number of at least 1, got {value!r}"
                )
        if not (math.isfinite(self.rate) and self.rate >= 0.0):
            raise SpecError(f"Limits: rate must be at least 0 (any number), got {self.rate!r}")
        if not (math.isfinite(self.patience) and self.patience > 0.0):
            raise SpecError(f"Limits: patience must be more than 0, got {self.patience!r}")


@dataclass(frozen=True)
class Settings:
    """Settings of ``belated serve``."""

    store: Annotated[StrPath, "the store: a file, or the URL of a database"] = "belated.db"
    host: Annotated[str, "where to listen"] = "127.0.0.1"
    port: Annotated[int, "where to listen; 0: any that is free"] = PORT
    tokens: Annotated[StrPath | None, "file of hashed tokens and their scopes"] = None
    advertise: Annotated[
        str | None,
        "URL where other servers of the same database find this one; default: where it listens",
    ] = None
    proxy: Annotated[
        tuple[str, ...], "addresses or networks of proxies whose X-Forwarded-For is trusted"
    ] = ()
    parser: Annotated[
        Parser,
        "what parses requests; httptools is quicker, and is for servers behind a "
        "proxy: it does not limit heads, and loses the body of a request for another protocol",
    ] = "h11"
    log: Annotated[LogFormat, "what to write of requests"] = "quiet"
    limits: Limits = field(default_factory=Limits)
    new_token: bool = False
    """Whether to replace the owner's token."""
    middleware: Callable[[Any], Any] | None = None
    """Wraps the ASGI application, such as ``OpenTelemetryMiddleware``."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise SpecError(f"serve: --port: a port is from 0 to 65535, got {self.port}")
        if self.advertise is not None and address_of(self.advertise, "serve: --advertise").path:
            raise SpecError(
                "serve: --advertise: an address is http://HOST:PORT, no path, got "
                f"{self.advertise!r}"
            )
        for each in self.proxy:
            try:
                ipaddress.ip_network(each)
            except ValueError as error:
                raise SpecError(
                    "serve: --proxy: give the address or network of a proxy, such as 127.0.0.1 or "
                    f"10.0.0.0/8: {error}"
                ) from None


class Setting(NamedTuple):
    """A line of the table of settings."""

    type: Any
    about: str
    default: Any

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it can have; nothing if there are many."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()


TABLE: dict[str, Setting] = {
    name: Setting(hint.__origin__, hint.__metadata__[0], getattr(kind, name))
    for kind in (Settings, Limits)
    for name, hint in get_type_hints(kind, include_extras=True).items()
    if get_origin(hint) is Annotated
}
"""Every setting by its name, which is also its key in TOML."""
_OF_LIMITS = frozenset(each.name for each in fields(Limits))


def hide_passwords(text: str) -> str:
    """Return a text without the passwords of the URLs in it.

    >>> hide_passwords("postgresql://ann:a@b@host/db?sslpassword=c&x=1")
    'postgresql://ann:***@host/db?sslpassword=***&x=1'
    """
    return _PASSWORD.sub(
        lambda found: f"{found[1]}:***@" if found[2] is None else f"{found[2]}***", text
    )


def address_of(url: str, who: str = "Client") -> SplitResult:
    """Read the address of a server.

    >>> address_of("http://[::1]:8765/api/").hostname
    '::1'
    """
    try:
        parts = urlsplit(url.rstrip("/"))
        is_known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:  # the port is no number
        raise SpecError(f"{who}: {error}, got {url!r}") from error
    if not is_known:
        raise SpecError(
            f"{who}: the address of a server is http://HOST:PORT, got {hide_passwords(url)!r}"
        )
    return parts


def flag_of(name: str) -> str:
    """Return the flag of a setting.

    >>> flag_of("at_once"), variable_of("at_once")
    ('--at-once', 'BELATED_AT_ONCE')
    """
    return f"--{name.replace('_', '-')}"


def variable_of(name: str) -> str:
    return f"BELATED_{name.upper()}"


class Configuration:
    """The effective settings of a server, and where each comes from."""

    def __init__(
        self, flags: Mapping[str, Any], environment: Mapping[str, str], **more: Any
    ) -> None:
        path = flags.get("config") or environment.get("BELATED_CONFIG") or None
        filed = {} if path is None else _read_file(path)
        found: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        """Flag, variable or file by setting; those with their default are not there."""
        for name in TABLE:
            variable = variable_of(name)
            for source, value in (
                (flag_of(name), flags.get(name)),
                (variable, environment.get(variable) or None),
                (str(path), filed.get(name)),
            ):
                if value is not None:
                    found[name] = _read(name, value, source)
                    self.sources[name] = source
                    break
        if self.sources.get("store") == "--store" and _PASSWORD.search(str(found["store"])):
            raise SpecError(
                "serve: --store: every user of the machine sees a password on the command line; "
                "leave it out, and give it as PGPASSWORD, in ~/.pgpass (PGPASSFILE), or with the "
                "whole URL as BELATED_STORE or in the file of --config"
            )
        limits = Limits(**{name: found.pop(name) for name in _OF_LIMITS & found.keys()})
        self.settings = Settings(**found, limits=limits, **more)

    def __str__(self) -> str:
        """Return the effective settings as TOML, without secrets."""
        lines = []
        for name in TABLE:
            value = getattr(self.settings.limits if name in _OF_LIMITS else self.settings, name)
            source = self.sources.get(name, "default")
            if value is None:
                lines.append(f"# {name} is not set")
                continue
            text = str(list(value) if isinstance(value, tuple) else value)
            if isinstance(value, str | Path):
                text = json.dumps(hide_passwords(text), ensure_ascii=False)
            lines.append(f"{name} = {text}  # {source}")
        return "\n".join(lines)


def _read_file(path: StrPath) -> dict[str, Any]:
    import tomllib

    try:
        found = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SpecError(f"serve: --config {path} cannot be read: {error}") from error
    unknown = sorted(found.keys() - TABLE.keys())
    if unknown:
        raise SpecError(
            f"serve: --config {path}: there is no setting {unknown[0]!r}; there are: "
            f"{', '.join(TABLE)}"
        )
    return found


def _read(name: str, value: Any, source: str) -> Any:
    """Return a setting as its type, from a text of a flag or variable or a value of TOML."""
    kind, choices = TABLE[name].type, TABLE[name].choices
    if get_origin(kind) is tuple:
        parts = value.split(",") if isinstance(value, str) else value
        if isinstance(parts, list) and all(isinstance(each, str) for each in parts):
            return tuple(each.strip() for each in parts if each.strip())
    elif kind in (int, float):
        is_number = not isinstance(value, bool) and isinstance(value, int | float | str)
        try:
            if is_number and not (kind is int and isinstance(value, float)):
                return kind(value)
        except ValueError:
            pass
        raise SpecError(f"serve: {source}: {name} is a number, got {hide_passwords(repr(value))}")
    elif isinstance(value, str) and (not choices or value in choices):
        return value
    wanted = f"one of {', '.join(choices)}" if choices else "a text, or a list of texts"
    raise SpecError(f"serve: {source}: {name} is {wanted}, got {hide_passwords(repr(value))}")


def documentation() -> str:
    """Return the table of settings for the documentation, in Markdown."""
    rows = ["| setting | default | what it is |", "|---|---|---|"]
    for name, each in TABLE.items():
        default = "" if each.default in (None, ()) else f"`{each.default}`"
        rows.append(f"| `{name}` | {default} | {each.about} |")
    return "\n".join(rows)
