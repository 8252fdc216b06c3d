"""Predictions while labels are censored: the delay of a label may depend on the label."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

import belated as bl
from belated.models.linear import LinearModel
from conftest import shortened
from naive_linear import (
    Correction,
    Loss,
    NaiveLinear,
    is_tied,
    shares,
    sigmoid,
    sorted_in_sets,
    stopped_coming,
)

Floats = npt.NDArray[np.float64]


def world(count: int, span: float) -> tuple[Floats, Floats, bl.Timeline]:
    """Return features, labels, and delays that are longer for one of them."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(count, 2))
    y = (x[:, 0] + 0.7 * rng.normal(size=count) < -0.3).astype(float)
    delays = (span * (1.0 - y) * 2.0 * rng.uniform(0.5, 1.0, size=count) + 2.0).astype(np.int64)
    return x, y, bl.Timeline.from_delays(delays)


def test_fast_and_slow_agree_and_so_do_live_and_whole() -> None:
    count = max(100, shortened(250))  # fewer are not censored
    x, y, timeline = world(count, 30.0)
    live, whole = LinearModel("logistic", bits=3), LinearModel("logistic", bits=3)
    slow = NaiveLinear("logistic", patience=1000, narrow=True)
    events = []
    moved = 0
    known = timeline.events[: count + int(timeline.observed.sum())].tolist()
    for event in sorted_in_sets(known):
        if event < 0 and is_tied(slow, ~event, float(y[~event]), 1.0):
            continue  # rounding alone would decide what is learned; it stays open
        events.append(event)
        if event >= 0:
            row = list(enumerate(x[event].tolist()))
            peeked = live.peek(x[event])
            _, value = live.predict(x[event])
            assert value == peeked
            assert value == pytest.approx(slow.predict(row)[1], rel=1e-9, abs=1e-9)
            mixture, shown = live._linear.state()["tickets.records"][-1, 8:10]
            moved += int(shown != mixture)
            if event == count // 2:
                live = LinearModel.restore(live.snapshot())
        else:
            live.observe(~event, float(y[~event]))
            slow.observe(~event, float(y[~event]))
    assert moved > 0.4 * count
    whole.replay(x, y, np.array(events))
    assert whole.snapshot() == live.snapshot()


def test_shares_by_hand() -> None:
    """Of five tickets two have their label at the age 1 and one at 3; one waits at 2, one at 3."""
    found = shares([1, 1, 3], [2, 3])
    assert found == pytest.approx({1: 2.0 / 5.0, 3: 3.0 / 5.0 * 1.0 / 1.5})


def test_shares_do_not_favour_what_comes_early() -> None:
    """Half of the tickets take 10, the others 90; after 100 rounds only ten of those are heard."""
    ages = [10] * 45 + [90] * 5
    waiting = [t for t in range(100) if t < 10 or (t % 2 and t < 90)]
    found = shares(ages, waiting)
    assert found[10] == pytest.approx(0.5, abs=0.02)
    assert len([age for age in ages if age == 10]) / len(ages) == 0.9


def test_labels_of_one_kind_have_not_stopped() -> None:
    """The likelihood ratio is below 1 at a constant rate, and large where all labels are young."""
    rng = np.random.default_rng(0)
    waits, delays = np.arange(500)[::-1], 1000.0 * rng.exponential(size=500)
    came = delays[delays <= waits].astype(np.int64).tolist()
    assert stopped_coming(500, came) < -5.0
    assert stopped_coming(500, [5] * len(came)) > 20.0
    assert stopped_coming(10, [4]) == pytest.approx(math.log(2.0 * (1.0 - 0.45) ** 2))


def test_the_correction_by_hand() -> None:
    """Of 40 tickets 16 said no at the age 1, and 24 wait; a yes and an open ticket are older."""
    found = Correction()
    found.update(40, [(1, 0.0)] * 16, [*range(2, 26)], [1.0, None])
    odds = (2.0 * (1.0 - 1.5 / 40.0) ** 2) ** 16 / 100.0
    stopped, tail, running = odds / (1.0 + odds), 0.6, 1.5 / 18.0
    assumed = stopped * 0.5 + (1.0 - stopped) * tail * running  # one half is in [2 / 4, 3 / 4]
    share = (17.0 * assumed + 0.5) / 18.0
    assert found.offset == pytest.approx(math.log(share / (1.0 - share)))
    unlike = 40.0 * (assumed - tail * running)
    assert found.shrinkage == pytest.approx(0.5 / (0.5 + unlike))


def test_late_labels_outweigh_what_is_assumed() -> None:
    """Beyond half of the time only yes has come, so the tail is nearly all yes."""
    found = Correction()
    labelled, pending = [(1, 0.0)] * 50 + [(60, 1.0)] * 20, [*range(2, 22), *[70] * 20]
    found.update(100, labelled, pending, [])
    share = shares([age for age, _ in labelled], pending)
    tail = 1.0 - sum(share.values())
    assert tail > 0.2
    assert share[56] + 0.9 * tail < sigmoid(found.offset) < share[56] + tail


# --- The promise ---------------------------------------------------------------------------------


def losses_of(
    x: Floats, y: Floats, delays: Floats, rounds: int | None = None
) -> tuple[float, float]:
    """Return the sum of log losses of the model, and that of the running share of known answers.

    The share is (yes + 1/2) / (n + 1), of the n labels before a prediction. Every prediction is
    scored against its answer, known by then or not; the first ``rounds`` only, if given.
    """
    timeline = bl.Timeline.from_delays(delays.astype(np.int64))
    model = LinearModel("logistic", bits=3)
    values, running = model.replay(x, y, timeline), means_so_far(y, timeline)
    part = slice(rounds)
    ours = float(model.losses(values[part], y[part]).sum())
    return ours, float(model.losses(running[part], y[part]).sum())


def total_ratio(pairs: list[tuple[float, float]]) -> float:
    """Return the sum of the first numbers over the sum of the second ones."""
    ours, running = np.array(pairs).sum(axis=0).tolist()
    return float(ours / running)


def drawn(seed: int, count: int, share: float, strength: float) -> tuple[Floats, Floats]:
    """Return two features, and answers that depend on the first one."""
    rng = np.random.default_rng([41, seed, round(1e6 * share)])
    x = rng.normal(size=(count, 2))
    level = math.log(share / (1.0 - share))
    return x, (rng.random(count) < 1.0 / (1.0 + np.exp(-level - strength * x[:, 0]))).astype(float)


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("strength", [0.0, 1.0])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("span", [400.0, 2000.0])
@pytest.mark.parametrize("early", [0.0, 1.0])
def test_promise_while_one_answer_comes_earlier(
    early: float, span: float, share: float, strength: float
) -> None:
    """Over the run, and over seeds, the log loss is no more than that of the running share."""
    pairs = []
    for seed in range(4):
        x, y = drawn(seed, 4000, share, strength)
        rng = np.random.default_rng([43, seed])
        late = span * rng.uniform(0.5, 1.5, size=y.size)
        pairs.append(
            losses_of(x, y, np.where(y == early, 20.0 * rng.exponential(size=y.size), late))
        )
    assert total_ratio(pairs) < 1.0


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("early", [0.0, 1.0])
def test_promise_while_there_is_only_one_answer(early: float, share: float) -> None:
    """The other answer takes longer than the run: what is open may all be that one."""
    pairs = []
    for seed in range(4):
        x, y = drawn(10 + seed, 1500, share, 1.0)
        soon = 20.0 * np.random.default_rng([47, seed]).exponential(size=y.size)
        pairs.append(losses_of(x, y, np.where(y == early, soon, 5000.0)))
    assert total_ratio(pairs) < 1.0


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize(("rounds", "seeds", "limit"), [(200, 40, 1.04), (1500, 4, 1.02)])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("early", [0.0, 1.0])
def test_excess_of_short_runs_and_short_delays(
    early: float, share: float, rounds: int, seeds: int, limit: float
) -> None:
    """Outside the regime of the promise, the log loss exceeds the running share by a little."""
    pairs = []
    for seed in range(seeds):
        x, y = drawn(seed, rounds, share, 0.0)
        rng = np.random.default_rng([43, seed])
        late = 50.0 * rng.uniform(0.5, 1.5, size=y.size)
        pairs.append(
            losses_of(x, y, np.where(y == early, 20.0 * rng.exponential(size=y.size), late))
        )
    assert total_ratio(pairs) < limit


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_where_both_delays_are_constant_little_more_is_lost(share: float) -> None:
    """For a while only yes is known of the tickets since the first label."""
    pairs = []
    for seed in range(4):
        x, y = drawn(60 + seed, 6000, share, 0.0)
        pairs.append(losses_of(x, y, np.where(y == 1.0, 1000.0, 1500.0)))
    assert total_ratio(pairs) < 1.05


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_promise_after_a_backlog_was_answered(share: float) -> None:
    """A backlog is answered first; later on, one answer comes early and the other one late."""
    pairs = []
    for seed in range(4):
        x, y = drawn(20 + seed, 3000, share, 1.0)
        rng = np.random.default_rng([53, seed])
        late = 1000.0 * rng.uniform(0.5, 1.5, size=y.size)
        delays = np.where(y == seed % 2, 20.0 * rng.exponential(size=y.size), late)
        delays[:300] = 299.0 - np.arange(300)
        pairs.append(losses_of(x, y, delays))
    assert total_ratio(pairs) < 1.0


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_labels_that_are_lost_cost_no_more_than_the_running_share(share: float) -> None:
    """Three in ten never come, whatever the answer is: both take as long as each other."""
    pairs = []
    for seed in range(4):
        rng = np.random.default_rng([59, seed])
        x, y = rng.normal(size=(8000, 2)), (rng.random(8000) < share).astype(float)
        known = np.arange(8000) + 300.0 * rng.exponential(size=8000)
        known[rng.random(8000) < 0.3] = np.nan
        timeline = bl.Timeline.from_intervals(np.arange(8000.0), known)
        model = LinearModel("logistic", bits=3)
        values, running = model.replay(x, y, timeline), means_so_far(y, timeline)
        pairs.append((model.losses(values, y).sum(), model.losses(running, y).sum()))
    assert total_ratio(pairs) < 1.02


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    ("share", "span"), [(0.001, 1000.0), (0.01, 300.0), (0.01, 1000.0), (0.3, 100.0), (0.3, 1000.0)]
)
def test_answers_that_come_equally_late_cost_no_more_than_the_running_share(
    share: float, span: float
) -> None:
    """Where neither features nor delays say anything the running share is best: within 2 %."""
    pairs = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(5000, 2)), (rng.random(5000) < share).astype(float)
        pairs.append(losses_of(x, y, span * rng.exponential(size=5000)))
    assert total_ratio(pairs) < 1.02


def means_so_far(y: Floats, timeline: bl.Timeline) -> Floats:
    """Return the share of yes in the labels before every prediction, with half of each."""
    means, yes, labels = np.empty(y.size), 0.5, 1.0
    for event in timeline.events[: y.size + int(timeline.observed.sum())].tolist():
        if event >= 0:
            means[event] = yes / labels
        else:
            yes, labels = yes + y[~event], labels + 1.0
    return means


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("early", [0.0, 1.0])
def test_one_answer_so_far_is_no_certainty(early: float) -> None:
    """What is open may all be the other one, as it is; once it has come, the model is sure."""
    rng = np.random.default_rng(1)
    count = 3000
    x = rng.normal(size=(count, 2))
    y = (x[:, 0] + rng.normal(size=count) > 0.3).astype(float)
    delays = np.where(y == early, 5, 800)
    model = LinearModel("logistic", bits=3)
    values = model.replay(x, y, bl.Timeline.from_delays(delays))
    assert np.abs(values[200:800] - 0.5).max() < 0.2
    told = LinearModel("logistic", bits=3)
    best = told.replay(x, y, bl.Timeline.from_delays(np.zeros(count, dtype=np.int64)))
    late, soon = model.losses(values, y)[2000:].mean(), told.losses(best, y)[2000:].mean()
    assert late < 1.05 * soon


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_a_rare_answer_is_bounded_by_what_is_open() -> None:
    """With 2,000 labels that are all 0 and 10 open tickets, at most 10 are 1."""
    count = 2000
    model = LinearModel("logistic", bits=3)
    model.replay(np.ones((count, 1)), np.zeros(count), bl.Timeline.from_delays(np.full(count, 10)))
    assert model.predict([1.0]).value < 0.01


@pytest.mark.parametrize("silence", [None, 0.0])
def test_without_open_tickets_nothing_is_corrected(silence: float | None) -> None:
    """With silence every ticket has a label at once."""
    x, y, timeline = world(200, 30.0)
    model = LinearModel("logistic", bits=3, silence=silence)
    if silence is None:
        timeline = bl.Timeline.from_delays(np.zeros(200, dtype=np.int64))
    model.replay(x, y, timeline)
    assert model._looked().censoring.shrinkage == 1.0


def test_mean_loss_is_that_of_what_was_shown() -> None:
    x, y, timeline = world(600, 100.0)
    model = LinearModel("logistic", bits=3)
    values = model.replay(x, y, timeline)
    heard = timeline.observed
    mean = model.report().mean_loss
    assert mean is not None
    assert mean == pytest.approx(model.losses(values, y)[heard].mean())
    assert math.isfinite(mean)


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "poisson"])
def test_where_nothing_is_open_nothing_is_corrected(loss: Loss) -> None:
    """A backlog that was answered at once is known, however long nobody predicted since."""
    model = bl.LinearModel(loss, bits=3)
    for t in range(60):
        model.predict([1.0])
        if t == 0:
            model.observe(0, 300.0)
    for t in range(1, 60):
        model.observe(t, 299.0 + t % 3)
    assert model.open == 0
    assert model.peek([1.0]) == pytest.approx(300.0, rel=0.02)


def test_tickets_that_are_cancelled_do_not_wait() -> None:
    model = bl.LinearModel("squared", bits=3)
    model.observe(model.predict([1.0]).ticket, 100.0)
    for _ in range(100):
        ticket, value = model.predict([1.0])
        model.cancel(ticket)
        assert value == 100.0


# --- Backlogs ------------------------------------------------------------------------------------


def bursts(seed: int, size: int, count: int) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Return features, labels and events: all of a burst is asked, then answered by size."""
    rng = np.random.default_rng([31, seed])
    x = rng.normal(size=(size * count, 2))
    y = np.exp(0.5 * x[:, 0] + 0.5 * rng.normal(size=size * count))
    events = []
    for burst in range(count):
        tickets = np.arange(size * burst, size * (burst + 1))
        events += [tickets, ~tickets[np.argsort(y[tickets])]]
    return x, y, np.concatenate(events)


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("seed", range(3))
def test_the_last_of_a_backlog_are_not_followed(seed: int) -> None:
    """The last labels are the largest, about four; what comes next is like all, about 1.3."""
    size = 800
    x, y, events = bursts(seed, size, 2)
    values = LinearModel("squared", bits=3).replay(x, y, events)
    next_ones = slice(size, 2 * size)
    assert abs(values[next_ones].mean() - y[next_ones].mean()) < 0.3
    told = LinearModel("squared", bits=3)
    at_once = told.replay(x, y, bl.Timeline.from_delays(np.zeros(2 * size, dtype=np.int64)))
    ours, best = (np.mean((p - y)[next_ones] ** 2) for p in (values, at_once))
    assert ours < 1.5 * best


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("delay", [0, 5, 50])
def test_what_comes_after_a_backlog_is_believed(delay: int) -> None:
    """Labels since say how it goes on, also where each is there before the next prediction."""
    size, count = 800, 2400
    x, y, _ = bursts(2, size, 3)
    rounds = np.arange(count)
    known = np.where(rounds < size, size - 1.0 + 1e-6 * np.argsort(np.argsort(y)), rounds + delay)
    place = np.concatenate([rounds.astype(np.float64), known + 0.5])
    events = np.concatenate([rounds, ~rounds])[np.argsort(place, kind="stable")]
    values = LinearModel("squared", bits=3).replay(x, y, events)
    told = bl.Timeline.from_delays(np.zeros(count, dtype=np.int64))
    at_once = LinearModel("squared", bits=3).replay(x, y, told)
    later = slice(size + 200, None)
    assert np.mean((values - y)[later] ** 2) < 1.15 * np.mean((at_once - y)[later] ** 2)


def answered_backlog(
    seed: int, size: int, count: int, late: int
) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Return features, labels and events: a backlog is answered first, with one yes in ten.

    Of newer tickets, every fifth no is known soon and all else ``late`` rounds after.
    """
    rng = np.random.default_rng([37, seed])
    x = rng.normal(size=(count, 2))
    y = (rng.random(count) < 0.1).astype(float)
    soon = (y == 0.0) & (rng.random(count) < 0.2)
    known = np.arange(count) + np.where(soon, 3.5, late + 0.5)
    known[:size] = size - 0.5
    place = np.concatenate([np.arange(count, dtype=np.float64), known])
    events = np.concatenate([np.arange(count), ~np.arange(count)])
    return x, y, events[np.argsort(place, kind="stable")]


def test_fast_and_slow_agree_after_answers_to_a_backlog() -> None:
    x, y, events = answered_backlog(2, 60, 200, 80)
    fast = LinearModel("logistic", bits=3)
    slow = NaiveLinear("logistic", patience=1000, narrow=True)
    for event in sorted_in_sets(events.tolist()):
        if event >= 0:
            row = list(enumerate(x[event].tolist()))
            value = fast.predict(x[event]).value
            assert value == pytest.approx(slow.predict(row)[1], rel=1e-9, abs=1e-9)
        elif ~event < 60 or not is_tied(slow, ~event, float(y[~event]), 1.0):
            fast.observe(~event, float(y[~event]))
            slow.observe(~event, float(y[~event]))
    assert fast.report().rounds == 200


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("seed", range(3))
def test_a_backlog_says_what_open_tickets_are_like(seed: int) -> None:
    """Of newer tickets only no was heard, and then nothing: one half, without the backlog."""
    x, y, events = answered_backlog(seed, 300, 1200, 2000)
    values = LinearModel("logistic", bits=3).replay(x, y, events)[500:]
    assert 0.05 < values.mean() < 0.2
    cut = events[(events >= 300) | (events < ~299)]
    alone = np.where(cut >= 0, cut - 300, cut + 300)
    without = LinearModel("logistic", bits=3).replay(x[300:], y[300:], alone)[200:]
    assert without.mean() > 0.4
