"""Seeds that nothing can have been tuned to: they follow from the hash of a commit.

``python -m benchmarks NAME --seed-from HASH`` draws the worlds of an earlier run again; without it
the hash is that of the current commit. Results record it as ``seed_from``.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

VARIABLE = "BELATED_SEED_FROM"
"""Environment variable with the hash, which subprocesses of a benchmark inherit."""


def seeds_from(commit_hash: str, name: str, count: int) -> list[int]:
    """Return ``count`` seeds below 2^31 for the benchmark ``name``; more only adds to the end.

    >>> seeds_from("c75e446", "nights", 2) == seeds_from("c75e446", "nights", 3)[:2]
    True
    """
    digests = (hashlib.sha256(f"{commit_hash} {name} {i}".encode()).digest() for i in range(count))
    return [int.from_bytes(digest[:4], "big") >> 1 for digest in digests]


DRAWN: set[str] = set()
"""Names that seeds were drawn for in this process."""


def seeds(name: str, count: int) -> list[int]:
    """Return the seeds of this run."""
    DRAWN.add(name)
    return seeds_from(commit(), name, count)


def commit() -> str:
    """Return the hash that seeds are drawn from: the one that was given, or the current commit."""
    if VARIABLE not in os.environ:
        command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
        found = subprocess.run(command, check=True, capture_output=True, text=True)
        os.environ[VARIABLE] = found.stdout.strip()
    return os.environ[VARIABLE]
