"""``sumwise predict``: a fitted model on other units, bags or individuals."""

from __future__ import annotations

from typing import Annotated

import typer

from sumwise.cli import output


def command(
    result: Annotated[str, typer.Argument(help="A folder that sumwise fit wrote.")],
    data: Annotated[str, typer.Argument(help="A file with the columns that the model was fitted on.")],
    out: Annotated[
        str | None, typer.Option(help="The file to write: .csv, .parquet, .arrow. Default: the screen.")
    ] = None,
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """Apply the model of a result folder to another file.

    The result depends on the family: outcomes of other units from their groups, classes of individuals,
    responses of bags. Columns must have the names in the problem file. In CSV, text that a spreadsheet would take for
    a formula gets an apostrophe in front.

      $ sumwise predict result/ others.csv --out predicted.csv
    """
    import sys

    from sumwise.cli.study.fitting import predict_file
    from sumwise.io.formats.write import harmless, write_frame

    frame = predict_file(result, data)
    scores = frame.attrs.pop("scores", {})
    if out is not None:
        shown = harmless(frame) if ".csv" in out.lower() or ".tsv" in out.lower() else frame
        write_frame(shown, out, private=True)  # rows may be individuals
    if scores and not (quiet or json):
        typer.echo("; ".join(f"{name} {value:.4f}" for name, value in scores.items()), err=True)
    if json:
        output.write_json(
            {"rows": len(frame), "out": out, "predictions": None if out else frame.to_dict("records")}
            | ({"scores": scores} if scores else {})
        )
    elif out is not None:
        output.write(out if quiet else f"{len(frame):,} rows: {out}")
    else:
        harmless(frame).to_csv(sys.stdout, index=False)
