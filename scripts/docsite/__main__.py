"""Build the site: ``python scripts/docsite``. Anything that is wrong with it is an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from latex2mathml.converter import convert  # noqa: E402

from docsite.built import problems  # noqa: E402
from docsite.formulas import drawn  # noqa: E402
from docsite.pages import BrokenLink, assemble  # noqa: E402
from docsite.public import forgotten  # noqa: E402
from docsite.reference import Undocumented  # noqa: E402

PAGES, SITE = ROOT / "build" / "pages", ROOT / "build" / "site"


def main() -> int:
    """Build the site and return 0 if nothing is wrong with it."""
    lost = forgotten()
    if lost:
        return _said(f"public, and in no chapter of the reference: {', '.join(lost)}")
    try:
        assemble(ROOT, PAGES)
    except (BrokenLink, Undocumented) as error:
        return _said(str(error))
    for page in PAGES.rglob("*.md"):
        page.write_text(drawn(page.read_text(), convert))
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run([*command, "--config-file", str(ROOT / "mkdocs.yml")], cwd=ROOT)
    if done.returncode:
        return done.returncode
    found = problems(SITE)
    if found:
        return _said("\n".join(found))
    print(f"The site is in {SITE.relative_to(ROOT)}: open {SITE / 'index.html'}")
    return 0


def _said(text: str) -> int:
    print(text, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
