"""``sumwise release``: tables to differentially private tables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from dataclasses import replace as replaced
from pathlib import Path
from typing import Annotated, Any

import typer

from sumwise.cli import output
from sumwise.errors import DataError

ORDER = 30


def command(
    tables: Annotated[str | None, typer.Argument(help="A folder that sumwise aggregate wrote.")] = None,
    rows: Annotated[
        str | None, typer.Option(help="Rows of individuals instead: a file, counted and released in one go.")
    ] = None,
    encode: Annotated[
        str | None, typer.Option(help="With --rows: TOML file of rules; cut points and levels are learned privately.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="With --rows: column of 0 and 1, or of classes.")] = None,
    order: Annotated[int, typer.Option(help="With --rows: count every subset of this many attributes.")] = 2,
    person: Annotated[str | None, typer.Option(help="With --rows: column that names persons.")] = None,
    level_share: Annotated[
        float, typer.Option(help="With --rows: share of the budget for cut points and levels.")
    ] = 0.1,
    select: Annotated[
        str | None,
        typer.Option(
            help="Choose pairs privately: adaptive or tree (gaussian noise). For a classifier, release all pairs."
        ),
    ] = None,
    out: Annotated[str | None, typer.Option(help="The folder to write; it must not exist, or be empty.")] = None,
    epsilon: Annotated[float, typer.Option(help="Privacy loss of this release.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Needed for gaussian, as 1e-6.")] = 0.0,
    mechanism: Annotated[str, typer.Option(help="geometric, laplace or gaussian.")] = "geometric",
    max_rows: Annotated[
        int | None, typer.Option(help="The most rows that one person has. Default: as counted, else 1.")
    ] = None,
    rows_per_person: Annotated[int | None, typer.Option(help="Old name of --max-rows.", hidden=True)] = None,
    max_weight: Annotated[
        float | None, typer.Option(help="The largest weight of a row; needed where rows were weighted.")
    ] = None,
    public_levels: Annotated[
        bool, typer.Option("--public-levels", help="Declare levels and cut points that were read from the rows public.")
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
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """Add noise to tables so that they reveal little about any one person.

    The privacy loss is written to a ledger beside the tables before any noise is drawn, and a release that would
    overdraw it is refused: running the same command twice is an error, not a second draw. So is a release of the
    same tables, or of other tables of the same file of rows, from another ledger or from a copied folder. The noisy
    tables state their noise.

      $ sumwise release tables/ --epsilon 1 --plan
      $ sumwise release tables/ --epsilon 1 --out noisy/

    With --rows nothing exact is written: levels and cut points are learned privately by the rules of --encode, the
    rows are counted in memory, and the tables released, all from one ledger, FILE.budget.json beside the rows. Links
    to the rows and copies of them have no ledger of their own.

      $ sumwise release --rows people.parquet --encode rules.toml --label ill --mechanism gaussian --delta 1e-6 \\
            --epsilon 1 --out noisy/
    """
    from sumwise.aggregate import aggregate
    from sumwise.readers import read_tables_folder
    from sumwise.readers.tables_folder import check_free, new_folder
    from sumwise.storage.documents import file_digest

    if out is None and not plan:
        raise DataError("There is no --out.", hint="name a folder, or ask for --plan.")
    if out is not None:
        check_free(out)
    if (tables is None) == (rows is None):
        raise DataError("Give a folder of tables, or --rows.", hint="sumwise release --help shows both.")
    if plan and rows is not None:
        raise DataError("--plan needs tables.", hint="cut points and levels are learned first, and that costs.")
    max_rows = _renamed(max_rows, rows_per_person)
    options = Release(epsilon, delta, mechanism, max_rows, max_weight, replace, public_levels, select, int(not quiet))
    if rows is None:
        exact = read_tables_folder(tables or "")
        arithmetic, facts = options.planned(exact)
        if not plan and out is not None:
            with new_folder(out, reserve=2**20 + 64 * sum(arithmetic.cells)) as building:  # before anything is spent
                ledger = _ledger(Path(tables or "") / "budget.json", budget, total_epsilon, epsilon, delta)
                options.write(exact, ledger, building, out, facts, cells)
        _show(arithmetic, facts, out if not plan else None, json, quiet)
        return
    with new_folder(out or "", reserve=2**24) as building:
        beside = os.path.realpath(rows) if os.path.exists(rows) else rows.rstrip("/")  # links to rows are those
        ledger = _ledger(Path(f"{beside}.budget.json"), budget, total_epsilon, epsilon, delta)
        digest = file_digest(rows)
        ledger.source = () if digest is None else (digest,)
        levels, rest = options.split(0.0 if encode is None else level_share)
        if encode is not None:
            _check_before_spending(rows, label, person, rest)
        encoding = _private_encoding(rows, encode, rest, levels, person, ledger)
        bounds = {} if person is None else {"person": person, "max_rows": max_rows or 1}
        attributes = list(encoding.attributes) if encoding is not None else _columns(rows, label, person)
        exact = aggregate(rows, attributes, label, order, encoding=encoding, **bounds, verbose=int(not quiet))
        arithmetic, facts = rest.planned(exact)
        rest.write(exact, ledger, building, out or "", facts, cells)
    _show(arithmetic, facts, out, json, quiet)


def _renamed(max_rows: int | None, old: int | None) -> int | None:
    """The most rows of a person, under the name that `sumwise aggregate` has for it or the one it had here."""

    if old is None:
        return max_rows
    if max_rows is not None:
        raise DataError("--rows-per-person is the old name of --max-rows; both are given.", hint="leave the old out.")
    output.warn(
        "--rows-per-person is now called --max-rows, as in sumwise aggregate; the old name will be removed in 0.3."
    )
    return old


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
    select: str | None
    verbose: int = 1

    def split(self, share: float) -> tuple[Any, Release]:
        """The loss of levels and cut points, by their share of the budget, and the release that has the rest."""
        from sumwise.privacy.private_levels import split_loss

        if not 0 <= share < 1:
            raise DataError(f"--level-share is {share:g}.", hint="give a number between 0 and 1, as 0.1.")
        if not share:
            return None, self
        unit = "rho" if self.select is not None else "mu" if self.mechanism == "gaussian" else "epsilon"
        levels, epsilon, delta = split_loss(self.epsilon, self.delta, share, unit if self.delta else "epsilon")
        return levels, replaced(self, epsilon=epsilon, delta=delta)

    def planned(self, exact: Any) -> tuple[Any, dict[str, Any]]:
        """The arithmetic of a release, and its facts."""
        from sumwise.privacy import plan_release

        bounds = _bounds(exact, self.rows, self.weight, self.replace)
        mechanism = self.mechanism if self.select is None else "gaussian"
        plan = plan_release(exact, self.epsilon, self.delta, mechanism, bounds, public_levels=self.public_levels)
        return plan, {"release": plan.describe()}

    def write(self, exact: Any, ledger: Any, building: Path, out: str, facts: dict[str, Any], cells: bool) -> None:
        """Spend, draw the noise, and write the result."""
        from sumwise.privacy import release, release_selected
        from sumwise.readers.tables_folder import free_reserve, write_into

        bounds = _bounds(exact, self.rows, self.weight, self.replace)
        more = {"public_levels": self.public_levels, "what": f"release to {out}", "verbose": self.verbose}
        if self.select is None:
            noisy = release(exact, self.epsilon, self.delta, self.mechanism, bounds, ledger, **more)
        else:
            noisy = release_selected(exact, self.epsilon, self.delta, bounds, ledger, method=self.select, **more)
        facts["budget"] = ledger.describe()
        free_reserve(building)
        write_into(noisy, building, facts, cells)


def _private_encoding(
    rows: str, encode: str | None, options: Release, levels: Any, person: str | None, ledger: Any
) -> Any:
    from sumwise.cli.commands.aggregate import read_rules
    from sumwise.privacy import PersonBounds
    from sumwise.privacy.private_levels import learned_privately
    from sumwise.readers.files import open_sheet

    if encode is None:
        return None
    spec = read_rules(encode)
    frame = open_sheet(rows, None, None).frame
    bounds, what = PersonBounds(options.rows or 1, replace=options.replace), f"levels of {Path(rows).name}"
    return learned_privately(frame, spec, levels, bounds, ledger, person=person, what=what)


def _check_before_spending(rows: str, label: str | None, person: str | None, options: Release) -> None:
    """Refuse, before levels are paid for, what the release of the tables would refuse after."""
    from sumwise import Domain, Table, Tables, checks
    from sumwise.aggregate import CountPlan, first_pass
    from sumwise.aggregate.rows_to_tables import opened
    from sumwise.provenance import Provenance

    learned: tuple[str, ...] = ()
    with opened(rows, (), "duckdb", None) as found:
        for name in (label, person):
            if name is not None:
                checks.known(name, tuple(found.columns), "column")
        plan = None if label is None else CountPlan(rows, tuple(c for c in found.columns if c != label), label, order=1)
        if plan is not None and first_pass.classes_of(plan, found) is not None:
            learned = (str(label),)
    like = Provenance(weighted=False, rows_per_person=None if person is None else options.rows or 1, learned=learned)
    options.planned(Tables([Table("x", [1.0, 1.0])], Domain({"x": 2}), label=label, provenance=like))


def _columns(rows: str, *others: str | None) -> list[str]:
    from sumwise.aggregate.rows_to_tables import opened
    from sumwise.readers.sheet import is_index

    with opened(rows, (), "duckdb", None) as found:
        return [c for c in found.columns if c not in others and not is_index(c)]


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


def _ledger(default: Path, budget: str | None, total: float | None, epsilon: float, delta: float) -> Any:
    from sumwise.privacy import Budget

    path = default if budget is None else Path(budget)
    if default.exists() and path.resolve() != default.resolve() and Budget.from_file(default).entries:
        raise DataError(
            f"{str(default)!r} has recorded releases, and --budget names another ledger, {str(path)!r}.",
            hint="leave --budget out: what was released before stays released.",
        )
    if path.exists():
        kept = Budget.from_file(path)
        return kept if total is None else Budget(total, kept.delta, path)
    return Budget(epsilon if total is None else total, delta, path)


def _show(plan: Any, facts: dict[str, Any], out: str | None, json: bool, quiet: bool) -> None:
    frame = plan.to_frame()
    if json:
        output.write_json({**facts, "tables": frame.to_dict("records"), "folder": out})
        return
    if quiet and out is not None:
        output.write(out)
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
