"""The site: all pages are in it, all links lead somewhere, every public name is described."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import belated as bl
from belated.evaluations import Evaluation
from docsite import pages, public, reference
from docsite.built import problems
from documents import PAGES, ROOT

NAV = re.compile(r"^ +- (?:.*: )?(\S+\.md)$", re.MULTILINE)
WRITTEN = [page for page in PAGES if page.parent.name != "results" and page.name != "CHANGELOG.md"]
"""Pages that people wrote, for people who look for how to do something."""
INSIDE = {"demo", "engine"}
"""Packages that are no part of the interface, though they say what they offer."""
MAIN = (
    *(
        bl.LinearModel,
        bl.Intervals,
        bl.Learner,
        bl.Problem,
        bl.Timeline,
        bl.Game,
        bl.reports.Run,
        bl.reports.Runs,
    ),
    *(bl.Chooser, bl.Knobs, Evaluation),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of all pages, as the site is built from it."""
    folder = tmp_path_factory.mktemp("site") / "pages"
    pages.assemble(ROOT, folder)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert pages.broken(page) == []


def test_links_lead_somewhere_on_the_site(home: Path) -> None:
    made = sorted(home.rglob("*.md"))
    assert [said for page in made for said in pages.broken(page)] == []


def test_every_page_is_in_the_contents(home: Path) -> None:
    listed = NAV.findall((ROOT / "mkdocs.yml").read_text())
    made = {page.relative_to(home).as_posix() for page in home.rglob("*.md")}
    assert sorted(listed) == sorted(made)


def test_every_public_name_is_in_the_reference(home: Path) -> None:
    assert public.forgotten() == []
    modules = {name for chapter in public.CHAPTERS.values() for name in chapter.modules}
    package = ROOT / "src" / "belated"
    for path in sorted(package.glob("*/**/__init__.py")):
        name = ".".join(path.parent.relative_to(package).parts)
        if "__all__" in path.read_text() and path.parent.name not in INSIDE:
            assert name in modules or name == "research"  # which only names others
    text = (home / "reference" / "index.md").read_text()
    for names in public.things().values():
        assert all(f"[`{name}`]" in text for name in names)


def test_names_of_belated_are_on_a_page_that_people_read() -> None:
    code = re.compile(r"^```python\n(.*?)^```$|`([^`\n]+)`", re.DOTALL | re.MULTILINE)
    said = " ".join("".join(found) for page in WRITTEN for found in code.findall(page.read_text()))
    words = set(re.findall(r"\w+", said))
    wanted = {*bl.__all__} - {"__version__"}
    wanted |= {member for main in MAIN for member in reference.own_members(main)}
    assert sorted(wanted - words) == []


def test_a_name_without_words_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        """Has words, but its method has none."""

        def act(self) -> None: ...

    monkeypatch.setattr(reference, "things", lambda: {"errors": {"Silent": Silent}})
    with pytest.raises(reference.Undocumented, match=r"Silent\.act"):
        reference.reference()
    monkeypatch.setattr(public, "belated", SimpleNamespace(__all__=["Silent"], Silent=Silent))
    monkeypatch.setattr(public, "things", dict)
    assert public.forgotten() == ["Silent"]


def test_a_broken_link_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n\n[a](#one) [b](#two) [c](gone.md) `[d](gone.md)` ![e](gone.png)\n")
    assert [said.split(": ")[1] for said in pages.broken(page)] == ["#two", "gone.md", "gone.png"]


def test_the_built_site_is_checked(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p id="x"></p><a href="b.html#y">.</a><img src="c.png">')
    (tmp_path / "b.html").write_text(
        '<a href="a.html#x">.</a><a href="https://elsewhere.org">.</a>'
        '<script src="https://elsewhere.org/x.js"></script><link rel="stylesheet" href="d.css">'
    )
    assert problems(tmp_path) == [
        "a.html: b.html#y leads to no place on its page",
        "a.html: c.png leads nowhere",
        "b.html: loads https://elsewhere.org/x.js from elsewhere",
        "b.html: d.css leads nowhere",
    ]


def test_the_source_archive_holds_what_the_tests_read() -> None:
    """README and LICENSE are in every archive."""
    words = (ROOT / "MANIFEST.in").read_text().split()
    held = {*words} - {"graft", "include", "prune", "global-exclude"}
    read = {page.relative_to(ROOT).parts[0] for page in PAGES} - {"README.md"}
    assert read | {"src", "tests", "scripts", "examples", "mkdocs.yml"} <= held


def test_nothing_comes_from_elsewhere() -> None:
    text = (ROOT / "mkdocs.yml").read_text() + (ROOT / "docs" / "site.css").read_text()
    assert "font: false" in text
    assert "http" not in text
