"""What reports say of the contexts that came, and settings that nobody can change from outside."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.models.knobs import Knobs
from belated.models.knobs.page import page_of

CONTEXT: dict[str, Any] = {"country": ["PT", "NO", "SE"], "hour": (0, 24)}


def lived(rounds: int = 60) -> tuple[Knobs, list[np.ndarray]]:
    """Return knobs whose best is +0.5 in one country and -0.5 in the other, and the contexts."""
    knobs = Knobs({"x": (-1, 1)}, context=CONTEXT)
    rng = np.random.default_rng(0)
    came = []
    for t in range(rounds):
        context = {"country": "PT" if t % 3 else "NO", "hour": float(rng.integers(0, 12))}
        ticket, setting = knobs.predict(context)
        goal = 0.5 if context["country"] == "PT" else -0.5
        if t % 7 == 6:
            knobs.cancel(ticket)
            continue
        if t % 5 == 0:
            knobs.revise(ticket, 9.0)
        knobs.observe(ticket, (setting["x"] - goal) ** 2 + 0.02 * float(rng.normal()))
        came.append(knobs.settings.features(context))
    return knobs, came


def test_reports_are_means_over_the_contexts_that_came() -> None:
    """Means and deviations are those of what was heard; and so is what is expected of a setting."""
    knobs, came = lived()
    means, deviations = knobs._tuner.models.contexts()
    assert means == pytest.approx(np.mean(came, axis=0), abs=1e-6)
    assert deviations == pytest.approx(np.std(came, axis=0), abs=1e-6)
    report = knobs.report()
    each = [knobs._expected(report.best, features).cost for features in came]
    assert report.expected == pytest.approx(np.mean(each), abs=1e-6)
    rows = {(row.name, row.value): row for row in report.contexts}
    assert [name for name, _ in rows] == ["country", "country", "hour", "hour"]
    assert rows["country", "PT"].best["x"] > 0.25
    assert rows["country", "NO"].best["x"] < -0.25
    share = rows["country", "PT"].share
    assert share == pytest.approx(np.mean([features[0] for features in came]), abs=1e-6)
    assert ("country", "SE") not in rows  # it never came
    assert report.to_dict()["contexts"][0]["name"] == "country"
    asked = [section.question for section in page_of(knobs).sections]
    assert asked[-1] == "What is best in which context?"


def test_a_report_without_contexts_has_none() -> None:
    """And before the first cost, nothing is known of them."""
    assert Knobs({"x": (0, 1)}).report().contexts == ()
    fresh = Knobs({"x": (0, 1)}, context=CONTEXT)
    fresh.predict({"country": "NO"})
    assert fresh.report().contexts == ()


def test_settings_cannot_be_changed_from_outside() -> None:
    """Neither through what was given, nor through what is shown; they still copy and pickle."""
    ranges: dict[str, Any] = {"x": (0.0, 1.0)}
    start = {"x": 0.25}
    knobs = Knobs(ranges, start=start, context={"hour": (0, 24)}, max_step={"x": 0.5})
    ranges["y"] = (0, 1)
    start["x"] = 0.9
    settings = knobs.settings
    for shown in (settings.knobs, settings.start, settings.context, settings.max_step):
        with pytest.raises(TypeError):
            shown["x"] = 3  # type: ignore[index]
    settings.to_dict()["start"]["x"] = 7.0
    knobs.report().start["x"] = 7.0
    knobs.revert()
    assert knobs.predict().setting == {"x": 0.25}
    assert copy.deepcopy(settings) == settings == pickle.loads(pickle.dumps(settings))
    assert bl.Knobs.restore(knobs.snapshot()).settings == settings
