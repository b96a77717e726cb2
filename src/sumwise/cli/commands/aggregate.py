"""``sumwise aggregate``: rows of individuals to tables of counts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sumwise.cli import output
from sumwise.errors import DataError

ROWS_FOR_SPARK = 100_000_000  # DuckDB counts them in the CPU time that Spark takes for 5 million (scale page)


def command(
    source: Annotated[
        str, typer.Argument(help="CSV, Parquet or Arrow file, folder of Parquet, DuckDB database, or SQL.")
    ],
    out: Annotated[str, typer.Option(help="The folder to write; it must not exist, or be empty.")],
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            "--attribute", "-a", help="A column to count over; repeat it. Default: those with rules, else all others."
        ),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column of 0 and 1, or of classes, to sum per cell.")] = None,
    order: Annotated[int, typer.Option(help="Count every subset of this many columns.")] = 2,
    weight: Annotated[str | None, typer.Option(help="Column of row weights.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="Rows to keep, as 'age >= 18' or 'city in Bern,Rome'; repeat it.")
    ] = None,
    encode: Annotated[str | None, typer.Option(help="TOML file of rules to learn: how columns become levels.")] = None,
    encoding: Annotated[str | None, typer.Option(help="encoding.json of earlier tables, to use again.")] = None,
    schema: Annotated[
        str | None, typer.Option(help="TOML file that declares private rows, as sumwise release takes it.")
    ] = None,
    suppress_below: Annotated[
        float | None, typer.Option(help="Withhold counts above 0 and below this, and others that would show them.")
    ] = None,
    primary_only: Annotated[
        bool, typer.Option("--primary-only", help="Withhold the small counts alone; subtraction may show them.")
    ] = False,
    person: Annotated[
        str | None, typer.Option(help="Column that names persons; with --max-rows or --max-cells.")
    ] = None,
    max_rows: Annotated[int | None, typer.Option(help="Count at most this many rows of one person.")] = None,
    max_cells: Annotated[int | None, typer.Option(help="Count at most this many different rows of one person.")] = None,
    max_weight: Annotated[float | None, typer.Option(help="Clip weights to this.")] = None,
    seed: Annotated[int, typer.Option(help="Of the choice among a person's rows.")] = 0,
    table: Annotated[str | None, typer.Option(help="The table of a database file.")] = None,
    engine: Annotated[str, typer.Option(help="duckdb (here) or spark.")] = "duckdb",
    master: Annotated[str | None, typer.Option(help="Spark's master, as local[2] or spark://host:7077.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of DuckDB and of the counting.")] = None,
    memory_limit: Annotated[str | None, typer.Option(help="The most memory of DuckDB, as 2GB.")] = None,
    cells: Annotated[bool, typer.Option("--cells", help="Also write cells.parquet, one row per cell.")] = False,
    quiet: output.Quiet = False,
    json: output.Json = False,
) -> None:
    """Count rows of individuals into tables, with label sums, in one pass.

    The folder gets tables.sumwise (for sumwise release, sumwise fit and sumwise.load), summary.json, and encoding.json
    if columns were encoded. Nothing is written if anything fails.

      $ sumwise aggregate rows.parquet --label click --order 2 --out tables/

    With --schema rows are read as declared, value by value, and nothing is learned from them: --order, --table,
    --threads and --memory-limit can be combined with it.

      $ sumwise aggregate people.csv --schema people.toml --out tables/

    A file of rules for --encode has one table per attribute, as \\[age] with kind = "quantiles" and bins = 10. Rules
    of kind "target" also need, at its head, held_out = \\[\\["day", "<", 3]]: the rows to learn them from, which
    --where must leave out of the count.
    """
    from sumwise.aggregate import aggregate
    from sumwise.io.formats.tables_folder import check_free

    check_free(out)
    options = _options(engine, master, threads, memory_limit)
    if schema is not None:
        unfit = (
            attribute,
            label,
            weight,
            where,
            encode,
            encoding,
            suppress_below,
            person,
            max_rows,
            max_cells,
            max_weight,
        )
        if any(unfit) or engine != "duckdb":
            raise DataError("The schema says what is counted.", hint="leave out options that say it a second time.")
        tables = aggregate(source, read_declaration(schema), order=order, table=table, **options)
        _finish(tables, out, {"source": source, "weight": tables.provenance.weighted}, cells, quiet, json)
        return
    kinds = _columns(source, engine, table, options) if where or (not attribute and not encode and not encoding) else {}
    conditions = [parsed_condition(text, kinds) for text in where or []]
    rules = _encoding(
        source, encode, encoding, label, {**options, "engine": engine, "table": table, "where": conditions}
    )
    attributes = list(attribute or _default_attributes(kinds, rules, (label, weight, person)))
    tables = aggregate(
        source, attributes, label, order, weight, rules, engine,
        where=conditions, suppress_below=suppress_below, table=table, person=person, max_rows=max_rows,
        max_cells=max_cells, max_weight=max_weight, seed=seed, complementary=not primary_only,
        verbose=int(not quiet), **options,
    )  # fmt: skip
    if engine == "spark" and tables.n is not None and weight is None and tables.n < ROWS_FOR_SPARK:
        output.warn(
            f"Spark costs about 20 times DuckDB's CPU. Hint: below {ROWS_FOR_SPARK:,} rows use --engine duckdb."
        )
    _finish(tables, out, {"source": source, "weight": weight}, cells, quiet, json)


def read_declaration(path: str) -> Any:
    """The declaration of private rows that a TOML file holds."""
    from sumwise.encoding import Declaration
    from sumwise.io.documents import read_named, read_toml

    return Declaration.from_dict(read_named(read_toml, path))


def _options(engine: str, master: str | None, threads: int | None, memory_limit: str | None) -> dict[str, Any]:
    given = {"master": master} if engine == "spark" else {"threads": threads, "memory_limit": memory_limit}
    unfit = {"threads": threads, "memory-limit": memory_limit} if engine == "spark" else {"master": master}

    for name, value in unfit.items():
        if value is not None:
            raise DataError(f"--{name} has no meaning with engine {engine!r}.")
    return {k: v for k, v in given.items() if v is not None}


def _columns(source: str, engine: str, table: str | None, options: dict[str, Any]) -> dict[str, str]:
    """The columns of the source, and what they hold."""
    from sumwise.aggregate.rows_to_tables import opened

    with opened(source, (), engine, table, **options) as found:
        return {c.name: c.kind for c in found.columns.values()}


def parsed_condition(text: str, kinds: dict[str, str]) -> tuple:
    """``"age >= 18"`` as (column, operation, value), with the value in the column's kind."""
    from sumwise import checks
    from sumwise.aggregate.plan import OPERATIONS

    for operation in sorted(OPERATIONS, key=len, reverse=True):
        column, sign, value = text.partition(f" {operation} ")
        if not sign and text.endswith(f" {operation}") and "missing" in operation:
            column, sign, value = text[: -len(operation) - 1], operation, ""
        if sign:
            column, value = column.strip(), value.strip()
            checks.known(column, kinds, "column")
            if operation.endswith("missing"):
                return column, operation
            listed = [v.strip() for v in value.split(",")] if operation.endswith("in") else [value]
            values = [_value(v, kinds[column], text) for v in listed]
            return column, operation, values if operation.endswith("in") else values[0]
    raise DataError(f"The condition {text!r} has no operation.", hint="write it as 'age >= 18', with spaces.")


def _value(text: str, kind: str, condition: str) -> Any:
    if kind == "bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind != "number":
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise DataError(f"The condition {condition!r} compares a number with {text!r}.") from None


def _encoding(source: str, encode: str | None, encoding: str | None, label: str | None, options: dict[str, Any]) -> Any:
    from sumwise.encoding import Encoding
    from sumwise.io.documents import read_json, read_named

    if encode is not None and encoding is not None:
        raise DataError("Both --encode and --encoding are given.", hint="learn rules, or use those of earlier tables.")
    if encoding is not None:
        return Encoding.from_dict(read_named(read_json, encoding))
    if encode is None:
        return None
    from sumwise.aggregate import fit_encoding

    data = read_rules(encode)
    label = data.pop("label") if isinstance(data.get("label"), str) else label
    held_out = data.pop("held_out") if isinstance(data.get("held_out"), list) else None
    if not held_out:
        return data  # learned as the rows are counted
    _check_held_out(source, held_out, encode, **options)
    return fit_encoding(source, data, label, held_out, **options)


def read_rules(path: str) -> dict[str, Any]:
    """The rules of a TOML file, as `Encoding.fit` takes them."""
    from sumwise.io.documents import read_named, read_toml

    given = read_named(read_toml, path).items()
    return {name: rule["at"] if isinstance(rule, dict) and set(rule) == {"at"} else rule for name, rule in given}


def _check_held_out(
    source: str, held_out: list, path: str, *, where: list, engine: str, table: str | None, **options: Any
) -> None:
    """Rows that target rules learn their label from must not be counted."""

    rows = _n_rows(source, [*where, *held_out], engine=engine, table=table, **options)
    if rows:
        raise DataError(
            f"{rows} of the rows to count are held out in {path!r}: target rules learn from their labels.",
            hint="leave them out of the count by --where.",
        )


def _n_rows(source: str, conditions: list, *, engine: str, table: str | None, **options: Any) -> int:
    """How many rows meet all conditions, whatever their weights."""
    from sumwise.aggregate import first_pass
    from sumwise.aggregate.plan import checked_conditions
    from sumwise.aggregate.rows_to_tables import opened

    met = checked_conditions(conditions)
    with opened(source, tuple(dict.fromkeys(c for c, _, _ in met)), engine, table, **options) as found:
        return first_pass.matching_rows(found, met)


def _default_attributes(kinds: dict[str, str], rules: Any, others: tuple[str | None, ...]) -> list[str]:
    """The attributes that rules list, or all columns but those with another part and a frame's index."""
    from sumwise.io.formats.sheet import is_index

    return (
        [c for c in kinds if c not in others and not is_index(c)]
        if rules is None
        else list(getattr(rules, "attributes", rules))
    )


def _finish(tables: Any, out: str, source: dict[str, Any], cells: bool, quiet: bool, json: bool) -> None:
    """Write the folder and say what is in it."""
    from sumwise.io.formats.tables_folder import write_tables_folder

    write_tables_folder(tables, out, source, cells)
    facts = {**tables.describe(), "folder": out}
    if json:
        output.write_json(facts)
    elif quiet:
        output.write(out)
    else:
        weighted = " by weight" if source["weight"] else ""
        n = "" if tables.n is None else f", {tables.n:,.0f} rows{weighted}"
        output.write(f"{len(tables)} tables, {facts['cells']:,} cells{n}: {out}")
