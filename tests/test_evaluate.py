"""Evaluations: small logs whose answer is known, the slow versions, and what is said."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
import naive_evaluation as naive
from belated.errors import LogError, SpecError
from belated.evaluations import Evaluation, diagnostics, estimators
from belated.evaluations.decision_log import DecisionLog, MatureDecisions, end_of, mature
from belated.evaluations.estimators import (
    Estimate,
    Terms,
    Weighed,
    interval,
    repetition,
    student,
)
from belated.evaluations.page import page_of
from belated.evaluations.policies import Policy
from belated.evaluations.reading import Columns, decisions_of
from belated.logs import read
from belated.report.page import to_html

# What is tested is what stands around the models; compiled, those take no time.
pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]

ACTIONS = ("blue", "green", "red")
CHANCES = {"PT": (0.6, 0.2, 0.1), "NO": (0.1, 0.5, 0.2)}
ROUNDS = 240


def rows_of(rounds: int = ROUNDS, seed: int = 0, **more: Any) -> list[naive.Row]:
    """Visits from two countries; red is heard of late, and some rewards never come."""
    rng = np.random.default_rng(seed)
    found = []
    for t in range(rounds):
        country = "PT" if rng.random() < 0.5 else "NO"
        p = np.array([0.5, 0.3, 0.2])
        a = int(rng.choice(3, p=p))
        wait = float(rng.exponential((2.0, 3.0, 12.0)[a]))
        is_heard = rng.random() < CHANCES[country][a]
        found.append(
            {
                "context": {"country": country},
                "action": ACTIONS[a],
                "probability": float(p[a]),
                "decided": float(t),
                "rewarded": t + wait if is_heard else None,
                "reward": 1.0 if is_heard else None,
            }
        )
    return found


def columns_of(rows: list[naive.Row]) -> dict[str, list[Any]]:
    return {
        "decided_at": [row["decided"] for row in rows],
        "rewarded_at": [row["rewarded"] for row in rows],
        "reward": [row["reward"] for row in rows],
        "action": [row["action"] for row in rows],
        "probability": [row["probability"] for row in rows],
        "country": [row["context"]["country"] for row in rows],
    }


def by_country(context: dict[str, Any], actions: tuple[str, ...]) -> str:
    return "blue" if context["country"] == "PT" else "green"


def soft(context: dict[str, Any], actions: tuple[str, ...]) -> dict[str, float]:
    first = by_country(context, actions)
    return {action: 0.8 if action == first else 0.1 for action in actions}


@pytest.fixture(scope="module")
def rows() -> list[naive.Row]:
    return rows_of()


@pytest.fixture(scope="module")
def found(rows: list[naive.Row]) -> Evaluation:
    policies: dict[str, Any] = {"rule": by_country, "soft": soft}
    return bl.evaluate(columns_of(rows), policies, silence=0.0, deadline=20)


# ---- the slow versions -------------------------------------------------------------------------


def ends_of(rows: list[naive.Row]) -> float:
    return float(max(max(row["decided"], row["rewarded"] or 0.0) for row in rows))


def test_what_counts_is_what_is_old_enough(rows: list[naive.Row], found: Evaluation) -> None:
    slow = naive.counted(rows, 0.0, 20.0, ends_of(rows))
    assert found.counted == len(slow) < len(rows)
    assert found.too_young == len(rows) - len(slow)
    assert found.rewards.tolist() == [reward for _, reward in slow]
    late = [row for row, _ in slow if row["rewarded"] and row["rewarded"] - row["decided"] > 20.0]
    assert found.mature.late == len(late) > 0


def policies_of(name: str) -> Any:
    """A policy as the slow versions take it."""
    if name == "uniform":
        return lambda row, action: 1 / 3
    if name.startswith("always "):
        return lambda row, action: float(action == name.removeprefix("always "))
    if name == "rule":
        return lambda row, action: float(action == by_country(row["context"], ACTIONS))
    return lambda row, action: soft(row["context"], ACTIONS)[action]


@pytest.mark.parametrize("name", ["uniform", "always blue", "always red", "rule", "soft"])
def test_estimates_are_those_of_the_slow_versions(
    rows: list[naive.Row], found: Evaluation, name: str
) -> None:
    slow = naive.counted(rows, 0.0, 20.0, ends_of(rows))
    said = naive.walked(slow, ACTIONS, 0.0, 20.0, rows[0]["decided"])
    predicted = [{action: pair[1] for action, pair in each.items()} for each in said]
    judged, policy = found.policies[name].estimates, policies_of(name)
    expected = {
        "ips": naive.ips(slow, policy),
        "snips": naive.snips(slow, policy),
        "dr": naive.dr(slow, policy, predicted),
    }
    for how, value in expected.items():
        estimate = judged[how]  # type: ignore[index]
        assert estimate is not None
        assert estimate.value == pytest.approx(value, rel=1e-12)
        assert estimate.low < estimate.value < estimate.high


def test_the_walk_of_a_chooser_is_that_of_the_slow_version(
    rows: list[naive.Row], found: Evaluation
) -> None:
    slow = naive.counted(rows, 0.0, 20.0, ends_of(rows))
    said = naive.walked(slow, ACTIONS, 0.0, 20.0, rows[0]["decided"])
    expected = [[each[action][0] for action in ACTIONS] for each in said]
    probabilities = found.given["chooser"].probabilities
    assert probabilities is not None
    assert probabilities.tolist() == expected
    assert probabilities[0].tolist() == [1 / 3, 1 / 3, 1 / 3]


def test_a_prediction_never_sees_its_own_reward_nor_a_later_one(rows: list[naive.Row]) -> None:
    """Other rewards from some moment on change nothing that was said before they were heard."""
    changed = [dict(row) for row in rows]
    for row in changed[120:]:
        row["reward"] = None if row["reward"] is None else 5.0
    one, two = (
        bl.evaluate(columns_of(each), silence=0.0, deadline=20, until=260.0)
        for each in (rows, changed)
    )
    for name in ("chooser", "always blue"):
        a, b = (each.weighed[name] for each in (one, two))
        assert a.predicted[:121].tolist() == b.predicted[:121].tolist()
    assert (
        one.weighed["chooser"].weights[:121].tolist()
        == two.weighed["chooser"].weights[:121].tolist()
    )
    assert one.weighed["chooser"].predicted.tolist() != two.weighed["chooser"].predicted.tolist()


# ---- known answers -----------------------------------------------------------------------------


def test_the_logged_policy_has_the_mean_of_its_rewards(found: Evaluation) -> None:
    for estimate in found.policies["logged"].estimates.values():
        assert estimate is not None
        assert estimate.value == pytest.approx(float(found.rewards.mean()), rel=1e-12)


def test_a_policy_that_is_the_logged_one_is_a_tie_with_no_width(rows: list[naive.Row]) -> None:
    columns = columns_of(rows)
    columns["same"] = columns["probability"]
    found = bl.evaluate(columns, ["same"], silence=0.0, deadline=20, estimator="ips")
    gap = found.compare("same")
    assert (gap.value, gap.low, gap.high) == (0.0, 0.0, 0.0)
    assert found.policies["same"].standing == "tie"
    assert found.policies["same"].effective_sample_size == pytest.approx(found.counted)


def test_a_difference_is_paired(found: Evaluation) -> None:
    """Two policies that mostly agree are told apart far better than each is known."""
    gap, rule = found.compare("rule", "soft"), found.estimate("rule")
    assert rule is not None
    assert gap.high - gap.low < 0.5 * (rule.high - rule.low)
    back = found.compare("soft", "rule")
    assert (back.value, back.low, back.high) == pytest.approx((-gap.value, -gap.high, -gap.low))


def test_the_best_policy_is_found() -> None:
    found = bl.evaluate(columns_of(rows_of(1500)), {"rule": by_country}, silence=0.0, deadline=20)
    assert next(iter(found.policies)) in ("rule", "chooser")
    assert found.policies["rule"].standing == "better"
    assert found.policies["always red"].standing == "worse"
    assert "is better than the logged policy" in found.verdict
    assert found.policies["rule"].difference_for_all is not None
    narrow, wide = found.policies["rule"].difference, found.policies["rule"].difference_for_all
    assert narrow is not None
    assert wide.low < narrow.low < narrow.high < wide.high


def test_a_tie_is_called_a_tie() -> None:
    rng = np.random.default_rng(1)
    heard = rng.random(500) < 0.3
    columns = {
        "decided_at": np.arange(500.0),
        "rewarded_at": np.where(heard, np.arange(500.0) + 1.0, np.nan),
        "reward": np.where(heard, 1.0, np.nan),
        "action": np.where(rng.random(500) < 0.5, "a", "b"),
        "probability": np.full(500, 0.5),
    }
    found = bl.evaluate(columns, silence=0.0, deadline=5)
    assert {judged.standing for judged in found.policies.values()} == {"", "tie"}
    assert found.verdict.startswith("A tie: no policy is shown to be better")
    assert "The highest estimate is that of" in found.verdict
    lower = bl.evaluate(columns, silence=0.0, deadline=5, against=next(iter(found.policies)))
    assert lower.verdict.endswith("and none has a higher estimate.")


# ---- intervals ---------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(10, 400), st.floats(0.1, 100.0), st.floats(0.2, 90.0))
@settings(max_examples=25, deadline=None)
def test_intervals_are_those_of_the_slow_version(
    seed: int, size: int, scale: float, largest: float
) -> None:
    """Also where one decision weighs far more than all others."""
    rng = np.random.default_rng(seed)
    weights, rewards = rng.uniform(0.2, 3.0, size), scale * rng.standard_t(3.0, size)
    weights[0] = largest
    terms = Weighed(weights, None, weights).terms("ips", rewards)
    assert terms is not None
    estimate = interval(terms, rewards)
    values = (weights * rewards).tolist()
    quantile = student(0.95, max(32.0, naive.freedom(values)))
    ends = naive.interval(weights.tolist(), rewards.tolist(), quantile)
    assert (estimate.low, estimate.high) == pytest.approx(ends, rel=1e-9, abs=1e-9)


def test_intervals_are_wide_where_one_decision_weighs_too_much() -> None:
    """With even weights they are the textbook's, to a percent; beside 200 they are half wider."""
    rewards = np.tile([0.0, 1.0], 1000)
    for largest, least, most in ((1.0, 1.0, 1.01), (10.0, 1.0, 1.05), (200.0, 1.45, 1.55)):
        weights = np.ones(2000)
        weights[7] = largest
        terms = Weighed(weights, None, weights).terms("ips", rewards)
        assert terms is not None
        estimate = interval(terms, rewards)
        low, high = naive.plain_interval((weights * rewards).tolist(), 1.96)
        ratio = (estimate.high - estimate.low) / (high - low)
        assert least < ratio < most


def test_blocks_only_widen(rows: list[naive.Row], found: Evaluation) -> None:
    blocked = bl.evaluate(columns_of(rows), silence=0.0, deadline=20, blocks=8)
    for name in ("uniform", "always blue", "chooser"):
        one, other = found.estimate(name), blocked.estimate(name)
        assert one is not None
        assert other is not None
        assert other.low <= one.low <= one.high <= other.high


WORLDS = ("stationary", "drift", "hours", "trend", "days")
LOGGERS = ("fixed", "greedy", "softmax", "no floor")


def simulated(world: str, logger: str, keeps: int, seed: int) -> tuple[Any, ...]:
    """Return rewards, weights of three actions, predictions of what was done, and true values.

    Three actions in two contexts, with chances that change with time as the world says; the logger
    learns from rewards that come 50 decisions late, and keeps an action for some decisions.
    """
    rng, n, late = np.random.default_rng(seed), 1500, 50
    chances = np.tile(rng.uniform(0.1, 0.4, (2, 3)), (n, 1, 1))
    time = np.arange(n)[:, None, None]
    if world == "drift":
        chances += np.cumsum(rng.normal(0.0, 0.004, (n, 1, 3)), axis=0)
    if world == "hours":
        chances *= 1.0 + 0.8 * np.sin(2.0 * np.pi * (time / 100.0 + rng.random((1, 1, 3))))
    if world == "trend":
        chances *= 0.5 + 1.5 * time / n
    if world == "days":
        chances *= np.repeat(rng.choice([0.4, 1.6], (n // 100, 1, 1)), 100, axis=0)
    chances = chances.clip(0.01, 0.99)
    context, luck, draws = rng.integers(0, 2, n), rng.random(n), rng.random(n)
    action, chance, reward = np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n)
    sums, counts, predicted = np.full((2, 3), 1.0), np.full((2, 3), 4.0), np.zeros((n, 3))
    for t, x in enumerate(context.tolist()):
        if t >= late:
            heard = context[t - late], action[t - late]
            sums[heard] += reward[t - late]
            counts[heard] += 1.0
        predicted[t] = sums[x] / counts[x]
        p = np.array([0.5, 0.3, 0.2])
        if logger == "greedy":
            p = np.where(predicted[t] == predicted[t].max(), 0.9, 0.05)
            p = p / p.sum()
        if logger in ("softmax", "no floor"):
            p = np.exp(20.0 * (predicted[t] - predicted[t].max()))
            p = p / p.sum() if logger == "no floor" else 0.05 + 0.85 * p / p.sum()
        is_kept = t % keeps
        action[t] = action[t - 1] if is_kept else (draws[t] > p.cumsum()[:2]).sum()
        chance[t] = p[action[t]]
        reward[t] = luck[t] < chances[t, x, action[t]]
    weights = np.stack([(action == a) / chance for a in range(3)])
    return reward, weights, predicted, predicted[np.arange(n), action], chances.mean(axis=(0, 1))


def judged(world: str, logger: str, keeps: int, seed: int) -> tuple[bool, list[bool]]:
    """Whether there is a warning of kept actions, and which intervals hold what is true."""
    reward, weights, predicted, of_taken, truth = simulated(world, logger, keeps, seed)
    policies: dict[str, Any] = {}
    weighed = {f"always {a}": Weighed(w, predicted[:, a], of_taken) for a, w in enumerate(weights)}
    for name, each in weighed.items():
        policies[name] = Policy(name, "", each.weights, np.zeros((len(reward), 3)))
    found: Any = SimpleNamespace(weighed=weighed, given=policies)
    wrong = {name: estimators.wrong_mean(each) for name, each in weighed.items()}
    warning = diagnostics.repetition_warning(found, {n: m for n, m in wrong.items() if m})
    terms = [each.terms("dr", reward) for each in weighed.values()]
    held = []
    for (a, one), (b, other) in combinations(enumerate(terms), 2):
        if one is not None and other is not None:
            gap = interval(one.minus(other), reward)
            held.append(gap.low <= truth[a] - truth[b] <= gap.high)
    return bool(warning), held


@pytest.mark.parametrize("logger", LOGGERS)
def test_intervals_hold_and_nothing_is_warned_of_where_actions_are_drawn_anew(logger: str) -> None:
    """Whatever rewards share: hours, days, a trend, or a policy that improves while it logs.

    Of 3 x 40 intervals at least 88 % hold what is true. False warnings come once in a thousand.
    """
    results = [judged(world, logger, 1, seed) for seed in range(8) for world in WORLDS]
    assert np.mean([held for _, several in results for held in several]) >= 0.88
    assert sum(is_warned for is_warned, _ in results) <= 1


@pytest.mark.parametrize("world", ["hours", "days"])
def test_actions_that_are_kept_for_some_time_are_warned_of(world: str) -> None:
    """There intervals are too narrow, as rewards share more than their action."""
    results = [judged(world, "fixed", 50, seed) for seed in range(20)]
    assert np.mean([held for _, several in results for held in several]) < 0.8
    assert sum(is_warned for is_warned, _ in results) >= 19


def test_the_warning_of_kept_actions_ends_with_blocks() -> None:
    rng = np.random.default_rng(5)
    columns = {
        "decided_at": np.arange(1000.0),
        "rewarded_at": np.arange(1000.0),
        "reward": rng.random(1000).round(2),
        "action": np.repeat(np.where(rng.random(50) < 0.5, "a", "b"), 20),
        "probability": np.full(1000, 0.5),
    }
    found = bl.evaluate(columns, deadline=1, chooser=False)
    text = " ".join(str(found).split())
    assert 0 <= text.index("the same action was taken in neighbouring") < text.index(found.verdict)
    blocked = bl.evaluate(columns, deadline=1, chooser=False, blocks=20)
    assert not any("neighbouring" in text for text in blocked.warnings)
    assert repetition(np.ones(1000)) == 0.0


# ---- overlap and speeds ------------------------------------------------------------------------


def test_extreme_weights_are_warned_of(rows: list[naive.Row]) -> None:
    columns = columns_of(rows)
    columns["probability"][3] = 0.001
    found = bl.evaluate(columns, silence=0.0, deadline=20, chooser=False)
    name = f"always {columns['action'][3]}"
    judged = found.policies[name]
    assert judged.effective_sample_size < 10
    assert judged.largest_weight == pytest.approx(1000.0)
    assert any("say as much as" in text for text in judged.warnings)
    assert set(judged.warnings) <= set(found.warnings)


def test_wrong_probabilities_are_warned_of() -> None:
    columns = columns_of(rows_of(1000))
    columns["probability"] = [0.9] * 1000
    found = bl.evaluate(columns, silence=0.0, deadline=20, chooser=False)
    assert any("should be 1 on average" in text for text in found.warnings)
    columns["probability"] = [1 / 3] * 1000  # blue was taken more often than that
    found = bl.evaluate(columns, silence=0.0, deadline=20, chooser=False)
    text = " ".join(str(found).split())
    assert text.count("should be 1 on average") == 1
    assert text.index("probabilities are wrong") < text.index("blue was taken in ")
    assert text.index("blue was taken in ") < text.index(found.verdict[:30])
    assert page_of(found).lead.startswith("Warning: the logged probabilities are wrong")


def test_a_policy_that_does_nothing_that_was_done(rows: list[naive.Row]) -> None:
    columns = columns_of(rows)
    columns["never"] = [0.0] * len(rows)
    found = bl.evaluate(columns, {"other": "never"}, silence=0.0, deadline=20, chooser=False)
    judged = found.policies["other"]
    assert judged.estimates == {"ips": None, "snips": None, "dr": None}
    assert judged.standing == ""
    assert "the log says nothing about it" in judged.warnings[0]
    assert "other" in str(found)
    json.loads(found.to_json())


def test_overlaps(found: Evaluation) -> None:
    names = list(found.given)
    table = {(a, b): found.overlaps[i, j] for i, a in enumerate(names) for j, b in enumerate(names)}
    assert table["always blue", "always red"] == 0.0
    assert table["always blue", "uniform"] == pytest.approx(1 / 3)
    assert table["rule", "soft"] == pytest.approx(0.8)
    assert table["logged", "logged"] == 1.0
    # min(0.5, 1/3) + min(0.3, 1/3) + min(0.2, 1/3), up to how often each was drawn
    assert table["logged", "uniform"] == pytest.approx(0.8333, abs=0.05)


def mature_of(columns: dict[str, list[Any]], deadline: float) -> MatureDecisions:
    log = decisions_of(columns, Columns(), silence=0.0)
    return mature(log, silence=0.0, deadline=deadline, until=None)


def test_actions_that_differ_in_speed_are_warned_of() -> None:
    columns = columns_of(rows_of(2000))
    counted = mature_of(columns, 60.0)
    ends = diagnostics.unequal(counted.log, diagnostics.delays_of(counted.log))
    assert ends is not None
    assert [each.action for each in ends] == ["blue", "red"]
    assert "rewards of blue come sooner" in diagnostics.delay_warning(*ends, counted)
    columns["rewarded_at"] = [
        None if came is None else at + 1.0
        for at, came in zip(columns["decided_at"], columns["rewarded_at"], strict=True)
    ]
    even = mature_of(columns, 60.0).log
    assert diagnostics.unequal(even, diagnostics.delays_of(even)) is None


def test_the_test_of_speeds_agrees_with_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(2)
    for shift in (0.0, 0.05, 0.3):
        waits: Any = np.round(rng.exponential(1.0, 600) + shift * (np.arange(600) % 3), 1)
        groups = np.arange(600) % 3
        chances = [
            stats.mannwhitneyu(
                waits[groups == group],
                waits[groups != group],
                use_continuity=False,
                method="asymptotic",
            ).pvalue
            for group in range(3)
        ]
        assert diagnostics.differ(waits, groups.astype(np.int64)) == (3 * min(chances) < 0.001)


def test_actions_that_differ_in_case_only_are_named() -> None:
    columns = columns_of(rows_of())
    columns["action"] = ["Blue " if i == 3 else each for i, each in enumerate(columns["action"])]
    found = bl.evaluate(columns, silence=0.0, deadline=20, chooser=False)
    assert "'Blue ' and 'blue' differ only in capital letters or spaces" in found.about_log[0]


# ---- what is given -----------------------------------------------------------------------------


def test_policies_come_in_many_forms(rows: list[naive.Row]) -> None:
    columns = columns_of(rows)
    firsts = [by_country(row["context"], ACTIONS) for row in rows]
    matrix = np.array([[first == action for action in ACTIONS] for first in firsts], dtype=float)
    for i, action in enumerate(ACTIONS):
        columns[f"new_{action}"] = matrix[:, i].tolist()
    columns["would"] = firsts
    columns["chance"] = [
        float(a == first) for a, first in zip(columns["action"], firsts, strict=True)
    ]
    policies: dict[str, Any] = {
        "function": by_country,
        "sequence": lambda context, actions: [
            float(a == by_country(context, actions)) for a in actions
        ],
        "columns": "new_",
        "column": "would",
        "names": np.array(firsts, dtype=object),
        "matrix": matrix,
        "chance": "chance",
    }
    found = bl.evaluate(columns, policies, silence=0.0, deadline=20, context=["country"])
    values = {name: found.policies[name].estimates for name in policies}
    for name in policies:
        assert values[name]["snips"] == values["function"]["snips"]
        expected = None if name == "chance" else values["function"]["dr"]
        assert values[name]["dr"] == expected
    assert list(found.mature.log.context) == ["country"]


def test_arrays_follow_the_order_of_the_log(rows: list[naive.Row]) -> None:
    """Rows in any order, and arrays in the same order, are the same log."""
    order = np.random.default_rng(0).permutation(len(rows))
    mixed = [rows[i] for i in order]
    chances = np.array([0.9 if row["context"]["country"] == "PT" else 0.4 for row in rows])
    one = bl.evaluate(columns_of(rows), {"mine": chances}, silence=0.0, deadline=20)
    other = bl.evaluate(columns_of(mixed), {"mine": chances[order]}, silence=0.0, deadline=20)
    assert one.to_json() == other.to_json()


def test_a_chooser_of_ones_own_is_walked_from_the_start(rows: list[naive.Row]) -> None:
    own = bl.Chooser(
        {name: {"length": len(name)} for name in ACTIONS},
        explore=bl.explore.Uniform(0.3),
        silence=0.0,
    )
    own.choose({"country": "PT"})
    found = bl.evaluate(columns_of(rows), {"own": own}, silence=0.0, deadline=20)
    probabilities = found.given["own"].probabilities
    assert probabilities is not None
    assert probabilities[0].tolist() == [1 / 3, 1 / 3, 1 / 3]
    assert set(np.round(probabilities[-1], 9)) == {0.1, 0.8}
    assert own.rounds == 1


def test_until_says_when_the_log_ends(rows: list[naive.Row]) -> None:
    early = bl.evaluate(columns_of(rows), silence=0.0, deadline=20, until=120.0, chooser=False)
    assert (early.counted, early.too_young) == (101, len(rows) - 101)
    assert early.rewards.tolist() == [reward for _, reward in naive.counted(rows, 0.0, 20.0, 120.0)]


def dated(start: Any, unit: Any = "s", *, is_epoch: bool = False) -> DecisionLog:
    """A log of one decision, of which only the time matters."""
    one = np.zeros(1)
    return DecisionLog(
        *("log", ("a",), np.zeros(1, dtype=np.int64), one + 1.0, one, one, one, {}),
        *(np.zeros(1, dtype=np.int64), 1),
        unit=unit,
        start=start,
        is_epoch=is_epoch,
    )


def test_the_end_may_be_given_in_many_forms() -> None:
    log = dated(np.datetime64("2024-05-01T12:00"))
    for moment in (
        *("2024-05-01T12:01", "2024-05-01T14:01+02:00", "1 May 2024 12:01", 1714564860.0),
        *(datetime(2024, 5, 1, 12, 1), datetime(2024, 5, 1, 12, 1, tzinfo=UTC)),
        np.datetime64("2024-05-01T12:01"),
    ):
        assert end_of(moment, log) == 60.0
    for moment in ("2024-05-01T14:01", "1/5/2024 14:01", datetime(2024, 5, 1, 14, 1)):
        assert end_of(moment, log, tz="Europe/Berlin", dates="day first") == 60.0
    assert end_of("2024-05-01T12:01Z", log, tz="Europe/Berlin") == 60.0
    counts = dated(1714564800000.0, "ms", is_epoch=True)
    for number in ("2024-05-01T12:01", "1714564860000", 1714564860000):
        assert end_of(number, counts) == 60_000.0
    with pytest.raises(LogError, match="is the day or the month first in 'until'"):
        end_of("1/5/2024", log)
    with pytest.raises(SpecError, match="until must be a time like"):
        end_of("soon", log)
    for wrong in ("2024-05-01", datetime(2024, 5, 1)):
        with pytest.raises(SpecError, match="until must be a number here"):
            end_of(wrong, dated(0.0))


# ---- refusals ----------------------------------------------------------------------------------


def test_silence_must_be_said(rows: list[naive.Row]) -> None:
    with pytest.raises(LogError, match="no reward is known; say what reward that means"):
        bl.evaluate(columns_of(rows))
    with pytest.raises(LogError, match="by their deadline; say what reward"):
        bl.evaluate(columns_of(rows), deadline=20)
    found = bl.evaluate(columns_of(rows), silence=0.0, chooser=False)
    assert found.counted == len(rows)
    assert any("a reward may still come" in text for text in found.warnings)


def test_without_silence_every_decision_must_be_answered() -> None:
    rows = [
        row | {"rewarded": row["decided"] + 1, "reward": row["reward"] or 0.0} for row in rows_of()
    ]
    found = bl.evaluate(columns_of(rows), chooser=False)
    assert (found.counted, found.mature.silent) == (len(rows), 0)


def test_all_too_young(rows: list[naive.Row]) -> None:
    with pytest.raises(LogError, match="all 240 decisions are too young"):
        bl.evaluate(columns_of(rows), silence=0.0, deadline=1000)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("probability", 0.0, "is no probability from 1e-12 to 1"),
        ("probability", 1e-300, "is no probability from 1e-12 to 1"),
        ("probability", 1.2, "is no probability from 1e-12 to 1"),
        ("action", None, "must not be missing"),
        ("reward", None, "is no reward, though there is a time"),
    ],
)
def test_bad_rows(rows: list[naive.Row], column: str, value: Any, message: str) -> None:
    columns = columns_of(rows)
    place = next(i for i, row in enumerate(rows) if row["reward"])
    columns[column][place] = value
    with pytest.raises(LogError, match=message) as caught:
        bl.evaluate(columns, silence=0.0, deadline=20)
    assert f"row {place}: {column}" in str(caught.value)
    found = bl.evaluate(columns, silence=0.0, deadline=20, on_bad="skip", chooser=False)
    assert len(found.bad) == 1
    assert found.mature.decisions == len(rows) - 1


def test_the_least_probability_gives_numbers(rows: list[naive.Row]) -> None:
    columns = columns_of(rows)
    columns["probability"][0] = 1e-12
    found = bl.evaluate(columns, silence=0.0, deadline=20)
    assert "NaN" not in found.to_json()
    assert "Infinity" not in found.to_json()
    assert any("weight" in warning for warning in found.warnings)


def test_probabilities_may_be_rounded_alike_everywhere(rows: list[naive.Row]) -> None:
    """Rules of choosers and policies of evaluations are checked in one place."""
    for off, is_right in ((5e-7, True), (5e-6, False)):
        said = [0.2, 0.3, 0.5 + off]
        chooser = bl.Chooser(["a", "b", "c"], decide=lambda values, ticket, s=said: s, bits=4)  # type: ignore[misc]
        policy = np.tile(said, (len(rows), 1))
        if is_right:
            chooser.choose({})
            bl.evaluate(columns_of(rows), {"soft": policy}, silence=0.0, deadline=20)
            continue
        with pytest.raises(SpecError, match="sum to 1"):
            chooser.choose({})
        with pytest.raises(SpecError, match="sum to 1"):
            bl.evaluate(columns_of(rows), {"soft": policy}, silence=0.0, deadline=20)


def test_a_reward_needs_its_time(rows: list[naive.Row]) -> None:
    columns = columns_of(rows)
    quiet = [i for i, row in enumerate(rows) if row["reward"] is None]
    for i in quiet:
        columns["reward"][i] = 0.0  # silence that was written down
    found = bl.evaluate(columns, silence=0.0, deadline=20)
    assert found.to_json() == bl.evaluate(columns_of(rows), silence=0.0, deadline=20).to_json()
    columns["reward"][quiet[0]] = 3.0
    with pytest.raises(LogError, match="has no time for its reward"):
        bl.evaluate(columns, silence=0.0, deadline=20)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"action": "deed"}, "which column says what was done"),
        ({"probability": "p"}, "which column says how likely"),
        ({"reward": "gain"}, "which column says what came of it.* no 'gain' among"),
        ({"context": ["town"]}, "has no column 'town'"),
        ({"slices": ["town"]}, "no column 'town' in the context"),
        ({"policies": {"x": "missing_"}}, "has no column 'missing_'"),
        ({"policies": {"x": lambda c, a: "pink"}}, "takes 'pink' in row 0"),
        ({"policies": {"x": lambda c, a: [0.5, 0.5, 0.5]}}, "sum to 1"),
        ({"policies": {"x": lambda c, a: [1.0]}}, "must return an action"),
        ({"policies": {"x": np.ones(3)}}, "a row for each of the 240 rows"),
        ({"policies": {"x": np.full(240, 2.0)}}, "probabilities from 0 to 1"),
        ({"policies": {"logged": by_country}}, "always there"),
        ({"policies": {"x": 3}}, "must be a function of context and actions"),
        ({"policies": [np.ones(240)]}, "has no name of its own"),
        ({"estimator": "direct"}, "estimator must be one of"),
        ({"against": "nobody"}, "against must be one of"),
        ({"blocks": 2}, "blocks must be a whole number from 6"),
        ({"deadline": "soon"}, "a length of time is a number"),
        ({"deadline": "2d"}, "their unit is not known"),
        ({"silence": math.nan}, "silence must be a finite number"),
    ],
)
def test_refusals(rows: list[naive.Row], options: dict[str, Any], message: str) -> None:
    with pytest.raises((LogError, SpecError), match=message):
        bl.evaluate(columns_of(rows), **{"silence": 0.0, "deadline": 20, **options})


def test_logs_that_hold_no_decisions_are_refused(rows: list[naive.Row]) -> None:
    columns = columns_of(rows)
    with pytest.raises(LogError, match="has no rewards; name their column"):
        bl.evaluate(read(columns, features="all"), silence=0.0)
    with pytest.raises(LogError, match="which column says how likely that was"):
        bl.evaluate(read(columns, target="reward", features=["action"]), silence=0.0)
    columns["probability"] = [2.0] * len(rows)
    with pytest.raises(LogError, match="has no rows that can be used"):
        bl.evaluate(columns, silence=0.0, on_bad="skip")


def test_too_many_actions_are_refused() -> None:
    columns = columns_of(rows_of(300))
    columns["action"] = [f"visit {i}" for i in range(300)]
    with pytest.raises(LogError, match="300 different actions"):
        bl.evaluate(columns, silence=0.0, deadline=20)


def test_unknown_policies_are_refused(found: Evaluation) -> None:
    with pytest.raises(SpecError, match="there is no policy 'x'; there are logged"):
        found.compare("x")
    with pytest.raises(SpecError, match="there is no policy"):
        found.estimate("x")


# ---- words, numbers, page ----------------------------------------------------------------------


@pytest.mark.pictures
def test_the_page_holds_every_part(found: Evaluation) -> None:
    pytest.importorskip("vl_convert")
    page = page_of(found)
    questions = [section.question for section in page.sections]
    for part in ("earned", "better", "over time", "country", "log say", "sooner"):
        assert any(part in question for question in questions), part
    html = to_html(page)
    assert "too young" in html
    assert "always green" in html


def test_terms_of_a_difference() -> None:
    one = Terms(np.array([1.0, 2.0]), np.array([1.0, 0.0]), 0.5)
    other = Terms(np.array([0.5, 1.0]), np.array([0.0, 1.0]), 0.25)
    values, slopes, largest = one.minus(other)
    assert (values.tolist(), slopes.tolist(), largest) == ([0.5, 1.0], [1.0, -1.0], 0.5)
    assert Estimate(0.5, 0.1, 0.9).sign == 1
    assert Estimate(0.5, -0.1, 0.9).sign == 0
    assert Estimate(-0.5, -0.9, -0.1).sign == -1
    assert set(estimators.TITLES) == set(estimators.ESTIMATORS)


def test_the_last_reward_is_not_lost_to_rounding() -> None:
    """Its time is rounded when it is turned into a wait, and again when that is added."""
    log = {
        "shown_at": ["2026-02-01T00:00:00", "2026-02-01T06:40:00"],
        "rewarded_at": ["2026-02-01T00:00:00", "2026-02-01T09:10:14.119916"],
        "action": ["a", "b"],
        "probability": [0.5, 0.5],
        "reward": [1.0, 0.0],
    }
    assert bl.evaluate(log, chooser=False).counted == 2
