"""``sumwise init``: show how files are read, and write the problem file that they suggest."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from sumwise.cli import output
from sumwise.errors import readable

ORDER = 10
MOST_NAMES = 12  # names of columns that are printed


def command(
    data: Annotated[list[str], typer.Argument(help="The file, or two that belong together.")],
    out: Annotated[str, typer.Option(help="The problem file to write.")] = "problem.toml",
    family: Annotated[
        str | None, typer.Option(help="Look for a problem of this family only.", show_default=False)
    ] = None,
    sheet: Annotated[
        str | None,
        typer.Option(help="The sheet of a workbook, by name or counted from 1; default the first.", show_default=False),
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="The decimal sign, . or , where the file doesn't show it.", show_default=False)
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="The encoding of a text file, such as cp1252.", show_default=False)
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="What separates the fields of a text file.", show_default=False)
    ] = None,
    total: Annotated[
        str | None,
        typer.Option(help="Margins: the column of everybody, or the people in every unit.", show_default=False),
    ] = None,
    mismatch: Annotated[
        str | None,
        typer.Option(help="Margins: raise, rescale, no_vote or drop, where sides differ.", show_default=False),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over an earlier problem file.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """Recognise the form of a file, show how it is read, and write a commented problem file.

    Forms: [bold]margins[/bold] (a row per unit, with groups and outcomes that add up), [bold]individuals in
    bags[/bold] (a row per person, with a column that says which bag), [bold]tables[/bold] (a row per cell, or per
    person with a label), [bold]counts over time[/bold] (a row per time and place).

    What is shown has been read as sumwise fit reads it; what a fit would refuse is refused here. On a terminal it
    asks before it writes.

      $ sumwise init votes.csv
      $ sumwise init people.csv results.csv --out study.toml
      $ sumwise init results.xlsx --sheet Precincts --yes
      $ sumwise init votes.csv --mismatch no_vote
    """
    from sumwise.recognise.initialise import suggest_problem

    read = {"decimal": decimal, "encoding": encoding, "separator": separator}
    found = suggest_problem(data, out, family, replace, sheet, **read, total=total, mismatch=mismatch)
    if json:
        found.write()
        output.write_json(found.to_dict())
        return
    if quiet:
        _ask(found)
    else:
        show(found)
    if not yes and _terminal() and not typer.confirm(f"Write {found.path}?", default=True):
        output.write("Nothing was written.")
        raise typer.Exit(1)
    found.write()
    output.write(str(found.path) if quiet else f"Written: {found.path}. Next: sumwise fit {found.path} --out result")


def _terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def show(found: Any) -> None:
    """The form, every used column with three rows and its sum, what a fit sees, what is not used, what to check."""
    guess = found.guess
    output.write(f"{guess.family}: {output.one_line(guess.seen)}.", style="bold")
    rows = [
        [c["part"], _short(c["column"]), *map(_short, (c["first"] + [""] * 3)[:3]), _sum(c["sum"])]
        for c in found.columns
    ]
    if rows:
        output.write_table(["part", "column", ">first row", ">second", ">third", ">sum"], rows)
    for read in found.read:
        if "units" in read:
            name = f"{read['contest']}: " if "contest" in read else ""
            known = read["people"] is not None
            people = f", {read['people']:,.0f} people" if known else ""
            output.write(f"{name}{read['units']:,} units{people} ({read['denominator']}).")
            for key in ("groups", "outcomes"):
                form = "{:,.0f}" if known else "{:.1%}"
                sides = "; ".join(f"{_short(name)} {form.format(total)}" for name, total in read[key].items())
                output.write(f"  {key}: {output.one_line(sides)}")
        for remark in read["remarks"]:
            output.write(f"  {output.one_line(remark)}")
    if guess.names:
        shown = [f"{_short(column)} as {_short(name)}" for column, name in guess.names.items()]
        more = f"; and {len(shown) - MOST_NAMES} more" if len(shown) > MOST_NAMES else ""
        output.write(
            f"shown in reports: {output.one_line('; '.join(shown[:MOST_NAMES]))}{more} (edit [names] to change)"
        )
    for column, why in guess.unused.items():
        output.write(f"not used: {output.one_line(_short(column))}: {why}")
    _ask(found)


def _ask(found: Any) -> None:
    for line in found.guess.ask:
        output.warn(f"please check: {readable(line)}")


def _short(name: Any, most: int = 80) -> str:
    """A name that fits on a line."""
    text = str(name)
    return text if len(text) <= most else f"{text[: most - 10]} ... {text[-5:]}"


def _sum(value: float | None) -> str:
    """The sum of a column: whole where its numbers are."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.6g}"
