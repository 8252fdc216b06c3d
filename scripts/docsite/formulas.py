"""Formulas as MathML, which browsers draw without a script."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from docsite.pages import FENCED

_FORMULA = re.compile(
    r"\$\$(?P<shown>[^$]+)\$\$|(?<![\w\\$])\$(?P<inside>[^\s$][^$\n]*)\$(?![\w$])"
)


def drawn(text: str, convert: Callable[..., str]) -> str:
    """Return a page with its formulas, between dollars, converted by latex2mathml's ``convert``.

    >>> drawn("at $x$, `$y$`, for $5", lambda latex, display: f"<math>{latex}</math>")
    'at <span class="inline-formula"><math>x</math></span>, `$y$`, for $5'
    """

    def one(found: re.Match[str]) -> str:
        kind = "block" if found["shown"] else "inline"
        latex = html.unescape(found["shown"] or found["inside"]).strip()
        # In a span, so that a line which begins with a formula is no block of its own.
        return f'<span class="{kind}-formula">{convert(latex, display=kind)}</span>'

    parts = FENCED.split(text)
    return "".join(p if i % 2 else _FORMULA.sub(one, p) for i, p in enumerate(parts))
