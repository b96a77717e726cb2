"""aggregate: run a plan on an engine, and give back containers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.aggregate import first_pass, sql
from sumwise.aggregate.contributions import bound_rows
from sumwise.aggregate.counters import Counter, FilledCounter, Several, check_memory, filled_only
from sumwise.aggregate.plan import CountPlan, checked_conditions
from sumwise.aggregate.sources import is_query
from sumwise.aggregate.suppression import suppressed
from sumwise.domain import Domain
from sumwise.encoding import Declaration, Encoding
from sumwise.encoding.learning import fitted_rule, learned_names, parsed_spec
from sumwise.encoding.rules import Levels
from sumwise.errors import DataError
from sumwise.io.documents import file_digest
from sumwise.io.formats.connection import files_named
from sumwise.io.remote import is_remote
from sumwise.margins import Margins
from sumwise.progress import Progress
from sumwise.provenance import Provenance
from sumwise.sparse_table import table_of_arrays, table_of_cells
from sumwise.table import Table, title
from sumwise.tables import Tables

ENGINES = ("duckdb", "spark")
COUNTING = ("native", "sql")


def aggregate(
    source: Any,
    attributes: Any,
    label: str | None = None,
    order: int = 2,
    weight: str | None = None,
    encoding: Encoding | Mapping[str, Any] | None = None,
    engine: str = "duckdb",
    *,
    subsets: Any = None,
    where: Any = (),
    domain: Domain | None = None,
    suppress_below: float | None = None,
    table: str | None = None,
    person: str | None = None,
    max_rows: int | None = None,
    max_cells: int | None = None,
    max_weight: float | None = None,
    seed: int = 0,
    complementary: bool = True,
    **options: Any,
) -> Tables:
    """Count rows into tables: every subset of attributes, with label sums, in one pass over the rows.

    Parameters
    ----------
    source : path, frame, SQL query or Spark frame
        A CSV (also gzip), Parquet or Arrow file, a folder of Parquet files, a DuckDB database, a pandas, polars or
        pyarrow frame, a query that begins with SELECT, or (with ``engine="spark"``) a Spark frame.
    attributes : list of str, or Declaration
        Columns, or attributes of `encoding`. A `sumwise.encoding.Declaration` says all that is known of private rows:
        label, weight, person and levels; only `order`, `subsets`, `table` and options of DuckDB go with it.
    label : str, optional
        A column of 0 and 1 gives label sums; any other column one class per distinct value.
    order : int, default 2
        Count every subset of this many attributes.
    weight : str, optional
        Column of row weights, 0 or more.
    encoding : Encoding, or mapping of rules to learn, optional
        How raw columns become levels; it runs inside the engine and travels with the tables. A mapping, as in
        :func:`fit_encoding`, is learned from the rows first, without reading them twice.
    engine : {"duckdb", "spark"}
        Where to count.
    subsets, where, domain, suppress_below, complementary, table
        As in :class:`CountPlan`.
    person, max_rows, max_cells, max_weight, seed
        Bounds on what one person contributes, as in :class:`CountPlan`. The tables' provenance states them, and
        :func:`sumwise.privacy.release` derives its sensitivity from them.
    **options
        ``counting="native"`` (one pass through a compiled kernel) or ``"sql"`` (one GROUPING SETS statement);
        ``verbose=1`` shows progress. DuckDB takes ``threads`` and ``memory_limit``; Spark takes ``master`` and
        ``session``.

    Returns
    -------
    Tables
        Exact, equal on every engine to ``Tables.from_frame`` of the same rows.

    See Also
    --------
    aggregate_margins : Row and column totals by unit.
    aggregate_bags : Individuals in bags.
    fit_encoding : Rules that turn columns into levels.

    Examples
    --------
    >>> import pandas as pd
    >>> from sumwise.aggregate import aggregate
    >>> rows = pd.DataFrame({"sex": ["f", "m", "m"], "age": [1, 2, 2], "click": [1, 0, 1]})
    >>> tables = aggregate(rows, ["sex", "age"], label="click")
    >>> tables["sex", "age"].counts
    array([[1., 0.],
           [0., 2.]])
    >>> tables["sex", "age"].label_sums
    array([[1., 0.],
           [0., 1.]])
    """

    if isinstance(attributes, Declaration):
        return _declared(source, attributes, order, subsets, engine, table, options)

    def planned(encoding: Encoding | None) -> CountPlan:
        return CountPlan(
            source, attributes, label, order, subsets, where, weight, domain, encoding, suppress_below, table,
            person, max_rows, max_cells, max_weight, seed, complementary,
        )  # fmt: skip

    if not isinstance(encoding, Mapping):
        return run(planned(encoding), engine, **options)
    asked, conditions = parsed_spec(encoding), checked_conditions(where)
    own = [a.get("column", n) if isinstance(a, dict) else getattr(a, "column", None) for n, a in asked.items()]
    used = [
        *own,
        *(a for a in attributes if a not in asked),
        label,
        weight,
        person,
        *(c for c, *_ in conditions),
    ]
    columns = tuple(dict.fromkeys(c for c in used if c is not None and c not in _crosses(asked)))
    counting, verbose = options.pop("counting", "native"), options.pop("verbose", 0)
    with opened(source, columns, engine, table, **options) as opened_engine:
        plan = planned(_learned(opened_engine, asked, conditions, (), label))
        return _counted_on(plan, opened_engine, counting, verbose)


def _declared(
    source: Any, declaration: Declaration, order: int, subsets: Any, engine: str, table: str | None, options: Any
) -> Tables:
    """Count declared rows, whose rules are all public."""
    from sumwise.aggregate.declared import count_declared, declared_rows  # it counts by this module

    if engine != "duckdb":
        raise DataError("Declared rows are counted on DuckDB.", hint="leave engine out.")
    if declaration.learned:
        raise DataError(
            f"The levels of {title(list(declaration.learned))} are to be learned privately.",
            hint="use sumwise.privacy.release_rows, or count with the encoding of private_encoding.",
        )
    with declared_rows(source, declaration, table=table, **options) as rows:
        return _with_source(count_declared(rows, declaration, Encoding(declaration.attributes), order, subsets), source)


def _crosses(asked: dict[str, Any]) -> set[str]:
    """Attributes that are made of others, and have no column."""
    return {n for n, a in asked.items() if (a["kind"] == "cross" if isinstance(a, dict) else a.kind == "cross")}


def run(
    plan: CountPlan, engine: str = "duckdb", *, counting: str = "native", verbose: int = 0, **options: Any
) -> Tables:
    """Count a plan's tables on an engine.

    Parameters
    ----------
    plan : CountPlan
        What to count.
    engine : {"duckdb", "spark"}, default "duckdb"
        Where rows are counted.
    counting : {"native", "sql"}, default "native"
        By compiled code over batches of rows, or by SQL alone.
    verbose : int, default 0
        1 shows progress.
    **options
        Options of the engine: `threads` and `memory_limit`, or `master` and `session` of Spark.

    See Also
    --------
    aggregate : Plan and count in one call.

    Examples
    --------
    >>> from sumwise.aggregate import CountPlan, run
    >>> run(CountPlan({"a": [0, 1, 1]}, ["a"], order=1))["a"].counts
    array([1., 2.])
    """
    checks.choice(counting, "counting", COUNTING)
    source = opened(plan.source, needed_columns(plan), engine, plan.table, **options)
    with source as opened_engine:
        return _counted_on(plan, opened_engine, counting, verbose)


def _counted_on(plan: CountPlan, engine: Any, counting: str, verbose: int) -> Tables:
    """Count a plan on an engine that has its source open."""
    bound_rows(plan, engine, needed_columns(plan))
    return _with_source(_counted(plan, engine, counting, verbose), plan.source)


def opened(source: Any, columns: tuple[str, ...], engine: str, table: str | None, **options: Any) -> Any:
    """A source on its engine; use it as a context manager."""
    checks.choice(engine, "engine", ENGINES)
    if engine == "spark":
        from sumwise.aggregate.on_spark import SparkEngine as Engine
    else:
        from sumwise.aggregate.on_duckdb import DuckDBEngine as Engine
    for name in options:
        checks.known(name, ("counting", "verbose", *Engine.OPTIONS), f"option of engine {engine!r}")
    return Engine(source, columns, table, **options)


def needed_columns(plan: CountPlan) -> tuple[str, ...]:
    """The columns of the source that a plan reads, each once."""
    given = () if plan.encoding is None else plan.encoding.attributes
    ruled = [a for a in plan.attributes if a in given]
    columns = [a for a in plan.attributes if a not in given]
    if ruled and plan.encoding is not None:
        columns += plan.encoding.project(ruled).columns
    columns += [c for c in (plan.label, plan.weight, plan.person) if c is not None]
    return tuple(dict.fromkeys([*columns, *(c for c, _, _ in plan.where)]))


def _counted(plan: CountPlan, engine: Any, counting: str, verbose: int) -> Tables:
    n_rows = first_pass.check_rows(plan, engine)
    classes = None if plan.label is None else first_pass.classes_of(plan, engine)
    encoding, ranges = first_pass.full_encoding(plan, engine, n_rows)
    sizes = [len(encoding[a].levels) for a in plan.attributes]
    place = {a: i for i, a in enumerate(plan.attributes)}
    subsets = [tuple(place[a] for a in s) for s in plan.wanted]
    n_classes = None if classes is None else len(classes)
    with_classes = [(*s, len(sizes)) for s in subsets], [*sizes, n_classes or 1]
    check_memory(*with_classes, [*plan.attributes, plan.label or "label"], n_rows)
    sparse = [False] * len(subsets) if ranges else filled_only(*with_classes, n_rows)  # ranges: of small tables alone
    statement = code_statement(plan, encoding, classes, engine)
    full, large = ([s for s, only in zip(subsets, sparse) if only == wanted] for wanted in (False, True))
    weighted = plan.weight is not None
    labels = n_classes or (1 if plan.label is None else 2)
    streamed = FilledCounter(large, sizes, labels, weighted)
    if plan.suppress_below or counting != "native" or not engine.sends_rows or not streamed.holds():
        streamed = FilledCounter([], sizes)  # the engine groups them, one after the other
    counted: list | None = []
    with Progress("Counting rows", n_rows, verbose) as progress:
        if full or streamed.subsets:
            counter = Counter(full, sizes, n_classes, weighted, getattr(engine, "threads", None)) if full else None
            if counting == "native":
                both = Several(*filter(None, [counter]), streamed) if streamed.subsets else counter
                seen = engine.count(statement, both, progress)
                counted = None if not seen else counter.tables() if counter else []
            elif counter:
                counted = _count_by_sql(statement, counter, engine, plan.label is not None)
                progress.step(n_rows)
    if counted is None:
        filled = None
    elif streamed.subsets:
        filled = [_streamed_table(plan, streamed, i, n_classes) for i in range(len(large))]
    else:
        filled = _filled_tables(plan, large, sizes, n_classes, statement, engine, weighted)
    if counted is None or filled is None:
        first_pass.refuse_unseen(encoding, engine, lambda a: _raw_codes(plan, encoding, [a], engine))
    if filled:
        return tables_of(plan, encoding, classes, [filled.pop(0) if only else counted.pop(0) for only in sparse])
    encoding, counted = first_pass.without_empty_levels(encoding, ranges, plan.wanted, counted)
    first_pass.refuse_identifiers({a: len(encoding[a].levels) for a in ranges}, n_rows)
    return tables_of(plan, encoding, classes, counted)


def _streamed_table(plan: CountPlan, counter: FilledCounter, i: int, n_classes: int | None) -> Table:
    """A table by its filled cells, from the rows that went by."""
    subset = counter.subsets[i]
    cells, labels, n = counter.filled(i)
    sums: Any = None if plan.label is None else np.where(labels == 1, n, 0.0)
    if n_classes is not None:
        sums = (np.where(labels == k, n, 0.0) for k in range(n_classes))
    shape = tuple(counter.sizes[a] for a in subset)
    return table_of_cells([plan.attributes[a] for a in subset], shape, cells, n, sums)


def _filled_tables(
    plan: CountPlan, subsets: list, sizes: list[int], n_classes: int | None, statement: sql.Statement, engine: Any,
    weighted: bool,
) -> list[Table] | None:  # fmt: skip
    """Tables by their filled cells, each grouped by the engine; None if some code is negative."""
    if subsets and plan.suppress_below:
        raise DataError(
            "Small counts can't be withheld from tables that are counted by their filled cells alone.",
            hint="merge levels: such tables have millions of cells.",
        )
    out = []
    for subset in subsets:
        inner = statement.text(engine.dialect.source)
        found = engine.table(sql.grouped(inner, [subset], n_classes, plan.label is not None, weighted))
        codes = [found.column(f"a{a}").to_numpy().astype(np.int64) for a in subset]
        if any(len(c) and c.min() < 0 for c in codes):
            return None
        shape = tuple(sizes[a] for a in subset)
        cells = np.asarray(np.ravel_multi_index(tuple(codes), shape))
        n = found.column("n").to_numpy().astype(float)
        sums: Any = found.column("s").to_numpy().astype(float) if "s" in found.column_names else None
        if n_classes is not None:
            y = found.column("y").to_numpy()
            sums = (np.where(y == k, n, 0.0) for k in range(n_classes))
        out.append(table_of_cells([plan.attributes[a] for a in subset], shape, cells, n, sums))
    return out


def _raw_codes(plan: CountPlan, encoding: Encoding, attributes: Any, engine: Any) -> sql.Statement:
    where = sql.condition(engine.columns, plan.where, engine.dialect)
    return sql.codes_statement(encoding, attributes, engine.columns, engine.dialect, where)


def code_statement(plan: CountPlan, encoding: Encoding, classes: tuple | None, engine: Any) -> sql.Statement:
    """Codes (-1 where there is no level) as a0, a1, ..., the label as y and the weight as w."""
    statement = _raw_codes(plan, encoding, plan.attributes, engine)
    if plan.label is not None:
        column = engine.columns[plan.label]
        y = column.sql if classes is None else sql.class_code(column, classes, statement)
        statement.add(f"CAST({y} AS INTEGER)", "y")
    if plan.weight is not None:
        weight = f"CAST({engine.columns[plan.weight].sql} AS DOUBLE)"
        most = plan.max_weight
        statement.add(weight if most is None else f"least({weight}, {engine.dialect.literal(float(most))})", "w")
    for lookup in statement.lookups:
        engine.add_lookup(lookup)
    names = [f"a{i}" for i in range(len(plan.attributes))]
    more = [n for n, given in (("y", plan.label is not None), ("w", plan.weight is not None)) if given]
    kind = "SMALLINT" if all(len(encoding[a].levels) < 2**15 for a in plan.attributes) else "INTEGER"
    whole = [f"CAST(COALESCE({n}, -1) AS {kind}) AS {n}" for n in names]
    return sql.Statement(engine.dialect, select=[*whole, *more], over=statement)


def _count_by_sql(statement: sql.Statement, counter: Counter, engine: Any, labelled: bool) -> list | None:
    """Counts and label sums of each table by one GROUPING SETS statement; None if some code is negative."""
    found = engine.table(
        sql.grouped(
            statement.text(engine.dialect.source), counter.subsets, counter.n_classes, labelled, counter.weighted
        )
    )
    column = {n: found.column(n) for n in found.column_names}
    value = {n: c.to_numpy().astype(float) for n, c in column.items() if n in ("n", "s")}
    codes = {n: c.fill_null(-2).to_numpy() for n, c in column.items() if n not in value}
    if any((c == -1).any() for c in codes.values()):
        return None
    by_class = counter.n_classes is not None
    counted = []
    for subset, wanted in zip(counter.subsets, counter.wanted):
        mine = np.ones(found.num_rows, dtype=bool)
        for name, c in codes.items():
            mine &= (c >= 0) == (name == "y" or int(name[1:]) in subset)
        cell = tuple(codes[m][mine] for m in [f"a{a}" for a in subset] + (["y"] if by_class else []))
        counts, sums = (np.zeros([int(counter.sizes[a]) for a in wanted]) for _ in range(2))
        counts[cell] = value["n"][mine]
        if "s" in value:
            sums[cell] = value["s"][mine]
        counted.append((counts.sum(axis=-1), counts) if by_class else (counts, sums))
    return counted


def tables_of(
    plan: CountPlan, encoding: Encoding, classes: tuple | None, counted: list, provenance: Provenance | None = None
) -> Tables:
    """Counted cells as tables, with how they were counted."""
    tables = []
    n = counted[0].total if isinstance(counted[0], Table) else float(counted[0][0].sum())
    withheld = _withheld(plan, encoding, counted)
    for i, (subset, found) in enumerate(zip(plan.wanted, counted)):
        if isinstance(found, Table):
            tables.append(found)
            continue
        all_counts, all_sums = found
        if withheld is not None:
            counts, sums, bounds = _suppressed(all_counts, all_sums, withheld[i], plan)
            tables.append(Table(subset, counts, None if plan.label is None else sums, bounds=bounds))
        else:
            tables.append(table_of_arrays(subset, all_counts, None if plan.label is None else all_sums))
    names = None if plan.label is None else (0, 1) if classes is None else classes
    counted_here = [a for a in encoding.attributes if a in plan.attributes]  # without the parts of crosses alone
    domain = encoding.domain.project(counted_here) if plan.domain is None else plan.domain
    kept = None if plan.encoding is None else encoding
    return Tables(tables, domain, n, plan.label, names, kept, provenance or _provenance(plan, classes))


def _provenance(plan: CountPlan, classes: tuple | None) -> Provenance:
    """How the rows were counted, as far as it decides how much one person can change the tables."""
    ruled = {} if plan.encoding is None else plan.encoding.rules
    learned = [a for a in plan.attributes if a not in ruled and (plan.domain is None or a in plan.domain.learned)]
    if plan.encoding is not None:
        learned += [a for a in plan.encoding.learned_by(plan.attributes) if a not in learned]
    learned += [plan.label] if plan.label is not None and classes is not None else []
    heaviest = None if plan.max_weight is None else float(plan.max_weight)
    releases = () if plan.encoding is None else tuple(plan.encoding.releases)
    return Provenance(
        plan.weight is not None, heaviest, plan.rows_per_person, tuple(learned), bool(plan.suppress_below), releases
    )


def _with_source(tables: Tables, source: Any) -> Tables:
    """Note the content of a local file or folder in tables, unless they have withheld cells and may be published.

    Of a query, that of the one file that it reads: of several, some may be lists of places or codes that say nothing
    about who was counted, and that other people's rows are joined to.
    """
    files = [source] if isinstance(source, str | os.PathLike) and not is_remote(source) else []
    if files and is_query(source):
        files = files_named(str(source))
    found = {file_digest(os.fspath(f)) for f in files if not tables.provenance.withheld}
    digests = tuple(d for d in found if d is not None)
    sources = digests if len(digests) == 1 else ()
    return replace(tables, provenance=replace(tables.provenance, sources=sources))


def _withheld(plan: CountPlan, encoding: Encoding, counted: list) -> list[np.ndarray] | None:
    """Which cells of each table are withheld; None where none are asked to be."""
    if not plan.suppress_below:
        return None
    if not plan.complementary:
        return [(c > 0) & (c < plan.suppress_below) for c, _ in counted]
    place = {a: i for i, a in enumerate(plan.attributes)}
    subsets = [tuple(place[a] for a in s) for s in plan.wanted]
    sizes = [len(encoding[a].levels) for a in plan.attributes]
    given = [(c, None if plan.label is None else s) for c, s in counted]
    return suppressed(subsets, sizes, given, plan.suppress_below, plan.attributes)[0]


def _suppressed(
    counts: np.ndarray, sums: np.ndarray, small: np.ndarray, plan: CountPlan
) -> tuple[np.ndarray, np.ndarray, tuple]:
    """Withhold some cells, with what remains known of them: where others than small ones are, no upper limit."""
    below = float(plan.suppress_below or 0.0)
    whole = bool(np.all(counts == np.floor(counts)))
    low = np.where(small, 1.0 if whole else 0.0, counts)
    limit = np.inf if plan.complementary else np.ceil(below) - 1 if whole else below
    high = np.where(small, limit, counts)
    sums = np.where(small if sums.ndim == counts.ndim else small[..., None], np.nan, sums)
    return np.where(small, np.nan, counts), sums, (low, high)


def aggregate_margins(
    source: Any,
    unit: str,
    rows: str,
    cols: str,
    weight: str | None = None,
    encoding: Encoding | None = None,
    engine: str = "duckdb",
    **options: Any,
) -> Margins:
    """Count rows of individuals into the row and column totals of every unit.

    Parameters
    ----------
    source
        As in :func:`aggregate`.
    unit : str
        Which unit (precinct) an individual is of.
    rows, cols : str
        The two attributes whose totals are kept (and whose cells are not), say group and vote.
    weight, encoding, engine, **options
        As in :func:`aggregate`; also ``where`` and ``table``.

    See Also
    --------
    aggregate : Tables of counts.

    Examples
    --------
    >>> from sumwise.aggregate import aggregate_margins
    >>> voters = {"precinct": ["p", "p", "q"], "group": ["a", "b", "b"], "vote": ["yes", "no", "no"]}
    >>> margins = aggregate_margins(voters, unit="precinct", rows="group", cols="vote")
    >>> margins.rows
    array([[1., 1.],
           [0., 1.]])
    >>> margins.col_names
    ('no', 'yes')
    """
    for name in ("label", "order", "subsets", "suppress_below"):
        if name in options:
            raise DataError(f"Margins have no {name!r}.", hint="use aggregate for tables.")
    tables = aggregate(
        source, [unit, rows, cols], weight=weight, encoding=encoding, engine=engine,
        subsets=[(unit, rows), (unit, cols)], **options,
    )  # fmt: skip
    by_row, by_col = tables[unit, rows].counts, tables[unit, cols].counts
    row_names, col_names = (tuple(map(str, tables.domain.levels(a))) for a in (rows, cols))
    return Margins(by_row, by_col, tables.domain.levels(unit), row_names, col_names)


def fit_encoding(
    source: Any, spec: Any, label: str | None = None, held_out: Any = None, engine: str = "duckdb", **options: Any
) -> Encoding:
    """Learn an encoding inside an engine, from more rows than fit into memory.

    Parameters
    ----------
    source
        As in :func:`aggregate`.
    spec : mapping
        As in :meth:`Encoding.fit`.
    label : str, optional
        Column of 0 and 1; needed by target encoding alone.
    held_out : list of conditions, optional
        Which rows target encoding learns from, as in ``where`` of :class:`CountPlan`. Count the other rows
        afterwards.
    engine : {"duckdb", "spark"}
    **options
        As in :func:`aggregate`; also ``table``, and ``where`` for the rows that all other rules learn from.

    See Also
    --------
    aggregate : Tables of counts.

    Examples
    --------
    >>> from sumwise.aggregate import fit_encoding
    >>> fit_encoding({"x": [1, 2, 3, 4]}, {"x": {"kind": "quantiles", "bins": 2}})["x"].edges
    (2.5,)
    """
    asked = parsed_spec(spec)
    where, held_out = checked_conditions(options.pop("where", ())), checked_conditions(held_out)
    needed = [a.get("column", n) for n, a in asked.items() if isinstance(a, dict) and a["kind"] != "cross"]
    needed += [*([label] if label in needed or _targets(asked) else []), *(c for c, _, _ in (*where, *held_out))]
    table = options.pop("table", None)
    with opened(source, tuple(dict.fromkeys(needed)), engine, table, **options) as opened_engine:
        return _learned(opened_engine, asked, where, held_out, label)


def _targets(asked: dict[str, Any]) -> list[str]:
    """Attributes that are to be target encoded."""
    return [n for n, a in asked.items() if isinstance(a, dict) and a["kind"] == "target"]


def _learned(engine: Any, asked: dict[str, Any], where: Any, held_out: Any, label: str | None) -> Encoding:
    """The rules that were asked for, learned inside an engine."""
    target = _targets(asked)
    if target and (not held_out or label is None):
        raise DataError(
            f"Target encoding of {min(target)!r} needs a label and held-out rows.",
            hint="pass label='...' and held_out=[('day', '<', 3)] to fit_encoding.",
        )
    kept, out = (sql.condition(engine.columns, conditions, engine.dialect) for conditions in (where, held_out))
    rules = {}
    for name, a in asked.items():
        summary = None
        if isinstance(a, dict) and a["kind"] != "cross":
            summary = first_pass.EngineSummary(engine, a.get("column", name), out if name in target else kept, label)
        rules[name] = fitted_rule(name, a, summary)
    listed = {n: len(r.values) for n, r in rules.items() if isinstance(r, Levels) and n in learned_names(asked)}
    if listed:
        first_pass.refuse_identifiers(listed, int(first_pass.summary_of(engine, "count(*) AS n", kept)["n"]))
    return Encoding(rules, learned_names(asked))
