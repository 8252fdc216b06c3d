"""Second word of a ticket's entry: arrivals before it was issued, or one of these."""

from __future__ import annotations

DEAD = -1
HELD = -2  # closed for the user, while its method still needs the record
GIVEN_UP = -3  # this minus t: given up on before prediction t


def is_overdue(age: int, patience: int) -> bool:
    """Tell whether a ticket is to be given up on: age > sqrt(patience), tested in integers."""
    return age * age > patience
