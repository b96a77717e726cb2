"""One suite for all engines: whatever counts, the tables equal a plain pandas count."""

import numpy as np
import pandas as pd
import pytest

from brute_aggregate import count_by_pandas
from messages import raises
from nasty_names import NASTY_NAMES
from sumwise import Domain, Margins, Tables
from sumwise.aggregate import CountPlan, aggregate, aggregate_margins, fit_encoding, run
from sumwise.encoding import Encoding
from sumwise.errors import DataError, UnknownName
from sumwise.sparse_table import SparseTable

N = NASTY_NAMES
ATTRIBUTES = [N[k] for k in ("text", "number", "flag", "upper", "lower", "dots")]


def assert_counted(tables, frame, label=None, weight=None, levels=None):
    """Every table equals one pandas groupby over columns that hold levels."""
    levels = levels or {a: tables.domain.levels(a) for a in tables.domain}
    for t in tables:
        counts, sums = count_by_pandas(frame, t.attributes, levels, label, weight)
        assert np.allclose(t.counts, counts, rtol=1e-12, atol=0)
        if label is not None:
            assert np.allclose(t.label_sums, sums, rtol=1e-12, atol=0)


@pytest.mark.parametrize("counting", ["native", "sql"])
def test_all_pairs_of_nasty_names_equal_pandas(engine, rows, counting):
    tables = aggregate(rows, ATTRIBUTES, label=N["label"], engine=engine, counting=counting)
    assert len(tables) == 15
    assert_counted(tables, rows, N["label"])
    assert tables == Tables.from_frame(rows, ATTRIBUTES, label=N["label"])


@pytest.mark.parametrize("counting", ["native", "sql"])
def test_classes_weights_subsets_and_conditions_equal_pandas(engine, rows, counting):
    plan = CountPlan(
        rows,
        [N["text"], N["upper"], N["flag"]],
        label=N["kind"],
        weight=N["weight"],
        subsets=[(N["text"],), (N["upper"], N["flag"], N["text"])],
        where=[(N["number"], ">", -3), (N["text"], "not in", ["select", "a\nb"]), (N["flag"], "!=", True)],
        domain=Domain({N["flag"]: [False, True], N["upper"]: 3, N["text"]: sorted(set(rows[N["text"]]))}),
    )
    tables = run(plan, engine, counting=counting)
    kept = rows[(rows[N["number"]] > -3) & ~rows[N["text"]].isin(["select", "a\nb"]) & ~rows[N["flag"]]]
    assert_counted(tables, kept, weight=N["weight"])
    assert tables.classes == ("blue's", "green", "red")
    for k, name in enumerate(tables.classes):
        chosen = kept.assign(is_class=(kept[N["kind"]] == name).astype(float))
        for t in tables:
            levels = {a: tables.domain.levels(a) for a in t.attributes}
            _, sums = count_by_pandas(chosen, t.attributes, levels, "is_class", N["weight"])
            assert np.allclose(t.label_sums[..., k], sums, rtol=1e-12)


SPEC = {
    "cuts": {"kind": "quantiles", "column": "x", "bins": 5},
    "width": {"kind": "width", "column": "x32", "bins": 3},
    "rare": {"kind": "levels", "column": "city", "min_count": 40, "other": "(other)"},
    "hash": {"kind": "hash", "column": "site", "cells": 13, "salt": 2},
    "hash text": {"kind": "hash", "column": "city", "cells": 5},
    "target": {"kind": "target", "column": "site", "count_bins": 2, "rate_bins": 3},
    "cross": {"kind": "cross", "of": ["cuts", "rare"], "cells": 9, "salt": 4},
}


@pytest.fixture(scope="module")
def raw():
    rng = np.random.default_rng(5)
    n = 600
    x = rng.normal(size=n)
    x[rng.random(n) < 0.05] = np.nan
    city = rng.choice(["Bern", "Rome", "it's", "rare 'one'", "ß"], n, p=[0.4, 0.3, 0.2, 0.05, 0.05]).astype(object)
    city[rng.random(n) < 0.05] = None
    site = rng.integers(0, 60, n).astype(float)
    return pd.DataFrame(
        {
            "x": x,
            "x32": rng.normal(size=n).astype(np.float32),
            "city": city,
            "site": site,
            "plain": rng.integers(0, 2, n),
            "day": rng.integers(0, 4, n),
            "y": rng.integers(0, 2, n),
        }
    )


@pytest.mark.parametrize("counting", ["native", "sql"])
def test_encoding_runs_inside_the_engine(engine, raw, counting):
    encoding = Encoding.fit(raw, SPEC, label="y", held_out=raw[raw["day"] == 0])
    attributes = [*SPEC, "plain"]
    tables = aggregate(
        raw, attributes, label="y", encoding=encoding, engine=engine, counting=counting, where=[("day", "!=", 0)]
    )
    kept = raw[raw["day"] != 0].reset_index(drop=True)
    levels = encoding.transform(kept).assign(plain=kept["plain"], y=kept["y"])
    assert_counted(tables, levels, "y")
    assert tables.encoding.attributes == tuple(attributes)
    assert tables.encoding.domain == tables.domain
    assert np.array_equal(tables.encoding.codes(kept)["cross"], encoding.codes(kept)["cross"])


def test_encoding_is_learned_inside_the_engine(engine, raw):
    here = Encoding.fit(raw, SPEC, label="y", held_out=raw[raw["day"] == 0])
    there = fit_encoding(raw, SPEC, label="y", held_out=[("day", "==", 0)], engine=engine)
    for name in SPEC:
        if name not in ("cuts", "width"):
            assert there[name] == here[name]
        else:  # engines add up in another order
            assert np.allclose(there[name].edges, here[name].edges, rtol=1e-12)


def test_parquet_file_with_nasty_names(engine, rows, tmp_path):
    path = tmp_path / 'it\'s a "file".parquet'
    rows.to_parquet(path)
    tables = aggregate(path, ATTRIBUTES, label=N["label"], engine=engine)
    assert tables == Tables.from_frame(rows, ATTRIBUTES, label=N["label"])


def test_margins_equal_from_both_engines(engine, rows):
    margins = aggregate_margins(rows, unit=N["text"], rows=N["kind"], cols=N["dots"], engine=engine)
    by_kind, by_dots = (pd.crosstab(rows[N["text"]], rows[N[k]]) for k in ("kind", "dots"))
    expected = Margins(by_kind.to_numpy(), by_dots.to_numpy(), list(by_kind.index), list(by_kind), list(by_dots))
    assert margins == expected


def test_level_outside_the_domain_is_named(engine, rows):
    domain = Domain({N["dots"]: ["q", "r"], N["upper"]: 3})
    n = int((rows[N["dots"]] == "p").sum())
    with raises(UnknownName, "attribute-no-level", n, n, "p"):
        aggregate(rows, [N["dots"], N["upper"]], domain=domain, engine=engine)


def test_level_outside_the_domain_is_found_by_sql_counting_too(rows):
    domain = Domain({N["dots"]: ["q", "r"], N["upper"]: 3})
    with raises(UnknownName, "attribute-no-level", "p"):
        aggregate(rows, [N["dots"], N["upper"]], domain=domain, counting="sql")


def test_truncated_parquet_is_refused(engine, rows, tmp_path):
    whole = tmp_path / "whole.parquet"
    rows.to_parquet(whole)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole.read_bytes()[:-200])
    with raises(DataError, "cant-read-whole"):
        aggregate(cut, ATTRIBUTES, engine=engine)


def test_attribute_that_is_not_there_is_named(engine, rows):
    with raises(UnknownName, "there-is-no", "column", "nope"):
        aggregate(rows, ["nope", N["text"]], engine=engine)


def test_missing_value_without_a_level_is_refused(engine):
    with raises(DataError, "column-missing-rows", "a", 2, 4):
        aggregate({"a": ["x", None, None, "y"], "b": [1, 2, 3, 4]}, ["a", "b"], engine=engine)


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"y": [0, 1, None]}, {"label": "y"}, ("rows-correct-such", "missing", 1, 3)),
        ({"y": [0.5, 1, 0]}, {"label": "y"}, ("label-holds-fractions", "0.5")),
        ({"y": ["a", "a", "a"]}, {"label": "y"}, ("label-single-value", "a")),
        ({"w": [1, -1, 1]}, {"weight": "w"}, ("rows-correct-such", "negative", 1, 3)),
        ({"w": [1, None, 1]}, {"weight": "w"}, ("rows-correct-such", "missing", 1, 3)),
        ({"w": [1, np.inf, 1]}, {"weight": "w"}, ("rows-correct-such", "infinite", 1, 3)),
        ({"w": ["1", "2", "3"]}, {"weight": "w"}, ("weights-column-weights", "text")),
        ({}, {"where": [("a", ">", 100)]}, ("no-rows-count",)),
        ({}, {"where": [("a", "==", "x")]}, ("condition-compares-column", "a", "number", "text")),
        ({}, {"where": [("z", "==", "x")]}, ("there-is-no", "column", "z")),
        ({}, {"engine": "dask"}, ("is-takes", "engine", "dask")),
        ({}, {"counting": "slow"}, ("is-takes", "counting", "slow")),
        ({}, {"master": "local[2]"}, ("no-option", "duckdb", "master")),
        ({}, {"threads": 0}, ("must-least", "threads", 0)),
        ({}, {"encoding": Encoding.fit({"a": ["x"]}, ["a"])}, ("column-holds-levels", "number", "text")),
    ],
)
def test_bad_input_is_refused(columns, options, words):
    frame = pd.DataFrame({"a": [1, 2, 3], **columns})
    with raises(DataError, *words):
        aggregate(frame, ["a"], order=1, **options)


def test_label_outside_zero_and_one_is_refused_where_binary_is_needed(engine):
    with raises(DataError, "label-must-rows", "y", 2):
        fit_encoding(
            {"s": [1, 2, 3], "y": [0, 2, None], "d": [0, 0, 0]}, {"s": "target"}, "y", [("d", "==", 0)], engine=engine
        )


def test_target_encoding_needs_label_and_held_out_rows():
    with raises(DataError, "target-encoding-needs"):
        fit_encoding({"s": [1]}, {"s": "target"}, label="s")


def test_small_counts_are_withheld_with_their_bounds():
    frame = {"a": [0] * 10 + [1] * 3 + [2], "b": [0] * 14, "y": [0, 1] * 7}
    domain = Domain({"a": 4, "b": 1})
    t = aggregate(frame, ["a", "b"], label="y", domain=domain, suppress_below=5, complementary=False)["a", "b"]
    assert np.array_equal(t.counts[:, 0], [10, np.nan, np.nan, 0], equal_nan=True)
    assert np.array_equal(t.label_sums[:, 0], [5, np.nan, np.nan, 0], equal_nan=True)
    assert t.bounds[0][:, 0].tolist() == [10, 1, 1, 0]
    assert t.bounds[1][:, 0].tolist() == [10, 4, 4, 0]


def test_withheld_weighted_counts_have_open_bounds():
    t = aggregate({"a": [0, 1], "w": [0.5, 9.5]}, ["a"], order=1, weight="w", suppress_below=2, complementary=False)[
        "a"
    ]
    assert np.isnan(t.counts[0])
    assert (t.bounds[0][0], t.bounds[1][0]) == (0, 2)


def test_withheld_classes_are_withheld_too():
    t = aggregate(
        {"a": [0, 1, 1], "k": ["p", "q", "r"]}, ["a"], order=1, label="k", suppress_below=2, complementary=False
    )["a"]
    assert np.isnan(t.label_sums[0]).all()
    assert t.label_sums[1].tolist() == [0, 1, 1]


def test_categories_keep_their_order_and_unused_levels():
    frame = pd.DataFrame({"a": pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"]), "b": [1, 2]})
    tables = aggregate(frame, ["a", "b"])
    assert tables == Tables.from_frame(frame, ["a", "b"])
    assert tables.domain.levels("a") == ("lo", "mid", "hi")


@pytest.mark.parametrize("label", [None, "y", "k"])
def test_gaps_between_whole_numbers_are_no_levels(label):
    frame = pd.DataFrame({"a": [-5, 20_000, 7, 7], "b": [2**40, 0, 5, 5], "y": [0, 1, 1, 0], "k": ["p", "q", "r", "p"]})
    tables = aggregate(frame, ["a", "b"], label=label)
    assert tables == Tables.from_frame(frame, ["a", "b"], label=label)
    assert tables.domain.levels("a") == (-5, 7, 20_000)


def test_level_of_weightless_rows_is_a_level():
    frame = pd.DataFrame({"a": [0, 1, 3], "w": [1.0, 0.0, 2.0]})
    assert aggregate(frame, ["a"], order=1, weight="w").domain.levels("a") == (0, 1, 3)


def test_attribute_in_no_table_still_has_its_levels():
    frame = pd.DataFrame({"a": [0, 4], "b": [1, 9]})
    assert aggregate(frame, ["a", "b"], subsets=["a"]).domain.levels("b") == (1, 9)


def test_all_labels_equal_give_label_sums():
    t = aggregate({"a": [0, 1], "y": [1, 1]}, ["a"], label="y", order=1)
    assert t["a"].label_sums.tolist() == [1, 1]
    assert t.classes == (0, 1)


def test_tables_too_large_for_an_array_are_counted_by_their_filled_cells():
    domain = Domain({"a": 100_000, "b": 100_000})
    table = aggregate({"a": [0, 0, 7], "b": [0, 0, 9]}, ["a", "b"], domain=domain)["a", "b"]
    assert table.n_cells == 10_000_000_000
    assert isinstance(table, SparseTable)
    assert table.total == 3


def test_margins_have_no_label():
    with raises(DataError, "margins-no-use", "label"):
        aggregate_margins({"a": [0]}, "a", "b", "c", label="y")


def test_progress_is_shown(capsys):
    aggregate({"a": [0, 1]}, ["a"], order=1, verbose=1)
    assert "Counting rows: 2/2" in capsys.readouterr().err


def test_a_cross_may_be_counted_without_its_parts():
    rows = pd.DataFrame({"a": [0, 1, 1, 0], "b": [1, 1, 0, 0], "c": [0, 1, 0, 1], "y": [0, 1, 1, 0]})
    spec = {"a": "levels", "b": "levels", "c": "levels", "a x b": {"kind": "cross", "of": ["a", "b"], "cells": 3}}
    tables = aggregate(rows, ["c", "a x b"], label="y", encoding=Encoding.fit(rows, spec))
    assert tables.domain.attributes == ("c", "a x b")
    assert "a" in tables.encoding


TYPED = (
    "won,zip,day,flag,amount\nyes,01234,05/01/2024,true,1\nno,11234,06/01/2024,FALSE,2.5\nyes,01234,06/01/2024,True,3\n"
)


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def test_types_of_a_file_are_the_same_from_counting_to_prediction(tmp_path, engine, request):
    """Yes and no, codes with a leading zero and dates stay text as written, so that frames of the same file match."""
    from sumwise.maxent.tables_classifier import codes_of

    path = tmp_path / "rows.csv"
    path.write_text(TYPED)
    options = {"session": request.getfixturevalue("spark")} if engine == "spark" else {}
    tables = aggregate(str(path), ["won", "zip", "day", "flag", "amount"], order=1, engine=engine, **options)
    assert tables.domain.levels("won") == ("no", "yes")
    assert tables.domain.levels("zip") == ("01234", "11234")
    assert tables.domain.levels("day") == ("05/01/2024", "06/01/2024")
    assert tables.domain.levels("flag") == (False, True)
    assert tables.domain.levels("amount") == (1, 2.5, 3)
    codes = [[1, 0, 0, 1, 0], [0, 1, 1, 0, 1], [1, 0, 1, 1, 2]]
    for frame in (pd.read_csv(path, dtype={"zip": str}), pd.read_csv(path, dtype=str)):
        assert codes_of(frame, tables.domain).tolist() == codes


@pytest.mark.parametrize("count", [Tables.from_frame, aggregate])
def test_an_amount_is_no_label(count):
    rows = {"a": np.arange(100) % 2, "y": np.arange(100)}
    with raises(DataError, "label-more-different"):
        count(rows, ["a"], label="y", order=1)


def test_partitions_of_a_folder_are_a_column(tmp_path):
    for year in (2020, 2021):
        (tmp_path / f"year={year}").mkdir()
        pd.DataFrame({"a": [0, 1, 1]}).to_parquet(tmp_path / f"year={year}" / "part.parquet")
    assert aggregate(tmp_path, ["a", "year"])["a", "year"].counts.tolist() == [[1, 1], [2, 2]]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("folder", ["a=3", "A=3"])
def test_a_column_of_a_file_counts_before_a_folder_of_its_name(tmp_path, ending, folder):
    (tmp_path / folder).mkdir()
    frame = pd.DataFrame({"a": [0, 1, 1], "b": [5, 5, 6]})
    path = tmp_path / folder / f"part.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    tables = aggregate(path, ["a", "b"])
    assert tables.domain.levels("a") == (0, 1)
    assert tables["a", "b"].counts.tolist() == [[1, 0], [1, 1]]


def test_rules_that_are_learned_while_counting_are_those_of_two_steps(engine):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"age": rng.integers(18, 80, 400), "town": rng.choice(list("abc"), 400), "y": rng.integers(0, 2, 400)}
    )
    asked = {"old": {"kind": "quantiles", "bins": 3, "column": "age"}, "town": "levels"}
    asked["both"] = {"kind": "cross", "of": ["old", "town"], "cells": 5}
    tables = aggregate(rows, ["old", "town", "both"], "y", encoding=asked, engine=engine)
    rules = fit_encoding(rows, asked, engine=engine)
    assert tables == aggregate(rows, ["old", "town", "both"], "y", encoding=rules, engine=engine)
    assert tables.provenance.learned == ("old", "town", "both")
    with raises(DataError, "target-encoding-needs"):
        aggregate(rows, ["town"], "y", encoding={"town": "target"}, order=1, engine=engine)
