"""Writes docs/commands.md from the commands themselves: ``python tools/command_reference.py``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from vqpu.cli._app import app

PAGE = Path(__file__).resolve().parent.parent / "docs" / "commands.md"
_OPTION = re.compile(r"(?<!\w)(--[a-z][a-z-]*)")
_OPENING = """\
# Command-line reference

Every command with its arguments and options, written from the commands themselves by
`python tools/command_reference.py`. [Command line](command-line.md) shows how they work together.
`vqpu COMMAND --help` prints the same in the terminal, and `vqpu --version` the version.
"""


def reference() -> str:
    """Return the page as Markdown."""
    root = typer.main.get_command(app)
    return "\n".join([_OPENING, *(_section(name, command) for name, command in _leaves(root))])


def _leaves(group: Any, path: str = "vqpu") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _leaves(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _section(name: str, command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    usage = " ".join([name, *(_usage(one) for one in arguments), "[OPTIONS]" * bool(options)])
    rows = [_row(_called(one), one) for one in (*arguments, *options)]
    table = ["| | what it is | default |", "| --- | --- | --- |", *rows] if rows else []
    return "\n".join([f"## {name}", "", command.help, "", f"```\n{usage}\n```", "", *table, ""])


def _usage(argument: Any) -> str:
    word = argument.metavar or argument.name.upper()
    return word if argument.required else f"[{word}]"


def _called(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    names = " ".join([*parameter.opts, *parameter.secondary_opts])
    value = "" if parameter.is_flag else f" {parameter.metavar or _value(parameter)}"
    return f"`{names}{value}`"


def _value(option: Any) -> str:
    kinds = {int: "INTEGER", float: "NUMBER", Path: "PATH"}
    return kinds.get(option.type_descriptor.annotation, "TEXT")


def _row(called: str, parameter: Any) -> str:
    text = _OPTION.sub(r"`\1`", (parameter.help or "").replace("|", "\\|"))
    return f"| {called} | {text} | {_default(parameter)} |"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "needed"
    if parameter.default in (None, False, ""):
        return ""
    return f"`{parameter.default}`"


if __name__ == "__main__":
    PAGE.write_text(reference(), "utf-8")
