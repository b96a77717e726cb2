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
    rows_per_person: Annotated[int, typer.Option(help="The most rows that one person has.")] = 1,
    max_weight: Annotated[
        float | None, typer.Option(help="The largest weight of a row; needed where rows were weighted.")
    ] = None,
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
    """Add noise to tables so that they tell little of any one person.

    What is spent is written to a ledger beside the tables before any noise is drawn, and a release that would
    overdraw it is refused: running the same command twice is an error, not a second draw. The noisy tables say
    which noise they have.

      $ sumwise release tables/ --epsilon 1 --plan
      $ sumwise release tables/ --epsilon 1 --out noisy/
    """
    from sumwise.errors import DataError
    from sumwise.privacy import PersonBounds, plan_release
    from sumwise.readers import read_tables_folder
    from sumwise.readers.tables_folder import check_free

    if out is None and not plan:
        raise DataError("There is no --out.", hint="name a folder, or ask for --plan.")
    if out is not None:
        check_free(out)
    exact = read_tables_folder(tables)
    _check_weights(tables, max_weight)
    bounds = PersonBounds(rows_per_person, max_weight, replace)
    arithmetic = plan_release(exact, epsilon, delta, mechanism, bounds)
    facts: dict[str, Any] = {"release": arithmetic.describe()}
    if not plan and out is not None:
        ledger = _ledger(tables, budget, total_epsilon, epsilon, delta)
        _release(exact, arithmetic, ledger, out, cells, facts)
    _show(arithmetic, facts, out if not plan else None, json)


def _check_weights(tables: str, max_weight: float | None) -> None:
    """Whole weights don't show in the counts; what sumwise aggregate noted does."""
    from sumwise.errors import DataError
    from sumwise.readers.tables_folder import read_facts

    weight = read_facts(tables).get("weight")
    if weight is not None and max_weight is None:
        raise DataError(
            f"The tables in {tables!r} were counted with the weights {weight!r}.",
            hint="--max-weight says how large the weight of a row can be.",
        )


def _ledger(tables: str, budget: str | None, total: float | None, epsilon: float, delta: float) -> Any:
    from pathlib import Path

    from sumwise.privacy import Budget

    path = Path(tables) / "budget.json" if budget is None else Path(budget)
    if path.exists():
        kept = Budget.from_file(path)
        return kept if total is None else Budget(total, kept.delta, path)
    return Budget(epsilon if total is None else total, delta, path)


def _release(exact: Any, plan: Any, ledger: Any, out: str, cells: bool, facts: dict[str, Any]) -> None:
    from sumwise.privacy import release
    from sumwise.readers import write_tables_folder

    noisy = release(
        exact, plan.epsilon, plan.delta, plan.mechanism.name, plan.bounds, ledger, what=f"release to {out}", verbose=1
    )
    facts["budget"] = ledger.describe()
    write_tables_folder(noisy, out, facts, cells)


def _show(plan: Any, facts: dict[str, Any], out: str | None, json: bool) -> None:
    frame = plan.to_frame()
    if json:
        output.write_json({**facts, "tables": frame.to_dict("records"), "folder": out})
        return
    told = plan.describe()
    output.write(f"{told['mechanism']} noise, epsilon {plan.epsilon:g}, delta {plan.delta:g}")
    output.write(f"Protected: {told['neighbours']}")
    shown = frame.head(12)
    rows = [[f"{v:.4g}" if isinstance(v, float) else v for v in r] for r in shown.to_numpy(dtype=object).tolist()]
    output.write_table([("" if c == "table" else ">") + c for c in frame], rows)
    if len(frame) > len(shown):
        output.write(f"... and {len(frame) - len(shown)} tables more")
    if out is not None:
        ledger = facts["budget"]
        output.write(f"Spent {ledger['spent']:.4g} of epsilon {ledger['epsilon']:.4g}; noisy tables: {out}")
