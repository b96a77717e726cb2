"""``sumwise release``: tables to differentially private tables."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sumwise.cli import output

ORDER = 30


def command(
    tables: Annotated[str, typer.Argument(help="A folder that sumwise aggregate wrote.")],
    out: Annotated[str | None, typer.Option(help="The folder to write; it must not exist, or be empty.")] = None,
    epsilon: Annotated[float, typer.Option(help="Privacy loss of this release.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Needed for gaussian, as 1e-6.")] = 0.0,
    mechanism: Annotated[str, typer.Option(help="geometric, laplace or gaussian.")] = "geometric",
    rows_per_person: Annotated[
        int | None, typer.Option(help="The most rows that one person has. Default: as counted, else 1.")
    ] = None,
    max_weight: Annotated[
        float | None, typer.Option(help="The largest weight of a row; needed where rows were weighted.")
    ] = None,
    public_levels: Annotated[
        bool, typer.Option("--public-levels", help="Levels and cut points read from the rows are no secret.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Protect what rows say, not that a person is there.")
    ] = False,
    budget: Annotated[
        str | None, typer.Option(help="Ledger to spend from. Default: budget.json in the tables' folder.")
    ] = None,
    total_epsilon: Annotated[
        float | None, typer.Option(help="What the ledger allows in all. Default: what it says; epsilon for a new one.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show sensitivity and noise; spend and write nothing.")] = False,
    cells: Annotated[bool, typer.Option("--cells", help="Also write cells.parquet, one row per cell.")] = False,
    json: output.Json = False,
) -> None:
    """Add noise to tables so that they reveal little about any one person.

    What is spent is written to a ledger beside the tables before any noise is drawn, and a release that would
    overdraw it is refused: running the same command twice is an error, not a second draw. So is a release of the
    same tables from another ledger or from a copied folder. The noisy tables state their noise.

      $ sumwise release tables/ --epsilon 1 --plan
      $ sumwise release tables/ --epsilon 1 --out noisy/
    """
    from sumwise.errors import DataError
    from sumwise.privacy import plan_release, release
    from sumwise.readers import read_tables_folder
    from sumwise.readers.tables_folder import check_free, free_reserve, new_folder, write_into

    if out is None and not plan:
        raise DataError("There is no --out.", hint="name a folder, or ask for --plan.")
    if out is not None:
        check_free(out)
    exact = read_tables_folder(tables)
    bounds = _bounds(exact, rows_per_person, max_weight, replace)
    arithmetic = plan_release(exact, epsilon, delta, mechanism, bounds, public_levels=public_levels)
    facts: dict[str, Any] = {"release": arithmetic.describe()}
    if not plan and out is not None:
        with new_folder(out, reserve=2**20 + 64 * sum(arithmetic.cells)) as building:  # before anything is spent
            ledger = _ledger(tables, budget, total_epsilon, epsilon, delta)
            noisy = release(
                exact, epsilon, delta, mechanism, bounds, ledger,
                public_levels=public_levels, what=f"release to {out}", verbose=1,
            )  # fmt: skip
            facts["budget"] = ledger.describe()
            free_reserve(building)
            write_into(noisy, building, facts, cells)
    _show(arithmetic, facts, out if not plan else None, json)


def _bounds(tables: Any, rows: int | None, weight: float | None, replace: bool) -> Any:
    """What was said of a person's contribution, and as counted where nothing was."""
    from sumwise.privacy import PersonBounds

    if rows is None and weight is None and not replace:
        return None
    known = tables.provenance
    return PersonBounds(
        (known.rows_per_person or 1) if rows is None else rows, known.max_weight if weight is None else weight, replace
    )


def _ledger(tables: str, budget: str | None, total: float | None, epsilon: float, delta: float) -> Any:
    from pathlib import Path

    from sumwise.privacy import Budget

    path = Path(tables) / "budget.json" if budget is None else Path(budget)
    if path.exists():
        kept = Budget.from_file(path)
        return kept if total is None else Budget(total, kept.delta, path)
    return Budget(epsilon if total is None else total, delta, path)


def _show(plan: Any, facts: dict[str, Any], out: str | None, json: bool) -> None:
    frame = plan.to_frame()
    if json:
        output.write_json({**facts, "tables": frame.to_dict("records"), "folder": out})
        return
    facts_of_plan = plan.describe()
    output.write(f"{plan.mechanism.name} noise, epsilon {plan.epsilon:g}, delta {plan.delta:g}")
    output.write(f"Protected: {facts_of_plan['neighbours']}")
    reasons = {
        "by class": "counts by class, not counts and label sums",
        "accounting": "the analytic Gaussian mechanism",
    }
    for name, factor in facts_of_plan["gain"].items():
        output.write(f"Noise is smaller by a factor of {factor:.2f}: {reasons[name]}")
    shown = frame.head(12)
    rows = [[f"{v:.4g}" if isinstance(v, float) else v for v in r] for r in shown.to_numpy(dtype=object).tolist()]
    output.write_table([("" if c == "table" else ">") + c for c in frame], rows)
    if len(frame) > len(shown):
        output.write(f"... and {len(frame) - len(shown)} tables more")
    if out is not None:
        ledger = facts["budget"]
        output.write(f"Spent {ledger['spent']:.4g} of epsilon {ledger['epsilon']:.4g}; noisy tables: {out}")
