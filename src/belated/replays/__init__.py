"""How a delay-aware model would have done on a log, beside what else one could do.

>>> import numpy as np
>>> from belated.logs import Log
>>> asked = np.arange(200.0)
>>> size = np.sin(asked)
>>> target = 3.0 * size + 0.1 * np.cos(asked * asked)
>>> log = Log(asked, asked + 20.5, target=target, features={"size": size})
>>> found = replay(log)
>>> found.rounds, found.counted, found.measure
(200, 200, 'mean squared error')
>>> found.methods["told at once"].mean_loss < found.methods["belated"].mean_loss
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from belated.engine import progress_bar, row_counter
from belated.logs import DateOrder, OnBad, Told, Unit
from belated.logs.reading import NOTHING_TOLD
from belated.models.linear.losses import Loss
from belated.replays import measures, others
from belated.replays.baselines import check_refits
from belated.replays.contenders import OURS, Contender, Replayer
from belated.replays.labels import Silence, in_unit
from belated.replays.measures import Bin, Curve, Difference, Slice
from belated.replays.result import Replay
from belated.replays.task import Asked, Features, Labels, task_of

__all__ = ["Bin", "Contender", "Curve", "Difference", "Replay", "Slice", "replay"]


def replay(
    data: Any,
    target: str | None = None,
    predicted: str | None = None,
    observed: str | None = None,
    *,
    features: Features = "all",
    known: Sequence[str] = (),
    weight: str | None = None,
    key: str | None = None,
    loss: Loss | None = None,
    quantile: float = 0.5,
    delta: float = 1.0,
    clip: tuple[float, float] | None = None,
    threshold: float | None = None,
    positive: str | None = None,
    silence: str | float | None = None,
    deadline: str | float | timedelta | None = None,
    answered_only: bool = False,
    interactions: Literal["auto"] | None = None,
    window: str | float | timedelta | None = None,
    refit: str | float | timedelta | None = None,
    slices: Sequence[str] | None = None,
    also: Sequence[str] = (),
    first: int | None = None,
    kinds: Mapping[str, Told] = NOTHING_TOLD,
    dates: DateOrder | None = None,
    tz: str | None = None,
    unit: Unit | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    on_bad: OnBad = "error",
    progress: bool | None = False,
) -> Replay:
    """Replay a log in the order of time through our model and the alternatives to it.

    ``data`` is whatever :func:`belated.logs.read` takes, with the same arguments, or a
    :class:`belated.logs.Log` with a target, of which ``target`` is then only the name (that in
    ``Log.predicts``, where there is one); or the log of a linear model in a store (``Store.log``),
    or its export, which has its times, labels and features, and whose loss, silence and deadline
    count where others are not given. ``features`` are the columns that are known when the
    prediction is made; "all" takes every column that is nothing else, so name them if some are
    known only later. A feature that is the answer, its time or how long it took, in any unit,
    shifted or rounded, is refused, unless it is among those that are ``known``. The target may be
    cut to ``clip``, or made a yes or no: above ``threshold``, or equal to ``positive``; 0 and 1,
    truth values and any two words are one as they are. ``loss`` is that of
    :class:`belated.LinearModel`, by default "logistic" for a yes or no and else "squared".
    ``kinds`` overrules what columns become.

    ``silence`` is the target that no answer means, and ``deadline`` how long an answer may take
    ("30d", a timedelta, or a number in the unit of the log; by default the longest that one took):
    then scores count every row whose deadline has passed. A log in which silence seems to mean
    something is refused, unless ``answered_only`` says to learn and count answers alone.

    With ``interactions="auto"`` the model finds pairs of features. The methods are the default
    model; the same model told every label at once; the same model told every label when its row is
    as old as a ``window`` ("7d"; by default the one that turns out best of several), and without
    silence also told labels as they come, with no limit on waiting; and the mean of the labels so
    far. ``refit`` is how much time lies between two fits of ridge regression and trees of
    scikit-learn on the labels known by then ("1d"; ``belated[refit]``; None: there are none).
    ``also`` may name "vw" and "river", where they are installed. With silence, all of them hold
    both labels back for a window. Differences come with a 95 % interval, from blocks of time; where
    it holds 0 there is a tie.

    ``slices`` are columns by whose values losses are shown, by default the first text features with
    few values. ``first`` takes only so many predictions. ``found.model`` is the default model where
    the log ends, with what is still open and what the columns become, to be saved and to go on
    live; ``key`` is the column of keys for open rows, which is then no feature, and by default they
    are the numbers of the rows. ``progress`` shows a bar; None: on a
    terminal.
    """
    how = Labels(
        loss or ("squared" if threshold is None and positive is None else "logistic"),
        quantile,
        delta,
        clip,
        threshold,
        positive,
        interactions=interactions or (),
    )
    names = tuple(dict.fromkeys(also))
    others.check(names)
    said = Silence(silence, deadline, answered_only)
    asked = Asked(
        target,
        predicted,
        observed,
        features=features,
        slices=None if slices is None else tuple(slices),
        known=tuple(known),
        weight=weight,
        key=key,
        kinds=dict(kinds),
        dates=dates,
        tz=tz,
        unit=unit,
        encoding=encoding,
        missing=tuple(missing),
        on_bad=on_bad,
    )
    source = data if isinstance(data, str | Path) else "the log"
    with row_counter(f"reading {source}", progress) as rows:
        task = task_of(data, asked, how, said, loss=loss, progress=rows, first=first)
    others.check_loss(names, task.how)
    if refit is not None:
        check_refits(task.how.loss)
    held, every = (
        None if length is None else in_unit(length, task.log.unit, has_dates=task.log.has_dates)
        for length in (window, refit)
    )
    player = Replayer(task, names, held, every)
    with progress_bar("replaying", player.steps, progress) as bar:
        found = {method.name: method for method in player.run(bar)}
    losses = {name: method.lost for name, method in found.items()}
    weights = task.columns["known_weights"]
    parts = {name: measures.slices(*task.sliced(name), losses, weights) for name in task.slices}
    return Replay(task, found, parts, player.ours, player.pairs(found[OURS]))
