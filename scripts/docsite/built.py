"""Checks of the built site: every link leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"img": "src", "script": "src", "link": "href", "source": "srcset", "iframe": "src"}
_NOT_LOADED = {"canonical", "next", "prev", "alternate"}
"""Kinds of ``link`` that tell something and fetch nothing."""


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag says."""
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag in _LOADED and _LOADED[tag] in given and given.get("rel") not in _NOT_LOADED:
            self.loads.add(given[_LOADED[tag]])


def problems(site: Path) -> list[str]:
    """Say what is wrong with a site."""
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    return [
        f"{path.relative_to(site)}: {said}"
        for path, page in pages.items()
        if path.name != "404.html"  # its links begin at the root of wherever it is served
        for said in _of_page(path, page, pages)
    ]


def _of_page(path: Path, page: Page, pages: dict[Path, Page]) -> list[str]:
    found = []
    for target in sorted(page.loads):
        if urlsplit(target).scheme not in ("", "data"):
            found.append(f"loads {target} from elsewhere")
    for target in sorted(page.loads | page.links):
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        goal = goal / "index.html" if goal.is_dir() else goal
        if not goal.exists():
            found.append(f"{target} leads nowhere")
        elif goal in pages and not _is_there(unquote(parts.fragment), pages[goal]):
            found.append(f"{target} leads to no place on its page")
    return found


def _is_there(fragment: str, page: Page) -> bool:
    """Tell whether a page has a place; those that begin with underscores are made by scripts."""
    return not fragment or fragment in page.anchors or fragment.startswith("__")
