"""Compiles ``belated.core`` and ``belated.research.core``; all else is in pyproject.toml.

Every module of these packages is one extension. Without a working C compiler the installation
succeeds and they run interpreted; ``BELATED_REQUIRE_COMPILED=1`` makes that an error.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDERS = [Path("src/belated/core"), Path("src/belated/research/core")]
SOURCES = sorted(
    path for folder in FOLDERS for path in folder.glob("*.py") if not path.stem.startswith("_")
)
DIRECTIVES = {
    "language_level": 3,
    "auto_pickle": False,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}
# No fast-math and no contraction: compiled and interpreted results are the same bits.
# No debug information, which takes a quarter of the time and four fifths of the size.
UNIX_FLAGS = ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
# With BELATED_SANITIZE=1, for scripts/sanitize.py. Overflows of integers are found too: wrapping is
# what the flags of Python allow on most platforms, and not what the core may depend on.
SANITIZERS = "-fsanitize=address,undefined,float-cast-overflow"
SANITIZED_FLAGS = [
    *UNIX_FLAGS[2:],
    "-O1",
    "-g1",
    "-fno-wrapv",
    "-fno-omit-frame-pointer",
    SANITIZERS,
    "-fsanitize-undefined-trap-on-error",
]
WINDOWS_FLAGS = ["/O2", "/fp:precise"]
WORKERS = os.cpu_count() or 1
BUILD = Path("build/c")


class BuildCore(build_ext):  # type: ignore[misc]
    """Builds units in parallel, and goes on without those that cannot be compiled."""

    def finalize_options(self) -> None:
        """Compile as many units at a time as there are processors, and remove stale units."""
        super().finalize_options()
        self.parallel = WORKERS
        if self.inplace:  # the base sets it to False while units are built
            remove_stale()

    def build_extensions(self) -> None:
        """Choose the flags of the compiler, and begin with the largest units."""
        self.extensions.sort(key=lambda each: Path(each.sources[0]).stat().st_size, reverse=True)
        flags = WINDOWS_FLAGS if self.compiler.compiler_type == "msvc" else UNIX_FLAGS
        if os.environ.get("BELATED_SANITIZE") == "1":
            flags = SANITIZED_FLAGS
        for extension in self.extensions:
            extension.extra_compile_args = flags
            extension.extra_link_args = [flag for flag in flags if flag.startswith("-fsanitize")]
        super().build_extensions()

    def build_extension(self, extension: Extension) -> None:
        """Build a unit; without it the core runs interpreted, unless that is not allowed."""
        try:
            super().build_extension(extension)
        except Exception as error:
            if os.environ.get("BELATED_REQUIRE_COMPILED") == "1":
                raise
            print(f"belated: {extension.name} is not compiled ({error})", file=sys.stderr)


def remove_stale() -> None:
    """Remove extensions in place whose source is gone; the core would still import them."""
    for folder in FOLDERS:
        for path in (*folder.glob("*.so"), *folder.glob("*.pyd")):
            if folder / f"{path.name.partition('.')[0]}.py" not in SOURCES:
                path.unlink()


def is_older(path: Path) -> bool:
    """Tell whether a file was made before this one, whose directives it may not have."""
    return path.stat().st_mtime < Path(__file__).stat().st_mtime


def extensions() -> list[Extension]:
    """Return the units, translated to C."""
    import numpy

    units = [
        Extension(
            ".".join(source.relative_to("src").with_suffix("").parts),
            [str(source)],
            include_dirs=[numpy.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
            optional=os.environ.get("BELATED_REQUIRE_COMPILED") != "1",
        )
        for source in SOURCES
    ]
    found = cythonize(
        units,
        nthreads=WORKERS,
        build_dir=str(BUILD),
        force=any(is_older(unit) for unit in BUILD.rglob("*.c")),
        include_path=["src"],
        compiler_directives=DIRECTIVES,
    )
    return list(found)


if __name__ == "__main__":
    setup(ext_modules=extensions(), cmdclass={"build_ext": BuildCore})
