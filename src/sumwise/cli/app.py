"""The application: the help page, the options of all commands, and the commands that the folder holds."""

from __future__ import annotations

import importlib
import inspect
from typing import Annotated, Any

import typer
from typer.main import get_command

COMMANDS = (  # in the order of the help page, in which people use them
    "init",
    "fit",
    "predict",
    "report",
    "compare",
    "serve",
    "aggregate",
    "release",
    "datasets",
    "docs",
    "demo",
)
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}

HELP = """
Learn about individuals when all you have is sums.

sumwise works on aggregate data: precinct totals, class counts of bags, noisy counts, contingency tables.
It estimates what the individuals behind them did, and says how sure one can be.
"""

EPILOG = """
[bold]A first session[/bold]

[dim]$[/dim] sumwise demo               [dim]# figures on generated data, with their code[/dim]
[dim]$[/dim] sumwise init votes.csv     [dim]# look at a file, write problem.toml[/dim]
[dim]$[/dim] sumwise fit problem.toml   [dim]# estimates, model and report.html in result/[/dim]
[dim]$[/dim] sumwise fit --help         [dim]# every command explains itself[/dim]

[bold]Exit codes[/bold]

  0  done
  1  a defect in sumwise; --debug shows where, please report it
  2  the input or the command can't be used; one line says why and what to do
130  interrupted by Ctrl-C

[bold]Where to read on[/bold]

[dim]$[/dim] sumwise docs               [dim]# tutorials, guides and reference, without a network[/dim]
In Python: [dim]import sumwise; help(sumwise)[/dim]
"""


def build() -> typer.Typer:
    """The application with all its commands, in the order of `COMMANDS`.

    Examples
    --------
    >>> from sumwise.cli.app import build
    >>> app = build()
    >>> [command.name for command in app.registered_commands][-1]
    'demo'
    """
    app = typer.Typer(
        name="sumwise",
        help=paragraphs(HELP),
        epilog=EPILOG,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings=SETTINGS,
    )
    app.callback(invoke_without_command=True)(_options)
    for name in COMMANDS:
        module = importlib.import_module(f"sumwise.cli.commands.{name}")
        app.command(name, help=paragraphs(inspect.getdoc(module.command) or ""))(module.command)
    return app


def application():
    """The application as something that can be called with arguments.

    Examples
    --------
    >>> from sumwise.cli.app import application
    >>> application().name
    'sumwise'
    """
    group = get_command(build())
    commands = getattr(group, "commands", {})
    for command in (group, *commands.values()):
        for option in command.get_params(typer.Context(command, **SETTINGS)):
            if getattr(option, "is_flag", False):
                option.metavar = ""  # a switch takes no value, so its help names none
    return group


def paragraphs(text: str) -> str:
    """Text with each paragraph on one line, since the terminal breaks lines; indented lines stay as they are.

    Examples
    --------
    >>> from sumwise.cli.app import paragraphs
    >>> paragraphs("One\\nline.\\n\\n  $ first\\n  $ second")
    'One line.\\n\\n  $ first\\n  $ second'
    """
    parts = text.strip().split("\n\n")
    return "\n\n".join(part if part.startswith(" ") else part.replace("\n", " ") for part in parts)


def _show_version(asked: bool) -> None:
    if asked:
        from sumwise import __version__

        typer.echo(f"sumwise {__version__}")
        raise typer.Exit


def _options(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback answers
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[  # noqa: ARG001 - read from the arguments, wherever it stands
        bool, typer.Option("--debug", help="Show the traceback of an error; works after a command too.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
