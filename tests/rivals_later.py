"""Cases of the first-order rivals that were published last, with their slow versions."""

from __future__ import annotations

from typing import Any

import naive_later_rivals as slow
from belated import rivals
from belated.rivals.shared import Mirror
from rival_case import RivalCase
from rivals_first_order import LIPSCHITZ, SETS

# --- Weighted optimism ---------------------------------------------------------------------------


def _woftrl(
    place: str, mirror: Mirror = "euclidean", copies: int | None = None, delay: int = 2
) -> RivalCase:
    domain, chart = SETS[place]
    fields: dict[str, Any] = {"smoothness": 0.5, "delay": delay, "mirror": mirror, "copies": copies}
    spec = rivals.WOFTRL(domain, lipschitz=LIPSCHITZ, **fields)
    prompt = rivals.ODFTRL(domain, spec.strength, mirror, "recent")
    return RivalCase(
        f"WOFTRL, {place}, {mirror}, copies {copies}",
        spec,
        lambda seed: slow.NaiveWOFTRL(domain=chart, **fields, seed=seed),
        "gradient",
        ancestor=prompt if copies in (None, 1) else None,
    )


CASES: list[RivalCase] = [
    _woftrl("shifted ball"),
    _woftrl("box", copies=2),
    _woftrl("simplex", "entropy"),
    _woftrl("raised simplex", "entropy", copies=1),
]
