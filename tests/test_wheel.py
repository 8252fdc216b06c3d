"""What an installation is: from the source archive, into an environment with nothing else in it.

Extensions are those of the checkout, so that nothing is compiled here. ``scripts/smoke.py`` uses
every model and prints a digest, which must be that of the checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Callable, Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from belated import core
from documents import ROOT

pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]
SMOKE = ROOT / "scripts" / "smoke.py"
SITE = Path(sysconfig.get_path("purelib", "venv", {"base": ""}).lstrip(os.sep))
PLATFORM = f"{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
BUILT = Path("build", f"lib.{PLATFORM}", "belated")
COMPILED = ("core", "research/core")
PIP = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target"]


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command without the variables that say how the core runs here."""
    ours = "BELATED_"
    others = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        command, cwd=cwd, env=others | environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the unpacked source archive, with the C code of the checkout beside it."""
    pytest.importorskip("Cython")
    pytest.importorskip("pip")
    folder = tmp_path_factory.mktemp("archive")
    shutil.copytree(ROOT, folder / "tree", ignore=shutil.ignore_patterns(".*", "build", "*.so"))
    for place in ("tree", "."):
        code = folder / place / "build" / "c"
        shutil.copytree(ROOT / "build" / "c", code, copy_function=shutil.copyfile)  # as if new
    make = "import setuptools.build_meta as b, sys; b.build_sdist(sys.argv[1])"
    run(sys.executable, "-c", make, folder, cwd=folder / "tree")
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    unpacked = folder / archive.name.removesuffix(".tar.gz")
    (folder / "build").rename(unpacked / "build")
    return unpacked


def needed(name: str) -> Iterator[str]:
    """Yield the distributions that one needs, itself included, as far as they are no extras."""
    yield name
    for each in map(Requirement, distribution(name).requires or ()):
        if each.marker is None or each.marker.evaluate({"extra": ""}):
            yield from needed(each.name)


Environment = Callable[..., Path]


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """Return a function that makes an environment with belated and what it needs, no more."""

    def make(what: Path, **variables: str) -> Path:
        folder = tmp_path / "environment"
        venv.create(folder)
        site = folder / SITE
        for name in set(needed("belated")) - {"belated"}:
            found = distribution(name)
            for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
                (site / top).symlink_to(str(found.locate_file(top)))
        run(sys.executable, "-m", "pip", *PIP, site, what, cwd=tmp_path, **variables)
        return folder / "bin" / "python"

    return make


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_wheel_installs_and_runs_with_nothing_else(
    sources: Path, environment: Environment, tmp_path: Path
) -> None:
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for package in COMPILED:
        built = sources / BUILT / package
        built.mkdir(parents=True, exist_ok=True)
        for extension in (Path(core.__file__).parents[1] / package).glob("*" + suffix):
            shutil.copy(extension, built)  # newer than its sources: it is not compiled again
    make = "import setuptools.build_meta as b, sys; b.build_wheel(sys.argv[1])"
    run(sys.executable, "-c", make, tmp_path, cwd=sources, CC="false", BELATED_REQUIRE_COMPILED="1")
    (wheel,) = tmp_path.glob("*.whl")
    assert sysconfig.get_platform().replace("-", "_").replace(".", "_") in wheel.name
    assert wheel.stat().st_size <= 8e6
    python = environment(wheel)
    found = run(python, "-I", "-W", "error", SMOKE, cwd=tmp_path).stdout.split()
    here = run(sys.executable, SMOKE, cwd=tmp_path, BELATED_REQUIRE_COMPILED="1")
    assert found == here.stdout.split()
    assert found[0] == "compiled"


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_without_a_compiler_it_installs_and_runs_interpreted(
    sources: Path, environment: Environment, tmp_path: Path
) -> None:
    shutil.rmtree(sources / BUILT, ignore_errors=True)
    python = environment(sources, CC="/bin/false")
    done = run(python, "-I", SMOKE, cwd=tmp_path)
    mode, digest = done.stdout.split()
    here = run(sys.executable, SMOKE, cwd=tmp_path)
    assert (mode, digest) == ("interpreted", here.stdout.split()[1])
    assert done.stderr.count("belated.core is not compiled") == 1
    load, strict = ("-I", "-c", "import belated.core"), {"BELATED_REQUIRE_COMPILED": "1"}
    with pytest.raises(AssertionError, match="demands that it is"):
        run(python, *load, cwd=tmp_path, **strict)
    run(python, *load, cwd=tmp_path, **strict, BELATED_INTERPRETED="1")
