"""What is given to be scored, and the room that scoring works in, with their parts named."""

from __future__ import annotations

from typing import NamedTuple

from belated.arrays import Floats, Ints
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.vectors import vector

LANES = 4  # actions that are taken together
ROOM = LANES + lm.EXPERTS + 2  # ints, and floats, that are ``Tools``


class Context(NamedTuple):
    """A context: coordinates, values, and which of them meet the action."""

    indices: Ints
    values: Floats
    crossed: Ints


class Actions(NamedTuple):
    """Actions: the coordinates of their names, and their features as compressed sparse rows."""

    names: Ints
    bounds: Ints
    indices: Ints
    values: Floats


@leaf
def context_of(indices: Ints, values: Floats, crossed: Ints, given: int) -> Context:
    """Return a context from arrays that may be longer."""
    return Context(vector(indices)[0:given], vector(values)[0:given], vector(crossed)[0:given])


@leaf
def actions_of(names: Ints, bounds: Ints, indices: Ints, values: Floats) -> Actions:
    """Return actions from arrays."""
    return Actions(vector(names), vector(bounds), vector(indices), vector(values))


class Tools(NamedTuple):
    """Room for passing work."""

    marks: Ints
    """Coordinates that may be in a row, one bit each; nothing between two rows."""
    spare: Ints
    """A copy of what is known of a coordinate."""
    pair: Floats
    four: Floats
    experts: Floats


class Desk(NamedTuple):
    """What actions with the same features share.

    Band 0 of a row is the action, band r its products with the r-th entry of the context that is
    crossed. A band has the name of the action, then its features.
    """

    places: Ints
    """Coordinates that all have, in the order of a row; ~ of one that was there before."""
    numbers: Floats
    """Room for the values of one action there."""
    sources: Ints
    """Coordinates of the context, by band."""
    factors: Floats
    """What features are multiplied with, by band."""
    own: Ints
    """Coordinates of a name, by band, of four actions."""


@leaf
def tools_of(ints: Ints, floats: Floats, marks: Ints) -> Tools:
    """Give the first parts of the room their names."""
    experts = LANES + lm.EXPERTS
    return Tools(
        marks=marks,
        spare=ints[0:ROOM],
        pair=floats[experts:ROOM],
        four=floats[0:LANES],
        experts=floats[LANES:experts],
    )


@leaf
def desk_of(given: int, bands: int, width: int, ints: Ints, floats: Floats) -> Desk:
    """Give the rest its names."""
    sources = ROOM + LANES * bands
    places = sources + bands
    count = given + bands * width
    return Desk(
        places=ints[places : places + count],
        numbers=floats[ROOM + bands : ROOM + bands + count],
        sources=ints[sources:places],
        factors=floats[ROOM : ROOM + bands],
        own=ints[ROOM:sources],
    )
