"""Docstrings as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable

Link = Callable[[str], str]
"""Turns a name between backticks into Markdown, with a link if the name is public."""

_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_CODE = re.compile(r"(``.+?``|`[^`\n]+`)", re.DOTALL)


def markdown(text: str, link: Link) -> str:
    """Return a docstring as Markdown: examples and equations as blocks, names with links.

    >>> markdown("Pay ``x * y``.\\n\\n>>> 1 + 1\\n2", "[`{}`]".format)
    'Pay [`x * y`].\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```'
    """
    return "\n\n".join(_paragraph(part, link) for part in re.split(r"\n\s*\n", text.strip()))


def _paragraph(part: str, link: Link) -> str:
    if part.lstrip().startswith(">>>"):
        return f"```pycon\n{part}\n```"
    if part.startswith("    "):
        lines = (line.removeprefix("    ") for line in part.splitlines())
        return "```text\n" + "\n".join(lines) + "\n```"
    return prose(part, link)


def prose(text: str, link: Link) -> str:
    """Return words with their code, and with what Markdown would take for marks escaped.

    >>> prose("at most |x| <= d*_t, see :class:`Skip`", "[`{}`]".format)
    'at most |x| &lt;= d\\\\*_t, see [`Skip`]'
    """
    said = _CODE.split(_ROLE.sub(r"``\1``", text))
    return "".join(_escaped(s) if i % 2 == 0 else link(s.strip("`")) for i, s in enumerate(said))


def _escaped(text: str) -> str:
    listed = re.sub(r"^([*-]) ", "\0", text, flags=re.MULTILINE)  # marks of lists stay
    return listed.replace("<", "&lt;").replace("*", r"\*").replace("\0", "* ")


def summary(text: str, link: Link) -> str:
    """Return the first sentence, in one line."""
    first = " ".join(text.strip().split("\n\n")[0].split())
    return prose(re.split(r"(?<=[.:;]) (?=[A-Z`])", first)[0].rstrip(":;"), link)
