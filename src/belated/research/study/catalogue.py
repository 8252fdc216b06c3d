"""The studies by name, loaded when one is asked for."""

from __future__ import annotations

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from belated.research.study.plan import Study

STUDIES: Final = MappingProxyType(
    {
        "table1": ("table1", "Table1", "bandit regret against the bounds of the paper's Table 1"),
        "first-order": ("first_order", "FirstOrderRivals", "all methods that are told gradients"),
        "delay-law": ("delay_law", "DelayLaw", "how regret grows with delay and backlog"),
        "skipping": ("skipping", "Skipping", "when giving up on late answers pays"),
        "capacity": ("capacity", "CapacityStudy", "which tickets to track with room for few"),
        "two-point": ("two_point", "TwoPointFeedback", "one value, two values, or a gradient"),
        "drift": ("drift", "Drift", "what learning costs and what lateness costs"),
        "tightness": ("tightness", "Tightness", "how loose each corollary is"),
        "decisions": ("decisions", "Decisions", "how much to explore when rewards come late"),
        "arms": ("arms", "Arms", "drawing arms whose losses come late"),
        "logs": ("logs", "Logs", "the learners on the delays of your own log"),
    }
)
"""Module, class and one line by name; all but "logs" are made without arguments."""


def study_named(name: str, **arguments: object) -> Study:
    """Return a study; ``arguments`` are those of its class.

    >>> study_named("drift").name
    'drift'
    """
    module, kind, _ = STUDIES[name]
    found = getattr(importlib.import_module(f"belated.research.study.{module}"), kind)
    study: Study = found(**arguments)
    return study
