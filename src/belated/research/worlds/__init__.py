"""Worlds for decisions: contexts, actions, rewards and how late they come.

A world is a value; ``drawn(seed)`` gives one sequence of rounds from it. There are d features of
the context x, standard normal, K actions, and means f_a(x):

    Linear       f_a = 1/2 + 1/5 (<u_a, x> + b_a), with normal noise
    Logistic     f_a = 1 / (1 + exp(1 - 6/5 (<u_a, x> + b_a))), rewards 0 and 1
    Switching    Linear, with new u and b in every phase
    Featured     f_a = 1/2 + 3/20 (x' M z_a + <b, z_a>), actions with features z_a
    Changing     Featured, with actions that come and go

u_a is normal with variance 1 / d in every direction, M with 1 / (d e), b with 1 / 4 (over e where
it meets features). Two are made of data:

    Labelled     rows with classes: the reward is 1 for the class of the row, 0 for others
    Recorded     rounds of which it is known what every action would have brought, and when

``datasets.digits`` and ``datasets.departures`` are such worlds, and ``adapters.river.world`` makes
one of a data set of river.
"""

from __future__ import annotations

from belated.research.worlds.generated import Changing as Changing
from belated.research.worlds.generated import Featured as Featured
from belated.research.worlds.generated import Linear as Linear
from belated.research.worlds.generated import Logistic as Logistic
from belated.research.worlds.generated import Switching as Switching
from belated.research.worlds.recorded import Labelled as Labelled
from belated.research.worlds.recorded import Recorded as Recorded
from belated.research.worlds.rounds import Drawn as Drawn
from belated.research.worlds.rounds import Lateness as Lateness
from belated.research.worlds.rounds import World as World

__all__ = sorted(name for name, thing in vars().items() if isinstance(thing, type))
