"""The pages of the site: those of the repository, moved to one folder, and the reference."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from docsite.reference import reference

MOVED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "CITATION.cff": "CITATION.cff",
}
"""Where files from outside of ``docs`` go; examples become pages of their own."""

LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} +(.+?)(?: +\{ *#([\w-]+) *\})? *$", re.MULTILINE)
_PICTURE = re.compile(
    r'<picture>\s*<source[^>]*srcset="(?P<dark>[^"]+)">\s*'
    r'<img src="(?P<light>[^"]+)"\s+alt="(?P<words>[^"]+)">\s*</picture>'
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"<(?!/?(?:br|img|picture|source)\b|https?://)")


class BrokenLink(Exception):
    """Links of pages that lead nowhere."""


def assemble(root: Path, home: Path) -> None:
    """Write all pages to a folder, with links as they are there; raise ``BrokenLink``."""
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(root / "docs", home, ignore=shutil.ignore_patterns("*.md"))
    problems = [said for page in sources(root) for said in broken(page)]
    for page in sources(root):
        target = home / moved(page, root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(rewritten(page, root))
    shutil.copy(root / "CITATION.cff", home)
    for example in sorted((root / "examples").glob("*.py")):
        target = home / moved(example, root)
        target.parent.mkdir(exist_ok=True)
        target.write_text(f"# {example.name}\n\n```python\n{example.read_text()}```\n")
    for notebook in sorted((root / "examples").glob("*.ipynb")):
        (home / moved(notebook, root)).write_text("\n\n".join(_cells(notebook)) + "\n")
    (home / "reference").mkdir()
    for name, text in reference().items():
        (home / "reference" / name).write_text(text)
    if problems:
        raise BrokenLink("\n".join(problems))


def _cells(notebook: Path) -> Iterator[str]:
    """Yield the cells of a notebook as Markdown, each with its text and figures below."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield text.replace("](../docs/", "](../")
            continue
        yield f"```python\n{text}\n```"
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                yield f"```text\n{''.join(output['text'])}```"
            else:
                yield output["data"]["image/svg+xml"]


def sources(root: Path) -> list[Path]:
    """Return the pages of the repository."""
    outside = [root / name for name in MOVED if name.endswith(".md")]
    return [*outside, *sorted((root / "docs").rglob("*.md"))]


def moved(path: Path, root: Path) -> Path:
    """Return where a file of the repository is on the site.

    >>> [str(moved(Path("/x") / name, Path("/x"))) for name in ("README.md", "docs/guide.md")]
    ['index.md', 'guide.md']
    >>> str(moved(Path("/x/examples/lost.py"), Path("/x")))
    'examples/lost.md'
    """
    inside = path.relative_to(root)
    if inside.as_posix() in MOVED:
        return Path(MOVED[inside.as_posix()])
    if inside.parts[0] == "docs":
        return Path(*inside.parts[1:])
    return inside.with_suffix(".md")


# --- Links ---------------------------------------------------------------------------------------


def targets(text: str) -> list[str]:
    """Return where the links and images of a page lead.

    >>> targets("[a](b.md#c) ![d](e.png) `[f](g.md)` [h [i]](j.md)")
    ['b.md#c', 'e.png', 'j.md']
    """
    outside = "".join(FENCED.split(text)[::2])
    pictured = [one[key] for one in _PICTURE.finditer(outside) for key in ("dark", "light")]
    return [found[1] or found[2] for found in LINK.finditer(_plain(text))] + pictured


def _plain(text: str) -> str:
    """Return a text without the insides of its code."""
    parts = FENCED.split(text)
    return "".join(part if i % 2 == 0 else "x" for i, part in enumerate(parts))


def broken(page: Path) -> list[str]:
    """Say which links of a page lead to no file, or to no heading."""
    found = []
    for target in targets(page.read_text()):
        if target.startswith("https://"):
            continue
        name, _, heading = target.partition("#")
        goal = page.parent / name if name else page
        if not goal.is_file():
            found.append(f"{page.name}: {target}: there is no such file")
        elif heading and goal.suffix == ".md" and heading not in headings(goal.read_text()):
            found.append(f"{page.name}: {target}: there is no such heading")
    return found


def headings(text: str) -> set[str]:
    """Return the anchors of a page, as GitHub and the site both make them.

    >>> sorted(headings("# What it says, and `why`\\n\\n## What's new"))
    ['what-it-says-and-why', 'whats-new']
    """
    without_code = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return {given or slug(words) for words, given in _HEADING.findall(without_code)}


def slug(words: str) -> str:
    """Return the anchor of a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
    return re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")


# --- Text ----------------------------------------------------------------------------------------


def rewritten(page: Path, root: Path) -> str:
    """Return the text of a page as it is on the site."""
    here = moved(page, root).parent
    parts = FENCED.split(page.read_text())
    for i in range(0, len(parts), 2):
        parts[i] = _TAG.sub("&lt;", _PICTURE.sub(_as_images, _COMMENT.sub("", parts[i])))
    text = "".join(parts)

    def relinked(found: re.Match[str]) -> str:
        target = found[1] or found[2]
        name, mark, heading = target.partition("#")
        if not name or target.startswith("https://"):
            return found[0]
        goal = moved((page.parent / name).resolve(), root)
        place = Path(os.path.relpath(goal, here)).as_posix()
        return found[0].replace(f"({target})", f"({place}{mark}{heading})")

    return LINK.sub(relinked, text)


def _as_images(found: re.Match[str]) -> str:
    """Return a picture as two images, of which the site shows one."""
    light, dark, words = found["light"], found["dark"], " ".join(found["words"].split())
    return f"![{words}]({light}#only-light)\n![{words}]({dark}#only-dark)"
