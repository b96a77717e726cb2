"""``sumwise release``: tables to differentially private tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from sumwise.cli import output
from sumwise.errors import DataError


def command(
    tables: Annotated[str | None, typer.Argument(help="A folder that sumwise aggregate wrote.")] = None,
    rows: Annotated[
        str | None, typer.Option(help="Rows of individuals instead: a file, counted and released in one go.")
    ] = None,
    schema: Annotated[
        str | None, typer.Option(help="With --rows: TOML file that declares columns, levels or ranges, and bounds.")
    ] = None,
    order: Annotated[int, typer.Option(help="With --rows: count every subset of this many attributes.")] = 2,
    level_share: Annotated[
        float, typer.Option(help="With --rows: share of the budget for cut points and levels.")
    ] = 0.1,
    out: Annotated[str | None, typer.Option(help="The folder to write; it must not exist, or be empty.")] = None,
    scores: Annotated[
        str | None, typer.Option(help="With --rows: a model of released tables; count by its predicted probability.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Privacy loss of this release. Default: the schema's budget, else 1.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="Needed for gaussian, as 1e-6. Default: the schema's.")] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="geometric, laplace or gaussian. Default: the schema's, else geometric.")
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option(help="The most rows that one person has in the tables. Default: as counted, else 1.")
    ] = None,
    max_weight: Annotated[
        float | None, typer.Option(help="The largest weight of a row; needed if rows were weighted.")
    ] = None,
    public_levels: Annotated[
        bool, typer.Option("--public-levels", help="Declare levels and cut points that were read from the rows public.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Protect the contents of rows, not their presence.")
    ] = False,
    budget: Annotated[
        str | None, typer.Option(help="Ledger to spend from. Default: budget.json in the tables' folder.")
    ] = None,
    total_epsilon: Annotated[
        float | None, typer.Option(help="What the ledger allows in all. Default: what it says; epsilon for a new one.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show sensitivity and noise; spend and write nothing.")] = False,
    cells: Annotated[bool, typer.Option("--cells", help="Also write cells.parquet, one row per cell.")] = False,
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """Add noise to tables so that they reveal little about any one person.

    The privacy loss is written to a ledger next to the tables before any noise is drawn, and a release that would
    overdraw it is refused: running the same command twice is an error, not a second draw. So is a release of the
    same tables, or of other tables of the same file of rows, from another ledger or from a copied folder. The noisy
    tables state their noise.

      $ sumwise release tables/ --epsilon 1 --plan
      $ sumwise release tables/ --epsilon 1 --out noisy/

    With --rows nothing exact is written. --schema declares what is known of the rows before they are read; levels and
    cut points that it lacks are learned privately. Rows are counted in memory and released, and one
    charge to the ledger, FILE.budget.json next to the rows, pays for all. Links to the rows and copies of them have no
    ledger of their own.

      $ sumwise release --rows people.csv --schema people.toml --mechanism gaussian --delta 1e-6 --out noisy/

    A schema has the keys label, classes, person, max_rows, weight and max_weight, a table \\[budget] with epsilon,
    delta and mechanism, and one table per attribute, as \\[attributes.age] with kind = "quantiles" and
    range = \\[0, 120]. sumwise aggregate --schema counts by the same file.
    """
    from sumwise.io.formats.tables_folder import check_free

    if out is None and not plan:
        raise DataError("There is no --out.", hint="name a folder, or ask for --plan.")
    if out is not None:
        check_free(out)
    if (tables is None) == (rows is None):
        raise DataError("Give a folder of tables, or --rows.", hint="sumwise release --help shows both.")
    if (rows is None) != (schema is None):
        raise DataError("--rows and --schema go together.", hint="a schema says what is known of the rows.")
    if rows is not None and (max_rows, max_weight, public_levels) != (None, None, False):
        raise DataError("--max-rows, --max-weight and --public-levels are for tables.", hint="the schema says these.")
    if rows is None and scores is not None:
        raise DataError("--scores goes with --rows.", hint="release a table of scores like any other.")
    spent = _Spent(budget, total_epsilon, None if plan else out, cells)
    more = max_rows, max_weight, replace, public_levels, int(not quiet)
    if rows is None:
        options = Release(1.0 if epsilon is None else epsilon, delta or 0.0, mechanism or "geometric", *more)
        arithmetic, facts = _of_tables(tables or "", options, spent)
    else:
        from sumwise.cli.commands.aggregate import read_declaration
        from sumwise.privacy.release_rows import loss_of

        declared = read_declaration(schema or "")
        options = Release(*loss_of(declared, epsilon, delta, mechanism), *more)
        arithmetic, facts = _of_rows(rows, declared, options, spent, order, level_share, scores)
    _show(arithmetic, facts, spent.out, json, quiet)


@dataclass(frozen=True)
class _Spent:
    """Where the loss is charged and the result written; without `out`, nothing is."""

    budget: str | None
    total: float | None
    out: str | None
    cells: bool


def _of_tables(folder: str, options: Release, spent: _Spent) -> tuple[Any, dict[str, Any]]:
    """The arithmetic and the facts of a release of counted tables."""
    from sumwise.io.formats.tables_folder import free_reserve, new_folder, read_tables_folder, write_into
    from sumwise.privacy import release

    exact = read_tables_folder(folder)
    plan = options.planned(exact)
    facts: dict[str, Any] = {"release": plan.describe()}
    if spent.out is not None:
        with new_folder(spent.out, reserve=2**20 + 64 * sum(plan.cells)) as building:  # before anything is spent
            ledger = _ledger(Path(folder) / "budget.json", spent, options)
            noisy = release(
                exact, options.epsilon, options.delta, options.mechanism, plan.bounds, ledger,
                public_levels=options.public_levels, what=f"release to {spent.out}", verbose=options.verbose,
            )  # fmt: skip
            facts["budget"] = ledger.describe()
            free_reserve(building)
            write_into(noisy, building, facts, spent.cells)
    return plan, facts


def _of_rows(
    rows: str, declared: Any, options: Release, spent: _Spent, order: int, level_share: float, scores: str | None
) -> tuple[Any, dict[str, Any]]:
    """The arithmetic and the facts of a release of declared rows."""
    from sumwise.io.documents import file_digest
    from sumwise.io.formats.tables_folder import free_reserve, new_folder, write_into
    from sumwise.io.persistence import load
    from sumwise.privacy import release_rows
    from sumwise.privacy.ledger import beside
    from sumwise.privacy.release_rows import by_scores, plan_rows

    amounts = options.epsilon, options.delta, options.mechanism
    model = None if scores is None else load(scores)
    counted_by, order = (declared, order) if model is None else (by_scores(declared, model), 1)
    plan = plan_rows(counted_by, *amounts, order, None, level_share, options.replace)
    facts: dict[str, Any] = {"release": plan.tables.describe() | plan.promise}
    if spent.out is not None:
        with new_folder(spent.out, reserve=2**20 + 64 * sum(plan.tables.cells)) as building:
            ledger = _ledger(beside(rows), spent, options, declared.budget)
            digest = file_digest(rows)
            ledger.source = () if digest is None else (digest,)
            noisy = release_rows(
                rows, declared, *amounts, ledger, order=order, scores=model, level_share=level_share,
                replace_person=options.replace, what=f"release to {spent.out}",
            )  # fmt: skip
            facts["budget"] = ledger.describe()
            free_reserve(building)
            write_into(noisy, building, facts, spent.cells)
    return plan.tables, facts


@dataclass(frozen=True)
class Release:
    """The options of a release that were given."""

    epsilon: float
    delta: float
    mechanism: str
    rows: int | None
    weight: float | None
    replace: bool
    public_levels: bool
    verbose: int = 1

    def planned(self, exact: Any) -> Any:
        """The arithmetic of a release of tables."""
        from sumwise.privacy import plan_release

        bounds = _bounds(exact, self.rows, self.weight, self.replace)
        return plan_release(exact, self.epsilon, self.delta, self.mechanism, bounds, public_levels=self.public_levels)


def _bounds(tables: Any, rows: int | None, weight: float | None, replace: bool) -> Any:
    """The bounds on a person's contribution that were given, else those of the counts."""
    from sumwise.privacy import PersonBounds

    if rows is None and weight is None and not replace:
        return None
    known = tables.provenance
    if rows is None and known.weighted is None and known.rows_per_person is None:
        return None  # nobody says how many rows a person has: the release asks
    return PersonBounds(
        (known.rows_per_person or 1) if rows is None else rows, known.max_weight if weight is None else weight, replace
    )


def _ledger(default: Any, spent: _Spent, options: Release, declared: Any = None) -> Any:
    from sumwise.privacy import Budget

    budget, total = spent.budget, spent.total
    if declared is not None and total is not None and total != declared["epsilon"]:
        raise DataError(
            f"The schema allows epsilon {declared['epsilon']:g} in all; --total-epsilon is {total:g}.",
            hint="leave --total-epsilon out, or change the schema.",
        )
    path = default if budget is None else Path(budget)
    if default.exists() and path.resolve() != default.resolve() and Budget.from_file(default).entries:
        raise DataError(
            f"{str(default)!r} has recorded releases, and --budget names another ledger, {str(path)!r}.",
            hint="leave --budget out: what was released before stays released.",
        )
    if path.exists():
        kept = Budget.from_file(path)
        if declared is not None:
            return Budget(declared["epsilon"], declared["delta"], path)  # refused if the file allows another
        return kept if total is None else Budget(total, kept.delta, path)
    if declared is not None:
        return Budget(declared["epsilon"], declared["delta"], path)
    return Budget(options.epsilon if total is None else total, options.delta, path)


def _show(plan: Any, facts: dict[str, Any], out: str | None, json: bool, quiet: bool) -> None:
    frame = plan.to_frame()
    if json:
        output.write_json({**facts, "tables": frame.to_dict("records"), "folder": out})
        return
    if quiet and out is not None:
        output.write(out)
        return
    facts_of_plan = facts["release"]  # of levels and tables together
    output.write(
        f"{facts_of_plan['mechanism']} noise, epsilon {facts_of_plan['epsilon']:g}, delta {facts_of_plan['delta']:g}"
    )
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
