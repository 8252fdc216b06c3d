"""How a log was read, as what to type for the same again."""

from __future__ import annotations

from collections.abc import Sequence

from belated.logs import DateOrder, OnBad, Unit


def how_read(
    *,
    dates: DateOrder | None = None,
    tz: str | None = None,
    unit: Unit | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    on_bad: OnBad = "error",
) -> list[str]:
    """Return arguments that read a log in the same way.

    >>> how_read(dates="day first", unit="h", on_bad="skip")
    ['--dates', 'day-first', '--unit', 'h', '--skip-bad-rows']
    """
    parts = []
    if dates is not None:
        parts += ["--dates", dates.replace(" ", "-")]
    for option, value in (("--tz", tz), ("--unit", unit), ("--encoding", encoding)):
        if value is not None:
            parts += [option, value]
    parts += [f"--missing={word}" for word in missing]
    return [*parts, "--skip-bad-rows"] if on_bad == "skip" else parts
