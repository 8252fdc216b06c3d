"""``play_many``: learners x games x seeds, in parallel, with the same results on any machine."""

from __future__ import annotations

import dataclasses
import importlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from belated.engine import Engine, Outcome, check_engine, run_jobs
from belated.errors import SpecError
from belated.reductions import LearnerSpec
from belated.research.game.game import Game
from belated.research.game.run import Run
from belated.research.game.single import Record, play
from belated.spec import whole

SpecOrMaker: TypeAlias = LearnerSpec | Callable[[Game], LearnerSpec]
"""A spec, or a function that makes one for a game (say, one that is told its delays)."""


_FRAMES = ("pandas", "polars", "pyarrow")


class Cell(NamedTuple):
    """One run to be made, by position."""

    spec: int
    game: int
    seed: int


@dataclass(frozen=True)
class Failure:
    """A cell that could not be played, and why."""

    cell: Cell
    spec: SpecOrMaker
    game: Game
    error: str
    """Kind and message of the error."""
    details: str = ""
    """Where it happened."""

    def __str__(self) -> str:
        """Return one line."""
        where = self.game.name or f"game {self.cell.game}"
        return f"{self.spec!r} in {where} with seed {self.cell.seed}: {self.error}"


class Runs(Sequence[Run]):
    """Finished runs, spec by spec, game by game, seed by seed; ``failures`` are the others."""

    def __init__(self, cells: Sequence[Cell], runs: Sequence[Run], failures: Sequence[Failure]):
        self.cells = tuple(cells)
        """Where each run comes from, in the order of the runs."""
        self.failures = tuple(failures)
        self._runs = tuple(runs)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Run, ...]: ...
    def __getitem__(self, index: int | slice) -> Run | tuple[Run, ...]:
        """Return one run or several."""
        return self._runs[index]

    def __len__(self) -> int:
        """Return how many runs were finished."""
        return len(self._runs)

    def of(self, spec: int | None = None, game: int | None = None) -> tuple[Run, ...]:
        """Return the runs of one spec, one game, or both, by their position in the arguments."""
        return tuple(
            run
            for cell, run in zip(self.cells, self._runs, strict=True)
            if spec in (None, cell.spec) and game in (None, cell.game)
        )

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row of plain data per run, ready for a data frame."""
        return [run.to_dict() for run in self._runs]

    def to_frame(self, library: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Return the rows of ``to_dicts`` as a data frame; what a run does not have is missing."""
        rows = self.to_dicts()
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [row.get(name) for row in rows] for name in names}
        if library not in _FRAMES:
            raise SpecError(f"to_frame: library is one of {', '.join(_FRAMES)}, got {library!r}")
        try:
            module = importlib.import_module(library)
        except ImportError as error:
            raise SpecError(
                f"to_frame: {library} is not installed; install it, or use to_dicts"
            ) from error
        return (module.table if library == "pyarrow" else module.DataFrame)(columns)

    def to_latex(self, value: str = "regret", names: Sequence[str] | None = None) -> str:
        """Return a table for LaTeX with ``booktabs``: a row per spec, a column per game.

        A cell has the mean of ``value``, a name of ``Run.to_dict``, over the seeds, and the
        standard error of that mean. ``names`` are those of the specs, by default their kinds.
        """
        if names is not None and len(names) <= max((cell.spec for cell in self.cells), default=-1):
            raise SpecError(f"to_latex: needs a name for every spec, got {names!r}")
        found: dict[tuple[int, int], list[float]] = {}
        specs, games = {}, {}
        for cell, run in zip(self.cells, self._runs, strict=True):
            row = run.to_dict()
            if not isinstance(row.get(value), int | float):
                raise SpecError(f"to_latex: {value!r} is no number of {run.spec.kind}")
            found.setdefault((cell.spec, cell.game), []).append(float(row[value]))
            specs[cell.spec] = run.spec.kind if names is None else names[cell.spec]
            games[cell.game] = run.game.name or f"game {cell.game}"
        lines = [
            rf"\begin{{tabular}}{{l{'r' * len(games)}}}",
            r"\toprule",
            _latex_row(["", *map(_escaped, games.values())]),
            r"\midrule",
            *(
                _latex_row([_escaped(name), *(_mean(found.get((spec, game))) for game in games)])
                for spec, name in specs.items()
            ),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return how many runs there are, and what failed."""
        lines = [f"<Runs: {len(self)} finished, {len(self.failures)} failed>"]
        return "\n".join([*lines, *(f"  {failure}" for failure in self.failures)])


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    return re.sub(r"([&%$#_{}])", r"\\\1", text)


def _mean(values: Sequence[float] | None) -> str:
    """Return a mean and its standard error, or a dash where nothing was finished."""
    if not values:
        return "--"
    mean = f"{np.mean(values):.4g}"
    if len(values) == 1:
        return f"${mean}$"
    return rf"${mean} \pm {np.std(values, ddof=1) / math.sqrt(len(values)):.2g}$"


def play_many(
    specs: SpecOrMaker | Iterable[SpecOrMaker],
    games: Game | Iterable[Game],
    seeds: int | Iterable[int] = 1,
    *,
    workers: int | None = None,
    engine: Engine = "processes",
    address: str | None = None,
    progress: bool | None = None,
    record: Record = "totals",
    checkpoints: int | ArrayLike = 200,
) -> Runs:
    """Play every spec in every game with every seed.

    A spec may also be a function that makes one for a game, for methods that must be told the
    delays: ``lambda game: rival.told(game.timeline)``. ``seeds`` are numbers, or how many to take
    from 0 on. Results do not depend on ``workers`` (default: one per core) or ``engine``: separate
    processes, threads (games release the interpreter lock), one after the other, or "ray", a Ray
    cluster at ``address``; without one Ray runs on this machine. A cell that fails is reported in
    ``failures`` and the others go on. ``progress`` shows a bar; unless told, it does so on a
    terminal when ``rich`` is installed.

    >>> import belated as bl
    >>> game = bl.Game(bl.losses.Linear(bl.losses.Random(2)), bl.delays.constant(100, 5))
    >>> problem = game.problem(bl.Ball(2))
    >>> runs = play_many(problem.learner("value"), game, seeds=3, engine="threads")
    >>> len(runs), len(runs.failures)
    (3, 0)
    """
    deck = _Deck(_listed(specs), _listed(games), record, checkpoints)
    cells = _cells(deck, seeds)
    count = None if workers is None else whole("play_many", "workers", workers)
    check_engine("play_many", engine, get_args(Engine))
    outcomes: dict[Cell, Outcome] = {}
    run_jobs(
        deck.play,
        list(dict.fromkeys(cells)),
        outcomes.__setitem__,
        title="playing",
        engine=engine,
        workers=count,
        address=address,
        progress=progress,
    )
    return _gathered(deck, cells, outcomes)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, Iterable) else [given]


@dataclass(frozen=True)
class _Deck:
    """The data that workers get once."""

    specs: list[SpecOrMaker]
    games: list[Game]
    record: Record
    checkpoints: int | ArrayLike

    def __post_init__(self) -> None:
        """Refuse what is neither a learner nor makes one, and what is no game."""
        for spec in self.specs:
            if not (isinstance(spec, LearnerSpec) or callable(spec)):
                raise SpecError(
                    f"play_many: needs specs, or functions from game to spec, got {spec!r}"
                )
        for game in self.games:
            if not isinstance(game, Game):
                raise SpecError(f"play_many: games must be Game, got {game!r}")

    def spec(self, cell: Cell) -> LearnerSpec:
        made = self.specs[cell.spec]
        if isinstance(made, LearnerSpec):
            return made
        return made(self.games[cell.game])

    def play(self, cell: Cell) -> dict[str, Any]:
        """Return the fields of a run, but for those that the caller has."""
        run = play(
            self.spec(cell),
            self.games[cell.game],
            cell.seed,
            record=self.record,
            checkpoints=self.checkpoints,
        )
        fields = {field.name: getattr(run, field.name) for field in dataclasses.fields(run)}
        del fields["game"], fields["spec"]
        if not run.delays_depend_on_plays:
            del fields["timeline"]
        return fields


def _cells(deck: _Deck, seeds: int | Iterable[int]) -> list[Cell]:
    if isinstance(seeds, Iterable):
        numbers = [whole("play_many", "seeds", seed, least=0, bits=64) for seed in seeds]
    else:
        numbers = list(range(whole("play_many", "seeds", seeds)))
    places = product(range(len(deck.specs)), range(len(deck.games)), numbers)
    return [Cell(*place) for place in places]


def _gathered(deck: _Deck, cells: list[Cell], outcomes: dict[Cell, Outcome]) -> Runs:
    kept, runs, failures = [], [], []
    for cell in cells:
        fields, error, details = outcomes[cell]
        game = deck.games[cell.game]
        if fields is None:
            failures.append(Failure(cell, deck.specs[cell.spec], game, error, details))
            continue
        kept.append(cell)
        runs.append(Run(**{"timeline": game.timeline, **fields}, spec=deck.spec(cell), game=game))
    return Runs(kept, runs, failures)
