# cython: infer_types=True
"""Parts that users write, as components: one adapter class per kind.

Adapters call Python, so they take the interpreter lock, and they raise: what the user's code
raises, or ``SpecError`` if it returns what cannot be used. The caller of an event restores the
state then.

Rates and bases may remember something between calls. A learner has its own copy of such an object,
which is part of the state. Sets, smoothings and losses are functions, and have no state.
``user_parts.pxd`` has the types.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping

import cython
import numpy as np

from belated.core.component import NOT_NEGATIVE, VECTOR, Component, demand
from belated.errors import SnapshotError, SpecError
from belated.validation import are_distributions, checked_number, checked_point

if not cython.compiled:
    from belated.core.bases import Base
    from belated.core.decisions import Rule
    from belated.core.numerics import floats_at
    from belated.core.rates import Rate, Smoothing
    from belated.core.sets import Domain

ROUNDING = 1.0 + 1e-9  # of a step that is the same as before
TOLERANCE = 1e-4  # how far off a projection may be, in diameters: some are found step by step

# --- Objects that may remember something ---------------------------------------------------------


class UserObject(Component):
    """A user's object. Its state is a copy; ``first`` is what it contained at the start."""

    def __init__(self, held, first=None):
        self.held, self.first = held, contents_of(held) if first is None else first

    def __eq__(self, other):
        """Tell whether both objects remember the same."""
        return isinstance(other, UserObject) and self.save() == other.save()

    @property
    def name(self):
        """Name of the class, for messages."""
        return type(self.held).__name__

    def state(self):
        """Return a copy, with which ``restore`` needs no code of the user."""
        return {"object": UserObject(copy.deepcopy(self.held), self.first)}

    def restore(self, state):
        """Take the object back."""
        self.held = state["object"].held

    def check(self, state):
        """Demand that there is an object; ``load`` has made it out of what a snapshot holds."""
        demand(isinstance(state.get("object"), UserObject), "objects of a user")

    @property
    def can_save(self):
        """Whether it can save itself."""
        return hasattr(self.held, "save") and hasattr(self.held, "load")

    def save(self):
        """Return what the object saves as text, or None if it is as it was at the start."""
        if self.can_save:
            saved = self.held.save()
            if isinstance(saved, bytes):
                return saved.hex()
            raise SnapshotError(
                f"snapshot: {self.name}.save must return bytes, got {type(saved).__name__}"
            )
        if not self.first or contents_of(self.held) != self.first:
            raise SnapshotError(
                f"snapshot: {self.name} has no save() and load(), and what it remembers would be "
                "lost; add save() -> bytes and load(bytes) to it"
            )
        return None

    def load(self, saved):
        """Let an object that is as at the start load what one like it has saved."""
        demand((saved is not None) == self.can_save, f"what {self.name} saved")
        try:
            if saved is not None:
                self.held.load(bytes.fromhex(saved))
        except Exception as error:  # of the user's own code, about bytes that may be anything
            raise SnapshotError(
                f"restore: {self.name} cannot load what the snapshot holds ({error})"
            ) from error


def contents_of(held):
    """Return bytes that differ where attributes do; nothing where these are not known."""
    methods = (type(held).__reduce_ex__, type(held).__reduce__)
    if methods != (object.__reduce_ex__, object.__reduce__):
        return b""
    try:
        return pickle.dumps(held.__reduce_ex__(4)[2:])
    except Exception:  # something in it cannot be pickled
        return b""


def copy_of(x, size):
    """Return a vector as an array of its own."""
    point = np.empty(size)
    to: cython.p_double = floats_at(point)
    for i in range(size):
        to[i] = x[i]
    return point


# --- Adapters ------------------------------------------------------------------------------------


class UserRate(Rate):
    """eta_n = ``step_size(counts, norm)`` of an object; it may not exceed the step before.

    ``make_counts`` turns numbers into what the object gets.
    """

    FIELDS = {"newest": NOT_NEGATIVE}
    PARTS = ("user",)

    def __init__(self, tickets, rule, make_counts):
        self.tickets, self.user, self.newest = tickets, UserObject(rule), 0.0
        self.make_counts = make_counts

    def step_size(self, norm):
        tickets, who = self.tickets, f"{self.user.name}.step_size"
        counts = self.make_counts(
            tickets.weighted_arrivals, tickets.weighted_backlogs, tickets.waiting, tickets.rounds
        )
        eta = checked_number(self.user.held.step_size(counts, norm), who)
        if eta < 0.0 or (eta == 0.0 and (norm > 0.0 or self.newest > 0.0)):
            raise SpecError(f"{who} must return a positive number, got {eta!r}")
        if eta > self.newest * ROUNDING and self.newest > 0.0:
            raise SpecError(
                f"{who} must not return more than before, {self.newest!r}, got {eta!r}: the "
                "guarantees need steps that do not increase; return the smaller one"
            )
        self.newest = min(eta, self.newest or eta)
        return self.newest


class UserExploration(Smoothing):
    """delta_t = ``function(t)``, from above 0 to the inner radius."""

    def __init__(self, inner_radius, function):
        Smoothing.__init__(self, inner_radius)
        self.function = function

    def radius(self, t):
        delta = checked_number(self.function(t), f"smoothing.Custom: function({t})")
        if not 0.0 < delta <= self.inner_radius:
            raise SpecError(
                f"smoothing.Custom: function({t}) must return a radius above 0 and at most the "
                f"inner radius of the set, {self.inner_radius!r}, got {delta!r}"
            )
        return delta


class UserSet(Domain):
    """The set on which a function of x projects; no point is farther from the centre than D."""

    def __init__(self, dim, function, chart, diameter):
        self.dim, self.function, self.chart = dim, function, chart
        self.reach = diameter * (1.0 + TOLERANCE)

    def project(self, v, z):
        x = np.empty(self.dim)
        self.chart.to_user(v, floats_at(x))
        point = checked_point(self.function(x), self.dim, "ConvexSet: project")
        self.chart.from_user(floats_at(point), z)
        if not self.contains(copy_of(z, self.dim)):
            raise SpecError(
                f"ConvexSet: project must return points of the set, got {point}, which is farther "
                "from the center than the diameter; correct project or diameter"
            )
        return 0

    def contains(self, points):
        return bool((np.linalg.norm(points, axis=-1) <= self.reach).all())


class UserBase(Base):
    """A base that is an object with ``start`` and ``update``; it chooses its own steps.

    ``home`` is the set that it says to play in, and ``home_chart`` the chart of that.
    """

    FIELDS = {"point": VECTOR}
    PARTS = ("rate", "sums", "user")

    def __init__(self, base, chart, home, home_chart, *arguments):
        Base.__init__(self, *arguments)
        self.user, self.chart, self.hears_all = UserObject(base), chart, True
        self.home, self.home_chart = home, home_chart
        self.demand_inside("start")

    def is_inside(self, point):
        """Tell whether a point of the chart is in the set."""
        x = np.empty(self.dim)
        self.chart.to_user(floats_at(point), floats_at(x))
        return self.home.contains(self.home_chart.seen(x))

    def demand_inside(self, method):
        """Refuse a point outside of the set, which a method of the user returned."""
        if not self.is_inside(self.point):
            raise SpecError(
                f"{self.user.name}.{method} must return a point of its domain: project on that"
            )

    def update(self, cost, norm):
        self.choose_rate(norm)
        given = np.empty(self.dim)
        self.chart.unscale_cost(cost, floats_at(given))
        found = self.user.held.update(given, self.tickets.lag, self.tickets.open_lags)
        point = checked_point(found, self.dim, f"{self.user.name}.update")
        self.chart.from_user(floats_at(point), self.z)
        self.demand_inside("update")
        return 0

    def verify(self, state):
        demand(self.is_inside(state["point"]), "a point outside of the set")


class UserRule(Rule):
    """p = ``function(values, ticket)``: ``values`` are predicted rewards by action."""

    def __init__(self, function):
        Rule.__init__(self)
        self.function, self.is_custom = function, True

    def weigh(self, offer, rounds, ticket):
        values = {name: offer.scores[a] for a, name in enumerate(offer.names)}
        found = self.function(values, ticket)
        given = [found.get(name) for name in offer.names] if isinstance(found, Mapping) else found
        try:
            p = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            p = np.empty(0)
        if p.shape != (offer.count,) or not are_distributions(p):
            raise SpecError(
                "choose: decide must return a probability for every action, which sum to 1; it "
                f"returned {found!r}; nothing has changed"
            )
        for a in range(offer.count):
            offer.chances[a] = p[a]
        return 0
