"""``belated study``: its arguments, and what it says while it works."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from belated.arguments import Commands, add_path, add_times, whole
from belated.errors import MissingExtra, StudyError
from belated.research.study.catalogue import STUDIES

if TYPE_CHECKING:
    from belated.research.study.plan import Study


def add_study_command(commands: Commands) -> None:
    """Add ``study`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "study",
        help="run an experiment, and write a page about what it shows",
        description="Run an experiment and write one page that says what it shows. Results are "
        "kept as they come: after an interruption the same command goes on where it stopped.",
    )
    parser.add_argument(
        "name", metavar="NAME", nargs="?", choices=[*STUDIES, "all"], help="a study, or all"
    )
    parser.add_argument(
        "--check",
        metavar="N",
        nargs="?",
        const=20,
        type=whole(1),
        help="compute N of the rows in --out again, and fail if they differ (default: %(const)s)",
    )
    parser.add_argument("--list", action="store_true", help="name the studies")
    parser.add_argument("--quick", action="store_true", help="a small version, within two minutes")
    about = "where to keep rows, page and figures"
    add_path(parser, "--out", "FOLDER", "belated-study", about)
    _add_engine(parser)
    _add_log(parser)
    parser.set_defaults(run=_study, parser=parser)


def _add_engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers", metavar="N", type=whole(1), help="how many at once (default: one per core)"
    )
    parser.add_argument(
        "--engine",
        choices=["processes", "threads", "serial", "ray"],
        default="processes",
        help="where cells run; the results are the same (default: %(default)s)",
    )
    parser.add_argument(
        "--address", metavar="HOST:PORT", help="of a Ray cluster (default: Ray on this machine)"
    )
    parser.add_argument("--fresh", action="store_true", help="forget earlier rows")
    parser.add_argument("--retry", action="store_true", help="run cells that failed once more")


def _add_log(parser: argparse.ArgumentParser) -> None:
    log = parser.add_argument_group("for the study of your own log")
    log.add_argument("--log", metavar="FILE", type=Path, help="CSV, CSV in gzip, or Parquet")
    add_times(log)


def _study(arguments: argparse.Namespace) -> None:
    if arguments.list:
        for name, (_, _, line) in STUDIES.items():
            print(f"{name:<13}{line}")
        return
    _check(arguments)
    if arguments.check:
        _check_records(arguments)
        return
    if find_spec("vl_convert") is None:  # before the work, not after it
        raise MissingExtra("vl-convert-python", extra="report", where="the page of a study")
    for study in _chosen(arguments):
        _run(study, arguments)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse arguments that do not fit together, as wrong usage."""
    given = [arguments.log, arguments.predicted, arguments.observed]
    if arguments.name is None:
        arguments.parser.error("name a study, or all; --list shows them")
    if arguments.address and arguments.engine != "ray":
        arguments.parser.error("--address is for --engine ray")
    if any(given) and not all(given):
        arguments.parser.error("--log, --predicted and --observed go together")
    if any(given) and arguments.name not in ("logs", "all"):
        arguments.parser.error(f"--log is for the study logs, not for {arguments.name}")
    if arguments.name == "logs" and not any(given):
        arguments.parser.error("logs needs --log FILE --predicted COLUMN --observed COLUMN")


def _chosen(arguments: argparse.Namespace) -> Iterator[Study]:
    from belated.research.study.catalogue import study_named

    for name in STUDIES if arguments.name == "all" else [arguments.name]:
        if name != "logs":
            yield study_named(name)
        elif arguments.log:
            columns = {"predicted": arguments.predicted, "observed": arguments.observed}
            yield study_named(name, path=arguments.log, **columns)
        else:
            print("logs: left out, as no --log is given", flush=True)


def _check_records(arguments: argparse.Namespace) -> None:
    """Compute a sample of rows again; Parquet is what ``scripts/record_studies.py`` writes."""
    from belated.research.study.plan import Plan
    from belated.research.study.record import check_rows, load_rows
    from belated.research.study.rows import open_rows
    from belated.research.study.runner import Files, Results

    differ = []
    for study in _chosen(arguments):
        plan = Plan(study, arguments.quick)
        record = arguments.out / f"{study.name}.parquet"
        if record.exists():
            rows, sources = load_rows(record)
        else:
            with open_rows(Files(arguments.out, plan).rows, plan) as kept:
                rows, sources = [*Results.of(plan, kept).rows], {}
        found = check_rows(study, plan.cells, rows, sources, arguments.check)
        print(f"{study.name}: {found}", flush=True)
        differ += [study.name] * bool(found.differences)
    if differ:
        raise StudyError(f"study: recorded rows differ in {', '.join(differ)}; run with --fresh")


def _run(study: Study, arguments: argparse.Namespace) -> None:
    from belated.research.study.plan import Plan
    from belated.research.study.runner import Files, finish_rows, write_results

    plan = Plan(study, arguments.quick)
    files = Files(arguments.out, plan)
    print(f"{study.name}: {len(plan.cells)} cells, rows in {files.rows}", flush=True)
    names = ("engine", "workers", "address", "fresh", "retry")
    given = {name: getattr(arguments, name) for name in names}
    results = finish_rows(plan, files.rows, **given)
    page, *images = write_results(results, files)
    failed = f", {len(results.failures)} cells failed" if results.failures else ""
    print(f"{study.name}: {page} and {len(images)} images{failed}", flush=True)
    for number, what in study.numbers(results.rows) if results.rows else ():
        print(f"{number} {what}", flush=True)
