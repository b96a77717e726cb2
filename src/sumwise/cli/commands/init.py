"""``sumwise init``: find out what each column of a file is, ask what the file doesn't show, write a problem file."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from sumwise.cli import output
from sumwise.errors import DataError, readable


def command(
    data: Annotated[
        list[str] | None, typer.Argument(help="The file, or two that belong together.", show_default=False)
    ] = None,
    out: Annotated[str, typer.Option(help="The problem file to write.")] = "problem.toml",
    answer: Annotated[
        list[str] | None,
        typer.Option(
            "--answer", "-a", help="An answer to a question, as KEY=ANSWER; may be repeated.", show_default=False
        ),
    ] = None,
    family: Annotated[
        str | None, typer.Option(help="Look for a problem of this family only.", show_default=False)
    ] = None,
    sheet: Annotated[
        str | None,
        typer.Option(help="The sheet of a workbook, by name or counted from 1.", show_default=False),
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="The decimal sign, . or , if the file doesn't show it.", show_default=False)
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="The encoding of a text file, such as cp1252.", show_default=False)
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="The separator of a text file, such as ;", show_default=False)
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="Copy an example file here first; --family says of which family.")
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an earlier problem file.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without confirmation; questions stay open.")] = False,
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """Find out what each column of a file is, and write a commented problem file.

    Forms: [bold]margins[/bold] (groups and outcomes of units), [bold]individuals in bags[/bold] (with counts or a
    response per bag), [bold]tables[/bold] (a row per cell, or per person with a label), [bold]counts over time and
    place[/bold].

    Roles that sums prove are accepted. All others are questions: on a terminal you answer them here; otherwise they
    are in the problem file, with answers to choose from. No answer is a default.

      $ sumwise init votes.csv
      $ sumwise init --example
      $ sumwise init people.csv results.csv --out study.toml
      $ sumwise init results.xlsx --sheet Precincts --answer "fewer=they did not vote"
    """
    from sumwise.cli.study.initialise import suggest_problem

    opening = {"sheet": sheet, "decimal": decimal, "encoding": encoding, "separator": separator}
    answers = parsed(answer or [])
    if example:
        data, family = copied_example(data, family, replace)
    elif not data:
        raise DataError("No file was given.", hint="name your file, or try sumwise init --example.")
    found = suggest_problem(data, out, answers, family, replace, **opening)
    while found.schema.questions and _terminal() and not json:
        for question in found.schema.questions:
            answers[question.key] = _prompt(question)
        found = suggest_problem(data, out, answers, family, replace, **opening)
    asked = bool(found.schema.questions)
    if json:
        found.write()
        output.write_json(found.to_dict())
        raise typer.Exit(2 if asked else 0)
    if not quiet:
        show(found)
    if not yes and not asked and _terminal() and not typer.confirm(f"Write {found.path}?", default=True):
        output.write("Nothing was written.")
        raise typer.Exit(1)
    found.write()
    if asked:
        show_questions(found)
        raise typer.Exit(2)
    output.write(str(found.path) if quiet else f"Written: {found.path}. Next: sumwise fit {found.path} --out result")


def copied_example(data: list[str] | None, family: str | None, replace: bool) -> tuple[list[str], str]:
    """Copy the example files of a family here; return their names, and the family as problem files call it."""
    from pathlib import Path
    from shutil import copyfile

    from sumwise import datasets

    if data:
        raise DataError("--example brings its own files.", hint="leave out the names of files.")
    asked = {"collective": "flows"}.get(family or "", family or "ecological")
    sources = datasets.example(asked)
    for source in sources:
        place = Path(source.name)
        if place.exists() and place.read_bytes() != source.read_bytes() and not replace:
            raise DataError(f"There is another file {source.name!r} here.", hint="go to another folder, or --replace.")
    for source in sources:
        copyfile(source, source.name)
    return [source.name for source in sources], {"flows": "collective"}.get(asked, asked)


def parsed(given: list[str]) -> dict[str, Any]:
    """Answers by their keys."""
    answers = {}
    for text in given:
        key, sign, chosen = text.partition("=")
        if not sign or not key.strip():
            raise DataError(
                f"--answer is {text!r}.", hint='give a key and an answer: --answer "fewer=they did not vote".'
            )
        answers[key.strip()] = chosen.strip()
    return answers


def _terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _prompt(question: Any) -> str:
    """The answer that a person types: a number, or columns separated by commas."""
    output.write(f"\n{readable(question.text)}", style="bold")
    for k, option in enumerate(question.options, start=1):
        output.write(f"  {k}. {output.one_line(option)}")
    if question.several:
        return str(typer.prompt("Columns, by their names and with commas between"))
    numbers = [str(k) for k in range(1, len(question.options) + 1)]
    chosen = ""
    while chosen not in numbers:
        chosen = str(typer.prompt(f"1 to {len(numbers)}")).strip()
    return question.options[int(chosen) - 1]


def show(found: Any) -> None:
    """The form, the role of every column, what a fit sees, and what is not used."""
    schema = found.schema
    if not schema.questions:
        output.write(
            f"{schema.family}: {len(found.read)} contest{'s' * (len(found.read) != 1)} read."
            if schema.contests
            else f"{schema.family}.",
            style="bold",
        )
        rows = [
            [c["role"], _short(c["column"]), *map(_short, (c["first"] + [""] * 3)[:3]), _sum(c["sum"])]
            for c in found.columns
        ]
        if rows:
            output.write_table(["role", "column", ">first row", ">second", ">third", ">sum"], rows)
    for read in found.read:
        show_read(read)
    for remark in schema.remarks:
        output.write(f"  {output.one_line(remark)}")
    for column, why in schema.unused.items():
        output.write(f"not used: {output.one_line(_short(column))}: {why}")


def _sum(total: float | None) -> str:
    """The sum of a column, whole if it is large."""
    if total is None:
        return ""
    return f"{total:,.0f}" if abs(total) >= 1000 else f"{total:,.6g}"


def show_read(read: dict[str, Any]) -> None:
    """What a fit sees: units, people, and the sums of groups and outcomes."""
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


def show_questions(found: Any) -> None:
    """The open questions, with how to answer them."""
    for question in found.schema.questions:
        output.write(f"\n{readable(question.text)}", style="bold")
        for option in question.options:
            output.write(f"  --answer {readable(f'{question.key}={option}')!r}")
    output.write(f"\n{found.path} has these questions: take the # from one answer to each, or give --answer.")


def _short(given: Any, most: int = 100) -> str:
    """Names that fit on a line."""
    text = ", ".join(map(str, given)) if isinstance(given, list) else str(given)
    return text if len(text) <= most else f"{text[: most - 20]} ... {text[-15:]}"
