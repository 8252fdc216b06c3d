"""``belated completion``: a script that lets a shell complete commands, options and choices."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Mapping
from typing import NamedTuple

from belated.arguments import Commands

WHERE = {
    "bash": 'eval "$(belated completion bash)"            # in ~/.bashrc',
    "zsh": 'eval "$(belated completion zsh)"             # in ~/.zshrc, after compinit',
    "fish": "belated completion fish | source             # in ~/.config/fish/config.fish",
}
"""The line of set-up and its file, by shell."""


class _Option(NamedTuple):
    names: tuple[str, ...]
    choices: tuple[str, ...]
    takes: bool
    """Whether something follows it."""
    about: str


def add_completion(commands: Commands) -> None:
    """Add ``completion`` to the commands of ``belated``."""
    parser = commands.add_parser(
        "completion",
        help="print a script with which your shell completes what you type",
        description="Print a script with which a shell completes commands, options and files.",
        epilog="\n".join(["To have it always:", *WHERE.values()]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=list(WHERE), help="which shell")
    parser.set_defaults(run=_completion, commands=commands)


def _completion(arguments: argparse.Namespace) -> None:
    known = {name: _options(parser) for name, parser in sorted(arguments.commands.choices.items())}
    print(SCRIPTS[arguments.shell](known), end="")


def _options(parser: argparse.ArgumentParser) -> list[_Option]:
    """Return the options of a command, and what its arguments may be as one without a name."""
    found = []
    for action in parser._actions:
        choices = tuple(map(str, action.choices or ()))
        about = (action.help or "").partition(" (")[0] % {"default": action.default}
        takes = action.nargs != 0
        if action.option_strings or choices:
            found.append(_Option(tuple(action.option_strings), choices, takes, about))
    return found


Known = Mapping[str, list[_Option]]


def _bash(known: Known) -> str:
    """Return a script for bash, which zsh understands too."""
    lines = ["_belated() {", '    local word="${COMP_WORDS[COMP_CWORD]}" names=""']
    lines += ['    local before="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"']
    lines += [
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f"        names={shlex.quote(' '.join(known))}",
    ]
    lines += ["    else", '        case "$command $before" in']
    for command, options in known.items():
        for option in options:
            for name in option.names if option.choices else ():
                pattern = shlex.quote(f"{command} {name}")
                lines += [
                    f"            {pattern}) names={shlex.quote(' '.join(option.choices))} ;;"
                ]
    lines += ["            *)", '                case "$command" in']
    for command, options in known.items():
        words = [name for option in options for name in option.names or option.choices]
        lines += [f"                    {command}) names={shlex.quote(' '.join(words))} ;;"]
    lines += ["                esac ;;", "        esac", "    fi"]
    lines += ['    COMPREPLY=($(compgen -W "$names" -- "$word"))', "}"]
    return "\n".join([*lines, "complete -o default -F _belated belated"]) + "\n"


def _zsh(known: Known) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(known)


def _fish(known: Known) -> str:
    start = "complete -c belated"
    lines = [f"{start} -n __fish_use_subcommand -a {shlex.quote(' '.join(known))}"]
    for command, options in known.items():
        here = f"{start} -n {shlex.quote(f'__fish_seen_subcommand_from {command}')}"
        for option in options:
            long = [f"-l {name[2:]}" for name in option.names if name.startswith("--")]
            follows = " -r" if option.takes and option.names else ""
            choices = f" -a {shlex.quote(' '.join(option.choices))}" if option.choices else ""
            about = f" -d {shlex.quote(option.about)}"
            lines.append(f"{here} {' '.join(long)}{follows}{choices}{about}")
    return "\n".join(lines) + "\n"


SCRIPTS: Mapping[str, Callable[[Known], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
