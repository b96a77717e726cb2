"""``sumwise init``: look at files and write the problem file that they suggest."""

from __future__ import annotations

from typing import Annotated

import typer

from sumwise.cli import output

ORDER = 10


def command(
    data: Annotated[list[str], typer.Argument(help="The file, or two that belong together.")],
    out: Annotated[str, typer.Option(help="The problem file to write.")] = "problem.toml",
    family: Annotated[
        str | None, typer.Option(help="Look for a problem of this family only.", show_default=False)
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over an earlier problem file.")] = False,
    json: output.Json = False,
) -> None:
    """Look at a file, recognise its form, and write a commented problem file.

    Forms: [bold]margins[/bold] (a row per unit, with groups and outcomes that add up), [bold]individuals in
    bags[/bold] (a row per person, with a column that says which bag), [bold]tables[/bold] (a row per cell, or per
    person with a label), [bold]counts over time[/bold] (a row per time and place).

      $ sumwise init votes.csv
      $ sumwise init people.csv results.csv --out study.toml
    """
    from sumwise.study.initialise import write_problem

    guess, path = write_problem(data, out, family, replace)
    if json:
        facts = {"problem": str(path), "family": guess.family, "seen": guess.seen, "check": guess.ask}
        output.write_json({**facts, "data": guess.data, "columns": guess.columns})
        return
    output.write(f"{guess.family}: {output.one_line(guess.seen)}.", style="bold")
    for line in guess.ask:
        output.warn(f"please check: {line}")
    output.write(f"Written: {path}. Next: sumwise fit {path} --out result")
