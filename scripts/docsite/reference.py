"""The reference: one page per chapter, made from signatures and docstrings."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import pkgutil
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from belated.service.client import Method
from docsite.docstrings import Link, markdown, summary
from docsite.public import CHAPTERS, things

Names = dict[str, Any]
Found = dict[str, Names]
"""What is public, by chapter and name."""

_WIDTH = 88


class Undocumented(Exception):
    """Public names without a docstring."""


def reference() -> dict[str, str]:
    """Return the pages by name, or raise ``Undocumented``."""
    found = things()
    missing = [name for names in found.values() for name in _missing(names)]
    if missing:
        raise Undocumented(f"no docstring: {', '.join(missing)}")
    pages = {f"{chapter}.md": _page(chapter, names, found) for chapter, names in found.items()}
    return {"index.md": _contents(found), **pages}


def _missing(names: Names) -> Iterator[str]:
    for name, thing in names.items():
        if not _text_of(name, thing):
            yield name
        elif inspect.isclass(thing):
            for member, value in own_members(thing).items():
                if not inspect.getdoc(value):
                    yield f"{name}.{member}"


# --- Pages ---------------------------------------------------------------------------------------


def _contents(found: Found) -> str:
    """Return the list of all names."""
    lines = ["# Reference", "", "Every public name, made from its docstring.", ""]
    for chapter, names in found.items():
        about, link = CHAPTERS[chapter], _links(found)
        lines += [f"## [{about.title}]({chapter}.md)", "", "| name | |", "|---|---|"]
        for name, thing in names.items():
            words = summary(_text_of(name, thing), link).replace("|", r"\|")
            lines.append(f"| [`{name}`]({chapter}.md#{anchor(name)}) | {words} |")
        lines.append("")
    return "\n".join(lines)


def _page(chapter: str, names: Names, found: Found) -> str:
    about = CHAPTERS[chapter]
    parts = [f"# {about.title}", about.about]
    for name, thing in names.items():
        parts.append(_described(name, thing, _links(found, found[chapter], name)))
    return "\n\n".join(parts) + "\n"


def _described(name: str, thing: Any, link: Link) -> str:
    parts = [f"## `{name}` {{ #{anchor(name)} }}"]
    if inspect.isclass(thing) or inspect.isroutine(thing):
        parts.append(_code(signature(name, thing)))
    parts.append(markdown(_text_of(name, thing), link))
    if inspect.isclass(thing):
        parts += _fields(thing, link)
        for member, value in own_members(thing).items():
            parts.append(_member(name, member, value, link))
    return "\n\n".join(parts)


def _member(name: str, member: str, value: Any, link: Link) -> str:
    text = markdown(inspect.getdoc(value) or "", link)
    parts = [f"### `{member}` {{ #{anchor(f'{name}.{member}')} }}"]
    routine = getattr(value, "__func__", value)
    if inspect.isroutine(routine):
        prefix = "classmethod " if isinstance(value, classmethod) else ""
        parts.append(_code(prefix + signature(member, routine, skip_self=True)))
    return "\n\n".join([*parts, text])


def _fields(thing: type, link: Link) -> list[str]:
    """Return the list of fields that have words of their own."""
    told = [(name, text) for name, text in attribute_texts(thing).items() if name[0] != "_"]
    return ["\n".join(f"* `{name}`: {summary(text, link)}" for name, text in told)] if told else []


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


# --- What things are -----------------------------------------------------------------------------


def own_members(thing: type) -> dict[str, Any]:
    """Return public methods and properties that a class defines itself; of clients, all methods."""
    kinds = (property, functools.cached_property, classmethod, staticmethod)
    shared = {
        name: getattr(thing, name)
        for base in thing.__mro__
        for name, value in vars(base).items()
        if isinstance(value, Method)
    }
    return shared | {
        name: value
        for name, value in vars(thing).items()
        if not name.startswith("_") and (isinstance(value, kinds) or inspect.isfunction(value))
    }


class _Written:
    """An annotation as it was written, without quotes."""

    def __init__(self, text: Any) -> None:
        self.text = text if isinstance(text, str) else inspect.formatannotation(text)

    def __repr__(self) -> str:
        return self.text


def signature(name: str, thing: Any, *, skip_self: bool = False) -> str:
    """Return how something is called, in several lines where one would be too long.

    >>> signature("prose", summary)
    'prose(text: str, link: Link) -> str'
    """
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    given = list(found.parameters.values())[skip_self:]
    written = [
        p if p.annotation is p.empty else p.replace(annotation=_Written(p.annotation))
        for p in given
    ]
    result = found.return_annotation
    if result is not found.empty:
        result = found.empty if inspect.isclass(thing) else _Written(result)
    text = str(inspect.Signature(written, return_annotation=result))
    if len(name + text) <= _WIDTH:
        return name + text
    said = (str(p) for p in _with_stars(written))
    end = "" if result is found.empty else f" -> {result!r}"
    return f"{name}(\n" + "".join(f"    {one},\n" for one in said) + f"){end}"


def _with_stars(given: list[inspect.Parameter]) -> Iterator[inspect.Parameter | str]:
    """Yield parameters, and the star before those that are named."""
    kinds = [p.kind for p in given]
    for place, parameter in enumerate(given):
        earlier = {parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL} & set(kinds[:place])
        if parameter.kind is parameter.KEYWORD_ONLY and not earlier:
            yield "*"
        yield parameter


def _text_of(name: str, thing: Any) -> str:
    """Return the docstring of a thing, or for a plain value the one below it."""
    if inspect.isclass(thing) or inspect.isroutine(thing):
        return inspect.getdoc(thing) or ""
    module, _, last = name.rpartition(".")
    return module_texts(f"belated.{module}").get(last, "")


@functools.cache
def module_texts(module: str) -> dict[str, str]:
    """Return the words below assignments in a module, and in those inside of it."""
    home = importlib.import_module(module)
    found: dict[str, str] = {}
    for inner in pkgutil.iter_modules(getattr(home, "__path__", [])):
        found |= module_texts(f"{module}.{inner.name}")
    path = home.__file__
    return found | _below(ast.parse(Path(path).read_text()).body) if path else found


def attribute_texts(thing: type) -> dict[str, str]:
    """Return the words below the fields of a class."""
    try:
        source = textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        return {}
    parsed = ast.parse(source).body[0]
    return _below(parsed.body) if isinstance(parsed, ast.ClassDef) else {}


def _below(body: list[ast.stmt]) -> dict[str, str]:
    """Return for every assignment the string right below it."""
    found = {}
    for one, after in itertools.pairwise(body):
        target = one.target if isinstance(one, ast.AnnAssign) else None
        if isinstance(one, ast.Assign):
            target = one.targets[0] if isinstance(one.targets[0], ast.Name) else None
        if isinstance(target, ast.Name) and isinstance(after, ast.Expr):
            value = after.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[target.id] = inspect.cleandoc(value.value)
    return found


# --- Links ---------------------------------------------------------------------------------------


def anchor(name: str) -> str:
    """Return the anchor of a name.

    >>> anchor("rates.Tight"), anchor("LinearModel.predict_many")
    ('rates-tight', 'linearmodel-predict_many')
    """
    return name.lower().replace(".", "-")


def _links(found: Found, page: Names | None = None, here: str = "") -> Link:
    """Return what makes links of public names; those of the same page may come without a module."""
    places = {n: f"{chapter}.md#{anchor(n)}" for chapter, names in found.items() for n in names}
    places |= {name.rpartition(".")[2]: f"#{anchor(name)}" for name in page or ()}
    own = {here, here.rpartition(".")[2]}

    def link(text: str) -> str:
        name = re.sub(r"\(.*", "", text.removeprefix("bl.").removeprefix("belated."))
        is_link = name in places and name not in own
        return f"[`{text}`]({places[name]})" if is_link else f"`{text}`"

    return link
