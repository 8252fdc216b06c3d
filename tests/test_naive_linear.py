"""The slow linear model checked by hand and by its laws, and the fast one against it."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from conftest import examples, shortened
from naive_linear import (
    BIAS,
    CAUTION,
    COIN,
    FIRST,
    SCALES,
    Loss,
    Mixture,
    NaiveLinear,
    NaiveLoss,
    Row,
    Wait,
    is_tied,
    rounded,
    soft,
    sorted_in_sets,
)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

KINDS: tuple[Loss, ...] = get_args(Loss)
LOSSES = [
    *(NaiveLoss(kind) for kind in KINDS),
    NaiveLoss("quantile", quantile=0.9),
    NaiveLoss("huber", delta=0.3),
]


def loss_name(loss: NaiveLoss) -> str:
    return {"quantile": f"quantile{loss.quantile}", "huber": f"huber{loss.delta}"}.get(
        loss.kind, loss.kind
    )


def label_of(kind: Loss, score: float) -> float:
    """Turn any number into a label that the loss accepts."""
    if kind == "hinge":
        return 1.0 if score > 0.0 else -1.0
    if kind == "logistic":
        return 1.0 if score > 0.0 else 0.0
    if kind == "poisson":
        return float(math.floor(math.exp(clip_score(score))))
    return score


def clip_score(score: float) -> float:
    """Keep e^score small."""
    return max(-3.0, min(score, 3.0))


# --- losses --------------------------------------------------------------------------------------

STEPS = [
    (p, y, q)
    for p in (-2.3, -0.4, 0.0, 0.7, 3.1)
    for y in (-1.2, 0.3, 2.0)
    for q in (1e-4, 0.05, 1.0, 40.0)
]


@pytest.mark.parametrize("loss", LOSSES, ids=loss_name)
def test_slope_is_the_derivative(loss: NaiveLoss) -> None:
    for p, score, _ in STEPS:
        y = label_of(loss.kind, score)
        e = 1e-6
        rise = (loss.value(p + e, y) - loss.value(p - e, y)) / (2.0 * e)
        assert rise == pytest.approx(loss.slope(p, y), abs=1e-6 * math.exp(abs(p)))


@pytest.mark.parametrize("loss", LOSSES, ids=loss_name)
def test_implicit_step_minimises_loss_plus_distance(loss: NaiveLoss) -> None:
    """p - q r is the minimum over u of l(u) + (u - p)^2 / (2 q)."""
    for p, score, q in STEPS:
        y = label_of(loss.kind, score)
        after = p - q * loss.implicit(p, y, q)

        def objective(u: float, p: float = p, y: float = y, q: float = q) -> float:
            return loss.value(u, y) + (u - p) ** 2 / (2.0 * q)

        best = objective(after)
        for move in (-1.0, -1e-2, -1e-4, 1e-4, 1e-2, 1.0):
            assert best <= objective(after + move) + 1e-12 * (1.0 + best)


def test_soft_threshold() -> None:
    assert [soft(w, 1.0) for w in (-3.0, -1.0, -0.5, 0.0, 0.5, 2.5)] == [-2, 0, 0, 0, 0, 1.5]


# --- the mixture ---------------------------------------------------------------------------------


def test_mlpol_by_hand() -> None:
    mixture = Mixture()
    equal = [1.0 / 6.0] * 6
    assert mixture.v == equal
    mixture.learn([0.0] * 6)
    assert mixture.v == equal
    mixture.learn([2.0, -1.0, 1.0, 0.0, -2.0, 0.0])  # B = 2: 2 / (4 + 4) and 1 / (4 + 1)
    assert mixture.v == pytest.approx([0.25 / 0.45, 0.0, 0.2 / 0.45, 0.0, 0.0, 0.0])
    mixture.learn([-3.0, 2.0, -1.0, 0.0, 0.0, 0.0])  # B = 3: R = -1, 1, 0, 0, -2, 0
    assert mixture.v == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    mixture.learn([0.0, -1.0, 0.0, 0.0, 0.0, 0.0])
    assert mixture.v == equal


def test_mlpol_follows_the_best_expert_and_gains_nothing_over_itself() -> None:
    """sum_k v_k r_k = 0 at every round, so that R_k is the regret to expert k."""
    rng = np.random.default_rng(3)
    mixture = Mixture()
    offsets = [2.0, 1.0, 0.05, -1.0, 3.0, 1.5]
    for _ in range(300):
        y = float(rng.standard_normal())
        said = [y + o + 0.1 * float(rng.standard_normal()) for o in offsets]
        p = sum(v * s for v, s in zip(mixture.v, said, strict=True))
        gains = [(p - y) * (p - s) for s in said]
        own = sum(v * r for v, r in zip(mixture.v, gains, strict=True))
        assert own == pytest.approx(0.0, abs=1e-12)
        mixture.learn(gains)
        assert sum(mixture.v) == pytest.approx(1.0)
        assert min(mixture.v) >= 0.0
    assert max(mixture.v) == mixture.v[2]


# --- short numbers -------------------------------------------------------------------------------


def test_rounding_by_hand() -> None:
    assert rounded(1.0 + 2.0**-24) == 1.0  # a half goes to the even one
    assert rounded(-1.0 - 3.0 * 2.0**-24) == -1.0 - 2.0**-22
    assert [rounded(v) for v in (0.0, 3.0, -0.375, 2.0**24 - 1.0)] == [
        *(0.0, 3.0, -0.375, 2.0**24 - 1.0)
    ]


# --- by hand -------------------------------------------------------------------------------------


def weights(model: NaiveLinear, i: int) -> list[float]:
    """Return the weights of all experts on a coordinate."""
    return [model.coordinates[i].weight(k) for k in range(6)]


class AtOnce(NaiveLinear):
    """A model that shows at once what it learns of a label: every set has one."""

    def observe(self, *answer: Any, **at: Any) -> bool:
        """Hear the last word on a ticket, and learn it."""
        used = super().observe(*answer, **at)
        self.learn()
        return used


def test_three_labels_without_delay_by_hand() -> None:
    model = AtOnce("squared", intercept=False)
    assert model.predict([(7, 2.0)]) == (0, 0.0)
    assert model.open[0].row == [(7, 1.0)]  # a constant so far
    assert model.observe(0, 1.0)
    assert weights(model, 7) == [0.0] * 6  # one label has no spread

    # mean 3, variance 1, so s = 1. Then labels 1 and 3: base 2, S = 1, slope -1.
    assert model.predict([(7, 4.0)])[1] == pytest.approx(1.0)
    assert model.open[1].row == [(7, 1.0)]
    model.observe(1, 3.0)
    c = model.coordinates[7]
    assert c.A == [1.0, 1.0, 1.25, 1.0625]
    # eta = q, r = -1 / (1 + q), and q = a where A = 1; A of the others was 1/4 and 1/16 before;
    # the coin bets 1 / (1 (1 + 1)) of 0.25; two values so far
    third, fourth = 0.25 / math.sqrt(1.25), 1.0 / math.sqrt(1.0625)
    third, fourth = third / (1.0 + third), fourth / (1.0 + fourth)
    w = [1.0 / 65.0, 1.0 / 17.0, third, fourth, 0.125, 2.0 / 3.0 * third]
    assert weights(model, 7) == pytest.approx(w)

    # mean 4, variance (4 + 0 + 4) / 3, so s = 2 / sqrt(8 / 3) = sqrt(3 / 2)
    ticket, value = model.predict([(7, 6.0)])
    s = math.sqrt(1.5)
    said = [2.0 + u * s for u in w]
    p = sum(said) / 6.0
    assert value == pytest.approx(p)
    assert model.open[ticket].said == pytest.approx(said)
    model.observe(ticket, 2.5)
    g = p - 2.5
    assert g < 0.0  # too low: the larger ones gain
    gains = [g * (p - u) for u in said]
    B = max(abs(r) for r in gains)
    raw = [max(r, 0.0) / (B**2 + r**2) for r in gains]
    assert model.mixture.v == pytest.approx([u / sum(raw) for u in raw])
    assert [u > 0.0 for u in model.mixture.v] == [False, False, True, True, False, False]

    # labels 1, 3, 2.5: base 13 / 6, squares 13 / 6
    base, S = 13.0 / 6.0, math.sqrt(13.0 / 18.0)
    for k, a in enumerate(SCALES):
        d = base + w[k] * s - 2.5
        A = 1.0 + FIRST[k] + (base + w[max(k, 1)] * s - 2.5) ** 2 * 1.5
        eta = a * S / math.sqrt(A)
        assert c.A[k] == pytest.approx(A)
        assert c.w[k] == pytest.approx(w[k] - eta * s * d / (1.0 + eta * 1.5))
    assert c.mean_of_w == pytest.approx((w[5] + c.w[2]) / 2.0)  # three values: 2 / (3 + 1)
    z = (base + 0.125 * s - 2.5) * s
    assert abs(z) < 1.0
    wealth = 0.25 * S + max(0.25 - 0.25 * S - z * 0.125, 0.0)
    assert c.weight(COIN) == pytest.approx((1.0 - z) / (1.0 + abs(z) + 1.0) * wealth)


def test_weight_intercept_and_open_tickets_by_hand() -> None:
    model = AtOnce("absolute", wait=None)
    first, _ = model.predict([(3, 5.0)])
    second, _ = model.predict([(3, 5.0), (4, -2.0)])
    model.predict([(3, 5.0)])  # never answered
    assert model.open[2].row == [(3, 1.0), (BIAS, 1.0)]
    model.observe(first, 0.0)
    model.observe(second, 4.0, weight=3.0)
    # Labels 0, 4, 4, 4: base 3, S = sqrt(3). Ticket 2 is open, on 3 and on the bias.
    S = math.sqrt(3.0)
    for k, a in enumerate(SCALES):
        cautious = FIRST[k] + 3.0 * (1.0 + CAUTION[max(k, 1)])
        etas = [a * S / math.sqrt(A) for A in (cautious, FIRST[k] + 3.0, cautious)]
        q = 3.0 * sum(etas)
        r = max(-1.0, -1.0 / q)
        for i, eta in zip((3, 4, BIAS), etas, strict=True):
            assert model.coordinates[i].w[k] == pytest.approx(-eta * 3.0 * r)
    assert math.isclose(model._fresh(3, [(3, 1.0), (4, 1.0), (BIAS, 1.0)]), 4.0)
    # z = -3: theta = G = L = 3, no reward yet
    assert model.coordinates[4].weight(COIN) == pytest.approx(3.0 / (3.0 * 6.0) * 0.25 * S * 3.0)


def test_penalties_by_hand() -> None:
    model = AtOnce("squared", intercept=False, l1=0.1, l2=0.5)
    plain = AtOnce("squared", intercept=False)
    for m in (model, plain):
        m.predict([(0, 1.0)])
        m.observe(0, 1.0)
        m.predict([(0, 1.0)])
        m.observe(1, 3.0)
    for k, a in enumerate(SCALES):
        unpenalised = plain.coordinates[0].w[k]
        eta = a / math.sqrt(1.0 + FIRST[k])
        expected = max(unpenalised - eta * 0.1, 0.0) / (1.0 + eta * 0.5)
        assert model.coordinates[0].w[k] == pytest.approx(expected)
    w = model.coordinates[0].weight(COIN)
    assert w == plain.coordinates[0].weight(COIN) == 0.125  # its weight was 0
    model.predict([(0, 1.0)])
    model.observe(2, 2.0)
    S = math.sqrt(2.0 / 3.0)
    z = w + 0.5 * w + 0.1  # base 2, so the slope is w
    wealth = 0.25 * S + max(0.25 - 0.25 * S - z * w, 0.0)
    expected = (1.0 - z) / (1.0 + z + 1.0) * wealth
    assert model.coordinates[0].weight(COIN) == pytest.approx(expected)


def test_penalties_act_where_the_standardised_value_is_zero() -> None:
    model = AtOnce("squared", intercept=False, l1=0.1)
    for x, y in ((1.0, 0.0), (3.0, 2.0)):
        ticket, _ = model.predict([(0, x)])
        model.observe(ticket, y)
    before = list(model.coordinates[0].w)
    ticket, _ = model.predict([(0, 2.0)])
    assert model.open[ticket].row == [(0, 0.0)]
    model.observe(ticket, 5.0)
    # labels 0, 2, 5: squares 38 / 3; A is still that of one label, so eta = a S / sqrt(A)
    S = math.sqrt(38.0 / 9.0)
    etas = [a * S / math.sqrt(1.0 + A) for a, A in zip(SCALES, FIRST, strict=True)]
    after = [max(w - eta * 0.1, 0.0) for w, eta in zip(before, etas, strict=True)]
    assert model.coordinates[0].w == pytest.approx(after)
    # z = 0.1, against the weight of 1 / 8: theta = 0.9, G = 1.1
    assert model.coordinates[0].weight(COIN) == pytest.approx(0.9 / 2.1 * 0.25 * S)


def test_repeated_coordinates_go_one_after_the_other() -> None:
    model = AtOnce("squared", intercept=False)
    model.predict([(0, 1.0), (0, 3.0)])
    # 1 first, as a constant; then mean 2, variance 1
    assert model.open[0].row == [(0, 1.0), (0, 1.0)]
    model.observe(0, 0.0)
    model.predict([(1, 1.0), (1, 1.0)])
    model.observe(1, 2.0)
    # base 1, S = 1, slope -1: A is 1 more for the first entry and 2 for the second
    c = model.coordinates[1]
    for k, a in enumerate(SCALES):
        etas = [a / math.sqrt(FIRST[k] + 1.0), a / math.sqrt(FIRST[k] + 2.0)]
        assert c.A[k] == FIRST[k] + 2.0
        assert c.w[k] == pytest.approx(sum(etas) / (1.0 + sum(etas)))
    # The coin bets twice: first z = -1 at weight 0, then z = -1 at weight 1 / 8.
    assert c.weight(COIN) == pytest.approx(2.0 / (1.0 * 3.0) * (0.25 + 0.125))


def test_zeros_in_a_row_count() -> None:
    model = NaiveLinear("squared", intercept=False)
    model.predict([(0, 0.0)])
    assert model.open[0].row == [(0, 0.0)]
    model.predict([(0, 2.0)])
    assert model.open[1].row == [(0, 1.0)]  # mean 1, variance 1


def test_issued_predictions_stay_among_the_labels() -> None:
    model = NaiveLinear("squared")
    rng = np.random.default_rng(0)
    for t in range(50):
        ticket, value = model.predict([(0, float(rng.standard_cauchy()))])
        if t > 0:
            assert model.labels.low - 1e-12 <= value <= model.labels.high + 1e-12
        model.observe(ticket, float(rng.uniform(2.0, 3.0)))


# --- closing tickets -----------------------------------------------------------------------------


def test_ages_by_hand() -> None:
    """Of 256 tickets, the even ones get their label when two more predictions were made.

    So 127 labels came at age 2 and none at age 3; 226 tickets are ten times as old, of which 129 in
    256 had none by then, and 0 + 1 is below 1/50 of those.
    """
    model = NaiveLinear(wait="adaptive")
    for t in range(260):
        if t <= 257:
            assert model.given_up == (set(range(1, 253, 2)) if t == 257 else set())
        model.predict([(0, 1.0)])
        if t >= 2 and t % 2 == 0:
            assert model.observe(t - 2, 1.0)
    assert model.limit == 3
    assert model.given_up == set(range(1, 256, 2))


def test_ages_that_forbid_giving_up() -> None:
    """With one label in 100 at the age of 200, no younger ticket may be given up on."""
    model = NaiveLinear(wait="adaptive")
    for t in range(2561):
        model.predict([(0, 1.0)])
        if t >= 2 and t % 2 == 0 and (t - 2) % 100:
            model.observe(t - 2, 1.0)
        if t >= 200 and t % 100 == 0:
            model.observe(t - 200, 1.0)
    assert model.limit == 224  # the first edge of a bucket above 200
    assert not any(t % 100 == 0 for t in model.given_up)


def test_closing_without_a_label_only_ends_the_caution() -> None:
    model, other = AtOnce("squared", wait=None), AtOnce("squared", wait=None)
    for m in (model, other):
        for t in range(4):
            m.predict([(0, float(t * t + 1))])
        m.observe(0, 1.0)
    model.cancel(1)
    assert model._open_size(0) < other._open_size(0)
    assert (model.labels, model.mixture) == (other.labels, other.mixture)
    assert model.coordinates == other.coordinates
    for m in (model, other):
        m.observe(2, 3.0)
    assert model.coordinates[0].A[0] < other.coordinates[0].A[0]


# --- logs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Log:
    """Rows, labels, weights, and events: t predicts, ~t observes; ``lost`` tickets are cancelled.

    A lost ticket is cancelled where its label would have come.
    """

    rows: list[Row]
    labels: list[float]
    weights: list[float]
    events: list[int]
    lost: frozenset[int] = frozenset()


def events_of(delays: Sequence[int | None]) -> list[int]:
    """Ticket t is answered after d_t further predictions, in ticket order; None never."""
    events: list[int] = []
    for t in range(len(delays)):
        events.append(t)
        events += [~s for s in range(t + 1) if delays[s] == t - s]
    return events


def random_row(rng: np.random.Generator, coordinates: int) -> Row:
    """Numbers of very different size, indicators, zeros and repeated coordinates."""
    row: Row = []
    for i in rng.integers(0, coordinates, int(rng.integers(0, 6))):
        number = 10.0 ** (int(i) % 5 - 2) * (float(rng.standard_normal()) + int(i) % 3)
        indicator = float(rng.random() < 0.8)
        row.append((int(i), indicator if i % 4 == 1 else number))
    return row


def random_delay(rng: np.random.Generator, lost: float) -> int | None:
    """Short ones, a long tail, and some that never come."""
    if rng.random() < lost:
        return None
    return int(min(rng.geometric(0.3) - 1 if rng.random() < 0.8 else rng.pareto(1.0) * 5, 40))


def random_log(
    kind: Loss,
    seed: int,
    *,
    rounds: int = 70,
    coordinates: int = 9,
    lost: float = 0.1,
    delayed: bool = True,
    weighted: bool = False,
) -> Log:
    """Draw a log whose labels follow the rows roughly and are never tied."""
    rng = np.random.default_rng(seed)
    rows = [random_row(rng, coordinates) for _ in range(rounds)]
    truth = [float(u) for u in rng.standard_normal(coordinates)]
    labels = []
    for row in rows:
        score = sum(truth[i] * math.tanh(x) for i, x in row) + 0.5 * float(rng.standard_normal())
        labels.append(label_of(kind, score))
    delays = [random_delay(rng, lost) if delayed else 0 for _ in rows]
    sizes = rng.choice([0.25, 1.0, 1.7, 3.0], rounds) if weighted else np.ones(rounds)
    cancelled = frozenset(t for t in range(rounds) if rng.random() < lost)
    return Log(rows, labels, [float(h) for h in sizes], events_of(delays), cancelled)


def played(model: NaiveLinear, log: Log) -> list[float]:
    values = []
    for event in log.events:
        if event >= 0:
            ticket, value = model.predict(log.rows[event])
            assert ticket == event
            values.append(value)
        elif ~event not in model.given_up:
            if ~event in log.lost:
                model.cancel(~event)
            else:
                model.observe(~event, log.labels[~event], weight=log.weights[~event])
    return values


# --- laws ----------------------------------------------------------------------------------------


def test_order_within_a_row_does_not_matter_without_repetition() -> None:
    log = random_log("squared", 3)
    log = replace(log, rows=[list(dict(row).items()) for row in log.rows])
    backwards = replace(log, rows=[row[::-1] for row in log.rows])
    assert played(NaiveLinear(), backwards) == pytest.approx(played(NaiveLinear(), log))


# --- the fast model ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """The options that both models share."""

    loss: NaiveLoss
    penalties: tuple[float, float] = (0.0, 0.0)
    wait: Wait = "adaptive"
    intercept: bool = True

    def naive(self) -> NaiveLinear:
        l1, l2 = self.penalties
        return NaiveLinear(
            self.loss.kind,
            quantile=self.loss.quantile,
            delta=self.loss.delta,
            l1=l1,
            l2=l2,
            intercept=self.intercept,
            wait=self.wait,
            narrow=True,
        )

    def fast(self) -> bl.LinearModel:
        l1, l2 = self.penalties
        return bl.LinearModel(
            self.loss.kind,
            bits=4,
            quantile=self.loss.quantile,
            delta=self.loss.delta,
            l1=l1,
            l2=l2,
            intercept=self.intercept,
            wait=self.wait,
        )


def arrays(row: Row) -> tuple[Ints, Floats]:
    """Return a row as the library takes it."""
    indices = np.array([i for i, _ in row], dtype=np.int64)
    return indices, np.array([x for _, x in row], dtype=np.float64)


def check_same(chosen: Settings, log: Log) -> bool:
    """Feed a log to both models and compare all that they answer; tell whether it is the same.

    Both round what they store to single precision. Where such a number lies between two of them but
    for the rounding of arithmetic, each takes another one, 10^-7 apart, and from then on they
    differ a little: by some times that, as features reach 30.

    Tickets whose label would be tied are cancelled. The first rows are predicted once more at the
    end, so that the last labels show.
    """
    slow, fast = chosen.naive(), chosen.fast()
    expected, issued = [], []

    def predict(row: Row) -> int:
        ticket, value = slow.predict(row)
        forecast = fast.predict(arrays(row))
        assert forecast.ticket == ticket
        expected.append(value)
        issued.append(forecast.value)
        assert fast.open == len(slow.open)
        return ticket

    for event in sorted_in_sets(log.events):
        if event >= 0:
            assert predict(log.rows[event]) == event
            continue
        answer = (~event, log.labels[~event], log.weights[~event])
        if ~event in slow.open and (~event in log.lost or is_tied(slow, *answer)):
            slow.cancel(~event)
            fast.cancel(~event)
        else:
            assert fast.observe(*answer[:2], weight=answer[2]) == slow.observe(*answer)
    for row in log.rows[:5]:
        predict(row)
    np.testing.assert_allclose(issued, expected, rtol=1e-5, atol=1e-5)
    return bool(np.allclose(issued, expected, rtol=1e-10, atol=1e-12))


@pytest.mark.parametrize("loss", LOSSES, ids=loss_name)
@pytest.mark.parametrize("wait", ["adaptive", None])
@pytest.mark.parametrize("penalties", [(0.0, 0.0), (0.02, 0.0), (0.0, 0.1), (0.01, 0.1)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_fast_model_equals_the_slow_one(
    loss: NaiveLoss, wait: Wait, penalties: tuple[float, float], weighted: bool
) -> None:
    seed = zlib.crc32(repr((loss, wait, penalties, weighted)).encode())
    check_same(
        Settings(loss, penalties, wait, intercept=seed % 3 > 0),
        random_log(loss.kind, seed, rounds=shortened(60), weighted=weighted),
    )


def test_most_logs_are_the_same_to_ten_digits() -> None:
    same = [
        check_same(Settings(loss), random_log(loss.kind, seed, rounds=60, weighted=seed > 2))
        for loss in LOSSES
        for seed in range(1, 5)
    ]
    assert np.mean(same) >= 0.9


@st.composite
def small_logs(draw: st.DrawFn, kind: Loss) -> Log:
    """Any small structure of rows and delays, filled with numbers that are never tied."""
    shapes = draw(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=20))
    delays = draw(
        st.lists(st.none() | st.integers(0, 10), min_size=len(shapes), max_size=len(shapes))
    )
    lost = draw(st.frozensets(st.integers(0, len(shapes) - 1), max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows: list[Row] = []
    for shape in shapes:
        exact = rng.choice([0.0, 1.0, math.nan], len(shape), p=[0.15, 0.25, 0.6])
        numbers = np.where(np.isnan(exact), rng.standard_normal(len(shape)), exact)
        rows.append([(i, float(x)) for i, x in zip(shape, numbers, strict=True)])
    labels = [label_of(kind, float(u)) for u in rng.standard_normal(len(rows))]
    weights = [float(h) for h in np.exp(rng.standard_normal(len(rows)))]
    return Log(rows, labels, weights, events_of(delays), lost)


@examples(60)
@given(data=st.data())
def test_fast_model_equals_the_slow_one_on_any_small_log(data: st.DataObject) -> None:
    chosen = Settings(
        loss=data.draw(st.sampled_from(LOSSES)),
        penalties=data.draw(st.sampled_from([(0.0, 0.0), (0.05, 0.0), (0.0, 0.3), (0.02, 0.2)])),
        wait=data.draw(st.sampled_from(["adaptive", None, {"predictions": 0}, {"predictions": 3}])),
        intercept=data.draw(st.booleans()),
    )
    check_same(chosen, data.draw(small_logs(chosen.loss.kind)))
