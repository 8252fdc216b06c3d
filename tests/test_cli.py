"""The command line: what it says, how it exits, and what it does not load."""

from __future__ import annotations

import argparse
import io
import logging
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from belated import cli
from belated.errors import BelatedError


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run ``python -m belated`` in a process of its own."""
    command = [sys.executable, "-m", "belated", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload,no-any-return]


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of every command."""
    (found,) = (
        action
        for action in cli._parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return dict(found.choices)


def test_commands_are_found_in_the_parser() -> None:
    assert {
        *("demo", "audit", "replay", "evaluate", "study", "serve"),
        *("release", "backup", "erase", "completion"),
    } == set(commands())


def test_help_names_every_command() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    for command in commands():
        assert re.search(rf"^\s+{command}\s+\S", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["demo", "--seed", "-1"], ["demo", "--seed", "x"], ["completion", "--fast"]],
)
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert "usage: belated" in capsys.readouterr().err


def test_our_errors_are_one_line(tmp_path: Path) -> None:
    done = run("demo", "--fast", "--out", str(tmp_path / "absent" / "picture.png"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("belated: cannot write ")
    assert done.stderr.count("\n") == 1
    assert "--out" in done.stderr


def failing(error: BaseException) -> argparse.ArgumentParser:
    """Build a parser whose only command fails."""

    def fail(_: argparse.Namespace) -> None:
        raise error

    parser = argparse.ArgumentParser()
    parser.set_defaults(run=fail)
    return parser


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (BelatedError("this and that"), 1, "belated: this and that\n"),
        (KeyboardInterrupt(), 130, "belated: interrupted\n"),
    ],
)
def test_exit_codes_of_failures(
    error: BaseException,
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(cli, "_parser", lambda: failing(error))
    assert cli.main([]) == code
    assert capsys.readouterr().err == message


def test_unexpected_errors_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_parser", lambda: failing(ZeroDivisionError("a bug")))
    with pytest.raises(ZeroDivisionError):
        cli.main([])


def test_a_reader_that_leaves_early_is_no_error() -> None:
    script = (
        "import argparse\n"
        "from belated import cli\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.set_defaults(run=lambda _: [print('line') for _ in range(100_000)])\n"
        "cli._parser = lambda: parser\n"
        "raise SystemExit(cli.main([]))\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    writer.stdout.close()
    assert writer.stderr is not None
    with writer.stderr as errors:
        assert errors.read() == b""
    assert writer.wait(timeout=60) == 0


class Terminal(io.StringIO):
    """A screen that somebody looks at."""

    def isatty(self) -> bool:
        return True


def announcing() -> argparse.ArgumentParser:
    """Build a parser whose only command logs the same message twice."""

    def log_twice(_: argparse.Namespace) -> None:
        logger = logging.getLogger("belated")
        logger.debug("a detail")
        for name in ("disk", "disk"):
            logger.info("waiting for the %s", name)
        print("done")

    parser = argparse.ArgumentParser()
    parser.set_defaults(run=log_twice)
    return parser


def test_a_terminal_is_told_what_is_logged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logger, screen = logging.getLogger("belated"), Terminal()
    before = logger.level, logger.handlers[:]
    monkeypatch.setattr(cli, "_parser", announcing)
    monkeypatch.setattr(sys, "stderr", screen)
    assert cli.main([]) == 0
    assert screen.getvalue() == "\rbelated: waiting for the disk\n"
    assert capsys.readouterr().out == "done\n"
    assert (logger.level, logger.handlers) == before


def test_without_a_terminal_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "_parser", announcing)
    assert cli.main([]) == 0
    assert capsys.readouterr() == ("done\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for name, parser in commands().items():
        assert re.search(rf"[' ]{name}[' ]", script)
        lines = [line for line in script.splitlines() if re.search(rf"\b{name}[)' ]", line)]
        for action in parser._actions:
            for option in action.option_strings:
                long = option if shell != "fish" else f"-l {option.removeprefix('--')}"
                is_there = any(re.search(rf"{long}(?![\w-])", line) for line in lines)
                assert is_there or (shell == "fish" and not option.startswith("--"))
            for choice in action.choices or ():
                assert any(str(choice) in line for line in lines)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("belated rep", "replay"),
        ("belated replay --sil", "--silence"),
        ("belated replay --loss log", "logistic"),
        ("belated audit --ties pre", "predict-first"),
        ("belated completion fi", "fish"),
    ],
)
def test_bash_completes(line: str, wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    assert cli.main(["completion", "bash"]) == 0
    words = line.split()
    listed = " ".join(f"'{word}'" for word in words)
    ask = f"COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _belated; echo ${{COMPREPLY[@]}}"
    script = capsys.readouterr().out + ask
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [wanted]
