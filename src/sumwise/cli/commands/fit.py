"""``sumwise fit``: a problem file to a result folder with estimates, model and report."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sumwise.cli import output

RESTART = "Discard an interrupted run and start again; with --resume, only if its problem or data have changed."


def command(
    problem: Annotated[str, typer.Argument(help="The problem file; sumwise init DATA writes one.")],
    out: Annotated[str, typer.Option(help="The folder to write.")] = "result",
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help=RESTART)] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an earlier result.")] = False,
    edition: Annotated[
        str,
        typer.Option(
            help="plain, or court: court.html, tables and figures too. Default: court if problem.toml has one."
        ),
    ] = "",
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """Fit what a problem file asks for, and write a report.

    The folder has estimates.csv and .parquet, model.sumwise, summary.json, report.html and provenance.json. It
    appears once everything is written; the same problem, data and version give the same estimates, byte by byte.

      $ sumwise init votes.csv
      $ sumwise fit problem.toml --out result/
      $ sumwise fit problem.toml --out result/ --edition court
    """
    import shlex
    from pathlib import Path

    from sumwise import checks
    from sumwise.cli.entry import interrupted
    from sumwise.cli.output import Stages
    from sumwise.cli.study.editions import EDITIONS, has_case, write_edition
    from sumwise.cli.study.fitting import fit_problem

    checks.choice(edition or "plain", "edition", EDITIONS)
    flags = {"resume": resume, "restart": restart, "replace": replace}
    given = [f"--{name}" for name, value in flags.items() if value and name != "resume"]
    given += ["--edition", edition] if edition else []
    typed = shlex.join(["sumwise", "fit", problem, "--out", out, *given])
    try:
        with Stages(quiet) as say:
            result = fit_problem(problem, out, typed, say, **flags)
            if edition == "court" or (not edition and has_case(out)):
                say("write the court edition")
                place = Path(out).resolve()  # figures are written where they are, whatever out is relative to
                made = [p.resolve().relative_to(place).parts[0] for p in write_edition(place)]
                result["files"] = sorted({*result["files"], *made})
    except (KeyboardInterrupt, SystemError) as error:
        if interrupted(error):
            output.complain("What is done is kept: the same command with --resume goes on.")
        raise
    show(result, json, quiet)


def show(result: dict[str, Any], json: bool, quiet: bool = False) -> None:
    """What was found, and where to look."""
    from pathlib import Path

    from sumwise.cli.estimates import estimates_table

    if json:
        kept = ("title", "family", "method", "lead", "findings", "record", "folder", "files", "warnings")
        output.write_json({key: result[key] for key in kept if key in result})
        return
    for warning in result["warnings"]:
        output.warn(warning)
    if quiet:
        output.write(f"{Path(result['folder']) / 'report.html'}")
        return
    output.write_lead(result)
    output.write()
    output.write_estimates(*estimates_table(result))
    place = Path(result["folder"])
    page = place / "report.html" if (place / "report.html").exists() else place / "*" / "report.html"
    output.write(f"\nThe report: {page}")
    output.write(f"All files:  {', '.join(result['files'])}")
