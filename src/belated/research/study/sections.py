"""The sections that studies share: regret over a column, and regrets of methods side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from belated.report import Bars, Lines, Section, Series, Table
from belated.report.plain import listed
from belated.research.study.contestants import Field
from belated.research.study.plan import Row
from belated.research.study.tables import Rows, by, growth, least, means, numbers, quoted, where


def line(name: str, rows: Rows, x: str, y: str, *, dashed: bool = False) -> Series:
    """Return the mean of ``y`` for every ``x``, with a band from the least to the largest seed."""
    groups = sorted((at, numbers(group, y)) for at, group in by(rows, x).items())
    points = [(float(at), values) for at, values in groups if values]
    return Series(
        name=name,
        x=tuple(at for at, _ in points),
        y=tuple(sum(values) / len(values) for _, values in points),
        low=None if dashed else tuple(min(values) for _, values in points),
        high=None if dashed else tuple(max(values) for _, values in points),
        dashed=dashed,
    )


def bars(name: str, groups: Iterable[Rows], column: str) -> Series:
    """Return the mean of a column for every group, with whiskers over the seeds.

    A group without any number has no bar.
    """
    values = [numbers(group, column) for group in groups]
    return Series(
        name=name,
        x=(),
        y=tuple(sum(each) / len(each) if each else None for each in values),
        low=tuple(min(each, default=None) for each in values),
        high=tuple(max(each, default=None) for each in values),
    )


def growth_sections(
    rows: Rows,
    split: tuple[str, ...],
    x: tuple[str, str],
    *,
    per: str = "method",
    field: Field | None = None,
    promise: str = "",
    dashed: tuple[str, Mapping[str, str]] = ("", {}),
    says: Callable[[Rows], str] = lambda rows: "",
) -> Iterator[Section]:
    """Show regret over a column with a label: a line per method, its exponent and its means.

    There is a section for every combination of the values of the columns ``split``. ``field`` says
    what methods were told, the column ``promise`` is the order of their bounds, and ``dashed`` has
    columns of one method that are drawn beside.
    """
    name, label = x
    for kind, group in named_groups(rows, split):
        ours = where(group, **{per: dashed[0]})
        more = [line(each, ours, name, y, dashed=True) for each, y in dashed[1].items()]
        lines = [line(str(each), some, name, "regret") for each, some in by(group, per).items()]
        end = max(row[name] for row in group)
        best = least(means(where(group, **{name: end}), per))
        sentence = f"At {label} = {end:,} the least regret is that of {quoted(best)}."
        yield Section(
            question=f"How does regret grow with the {label}{kind and f' ({kind})'}?",
            figure=Lines(
                title=f"Regret over the {label}{kind and f', {kind}'}",
                x_label=label,
                y_label="regret",
                series=(*lines, *more),
                log_x=True,
                log_y=True,
                note="Lines are means over seeds, bands reach from the least to the largest.",
            ),
            says=f"{sentence} {says(group)}".strip(),
            table=_growth_table(group, x, per, field, promise),
        )


def _growth_table(
    rows: Rows, x: tuple[str, str], per: str, field: Field | None, promise: str
) -> Table:
    """Return exponents, and mean regrets at every place."""
    name, label = x
    groups, places = by(rows, per), sorted(by(rows, name))
    told = {"told in advance": [field[each].told for each in groups]} if field else {}
    columns = {per: list(groups), **told, "exponent (95 %)": _exponents(groups, name, "regret")}
    if promise:
        columns["promised"] = _exponents(groups, name, promise)
    for at in places:
        found = means(where(rows, **{name: at}), per)
        columns[f"{at:,g}"] = [found.get(str(each)) for each in groups]
    body = tuple(zip(*columns.values(), strict=True))
    return Table(tuple(columns), body, f"Exponents in the {label}, and mean regrets over seeds.")


def _exponents(groups: Mapping[str, Rows], x: str, y: str) -> list[str | None]:
    fits = [growth(group, x, y) for group in groups.values()]
    return [None if fit is None else str(fit) for fit in fits]


def bar_sections(
    rows: Rows, split: tuple[str, ...], column: str, name: str, y: str = "regret"
) -> Iterator[Section]:
    """Compare means of all methods under each value of a column."""
    for kind, group in named_groups(rows, split):
        labels, names = by(group, column), tuple(by(group, name))
        found = {label: means(some, name, y) for label, some in labels.items()}
        yield Section(
            question=f"Which {name} has the least {y} ({kind})?",
            figure=Bars(
                title=f"{y.capitalize()}, {kind}",
                labels=tuple(labels),
                groups=tuple(
                    bars(each, [where(some, **{name: each}) for some in labels.values()], y)
                    for each in names
                ),
                y_label=y,
                note="Whiskers reach from the least to the largest seed.",
            ),
            says=winners(found),
            table=Table(
                (name, *labels),
                tuple((e, *(rounded(f.get(e), 1) for f in found.values())) for e in names),
                "Means over seeds.",
            ),
        )


def named_groups(rows: Rows, split: tuple[str, ...]) -> Iterator[tuple[str, list[Row]]]:
    """Group rows by these columns, each group with its name."""
    for kind, group in by(rows, *split).items() if split else [("", [*rows])]:
        values = (kind,) if isinstance(kind, str) else kind
        yield ", ".join(f"{each:,}" if isinstance(each, int) else each for each in values), group


def winners(cells: Mapping[str, Mapping[str, float]]) -> str:
    """Name the method with the least regret under every label.

    >>> winners({"none": {"A": 1.0, "B": 2.0}, "often": {"A": 3.0, "B": 2.0}})
    'Least regret: A under none; B under often.'
    """
    best: dict[str, list[str]] = {}
    for label, regrets in cells.items():
        if regrets:
            first = min(regrets, key=lambda name: regrets[name])
            best.setdefault(first, []).append(quoted(str(label)))
    most = sorted(best.items(), key=lambda item: -len(item[1]))
    return f"Least regret: {'; '.join(f'{quoted(n)} under {listed(w)}' for n, w in most)}."


def rounded(value: float | None, digits: int) -> float | None:
    """Round a number that may be missing."""
    return None if value is None else round(value, digits)
