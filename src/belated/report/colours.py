"""One look per name: the same colour, marker and dash in every figure of every page.

The look of a name depends on nothing but the name. Names that are shown together are listed as
:data:`FAMILIES`, and neighbours there differ in colour; any other name gets its look from a
checksum, so two of those may share a colour. ``"NAME (detail)"`` and ``"NAME, detail"`` take the
colour of NAME, with another marker and dash.

The palette is that of Okabe and Ito (2008), which colour-blind readers can tell apart, without its
yellow, which vanishes on white, and with the colour of the text for its black. There are fewer
colours than methods, so markers and dashes differ too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from zlib import crc32

from belated.charts import INK

BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY = "#CC79A7", "#56B4E9"
PALETTE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, INK)
MARKERS = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "triangle-down",
    "cross",
    "triangle-right",
    "triangle-left",
    "M-.6-1 0-.4.6-1 1-.6.4 0 1 .6.6 1 0 .4-.6 1-1 .6-.4 0-1-.6Z",  # an x
    "M0-1 .3-.3 1-.3.5.2.7 1 0 .5-.7 1-.5.2-1-.3-.3-.3Z",  # a star
)
DASHES = {"solid": [1, 0], "dashdot": [8, 3, 2, 3], "dot": [2, 3], "dash": [6, 4]}
"""Lengths of dashes and gaps in pixels."""
MEASURED = ("solid", "dashdot", "dot")
"""Plain dashes are kept for series that were not measured."""

OURS = "ours"
FAMILIES = (
    # methods that are told values
    (
        *(OURS, "Bistritz et al.", "Bistritz et al., doubling", "D-FTBL", "GOLD"),
        *("Flaxman-Kalai-McMahan", "bound"),
    ),
    ("gradient", "one-point", "two-point", "DOGD-SC", "Agarwal-Dekel-Xiao", "Shamir"),
    # methods that are told gradients
    (
        *(OURS, "Quanrud-Khashabi", "BOLD", "DOGD-SC", "Zinkevich", "Delayed dual averaging"),
        *("Qiu-Esposito-Zhang", "AdaptiveRevision", "AdaDelay", "DMD", "Hazan-Agarwal-Kale"),
        *("Langford-Smola-Zinkevich", "Mild-OGD", "SOLID", "AdaGrad", "ODFTRL"),
        *("Weinberger-Ordentlich", "Delay-adaptive SGD", "WOFTRL"),
        *("Ringmaster", "Delayed Frank-Wolfe", "Delayed ONS"),
    ),
    # methods on the simplex
    (
        *(OURS, "AdaHedgeD", "DORM", "Zimmert-Seldin", "delayed Exp3", "skipping Exp3"),
        *("Banker-TINF", "Masoudian-Zimmert-Seldin"),
    ),
    # methods of a replay; ours has the colour of ours everywhere
    (
        *("belated", "told at once", "best fixed window", "running mean"),
        *("refitted ridge", "labels on arrival", "fixed window", "refitted trees"),
        *("Vowpal Wabbit", "river"),
    ),
    # what looks for settings of knobs
    (
        *("Knobs", "OnePoint", "surrogate", "SPSA", "ten lines", "UCB on a grid"),
        "Thompson on a grid",
    ),
    # what audits show beside each other
    ("with lateness", "without"),
    ("mean", "largest"),
    ("giving up after this wait", "recommended", "never giving up"),
    # our own learners beside each other
    ("P-FTRL", "OMD"),
    ("paper", "tight", "gradient-adaptive"),
    ("with Skip", "without Skip", "optimum"),
    # players of a game
    (
        *(OURS, "WOFTRL, small steps", "WOFTRL, large steps", "no copies, large steps"),
        *("one copy, large steps", "FTRL for any losses"),
    ),
    ("Capacity", "no limit", "dropping the oldest", "Deadline", "Skip", "Capacity, coins"),
    # policies that every evaluation has
    ("logged", "chooser", "uniform"),
    # rules of exploration
    (
        *("gap weighting", "gap weighting, more", "uniform", "gap weighting, no trials"),
        *("uniform, more", "greedy", "at random"),
    ),
    # parts of a whole, and counts
    ("undelayed regret", "drift"),
    ("learning", "delay", "unanswered"),
    ("the least regret", "within 1.1 of it"),
    ("convex", "strongly convex", "experts"),
    ("regret",),
    ("wins",),
)
"""Names that are shown together, in this order; those of one family all look different."""
DETAILS = (
    *("bound", "tight", "gradient-adaptive", "OMD", "skipping", "strongly convex"),
    *("order of the bound", "two values", "default"),
)
"""Common additions to the names of methods; each changes its look in another way."""


@dataclass(frozen=True)
class Look:
    """How the values of one name are drawn; markers are shapes of Vega."""

    colour: str
    marker: str
    dash: str


def look(name: str) -> Look:
    """Return the look of a name.

    >>> look("ours").colour == look("ours (bound)").colour == look("Ours").colour
    True
    >>> look("ours").marker == look("ours (bound)").marker
    False
    """
    method, detail = (name, "") if _key(name) in _SLOTS else _parts(name)
    slot = _place(method, _SLOTS, len(PALETTE) * len(MARKERS))
    colour, ring = slot % len(PALETTE), slot // len(PALETTE)
    dash = MEASURED[ring % len(MEASURED)]
    if detail:
        ring = (ring + 1 + _place(detail, _TURNS, len(MARKERS) - 1)) % len(MARKERS)
        # Never solid, and never that of a method that is listed with this colour and marker.
        dash = "dot" if MEASURED[ring % len(MEASURED)] == "dashdot" else "dashdot"
    return Look(
        colour=PALETTE[colour],
        marker=MARKERS[(colour + ring) % len(MARKERS)],
        dash=dash,
    )


def is_ours(name: str) -> bool:
    """Whether a name is that of our method, which stands out everywhere.

    >>> is_ours("belated"), is_ours("ours (bound)"), is_ours("OMD")
    (True, False, False)
    """
    return _key(name) in (_key(OURS), "belated")


def _key(name: str) -> str:
    """Return what counts of a name: its letters and digits."""
    return re.sub(r"[\W_]", "", name.casefold().replace("et al.", "").replace("+", "plus"))


def _parts(name: str) -> tuple[str, str]:
    """Split ``"NAME (detail)"`` and ``"NAME, detail"``; without a detail it is empty."""
    method, _, detail = re.sub(r" \(|, ", "\0", name, count=1).partition("\0")
    return method, detail.removesuffix(")")


def _place(name: str, places: dict[str, int], count: int) -> int:
    """Return the listed place of a name, or one of ``count`` that only depends on the name."""
    key = _key(name)
    return places[key] if key in places else crc32(key.encode()) % count


_SLOTS = {_key(name): slot for family in FAMILIES for slot, name in enumerate(family)}
_TURNS = {_key(name): turn for turn, name in enumerate(DETAILS)}
