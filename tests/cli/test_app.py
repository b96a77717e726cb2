"""The help page and the commands that the folder holds."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest
from typer.testing import CliRunner

import sumwise
from sumwise.cli import app, main

COMMANDS = app.COMMANDS


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_reads_like_a_page_of_a_manual(capsys, arguments):
    assert main(arguments) == 0
    page = capsys.readouterr().out
    for words in (
        "all you have is sums",
        "A first session",
        "Exit codes",
        "130",
        "Where to read on",
        "--debug",
    ):
        assert words in page
    listed = page[page.index("Commands") :]
    assert all(re.search(rf"\b{command}\b", listed) for command in COMMANDS)


def test_first_session_names_commands_that_exist():
    named = set(re.findall(r"\[/dim\] sumwise ([a-z-]+)", app.EPILOG))
    assert named
    assert named <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_speaks_json_and_can_be_quiet(capsys, command):
    assert main([command, "--help"]) == 0
    page = capsys.readouterr().out
    assert "--json" in page
    assert "--quiet" in page
    assert not re.search(r"\$ sumwise .*\$ sumwise", page)  # examples stand on lines of their own
    assert "<bool>" not in page


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"sumwise {sumwise.__version__}\n"


def test_typer_runs_the_application_too():
    result = CliRunner().invoke(app.build(), ["--version"])
    assert (result.exit_code, result.output) == (0, f"sumwise {sumwise.__version__}\n")


def test_commands_come_in_their_order():
    names = [command.name for command in app.build().registered_commands]
    assert tuple(names) == COMMANDS
    modules = pkgutil.iter_modules(importlib.import_module("sumwise.cli.commands").__path__)
    assert sorted(names) == sorted(module.name for module in modules)


def test_paragraphs_joins_lines_and_keeps_indented_ones():
    assert app.paragraphs("\na\nb\n\n  $ c\n  $ d\n\ne\n") == "a b\n\n  $ c\n  $ d\n\ne"
