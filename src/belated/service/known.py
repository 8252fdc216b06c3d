"""A request that is done once, however often it comes with the same ``Idempotency-Key``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from belated.service.answers import Answers, note_of
from belated.service.requests import JSON, Answer

AGAIN = (("idempotency-replayed", "true"),)

Form = Callable[[Any], tuple[int, bytes]]
"""What came of items, to the status and the body of an answer."""


class Known:
    """A request that may come again: whose turn it is, what was said first, how that is kept.

    Where ``name`` is empty it has no key, and is done whenever it comes.
    """

    __slots__ = ("_answers", "_asked", "_form", "_is_begun", "answer", "name")

    def __init__(
        self,
        answers: Answers | None = None,
        name: str = "",
        asked: bytes = b"",
        form: Form | None = None,
    ) -> None:
        self._answers, self.name, self._asked, self._form = answers, name, asked, form
        self._is_begun = False
        self.answer: tuple[int, bytes] | None = None
        """What is said, and committed with the events."""

    @property
    def is_busy(self) -> bool:
        """Whether the same is being answered already."""
        return self._answers is not None and self._answers.is_busy(self.name)

    async def turn(self) -> None:
        """Return when nobody else is answering the same."""
        if self._answers is not None:
            await self._answers.turn(self.name)

    def begin(self) -> Answer | None:
        """Return the first answer, where there was one; otherwise the caller is to give it.

        Nobody else may be answering the same. Whoever gets None calls ``end`` when it is over.
        """
        if self._answers is None:
            return None
        first = self._answers.begin(self.name, self._asked)
        if first is not None:
            return Answer(first.status, first.body, JSON, AGAIN)
        self._is_begun = True
        return None

    def note(self, said: Any) -> tuple[str, bytes]:
        """Return the note that is committed with the events."""
        assert self._form is not None
        self.answer = self._form(said)
        return self.name, note_of(self._asked, *self.answer)

    def keep(self) -> None:
        """Remember the answer, which is committed now, if there is one."""
        if self._answers is not None and self.answer is not None:
            self._answers.add(self.name, self._asked, *self.answer)

    def end(self) -> None:
        """Let those go on that wait with the same key; once more does no harm."""
        if self._answers is not None and self._is_begun:
            self._is_begun = False
            self._answers.done(self.name)


NO_KEY = Known()
"""Of all requests that have none."""
