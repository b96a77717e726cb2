"""``sumwise datasets``: the public data that can be loaded by name."""

from __future__ import annotations

from typing import Annotated

import typer

from sumwise.cli import output


def command(
    name: Annotated[str | None, typer.Argument(help="Show this set only, with its files.", show_default=False)] = None,
    family: Annotated[str | None, typer.Option(help="List the sets of this family.", show_default=False)] = None,
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """List the public data sets that sumwise loads by name.

    The files are looked for in the folder that SUMWISE_DATA names, then in ../shared/data. A set that isn't here
    is listed too, with the place of its public original.

    In Python: [dim]from sumwise import datasets; datasets.senc()[/dim]
    """
    from sumwise.datasets import catalogue

    records = catalogue().to_dict("records")
    if name is not None:
        show(pick(records, "name", name, "data set")[0], json)  # nothing but the result in any case
    else:
        chosen = records if family is None else pick(records, "family", family, "family")
        show_all(chosen, json, quiet)


def pick(records: list[dict], field: str, value: str, what: str) -> list[dict]:
    """The records with that value, or an error that names the nearest."""
    from sumwise import checks

    checks.known(value, sorted({record[field] for record in records}), what)
    return [record for record in records if record[field] == value]


def show(record: dict, json: bool) -> None:
    """One set: every field on a line, then its files."""
    if json:
        output.write_json(record)
        return
    output.write(record["name"], style="bold")
    for field in ("family", "shape", "licence", "source"):
        output.write(f"  {field:<8} {output.one_line(record[field])}")
    for label, path in zip(["files", *[""] * len(record["files"])], record["files"]):
        output.write(f"  {label:<8} {output.one_line(path)}")
    output.write(f"  {'here':<8} {'yes' if record['present'] else 'no: get the original, then set SUMWISE_DATA'}")


def show_all(records: list[dict], json: bool, quiet: bool = False) -> None:
    """A table of sets, and how to go on; their names alone where that is asked for."""
    if json:
        output.write_json(records)
        return
    if quiet:
        output.write("\n".join(record["name"] for record in records))
        return
    rows = [
        [record["name"], record["family"], record["shape"], "yes" if record["present"] else "no"] for record in records
    ]
    output.write_table(["name", "family", "shape", "here"], rows)
    here = sum(bool(record["present"]) for record in records)
    output.write(f"\n{here} of {len(records)} sets are here. One set: sumwise datasets NAME")
