"""How the command line writes: results to standard output, messages and the stages of long work to standard error."""

from __future__ import annotations

import json as json_module
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import typer

from sumwise.errors import readable, visible
from sumwise.progress import active

MAX_LINE = 10_000  # characters of a table's line outside of a terminal

Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON, for scripts.", show_default=False)]
"""The option ``--json`` that every command takes."""

Quiet = Annotated[bool, typer.Option("--quiet", help="Write only the result and errors.", show_default=False)]
"""The option ``--quiet`` that every command takes."""

FIRST, BETWEEN = 2.0, 10.0  # seconds after which a stage says how long it has run, first and again


def one_line(text: object) -> str:
    """Text from anywhere as one line that can't move the cursor or change colours.

    Examples
    --------
    >>> from sumwise.cli.output import one_line
    >>> one_line("first\\nsecond \\x1b[31mred")
    'first second \\\\x1b[31mred'
    """
    words = readable(" ".join(str(text).split()))
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in words)


def write(text: str = "", style: str | None = None) -> None:
    """Write one paragraph of a result, as it is: brackets in it are not markup.

    Examples
    --------
    >>> from sumwise.cli.output import write
    >>> write("3 rows of [b]")
    3 rows of [b]
    """
    shown = visible("\n".join(readable(line) for line in text.split("\n")))
    _console().print(shown, style=style, markup=False, highlight=False, soft_wrap=True)


def write_json(result: Any) -> None:
    """Write a result for scripts; arrays become lists, and what isn't a number becomes null.

    Examples
    --------
    >>> from sumwise.cli.output import write_json
    >>> write_json({"rows": 3})
    {
      "rows": 3
    }
    """
    from sumwise.report.summary import plain

    typer.echo(json_module.dumps(plain(result), indent=2, ensure_ascii=False, allow_nan=False))


def write_table(columns: Sequence[str], rows: Iterable[Sequence[object]], stderr: bool = False) -> None:
    """Write rows as a table that fits the terminal; elsewhere (in a pipe, in a file) nothing is cut off.

    Parameters
    ----------
    columns : sequence of str
        Headings; one that begins with ``>`` is set to the right.
    rows : iterable of sequences
        The cells, shown by ``str`` on one line each; those that are rich's ``Text`` as they are.

    Examples
    --------
    >>> from sumwise.cli.output import write_table
    >>> write_table(["name", ">rows"], [["senc", 212]])
     name   rows
    ─────────────
     senc    212
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=True)
    for name in columns:
        table.add_column(name.removeprefix(">"), justify="right" if name.startswith(">") else "left", overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(one_line(cell)) for cell in row))
    console = _console(stderr)
    if not console.is_terminal:
        console.width = max(80, table.__rich_measure__(console, console.options.update(width=MAX_LINE)).maximum)
    console.print(table)


def write_lead(summary: dict[str, Any]) -> None:
    """Write the title of a summary and its first lines."""
    write(one_line(summary["title"]), style="bold")
    for line in (*summary["lead"], *summary.get("checked", ())):
        write(f"  {one_line(line)}")


def write_findings(summary: dict[str, Any]) -> None:
    """Write what a summary found: its title, its first lines, and each finding with how sure it is."""
    from sumwise.report.summary import sentences

    write_lead(summary)
    for found in summary["findings"]:
        write(f"  - {one_line(' '.join(sentences(found)))}")


def write_estimates(columns: Sequence[str], rows: Iterable[Sequence[str]], stderr: bool = False) -> None:
    """Write the table of `sumwise.cli.estimates`: what is estimated, its value and interval, and a bar for it.

    Examples
    --------
    >>> from sumwise.cli.output import write_estimates
    >>> write_estimates(["share", ">estimate", ">interval", "0%"], [["white: Kemp", "50%", "40% to 60%", "─●─"]])
     share         estimate     interval   0%
    ───────────────────────────────────────────
     white: Kemp        50%   40% to 60%   ─●─
    """
    from rich.text import Text

    def indented(name: str) -> Text:
        return Text(" " * (len(name) - len(name.lstrip())) + one_line(name))

    shown = [[indented(name), value, interval, Text(bar)] for name, value, interval, bar in rows]
    write_table(columns, shown, stderr)


def complain(message: object) -> None:
    """Say in one red line on standard error what went wrong."""
    _console(stderr=True).print(one_line(message), style="bold red", markup=False, highlight=False, soft_wrap=True)


def warn(message: object) -> None:
    """Say in one yellow line on standard error what deserves a second look."""
    text = f"Warning: {one_line(message)}"
    _console(stderr=True).print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)


def _console(stderr: bool = False):
    from rich.console import Console

    return Console(file=sys.stderr if stderr else sys.stdout)


def _print(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _left() -> str:
    """What a step that counts says about its end; nothing where none is under way."""
    for work in list(active):
        seconds = work.seconds_left()
        if seconds is not None:
            what = work.label.lower() if work.label[1:].islower() else "steps"  # MaxEntClassifier is no noun to count
            return f", {what} {work.done:,} of at most {work.total:,}, about {seconds:.0f} s left"
    return ""


class Stages:
    """Call it with the name of each stage; it writes the name, and the elapsed time of stages that take long.

    Use it as a context manager: the last stage ends with it.

    Parameters
    ----------
    quiet : bool
        Write nothing.
    write : callable, optional
        Takes a line. Default: standard error.
    first, between : float
        Seconds until a stage says how long it has run, and between later lines.
    """

    def __init__(
        self, quiet: bool = False, write: Callable[[str], None] = _print, first: float = FIRST, between: float = BETWEEN
    ):
        self.quiet, self.write = quiet, write
        self.first, self.between = first, between
        self._ended = threading.Event()
        self._watch: threading.Thread | None = None

    def __enter__(self) -> Stages:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def __call__(self, name: str) -> None:
        self._end()
        if self.quiet:
            return
        self.write(name)
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._report, args=(name, self._ended), daemon=True)
        self._watch.start()

    def estimates(self, numbers: dict[str, Any]) -> None:
        """Write the first numbers of a fit, before what checks them."""
        from sumwise.cli.estimates import columns_of, share_rows

        self._end()
        if not self.quiet:
            columns = columns_of(numbers["level"], numbers.get("label", "share of the group"))
            write_estimates(columns, share_rows(numbers), stderr=True)

    def _end(self) -> None:
        if self._watch is not None:
            self._ended.set()
            self._watch.join()
            self._watch = None

    def _report(self, name: str, ended: threading.Event) -> None:
        begin, wait = time.monotonic(), self.first
        while not ended.wait(wait):
            self.write(f"{name}: {time.monotonic() - begin:.0f} s so far{_left()}")
            wait = self.between
