"""Installs like ``pip install``, with uv, which takes a fifth of the time.

uv does not read the settings of pip. Those that say where packages come from are told to it, and
those that change nothing are passed over. With any other it fails, and pip is there to be called.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys

SAID = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}
"""Settings of pip that have a list of places, and the option of uv for each place."""

PASSED_OVER = {
    "cache-dir",
    "default-timeout",
    "disable-pip-version-check",
    "no-cache-dir",
    "no-color",
    "no-input",
    "no-python-version-warning",
    "progress-bar",
    "quiet",
    "require-virtualenv",
    "retries",
    "root-user-action",
    "timeout",
}


def settings(listing: str) -> dict[str, str]:
    """Return what ``pip config list`` says about installing; the environment goes first.

    >>> settings("global.timeout='9'\\n:env:.timeout='5'\\ninstall.no-index='1'\\nfreeze.all='1'")
    {'timeout': '5', 'no-index': '1'}
    """
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listing.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        found.get(section, {})[key] = ast.literal_eval(value)
    return found["global"] | found["install"] | found[":env:"]


def options(wanted: dict[str, str]) -> list[str] | None:
    """Return the same settings as options of uv, or None if it has no option for one of them.

    >>> options({"find-links": "/a /b", "cert": "/c.pem", "timeout": "9"})
    ['--find-links', '/a', '--find-links', '/b']
    >>> options({"no-index": "true", "extra-index-url": "https://one.example"})
    ['--no-index', '--index', 'https://one.example']
    >>> options({"constraint": "/versions.txt"}) is None
    True
    """
    said: list[str] = []
    for key, value in wanted.items():
        if key == "no-index":
            said += ["--no-index"] * (value.lower() in {"1", "true", "yes", "on"})
        elif key in SAID:
            said += [word for place in value.split() for word in (SAID[key], place)]
        elif key != "cert" and key not in PASSED_OVER:
            return None
    return said


def main(arguments: list[str]) -> int:
    """Install, and return 0 if that went well."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    )
    wanted = settings(listing.stdout)
    said = options(wanted)
    if said is None:
        print("uv has no option for a setting of pip")
        return 1
    certificates = {"SSL_CERT_FILE": wanted["cert"]} if "cert" in wanted else {}
    # As with pip, the newest version wins, wherever it comes from.
    best = ["--index-strategy", "unsafe-best-match"]
    command = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable]
    done = subprocess.run([*command, *best, *said, *arguments], env={**os.environ, **certificates})
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
