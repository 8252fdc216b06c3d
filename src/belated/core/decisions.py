# cython: infer_types=True
"""Choosing among actions: rows of context and action, probabilities, the pick, and the events.

A linear model predicts the reward of every action, a ``Rule`` turns predictions into probabilities,
and ``Chooser`` has the events. Each public method is one C call, which changes the chooser and its
model together. Calls on either are refused while features are read or a rule of a user decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import cython
import numpy as np

from belated import refusals
from belated.core.component import (
    COUNT,
    LARGE_VECTOR,
    MOST_ROUNDS,
    VECTOR,
    Range,
    columns_of,
    demand,
    take_columns,
)
from belated.core.hashing import Hasher
from belated.core.online import busy, named_error, number_of
from belated.errors import (
    AlreadyObserved,
    BadFeatures,
    BadFeedback,
    BelatedError,
    SpecError,
    UnknownTicket,
)
from belated.frames import row_of
from belated.scalars import plain
from belated.tables import shown_as_columns, shown_as_table

if not cython.compiled:
    from math import fabs, isnan, sqrt

    from belated.core.component import Component
    from belated.core.experts import HUGE_VALUE, combine_coordinates
    from belated.core.label_losses import EXPERTS
    from belated.core.linear import Linear
    from belated.core.numerics import floats_at, ints_at, part, philox
    from belated.core.online import Online
    from belated.core.tickets import BAD, CLOSED, TOO_LARGE, USED, Keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDING = 1.0 + 1e-9  # sums of probabilities may exceed their number by so much
STREAM = 32  # of random numbers; ``numerics`` lists all
MOST_NAMES = 10_000  # names that are counted; those after them are counted as one
OTHERS = "(others)"
TRIAL_ANSWERS, TRIAL_CHOICES = 10, 100  # an action is new until it has so many of one of both
REMEMBERED = 1 << 16
FEW = 64
NOTHING: dict = {}
SHARE = Range(0.0, LARGE_VECTOR)

# --- Rules of exploration ------------------------------------------------------------------------


class Offer:
    """The actions of one choice: ``scores``, the predicted rewards, and ``chances`` to be chosen.

    ``spread`` is S, the standard deviation of the rewards so far.
    """

    def __init__(self):
        self.count, self.room, self.spread = 0, 0, 0.0

    def begin(self, names):
        """Take the names of the actions, and make room for them."""
        count = len(names)
        if count > self.room:
            self.arrays = np.zeros((2, 2 * count))
            self.scores, self.chances = floats_at(self.arrays[0]), floats_at(self.arrays[1])
            self.room = 2 * count
        self.names, self.count = names, count

    def take(self, chances):
        """Take the chances of nameless actions, for ``draw``."""
        self.begin(tuple(range(len(chances))))
        for a in range(self.count):
            self.chances[a] = chances[a]

    def best(self):
        """Return the first action with the largest predicted reward."""
        best = 0
        for a in range(1, self.count):
            if self.scores[a] > self.scores[best]:
                best = a
        return best

    def is_known(self):
        """Tell whether there is a unit of rewards, and predictions differ."""
        worst = self.scores[0]
        for a in range(1, self.count):
            worst = min(worst, self.scores[a])
        return self.spread > 0.0 and self.scores[self.best()] > worst

    def try_new(self, places, trial):
        """Give new actions a share ``trial`` among them, out of what all have."""
        for a in range(self.count):
            self.chances[a] *= 1.0 - trial
        for a in places:
            self.chances[a] += trial / len(places)

    def draw(self, ticket, seed):
        """Return an action drawn with these chances: a function of (seed, ticket) and of them."""
        words: cython.longlong[4]
        if not cython.compiled:
            words = [0] * 4
        philox(0, STREAM, ticket, seed, words)
        share = ((words[0] >> 5) * 67108864.0 + (words[1] >> 6)) * 1.1102230246251565e-16
        total = 0.0
        last = 0
        for a in range(self.count):
            if self.chances[a] > 0.0:
                total += self.chances[a]
                last = a
                if share < total:
                    return a
        return last

    def expected(self):
        """Return the reward that is predicted for the draw."""
        total = 0.0
        for a in range(self.count):
            total += self.chances[a] * self.scores[a]
        return total


class Rule(Component):
    """How predicted rewards r_a become probabilities p_a of K actions.

    Actions other than the best, b, have what ``share`` says, and b has what is left. While nothing
    tells the actions apart every one has 1 / K. A ``floor`` mixes with that. A share ``trial`` of
    all choices goes to new actions. A rule that ``is_custom`` may raise.
    """

    def __init__(self, amount=0.0, floor=0.0, trial=0.0):
        self.amount, self.floor, self.trial, self.is_custom = amount, floor, trial, False

    def share(self, gap, count, rounds):
        """Return p_a of an action whose predicted reward is less by ``gap``, in units of S."""
        return 0.0

    def weigh(self, offer: Offer, rounds, ticket):
        """Write the chances of an offer; ``rounds`` are the choices that the chooser has made."""
        count, chances, scores = offer.count, offer.chances, offer.scores
        if not offer.is_known():
            for a in range(count):
                chances[a] = 1.0 / count
            return 0
        best = offer.best()
        left = 1.0
        for a in range(count):
            if a != best:
                chances[a] = self.share((scores[best] - scores[a]) / offer.spread, count, rounds)
                left -= chances[a]
        chances[best] = left
        least = min(self.floor, 1.0 / count)
        if least > 0.0:
            for a in range(count):
                chances[a] = least + (1.0 - count * least) * chances[a]
        return 0

    def probabilities(self, scores, spread, rounds):
        """Return the probabilities of actions with these predicted rewards."""
        offer = Offer()
        offer.begin(tuple(range(len(scores))))
        offer.spread = spread
        for a in range(offer.count):
            offer.scores[a] = scores[a]
        self.weigh(offer, rounds, 0)
        return offer.arrays[1, : offer.count].copy()


class GapWeighted(Rule):
    """p_a = 1 / (K + gamma (r_b - r_a) / S), gamma = g sqrt(t) in round t (Foster, Rakhlin 2020).

    In units of S a round costs at most 2 (K - 1) / gamma + gamma / 4 times the squared error of the
    prediction, in expectation; docs/decisions.md has the proof. ``amount`` is g.
    """

    def share(self, gap, count, rounds):
        return 1.0 / (count + self.amount * sqrt(rounds + 1.0) * gap)


class Uniform(Rule):
    """p_a = ``amount`` / K (epsilon-greedy)."""

    def share(self, gap, count, rounds):
        return self.amount / count


class Greedy(Rule):
    """p_b = 1."""


# --- Features ------------------------------------------------------------------------------------

OF_ACTION = cython.declare(cython.ulonglong, 1)
OF_PRODUCT = cython.declare(cython.ulonglong, 2)


def names_of(given):
    """Return the names of actions, in their order."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise SpecError(f"actions are a list of names, or a dict of their features, got {given!r}")
    names = tuple(given)
    if not names:
        raise SpecError("there must be at least one action; nothing has changed")
    for name in names:
        if not isinstance(name, str):
            raise SpecError(f"names of actions are text, got {name!r}; nothing has changed")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SpecError(f"action {twice!r} is there twice; nothing has changed")
    return names


class Menu:
    """Actions: their names, the coordinates of these, and other features as sparse rows.

    Actions ``are_alike`` if all have the same features, in the same order.
    """

    def __init__(self, names, heads, bounds, indices, values):
        self.names, self.count = names, len(names)
        self.arrays = heads, bounds, indices, values
        self.heads, self.bounds = ints_at(heads), ints_at(bounds)
        self.indices, self.values = ints_at(indices), floats_at(values)
        self.width = self.bounds[1]
        self.are_alike = True
        for a in range(self.count):
            start, width = self.bounds[a], self.bounds[a + 1] - self.bounds[a]
            self.are_alike = self.are_alike and width == self.width
            if self.are_alike:
                for j in range(width):
                    self.are_alike = self.are_alike and self.indices[start + j] == self.indices[j]


class Encoder:
    """Turns contexts and actions into rows.

    Every action has its name as a feature with the value 1, and what else is given for it. A row is
    the context, then the action, then every product of an entry of the context that is ``crossed``
    with an entry of the action. Coordinates of the action and of products are mixed once more, so
    that equal names of both sides are different features.
    """

    def __init__(self, bits, crossing):
        self.mask = (1 << bits) - 1
        self.of_context, self.of_actions = Hasher(bits, (), None), Hasher(bits, (), None)
        self.wanted = None if isinstance(crossing, str) else frozenset(crossing)
        self.crosses_all = crossing in ("all", "auto")
        self.menus, self.heads = {}, {}
        self.names, self.name_heads = (), None
        self.given = self.room = self.flag_room = 0
        self.bands = 1
        self.make_room(256)

    def make_room(self, room):
        """Replace the arrays of a row."""
        self.row_arrays = np.zeros(room, dtype=np.int64), np.zeros(room)
        self.indices, self.values = ints_at(self.row_arrays[0]), floats_at(self.row_arrays[1])
        self.room = room

    def read_context(self, features):
        """Read a context; its numbers may be anything."""
        if features is None:
            features = {}
        elif type(features) is not dict and not isinstance(features, Mapping):
            raise BadFeatures(
                f"choose: a context is a dict of numbers and strings, got {type(features).__name__}"
            )
        self.given = 0
        given = self.of_context.fill(features)
        if given > self.flag_room:
            self.flag_array = np.zeros(2 * given, dtype=np.int64)
            self.crossed, self.flag_room = ints_at(self.flag_array), 2 * given
        for i in range(given):
            self.crossed[i] = self.crosses_all
        if self.wanted is not None:
            i = 0
            for name, value in features.items():
                if i < given and plain(value) is not None:
                    self.crossed[i] = name in self.wanted
                    i += 1
        self.bands = 1
        for i in range(given):
            self.bands += self.crossed[i]
        self.given = given

    def menu(self, given):
        """Return actions, or say what is wrong with them; their numbers may be anything."""
        if type(given) is dict or isinstance(given, Mapping):
            return self.encoded(given)
        names = names_of(given)
        menu = self.menus.get(names)
        if menu is None:
            menu = self.encoded(dict.fromkeys(names))
            if len(self.menus) * len(names) < REMEMBERED:
                self.menus[names] = menu
        return menu

    def encoded(self, given):
        """Return actions with their features."""
        names = tuple(given)
        if not names or names != self.names:
            names = names_of(names)
            heads = np.array([self.head(name) for name in names], dtype=np.int64)
            self.names, self.name_heads = names, heads
        rows, total = [], 0
        for name, features in given.items():
            row = features or NOTHING
            if type(row) is not dict and not isinstance(row, Mapping):
                raise BadFeatures(
                    f"choose: the features of action {name!r} are a dict, got {type(row).__name__}"
                )
            rows.append(row)
            total += len(row)
        if len(rows) != len(names):
            raise RuntimeError("choose: the actions have changed while they were read")
        bounds, indices = np.zeros(len(rows) + 1, dtype=np.int64), np.zeros(total, dtype=np.int64)
        values, used = np.zeros(total), 0
        bound, index, value = ints_at(bounds), ints_at(indices), floats_at(values)
        for a in range(len(rows)):
            count = self.of_actions.fill(rows[a])
            if used + count > total:
                raise RuntimeError("choose: the actions have changed while they were read")
            for j in range(count):
                index[used + j] = self.of_actions.index_at[j]
                value[used + j] = self.of_actions.value_at[j]
            used += count
            bound[a + 1] = used
        return Menu(names, self.name_heads, bounds, indices, values)

    def head(self, name):
        """Return the coordinate of the name of an action."""
        found = self.heads.get(name)
        if found is None:
            if len(self.heads) >= REMEMBERED:
                self.heads.clear()
            found = self.heads[name] = self.of_actions.coordinate(("action", name))
        return found

    def write_row(self, menu: Menu, a):
        """Write the row of an action, and return its length."""
        start, end = menu.bounds[a], menu.bounds[a + 1]
        length = self.given + self.bands * (1 + end - start)
        if length > self.room:
            self.make_room(2 * length)
        count = 0
        for i in range(self.given):
            self.indices[i] = self.of_context.index_at[i]
            self.values[i] = self.of_context.value_at[i]
            count += 1
        count = self.write_band(menu, a, -1, count)
        for i in range(self.given):
            if self.crossed[i]:
                count = self.write_band(menu, a, i, count)
        return count

    def copy_of_row(self, length):
        """Return copies of the coordinates and values of the row that was written."""
        return tuple(array[:length].copy() for array in self.row_arrays)

    def fits(self, menu: Menu):
        """Tell whether all numbers of rows can be used."""
        largest = 1.0
        for i in range(self.given):
            size = fabs(self.of_context.value_at[i])
            if not size <= HUGE_VALUE:
                return False
            if self.crossed[i]:
                largest = max(largest, size)
        for j in range(menu.bounds[menu.count]):
            if not fabs(menu.values[j]) * largest <= HUGE_VALUE:
                return False
        return True

    def place(self, feature, i):
        """Return the coordinate of a feature of an action, or of its product with entry i."""
        if i < 0:
            return combine_coordinates(feature, feature, OF_ACTION, self.mask)
        return combine_coordinates(self.of_context.index_at[i], feature, OF_PRODUCT, self.mask)

    def write_band(self, menu: Menu, a, i, count):
        """Write an action, or its products with entry i of the context if that is not negative."""
        factor = 1.0 if i < 0 else self.of_context.value_at[i]
        self.indices[count], self.values[count] = self.place(menu.heads[a], i), factor
        count += 1
        for j in range(menu.bounds[a], menu.bounds[a + 1]):
            self.indices[count] = self.place(menu.indices[j], i)
            self.values[count] = factor * menu.values[j]
            count += 1
        return count


class Scorer:
    """Predicts the rewards of all actions; nothing changes.

    Every row is summed in its own order, all rows together: what is read of a coordinate that they
    share, as rows of actions that are alike do, is read once. Every value is standardised by what
    was seen before this choice. So a coordinate that occurs twice in a row, which ``peek`` of the
    model standardises one after the other, has here the same moments both times.
    """

    def __init__(self, encoder: Encoder, linear: Linear):
        self.encoder, self.linear, self.room = encoder, linear, 0

    def add(self, place, first, count):
        """Add an entry to so many rows, whose values are in ``values``."""
        experts = self.linear.experts
        experts.add_entry(
            place, part(self.values, first), count, self.x, part(self.sums, first * EXPERTS)
        )

    def add_to_all(self, place, value, count):
        """Add an entry that all rows have."""
        for a in range(count):
            self.values[a] = value
        self.add(place, 0, count)

    def score(self, menu: Menu, offer: Offer):
        """Write the predicted rewards of actions whose numbers can be used."""
        encoder, linear, count = self.encoder, self.linear, menu.count
        if linear.pairs is not None:
            for a in range(count):
                length = encoder.write_row(menu, a)
                linear.peek(encoder.indices, encoder.values, length)
                offer.scores[a] = linear.value
            return 0
        if count > self.room:
            self.arrays = np.zeros((2 + EXPERTS, 2 * count))
            self.values, self.x = floats_at(self.arrays[0]), floats_at(self.arrays[1])
            self.sums, self.room = floats_at(self.arrays[2:]), 2 * count
        for i in range(EXPERTS * count):
            self.sums[i] = linear.labels.base
        for i in range(encoder.given):
            self.add_to_all(encoder.of_context.index_at[i], encoder.of_context.value_at[i], count)
        for i in range(-1, encoder.given):
            if i < 0 or encoder.crossed[i]:
                self.add_band(menu, i)
        if linear.experts.has_intercept:
            self.add_to_all(linear.experts.coordinates, 1.0, count)
        for a in range(count):
            p = linear.experts.blend_sums(part(self.sums, a * EXPERTS))
            offer.scores[a] = linear.loss.link(linear.censoring.corrected(p))
        return 0

    def add_band(self, menu: Menu, i):
        """Add the entries of actions, or their products with entry i of the context."""
        encoder, values, count = self.encoder, self.values, menu.count
        factor = 1.0 if i < 0 else encoder.of_context.value_at[i]
        for a in range(count):
            values[a] = factor
            self.add(encoder.place(menu.heads[a], i), a, 1)
        if menu.are_alike:
            for j in range(menu.width):
                for a in range(count):
                    values[a] = factor * menu.values[a * menu.width + j]
                self.add(encoder.place(menu.indices[j], i), 0, count)
            return
        for a in range(count):
            for j in range(menu.bounds[a], menu.bounds[a + 1]):
                values[a] = factor * menu.values[j]
                self.add(encoder.place(menu.indices[j], i), a, 1)


# --- What is counted, and choices that wait for their reward -------------------------------------


class ActionCounts:
    """Counts of one action: choices shown and answered, and what their rewards add up to.

    ``squares`` is the sum of squared distances of rewards from their mean (Welford).
    """

    def __init__(self, chosen=0, answered=0, total=0.0, squares=0.0):
        self.chosen, self.answered, self.total, self.squares = chosen, answered, total, squares


class OpenChoice:
    """A choice until its reward has come.

    ``model_ticket`` is -1 and ``row`` has coordinates and values until it was shown; ``span`` is
    its own deadline until then, NaN for that of all. ``reward`` is the one so far, or NaN.
    """

    def __init__(
        self, action, probability, model_ticket=-1, reward=math.nan, row=None, span=math.nan
    ):
        self.action, self.probability, self.model_ticket = action, probability, model_ticket
        self.reward, self.row, self.span = reward, row, span


class Choices(Component):
    """Choices that wait, and counts; expectations are over the draws of the chooser.

    ``own`` choices the chooser made itself; ``explored`` of them, in expectation, were of another
    action than the one that seemed best. Of ``compared`` choices, for which there was a baseline,
    it would take that ``agreed`` times, and ``gain`` is what it predicts to win by its own.
    ``withdrawn`` choices were never shown.

    ``open`` has those whose reward may come, and some that the model has forgotten; ``hidden`` are
    the tickets of those that were not shown yet.
    """

    FIELDS = {
        **dict.fromkeys(("rounds", "own", "compared", "withdrawn"), COUNT),
        **dict.fromkeys(("explored", "agreed"), SHARE),
        "gain": VECTOR,
    }
    # Columns by action, by choice, and of the rows of hidden ones.
    OF_ACTION = {
        **dict.fromkeys(("chosen", "answered"), np.int64),
        **dict.fromkeys(("totals", "squares"), np.float64),
    }
    OF_CHOICE = {
        **dict.fromkeys(("tickets", "model_tickets", "places"), np.int64),
        **dict.fromkeys(("probabilities", "rewards", "spans"), np.float64),
    }
    OF_ENTRY = {"indices": np.int64, "values": np.float64}

    def __init__(self, linear):
        self.linear = linear
        self.rounds = self.own = self.compared = self.withdrawn = 0
        self.explored = self.agreed = self.gain = 0.0
        self.actions, self.open, self.hidden, self.tried = {}, {}, {}, set()
        self.tidy_at = FEW

    # --- Tickets, also for ``Keys`` ---

    def is_known(self, ticket):
        """Tell whether a reward of a choice would not be refused."""
        choice = self.open.get(ticket)
        if choice is None:
            return False
        return choice.row is not None or self.linear.tickets.locate(choice.model_ticket) >= 0

    def is_open(self, ticket):
        """Tell whether a choice waits for its reward, or to be shown."""
        choice = self.open.get(ticket)
        if choice is None:
            return False
        return choice.row is not None or self.linear.is_open(choice.model_ticket)

    def withdraw(self, ticket):
        """Forget a choice that was not shown."""
        del self.open[ticket], self.hidden[ticket]
        self.withdrawn += 1

    def tidy(self):
        """Forget choices that the model has forgotten."""
        self.open = {ticket: self.open[ticket] for ticket in self.open if self.is_known(ticket)}
        self.tidy_at = max(FEW, 2 * len(self.open))

    # --- Counts of actions ---

    def counts_of(self, action):
        """Return the counts of an action, or those of all that came after so many others."""
        name = action
        if action not in self.actions and len(self.actions) >= MOST_NAMES:
            name = OTHERS
        counts = self.actions.get(name)
        if counts is None:
            counts = self.actions[name] = ActionCounts()
        return counts

    def count_shown(self, action):
        """Count a choice that was shown."""
        counts: ActionCounts = self.counts_of(action)
        counts.chosen += 1
        return 0

    def count_reward(self, choice: OpenChoice, reward):
        """Count the reward of a choice, which replaces an earlier one."""
        counts: ActionCounts = self.counts_of(choice.action)
        before: cython.double = counts.total / max(counts.answered, 1)
        if isnan(choice.reward):
            counts.answered += 1
            counts.total += reward
            counts.squares += (reward - before) * (reward - counts.total / counts.answered)
        else:
            change: cython.double = reward - choice.reward
            counts.total += change
            after: cython.double = counts.total / counts.answered
            counts.squares += change * ((reward - after) + (choice.reward - before))
        choice.reward = reward
        return 0

    def new_among(self, names):
        """Return the places of actions that are on trial."""
        if self.tried.issuperset(names):
            return ()
        if len(self.tried) > MOST_NAMES:  # of names that come and go; counts know them
            self.tried.clear()
        new = []
        for a, name in enumerate(names):
            if name in self.tried:
                continue
            if self.is_new(name):
                new.append(a)
            else:
                self.tried.add(name)
        return new

    def is_new(self, name):
        """Tell whether an action is on trial."""
        counts: ActionCounts = self.actions.get(name)
        if counts is None:
            return len(self.actions) < MOST_NAMES
        return counts.answered < TRIAL_ANSWERS and counts.chosen < TRIAL_CHOICES

    # --- State ---

    def state(self):
        """Return counts by action and choices that wait, as columns; ``actions`` are the names."""
        known = [ticket for ticket in sorted(self.open) if self.is_known(ticket)]
        choices = [self.open[ticket] for ticket in known]
        more = {choice.action for choice in choices} - set(self.actions)
        names = [*self.actions, *sorted(more)]
        place = {name: i for i, name in enumerate(names)}
        rows = [choice.row for choice in choices if choice.row is not None]
        counts = [(c.chosen, c.answered, c.total, c.squares) for c in self.actions.values()]
        table = [
            (ticket, c.model_ticket, place[c.action], c.probability, c.reward, c.span)
            for ticket, c in zip(known, choices, strict=True)
        ]
        return {
            **Component.state(self),
            **columns_of(self.OF_ACTION, counts),
            **columns_of(self.OF_CHOICE, table),
            "bounds": np.cumsum([0, *(len(row[0]) for row in rows)]),
            "indices": np.concatenate([np.empty(0, np.int64), *(row[0] for row in rows)]),
            "values": np.concatenate([np.empty(0), *(row[1] for row in rows)]),
            "actions": names,
        }

    def restore(self, state):
        """Take counts and choices."""
        Component.restore(self, state)
        names = state["actions"]
        bounds = iter(zip(state["bounds"], state["bounds"][1:], strict=False))
        counts = zip(*(state[name].tolist() for name in self.OF_ACTION), strict=True)
        self.actions = {n: ActionCounts(*each) for n, each in zip(names, counts, strict=False)}
        self.open, self.hidden = {}, {}
        table = zip(*(state[name].tolist() for name in self.OF_CHOICE), strict=True)
        for ticket, model_ticket, place, probability, reward, span in table:
            row = None
            if model_ticket < 0:
                begin, end = next(bounds)
                row = state["indices"][begin:end].copy(), state["values"][begin:end].copy()
                self.hidden[ticket] = None
            self.open[ticket] = OpenChoice(
                names[place], probability, model_ticket, reward, row, span
            )
        self.tidy_at = max(FEW, 2 * len(self.open))

    def check(self, state):
        """Demand that columns belong together, then that counts agree with them."""
        names, rest = state.get("actions"), {n: v for n, v in state.items() if n != "actions"}
        demand(isinstance(names, list) and all(type(name) is str for name in names), "names")
        demand(len(set(names)) == len(names), "names")
        chosen, answered, totals, squares = take_columns(rest, self.OF_ACTION)
        choices = take_columns(rest, self.OF_CHOICE)
        (bounds,) = take_columns(rest, {"bounds": np.int64})
        indices, values = take_columns(rest, self.OF_ENTRY)
        Component.check(self, rest)
        demand(chosen.size <= min(len(names), MOST_NAMES + 1), "counts")
        demand(((answered >= 0) & (answered <= chosen)).all(), "counts")
        demand((chosen <= COUNT.most).all() and (np.abs(totals) <= LARGE_VECTOR).all(), "counts")
        demand((np.abs(squares) <= LARGE_VECTOR**2).all(), "counts")
        rounds, hidden = state["rounds"], int((choices[1] < 0).sum())
        demand(chosen.sum() + state["withdrawn"] + hidden == rounds, "counts")
        demand(max(state["own"], state["compared"]) <= rounds, "counts")
        demand(state["explored"] <= rounds * ROUNDING, "counts")
        demand(state["agreed"] <= state["compared"] * ROUNDING, "counts")
        self.check_choices(*choices, rounds, len(names))
        demand(bounds.shape == (hidden + 1,) and bounds[0] == 0, "rows")
        demand(bounds[hidden] == indices.size and (np.diff(bounds) >= 0).all(), "rows")
        demand(((indices >= 0) & (indices < self.linear.experts.coordinates)).all(), "rows")
        demand((np.abs(values) <= HUGE_VALUE).all(), "rows")

    def check_choices(self, tickets, model_tickets, places, p, rewards, spans, rounds, names):
        """Demand that choices can wait, each for a ticket of the model of its own."""
        demand(((tickets >= 0) & (tickets < rounds)).all(), "tickets")
        demand((np.diff(tickets) > 0).all() and (model_tickets >= -1).all(), "tickets")
        shown = model_tickets[model_tickets >= 0]
        demand(np.unique(shown).size == shown.size, "tickets")
        demand(all(self.linear.tickets.is_known(ticket) for ticket in shown.tolist()), "tickets")
        demand(((places >= 0) & (places < names)).all(), "names")
        demand(((p >= 0.0) & (p <= 1.0)).all(), "probabilities")
        demand(not (np.abs(rewards) > LARGE_VECTOR).any(), "rewards")
        demand(not (spans < 0.0).any(), "deadlines")


# --- Public methods ------------------------------------------------------------------------------


@shown_as_table
class Choice(NamedTuple):
    """What ``choose`` returns."""

    ticket: int
    """Number to give back with the reward."""
    action: str
    probability: float
    """With which the action was chosen; keep it with your log, for ``bl.evaluate``."""


@shown_as_table
class Option(NamedTuple):
    """An action as ``peek`` sees it."""

    action: str
    probability: float
    value: float
    """The reward that is predicted."""


_new_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time
_Choice = Choice


@shown_as_columns
class Picks(NamedTuple):
    """What ``choose_many`` returns."""

    tickets: NDArray[np.int64]
    actions: list[str]
    probabilities: NDArray[np.float64]


class Chooser(Online):
    """The events of a chooser; ``belated.models.chooser`` adds settings, reports and snapshots.

    The subclass has the errors ``_bad_reward(who, given)`` and ``_bad_features(context, actions)``.
    """

    # The guard is that of the model: calls on either are refused while it is down.
    __slots__ = (
        *("_choices", "_encoder", "_fixed", "_linear", "_mode", "_model", "_most_hidden"),
        *("_offer", "_rule", "_scorer", "_seed"),
    )

    CANNOT = {
        "predict": "a Chooser chooses an action; use choose",
        "predict_many": "a Chooser chooses actions; use choose_many",
        "explain": "the model explains the reward of an action; use peek, or chooser.model.explain",
        "replay": "rewards depend on the actions that were chosen; feed the log event by event, or "
        "compare policies on it with bl.evaluate",
    }

    def _begin(self, settings, model, rule, mode):
        """Take settings and a model, having made no choices."""
        self._model, self._rule, self._mode = model, rule, mode
        self._linear, self._seed = model._linear, settings.seed
        most = model.settings.max_open
        self._most_hidden = MOST_ROUNDS if most is None else most
        self._choices, self._offer = Choices(model._linear), Offer()
        self._connect(settings, self._choices, Keys(self._choices), model._guard)
        self._encoder = Encoder(model.settings.bits, settings.crossing)
        self._scorer = Scorer(self._encoder, self._linear)
        self._fixed = None
        if settings.actions is not None:
            self._fixed = self._encoder.menu(settings.actions)
            if not (np.abs(self._fixed.arrays[3]) <= HUGE_VALUE).all():
                raise self._bad_features({}, settings.actions)

    # --- Choices ---------------------------------------------------------------------------------

    def choose(
        self,
        context=None,
        actions=None,
        *,
        key=None,
        at=None,
        deadline=None,
        baseline=None,
        shown=True,
    ):
        """Return the next ticket, an action, and the probability with which it was chosen.

        ``context`` is a dict of numbers and strings. ``actions`` and ``baseline`` are those of this
        call alone; ``key``, ``at`` and ``deadline`` are those of ``LinearModel.predict``. What is
        not ``shown`` at once teaches nothing until ``shown(ticket)`` says that it was.
        """
        return self._choose(context, actions, key, at, deadline, baseline, shown, None)

    def choose_many(self, contexts, actions=None, *, keys=None, at=None, deadline=None):
        """Choose in many contexts; return tickets, actions and probabilities.

        ``actions`` are those of all, ``at`` is one time or that of every row. The result is the
        same, bit for bit, as one by one. Contexts, keys and times are checked first.
        """
        begin = self._choices.rounds
        made = self._alone(
            "choose_many", lambda: self._chosen(contexts, actions, keys, at, deadline)
        )
        tickets = np.arange(begin, begin + len(made))
        return Picks(
            tickets, [each.action for each in made], np.array([each.probability for each in made])
        )

    def _chosen(self, contexts, actions, keys, at, deadline):
        if isinstance(actions, Iterable) and not isinstance(actions, Mapping | str):
            actions = list(actions)  # others can be read only once
        menu = self._menu(actions)
        rows, names, times = self._rows_given("choose_many", contexts, keys, at, deadline)
        for place, context in enumerate(rows):
            try:
                self._encoder.read_context(context)
                if not self._encoder.fits(menu):
                    raise self._bad_features(context, actions)
                self._times.issued(times[place], deadline, "choose")
            except BelatedError as error:
                raise named_error(error, "choose", f"choose_many: row {place}") from None
        return self._all_or_none(
            len(rows),
            lambda i: self._choose_alone(
                rows[i], actions, names[i], times[i], deadline, None, True, None
            ),
            "choose",
            lambda i: f"choose_many: row {i}",
        )

    def _choose(self, context, actions, key, at, deadline, baseline, shown, played):
        """Choose; an action that was ``played`` with a probability stands for the own pick."""
        guard = self._guard
        if not guard.is_ready:
            raise busy("choose")
        guard.is_ready = False
        try:
            return self._choose_alone(context, actions, key, at, deadline, baseline, shown, played)
        finally:
            guard.is_ready = True

    def _choose_alone(self, context, actions, key, at, deadline, baseline, shown, played):
        context = row_of(context, "choose")
        now, span, kind = math.nan, math.nan, 0
        if key is not None:
            key = self._keys.check(key)
        if at is not None or deadline is not None or (shown and self._linear.has_deadlines):
            now, span, kind = self._times.issued(at, deadline, "choose")
        menu = self._menu(actions)
        usual = self._usual(menu, baseline)
        if usual < 0 and played is None and self._mode == "apprentice":
            raise SpecError(
                "choose: an apprentice plays the baseline, so there must be one; nothing has "
                "changed: give baseline="
            )
        is_certain = shown and not self._rule.is_custom
        place = self._draw(context, menu, actions, is_certain)
        best, probability = self._offer.best(), self._offer.chances[place]
        if played is not None:
            place, probability = place_of(menu, played[0], "the action"), played[1]
        elif self._mode == "apprentice":
            place, probability = usual, 1.0
        ticket, action = self._choices.rounds, menu.names[place]
        made = _new_tuple(_Choice, (ticket, action, probability))
        choice = OpenChoice(action, probability)
        length = self._encoder.write_row(menu, place)
        if shown:
            choice.model_ticket = self._issue(
                self._encoder.indices, self._encoder.values, length, now, span, kind
            )
            self._choices.count_shown(action)
        else:
            choice.row, choice.span = self._encoder.copy_of_row(length), span
            self._choices.hidden[ticket] = None
        self._choices.open[ticket] = choice
        if key is not None:
            self._keys.assign(key, ticket)
        self._count(usual, best)
        return made

    def _menu(self, actions):
        """Return the actions of a call, or those of all."""
        if actions is not None:
            return self._encoder.menu(actions)
        if self._fixed is None:
            raise SpecError(
                "choose: there are no actions; nothing has changed: name them in the call, or when "
                "the Chooser is made"
            )
        return self._fixed

    def _usual(self, menu, baseline):
        """Return the place of the baseline among the actions, -1 if there is none."""
        name = self._settings.baseline if baseline is None else baseline
        return -1 if name is None else place_of(menu, name, "the baseline")

    def _draw(self, context, menu, given, is_certain):
        """Write predicted rewards and chances of all actions, and return the place of one drawn.

        Where it ``is_certain`` that a ticket follows, answers are applied permanently.
        """
        offer, choices, encoder = self._offer, self._choices, self._encoder
        encoder.read_context(context)
        if not encoder.fits(menu):
            raise self._bad_features(context, self._settings.actions if given is None else given)
        offer.begin(menu.names)
        if is_certain:
            self._linear.commit_answers()
        else:
            self._linear.apply_provisionally()
        self._scorer.score(menu, offer)
        offer.spread = self._linear.spread
        self._rule.weigh(offer, choices.own, choices.rounds)
        if self._rule.trial > 0.0:
            new = choices.new_among(menu.names)
            if new:
                offer.try_new(new, self._rule.trial)
        return offer.draw(choices.rounds, self._seed)

    def _issue(self, indices, values, count, now, span, kind):
        """Return a ticket of the model for a row, whose numbers can be used."""
        ticket = self._linear.predict(indices, values, count, now, span)
        self._linear.note_time(kind)
        return ticket

    def _count(self, usual, best):
        """Count a choice; the oldest that were not shown are withdrawn where there are too many."""
        offer, choices = self._offer, self._choices
        choices.rounds += 1
        choices.own += self._mode != "apprentice"
        choices.explored += 1.0 - offer.chances[best]
        if usual >= 0:
            choices.compared += 1
            choices.agreed += offer.chances[usual]
            choices.gain += offer.expected() - offer.scores[usual]
        while len(choices.hidden) > self._most_hidden:
            choices.withdraw(next(iter(choices.hidden)))
        if len(choices.open) > choices.tidy_at:
            choices.tidy()

    def peek(self, context=None, actions=None):
        """Return what ``choose`` would draw from, the best first, without a ticket or a change."""
        return self._alone("peek", lambda: self._options(row_of(context, "peek"), actions))

    def peek_many(self, contexts, actions=None):
        """Return what ``peek`` does for each of many contexts."""
        return self._alone("peek_many", lambda: self._many_options(contexts, actions))

    def _many_options(self, contexts, actions):
        rows, _, _ = self._rows_given("peek_many", contexts, None, None, None)
        found = []
        for place, context in enumerate(rows):
            try:
                found.append(self._options(context, actions))
            except BelatedError as error:
                raise named_error(error, "peek", f"peek_many: row {place}") from None
        return found

    def _options(self, context, actions):
        offer = self._offer
        try:
            menu = self._menu(actions)
            self._draw(context, menu, actions, False)
        except BelatedError as error:
            raise named_error(error, "choose", "peek") from None
        options = [
            Option(menu.names[a], offer.chances[a], offer.scores[a]) for a in range(menu.count)
        ]
        return sorted(options, key=lambda option: -option.value)

    def shown(self, ticket, *, at=None):
        """Say that a choice was shown that was made with ``shown=False``; its time begins now."""
        self._alone("shown", lambda: self._show(ticket, at))

    def _show(self, ticket, at):
        number = self._keys.ticket(ticket)
        choice = self._found(number, "shown")
        if choice.row is None:
            raise AlreadyObserved(f"shown: {ticket!r} was shown before; nothing has changed")
        deadline = None if isnan(choice.span) else choice.span
        now, span, kind = self._times.issued(at, deadline, "shown")
        indices, values = choice.row
        choice.model_ticket = self._issue(
            ints_at(indices), floats_at(values), len(indices), now, span, kind
        )
        choice.row, choice.span = None, math.nan
        del self._choices.hidden[number]
        self._choices.count_shown(choice.action)

    # --- Rewards ---------------------------------------------------------------------------------

    def _learn(self, who, number, answer, at, weight, is_final):
        choice = self._heard(number, who)
        reward: cython.double = number_of(answer, who, "reward")
        times: cython.double = 1.0 if weight is None else number_of(weight, who, "weight")
        now: cython.double = math.nan if at is None else self._times.of_answer(at, who)
        status = self._linear.observe(choice.model_ticket, reward, times, now, is_final)
        if status < 0:
            raise self._reason(status, number, answer, weight, who)
        if is_final:
            del self._choices.open[number]
        if status == USED:
            self._choices.count_reward(choice, reward)
        return status == USED

    def _observed(self, tickets, answers, weights, at):
        heard, given, factors, times = self._answers_given(tickets, answers, weights, at)
        numbers, seen = heard.tickets.tolist(), set()
        for i, number in enumerate(numbers):
            try:
                self._check_answer(number, given[i], factors[i], number in seen)
            except BelatedError as error:
                raise named_error(error, "observe", heard.at("observe_many", i)) from None
            seen.add(number)
        return self._heard_all(heard, given, factors, times)

    def _check_answer(self, number, answer, weight, is_repeated):
        """Raise what ``observe`` would; nothing changes."""
        choice = self._heard(number, "observe")
        reward = number_of(answer, "observe", "reward")
        times = 1.0 if weight is None else number_of(weight, "observe", "weight")
        given = np.array([choice.model_ticket]), np.array([reward]), np.array([times])
        status = CLOSED if is_repeated else self._linear.first_refused(*given, False)[1]
        if status < 0:
            raise self._reason(status, number, answer, weight, "observe")

    def _saved(self):
        """Return what ``_undo`` takes back: all if a rule of a user may raise, else nothing.

        Many choices and answers are checked before the first, so that nothing else is refused.
        """
        return (Online._saved(self), self._linear.state()) if self._rule.is_custom else None

    def _undo(self, saved):
        """Take back the events since ``_saved``, if anything was saved."""
        if saved is not None:
            own, model = saved
            self._linear.restore(model)
            Online._undo(self, own)

    def _answer_so_far(self, number):
        choice = self._found(number, "add")
        if choice.row is not None or not self._linear.is_open(choice.model_ticket):
            return 0.0  # refused when it is learned
        if isnan(choice.reward) and self._linear.has_silence:
            return self._linear.silence
        return choice.reward

    def _cancel(self, number):
        choice = self._found(number, "cancel")
        if choice.row is not None:
            self._choices.withdraw(number)
        elif self._linear.cancel(choice.model_ticket) < 0:
            raise self._closed(number, "cancel")
        else:
            del self._choices.open[number]
        return 0

    def _ticked(self, at):
        self._model._ticked(at)

    # --- Tickets ---------------------------------------------------------------------------------

    def choice(self, ticket):
        """Return the choice that a ticket or key stands for, as it was made.

        That is known until its last word, also after its deadline, until the choice is forgotten.
        """
        number = self._keys.ticket(ticket)
        choice = self._found(number, "choice")
        return Choice(number, choice.action, choice.probability)

    def _found(self, number, who):
        """Return a choice that waits."""
        choice = self._choices.open.get(number)
        if choice is not None:
            return choice
        if 0 <= number < self._choices.rounds:
            raise self._closed(number, who)
        raise UnknownTicket(f"{who}: ticket {number} was never handed out; nothing has changed")

    def _heard(self, number, who):
        """Return a choice that waits and was shown."""
        choice = self._found(number, who)
        if choice.row is not None:
            raise BadFeedback(
                f"{who}: ticket {number} was not shown, so nothing can be heard of it; nothing has "
                f"changed: say shown({number}) first"
            )
        return choice

    def _reason(self, status, number, answer, weight, who):
        """Return the error for a reward that is refused."""
        if status == BAD and weight is None:
            return self._bad_reward(who, answer)
        if status in (BAD, TOO_LARGE):
            return self._model._refusal(status, number, answer, weight, who)
        return self._closed(number, who)

    def _closed(self, number, who):
        return AlreadyObserved(f"{who}: ticket {number} {refusals.CLOSED_BEFORE}")


def place_of(menu, action, what):
    """Return the place of an action among those of a choice."""
    if action not in menu.names:
        raise SpecError(f"choose: {what} {action!r} is not among the actions; nothing has changed")
    return menu.names.index(action)
