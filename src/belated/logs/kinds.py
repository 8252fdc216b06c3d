"""The kinds of columns of a log: numbers, a yes or no, words, parts of the calendar, or nothing.

A :class:`Kind` is what one column becomes and why, and :class:`Kinds` is all of them: plain data,
which is stored with a model. :meth:`Kinds.row` turns one row as it comes, from a file or from a
program, into features; a log that is read gives the same features, bit for bit.
"""

from __future__ import annotations

import math
import numbers as abstract
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Any, Literal, cast, get_args

import numpy as np

from belated.arrays import Ints
from belated.errors import BadFeatures, LogError
from belated.logs import dates, numerals
from belated.logs.dates import to_utc, to_wall
from belated.logs.numerals import NumberForm
from belated.missing import is_missing
from belated.scalars import plain

What = Literal["number", "yes or no", "text", "number and text", "time", "constant", "left out"]
"""The kinds of a column."""
Told = Literal["number", "text", "time", "ignore"]
"""The kinds that a caller can ask for."""
AS_TEXT = " (text)"
"""Ends the name of the words that a column of numbers becomes too."""
NOTHING = (
    *("", "nan", "nat", "none", "null", "(null)", "\\n", "na", "n/a", "<na>", "n.a.", "#n/a"),
    *("#na", "k.a.", "k. a.", "?", "-", "--", "\u2013", "\u2014"),
    *("#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"),
)
"""How text says that there is no value, in small letters."""
NEVER = (
    *(*NOTHING, "inf", "+inf", "infinity", "never"),
    *("0000-00-00", "0000-00-00 00:00:00", "0000-00-00t00:00:00"),
)
"""How text says that a time never came."""
ANSWERS = (
    *(("no", "yes"), ("false", "true"), ("n", "y"), ("f", "t"), ("off", "on")),
    *(("nein", "ja"), ("non", "oui")),
)
"""Words that are a no and a yes."""
DIGITS = ("0", "1")
"""A no and a yes that are numbers; others may come among them later."""


@dataclass(frozen=True)
class Kind:
    """The kind of one column.

    >>> price = Kind("price", "number", "numbers with a decimal comma", form="decimal comma")
    >>> price.features("1.234,5"), price.features(1234.5), price.features(None)
    ({'price': 1234.5}, {'price': 1234.5}, {})
    >>> Kind("paid", "yes or no", words=("no", "yes")).features("Yes")
    {'paid': 1.0}
    """

    name: str
    what: What
    why: str = ""
    """The rule that decided."""
    form: str = "plain"
    """How numbers or dates are written: one of ``numerals.FORMS`` or of ``dates``."""
    words: tuple[str, str] = ("no", "yes")
    """The texts of no and of yes, in small letters."""
    parts: tuple[str, ...] = ()
    """Which parts of the calendar a time becomes."""
    zone: str | None = None
    """The time zone of times that name none, and of the calendar; None is UTC."""
    values: int | None = None
    """How many different values it has, where they were counted."""
    missing: tuple[str, ...] = ()
    """Further words that mean nothing, in small letters; also numbers, as words."""

    def __post_init__(self) -> None:
        """Check what was stored."""
        forms: tuple[str, ...] = tuple(numerals.FORMS)
        if self.what == "time":
            forms = (dates.ISO, *dates.FORMS, *map(dates.epoch, dates.EPOCH_UNITS))
        is_right = (
            isinstance(self.name, str)
            and self.what in get_args(What)
            and self.form in forms
            and len(self.words) == 2
            and set(self.parts) <= set(dates.PARTS)
        )
        if not is_right:
            raise LogError(f"kinds: there is no such kind: {self!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        if self.what in ("constant", "left out"):
            return ()
        if self.what == "number and text":
            return self.name, self.name + AS_TEXT
        if self.what == "time":
            return tuple(f"{self.name} {part}" for part in _parts(self))
        return (self.name,)

    @property
    def says(self) -> str:
        """The kind, in words.

        >>> Kind("shop", "text", values=3).says
        'text, 3 values'
        """
        if self.what == "time":
            return f"time ({', '.join(self.parts)})"
        if self.what in ("text", "number and text") and self.values is not None:
            return f"{self.what}, {self.values:,} value{'' if self.values == 1 else 's'}"
        return self.what

    def features(self, value: Any) -> dict[str, float | str]:
        """Return the features of one cell; none where it is empty."""
        is_text = isinstance(value, str)
        if self.what in ("constant", "left out") or is_missing(value):
            return {}
        if self.missing and word(value).strip().lower() in self.missing:
            return {}
        if self.what != "text" and is_text and value.strip().lower() in NOTHING:
            return {}
        if self.what == "time":
            columns = calendar(self, np.array([self.moment(value)]))
            return {name: column.tolist()[0] for name, column in columns.items()}
        found = self.read(value)
        if found is None and self.what == "text":
            return {}
        if found is None:
            raise BadFeatures(f"features: {self.name!r} {self.wrong}, got {value!r}")
        if self.what == "number and text":
            return {self.name: found, self.name + AS_TEXT: word(found)}
        return {self.name: found}

    def moment(self, value: Any) -> int:
        """Return a cell as nanoseconds of UTC since 1970."""
        found = self._moment(value)
        if found is None or abs(found) > 2**63 - 2 * dates.DAY:
            raise BadFeatures(f"features: {self.name!r} {self.wrong}, got {value!r}")
        return found

    @property
    def wrong(self) -> str:
        """The error of a cell that cannot be read."""
        if self.what == "time":
            return f"is no time, {self.form}"
        if self.what == "yes or no" and self.words != DIGITS:
            return f"is neither {self.words[0]} nor {self.words[1]}"
        return numerals.LIKE[self.form]

    def read(self, value: Any) -> Any:
        """Return a cell as a number (durations in seconds), a yes or no, or a word; or None."""
        if self.what == "text":
            return word(value) or None
        if self.what == "yes or no" and self.words != DIGITS:
            if isinstance(value, str):
                value = value.strip().lower()
                return float(self.words.index(value)) if value in self.words else None
            is_one = isinstance(value, abstract.Real | np.bool_) and float(value) in (0.0, 1.0)
            return float(value) if is_one else None
        if isinstance(value, str):
            return numerals.number(value, cast("NumberForm", self.form))
        if isinstance(value, time):
            value = datetime.combine(date.min, value.replace(tzinfo=None)) - datetime.min
        try:
            found = plain(value)
        except (TypeError, OverflowError):
            return None
        return found if isinstance(found, float) and math.isfinite(found) else None

    def _moment(self, value: Any) -> int | None:
        unit = dates.epoch_unit(self.form)
        if isinstance(value, datetime | np.datetime64 | date):
            return self._of_object(value)
        if unit is not None:
            return _counted(value, dates.EPOCH_UNITS[unit])
        if self.form == dates.DIGITS and isinstance(value, abstract.Integral):
            value = str(int(value))
        found = dates.one_written(value, self.form) if isinstance(value, str) else None
        if found is None:
            return None
        return found[0] if found[1] else self._from_wall(found[0])

    def _of_object(self, value: Any) -> int | None:
        has_zone = isinstance(value, datetime) and value.tzinfo is not None
        if has_zone:
            value = value.astimezone(UTC).replace(tzinfo=None)
        # Timestamps of pandas have nanoseconds.
        stamp = value.to_datetime64() if hasattr(value, "to_datetime64") else np.datetime64(value)
        if not np.datetime64("1678") < stamp < np.datetime64("2262"):
            return None
        found = int(stamp.astype("datetime64[ns]").astype(np.int64))
        return found if has_zone else self._from_wall(found)

    def _from_wall(self, moment: int) -> int:
        return moment if self.zone is None else int(to_utc(np.array([moment]), self.zone)[0])


def calendar(kind: Kind, utc: Ints) -> dict[str, Any]:
    """Return the parts of the calendar that a column of times becomes."""
    wall = utc if kind.zone is None else to_wall(utc, kind.zone)
    return {f"{kind.name} {part}": dates.calendar_part(part, wall, utc) for part in _parts(kind)}


def _parts(kind: Kind) -> list[str]:
    """Return the features of the parts: the hour is tried as number and as word."""
    hours = ["hour", dates.HOUR_TEXT] if "hour" in kind.parts else []
    return [*hours, *(part for part in kind.parts if part != "hour")]


def word(value: Any) -> str:
    """Return a cell of a column of words; whole numbers without a point, whatever holds them.

    >>> word(7), word(7.0), word("07"), word(True), word(2.5)
    ('7', '7', '07', 'true', '2.5')
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, abstract.Integral):
        return str(int(value))
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _counted(value: Any, scale: int) -> int | None:
    """Return nanoseconds from a count of something since 1970, whole numbers exactly."""
    if isinstance(value, str):
        exact = numerals.whole(value)
        value = numerals.number(value) if exact is None else exact
    if isinstance(value, bool) or not isinstance(value, abstract.Real):
        return None
    if isinstance(value, abstract.Integral):
        return int(value) * scale
    number = float(value)
    if not math.isfinite(number):
        return None
    whole = math.floor(number)
    return whole * scale + int((number - whole) * scale)


@dataclass(frozen=True)
class Kinds:
    """The kind of every column, in the order of the columns.

    >>> kinds = Kinds((Kind("shop", "text"), Kind("price", "number", form="decimal comma")))
    >>> kinds.row({"shop": "north", "price": "1,5", "other": "not a feature"})
    {'shop': 'north', 'price': 1.5}
    >>> Kinds.from_dict(kinds.to_dict()) == kinds
    True
    """

    all: tuple[Kind, ...] = ()

    def __post_init__(self) -> None:
        """Refuse two features of one name."""
        names = [name for kind in self.all for name in kind.names]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise LogError(f"logs: two columns become the feature {twice[0]!r}; rename one")

    def __iter__(self) -> Iterator[Kind]:
        """Return what every column becomes."""
        return iter(self.all)

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.all)

    def __getitem__(self, name: str) -> Kind:
        """Return what a column becomes."""
        return {kind.name: kind for kind in self.all}[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all features, in their order."""
        return tuple(name for kind in self.all for name in kind.names)

    def column_of(self, feature: str) -> str:
        """Return the column that a feature comes from; a feature of no column is its own."""
        return next((kind.name for kind in self.all if feature in kind.names), feature)

    def row(self, cells: Mapping[str, Any]) -> dict[str, float | str]:
        """Return the features of one row: a dict of cells as the log or a program has them.

        Columns that are not there are missing, and others mean nothing. A cell that cannot be read
        raises ``BadFeatures``.
        """
        found: dict[str, float | str] = {}
        for kind in self.all:
            if kind.name in cells:
                found.update(kind.features(cells[kind.name]))
        return found

    def only(self, names: Iterable[str]) -> Kinds:
        """Return those of some columns."""
        wanted = set(names)
        return Kinds(tuple(kind for kind in self.all if kind.name in wanted))

    def changed(self, name: str, **changes: Any) -> Kinds:
        """Return the same with changes to one column."""
        kinds = (replace(kind, **changes) if kind.name == name else kind for kind in self.all)
        return Kinds(tuple(kinds))

    def to_dict(self) -> list[dict[str, Any]]:
        """Return plain data, ready for JSON."""
        found = []
        for kind in self.all:
            one = asdict(kind) | {"words": list(kind.words), "parts": list(kind.parts)}
            missing = one.pop("missing")
            found.append(one | ({"missing": list(missing)} if missing else {}))
        return found

    @classmethod
    def from_dict(cls, data: Any) -> Kinds:
        """Return what :meth:`to_dict` gave; what it cannot have given is refused."""
        lists = ("words", "parts", "missing")
        try:
            all_ = ({**one, **{name: tuple(one.get(name, ())) for name in lists}} for one in data)
            return cls(tuple(Kind(**one) for one in all_))
        except (TypeError, KeyError, AttributeError) as error:
            raise LogError(f"kinds: this describes no columns: {error}") from None


NO_KINDS = Kinds()
"""Of a log that was made by hand."""
