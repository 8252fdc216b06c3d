"""How a delay-aware model would have done on a log, beside what else one could do.

>>> import numpy as np
>>> from belated.logs import Log
>>> asked = np.arange(200.0)
>>> size = np.sin(asked)
>>> log = Log(asked, asked + 20.5, target=3.0 * size, features={"size": size})
>>> found = replay(log)
>>> found.rounds, found.counted, found.measure, found.wait
(200, 200, 'mean squared error', 20)
>>> found.methods["told at once"].mean_loss < found.methods["belated"].mean_loss
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from belated.engine import progress_bar
from belated.linear.losses import Loss
from belated.logs import OnBad, Unit
from belated.replays import measures, others
from belated.replays.contenders import Contender, Replayer, Scale
from belated.replays.measures import Bin, Curve, Slice
from belated.replays.result import Replay
from belated.replays.task import Features, Labels, task_of

__all__ = ["Bin", "Contender", "Curve", "Replay", "Scale", "Slice", "replay"]


def replay(
    data: Any,
    target: str | None = None,
    predicted: str | None = None,
    observed: str | None = None,
    *,
    features: Features = "all",
    weight: str | None = None,
    loss: Loss | None = None,
    quantile: float = 0.5,
    delta: float = 1.0,
    clip: tuple[float, float] | None = None,
    threshold: float | None = None,
    positive: str | None = None,
    wait: int | None = None,
    slices: Sequence[str] | None = None,
    also: Sequence[str] = (),
    first: int | None = None,
    tz: str | None = None,
    unit: Unit | None = None,
    on_bad: OnBad = "error",
    progress: bool | None = False,
) -> Replay:
    """Replay a log in the order of time through our model and the alternatives to it.

    ``data`` is whatever :func:`belated.logs.read` takes, with the same arguments, or a
    :class:`belated.logs.Log` with a target, of which ``target`` is then only the name. ``features``
    are the columns that are known when the prediction is made; "all" takes every column that is
    nothing else, so name them if some are known only later. The target may be cut to ``clip``, or
    made a yes or no: above ``threshold``, or equal to ``positive``. ``loss`` is that of
    :class:`belated.LinearModel`, by default "logistic" for a yes or no and else "squared".

    The methods are the default model; the same model told every label at once; the same model with
    a fixed wait of ``wait`` predictions, by default the median delay; AdaGrad that ignores delays,
    with the scale that is best without delays and with the one that is best in hindsight; and the
    mean of the labels so far. ``also`` may name "vw" and "river", where they are installed.

    ``slices`` are columns by whose values losses are shown, by default the first text features with
    few values. ``first`` takes only so many predictions. ``progress`` shows a bar; None: on a
    terminal.
    """
    how = Labels(
        loss or ("squared" if threshold is None and positive is None else "logistic"),
        quantile,
        delta,
        clip,
        threshold,
        positive,
    )
    names = tuple(dict.fromkeys(also))
    others.check(names, how)
    task = task_of(
        data,
        target,
        predicted,
        observed,
        features=features,
        slices=slices or (),
        weight=weight,
        how=how,
        tz=tz,
        unit=unit,
        on_bad=on_bad,
    )
    if first is not None:
        task = task.first(first)
    patience = int(np.median(task.delays)) if wait is None else wait
    with progress_bar("replaying", Replayer.steps(names), progress) as bar:
        player = Replayer(task, patience, names, bar)
        found = {method.name: method for method in player.run()}
    columns = measures.usual_slices(task.log, task.features) if slices is None else slices
    losses = {name: method.losses for name, method in found.items()}
    parts = {
        name: measures.slices(task.log.features[name], task.known, losses, task.weights)
        for name in columns
    }
    return Replay(task, found, player.scales, patience, parts)
