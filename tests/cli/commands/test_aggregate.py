"""The command aggregate: from a file to a folder of tables."""

from __future__ import annotations

import json
import os

import numpy as np
import pandas as pd
import pytest

from messages import raises
from sumwise import Tables
from sumwise.cli import main
from sumwise.cli.commands.aggregate import parsed_condition
from sumwise.encoding import Encoding
from sumwise.errors import DataError
from sumwise.io.formats.tables_folder import read_tables_folder


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 200),
            "city name": rng.choice(["Bern", "it's"], 200),
            "job": rng.integers(0, 3, 200),
            "click": rng.integers(0, 2, 200),
            "w": rng.integers(1, 4, 200),
        }
    )
    frame.to_parquet("rows.parquet")
    return frame


def test_all_other_columns_are_counted(rows, capsys):
    assert (
        main(["aggregate", "rows.parquet", "--label", "click", "--weight", "w", "--order", "2", "--out", "tables"]) == 0
    )
    expected = Tables.from_frame(rows, ["age", "city name", "job"], label="click", weight="w")
    assert read_tables_folder("tables") == expected
    assert "3 tables" in capsys.readouterr().out


def test_a_column_that_identifies_people_is_refused(rows, capsys):
    rows.assign(key=np.arange(len(rows))).to_csv("keyed.csv", index=False)
    assert main(["aggregate", "keyed.csv", "--label", "click", "--out", "keyed"]) == 2
    assert "Column 'key' has 200 levels in 200 rows" in capsys.readouterr().err
    assert main(["aggregate", "keyed.csv", "-a", "job", "--order", "1", "--label", "click", "--out", "plain"]) == 0


def test_rules_list_no_levels_of_a_column_that_identifies_people(rows, capsys):
    rows.assign(key=[f"k{i}" for i in range(len(rows))]).to_parquet("keyed.parquet")
    for options, code in (("", 2), ("max_levels = 5\n", 0)):
        with open("rules.toml", "w") as file:
            file.write(f'[job]\nkind = "levels"\n[key]\nkind = "levels"\n{options}')
        assert main(["aggregate", "keyed.parquet", "--encode", "rules.toml", "--out", f"tables{code}"]) == code
        assert ("Column 'key' has 200 levels in 200 rows" in capsys.readouterr().err) == bool(code)
    named = ["--person", "job", "--max-rows", "5", "--out", "tables", "-a", "job"]
    assert main(["aggregate", "keyed.parquet", *named, "--order", "1"]) == 2
    assert "'job' names persons, and is an attribute" in capsys.readouterr().err


@pytest.mark.parametrize("weight", [1000.0, 0.001])
def test_identifiers_are_known_by_rows_and_not_by_weights(rows, capsys, weight):
    rows.assign(key=np.arange(len(rows)).astype(str), w=weight).to_parquet("keyed.parquet")
    asked = ["aggregate", "keyed.parquet", "-a", "key", "-a", "job", "--weight", "w", "--where", "age >= 30"]
    assert main([*asked, "--label", "click", "--out", "keyed"]) == 2
    n = (rows["age"] >= 30).sum()
    assert f"'key' has {n} levels in {n} rows" in capsys.readouterr().err


def test_rules_name_the_columns_that_are_counted(rows):
    with open("rules.toml", "w") as file:
        file.write('[job]\nkind = "levels"\n[age]\nkind = "quantiles"\nbins = 2\n')
    asked = ["aggregate", "rows.parquet", "--encode", "rules.toml", "--label", "click", "--out", "tables"]
    assert main(asked) == 0
    assert read_tables_folder("tables").domain.attributes == ("job", "age")


def test_json_and_conditions(rows, capsys):
    arguments = ["-a", "job", "-a", "city name", "--where", "age >= 30", "--where", "city name in Bern,it's", "--json"]
    assert main(["aggregate", "rows.parquet", "--out", "tables", *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["n"] == (rows["age"] >= 30).sum()
    assert read_tables_folder("tables") == Tables.from_frame(rows[rows["age"] >= 30], ["job", "city name"])


def test_rules_are_learned_kept_and_used_again(rows):
    with open("rules.toml", "w") as out:
        out.write('[age]\nkind = "quantiles"\nbins = 4\n[city]\nkind = "levels"\ncolumn = "city name"\n')
    assert main(["aggregate", "rows.parquet", "--label", "click", "--encode", "rules.toml", "--out", "one"]) == 0
    tables = read_tables_folder("one")
    assert tables.encoding.attributes == ("age", "city")
    assert tables.domain["age"] == 4
    assert (
        main(["aggregate", "rows.parquet", "--label", "click", "--encoding", "one/encoding.json", "--out", "two"]) == 0
    )
    assert read_tables_folder("two") == tables


def test_target_rules_learn_from_held_out_rows(rows):
    with open("rules.toml", "w") as out:
        out.write(
            'label = "click"\nheld_out = [["w", "==", 1]]\n[age]\nkind = "target"\ncount_bins = 1\nrate_bins = 3\n'
        )
    arguments = ["--label", "click", "--encode", "rules.toml", "-a", "age", "--order", "1", "--where", "w > 1"]
    assert main(["aggregate", "rows.parquet", *arguments, "--out", "one"]) == 0
    expected = Encoding.fit(
        rows, {"age": {"kind": "target", "count_bins": 1, "rate_bins": 3}}, "click", rows[rows["w"] == 1]
    )
    assert read_tables_folder("one").encoding == expected


def test_held_out_rows_are_not_counted(rows, capsys):
    with open("rules.toml", "w") as out:
        out.write('held_out = [["w", "==", 1]]\n[age]\nkind = "target"\n')
    arguments = ["rows.parquet", "--label", "click", "--encode", "rules.toml", "-a", "age", "--order", "1"]
    assert main(["aggregate", *arguments, "--out", "one"]) == 2
    n = int((rows["w"] == 1).sum())
    assert capsys.readouterr().err.startswith(f"{n} of the rows to count are held out in 'rules.toml'")
    assert not os.path.exists("one")
    assert main(["aggregate", *arguments, "--where", "w > 1", "--out", "one"]) == 0  # the label is that of --label


def test_attribute_may_be_called_label(rows):
    rows.rename(columns={"age": "label"}).to_parquet("named.parquet")
    with open("rules.toml", "w") as out:
        out.write('[label]\nkind = "quantiles"\nbins = 2\n')
    arguments = ["--label", "click", "--encode", "rules.toml", "-a", "label", "--order", "1", "--out", "one"]
    assert main(["aggregate", "named.parquet", *arguments]) == 0
    assert read_tables_folder("one")["label"].counts.shape == (2,)


def test_table_of_a_file_that_is_no_database_is_refused(rows, capsys):
    assert main(["aggregate", "rows.parquet", "--table", "x", "--out", "one"]) == 2
    assert capsys.readouterr().err.startswith("table is 'x', and the file 'rows.parquet' is not a database.")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nowhere.parquet"], "There is no file 'nowhere.parquet'.\n"),
        (["rows.parquet", "-a", "nope", "--order", "1"], "There is no column 'nope'."),
        (["rows.parquet", "--engine", "dask"], "engine is 'dask'."),
        (["rows.parquet", "--master", "local[2]"], "--master has no meaning with engine 'duckdb'."),
        (["rows.parquet", "--engine", "spark", "--threads", "2"], "--threads has no meaning with engine 'spark'."),
        (["rows.parquet", "--where", "age>18"], "The condition 'age>18' has no operation."),
        (["rows.parquet", "--where", "age > old"], "The condition 'age > old' compares a number with 'old'."),
        (["rows.parquet", "--encode", "no.toml"], "The file 'no.toml' can't be read"),
        (["rows.parquet", "--encode", "a", "--encoding", "b"], "Both --encode and --encoding are given."),
        (["rows.parquet", "--label", "age", "--suppress-below", "-1"], "suppress_below is -1"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(rows, capsys, arguments, line):
    assert main(["aggregate", *arguments, "--out", "tables"]) == 2
    assert capsys.readouterr().err.startswith(line)
    assert sorted(os.listdir()) == ["rows.parquet"]


def test_truncated_file_writes_nothing(rows, capsys):
    with open("rows.parquet", "rb+") as file:
        file.truncate(1000)
    assert main(["aggregate", "rows.parquet", "--out", "tables"]) == 2
    assert "can't be read" in capsys.readouterr().err
    assert sorted(os.listdir()) == ["rows.parquet"]


def test_help_shows_how_rules_are_written(capsys):
    assert main(["aggregate", "--help"]) == 0
    assert "[age]" in capsys.readouterr().out


def test_full_folder_is_refused_before_counting(rows, capsys):
    os.mkdir("tables")
    open("tables/x", "w").close()
    assert main(["aggregate", "nowhere.parquet", "--out", "tables"]) == 2
    assert "not empty" in capsys.readouterr().err


KINDS = {"age": "number", "a == b": "text", "flag": "bool"}


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("age >= 18", ("age", ">=", 18)),
        ("age < 1.5", ("age", "<", 1.5)),
        ("age not in 1, 2", ("age", "not in", [1, 2])),
        ("flag == True", ("flag", "==", True)),
        ("age missing", ("age", "missing")),
        ("age not missing", ("age", "not missing")),
    ],
)
def test_condition_is_parsed(text, condition):
    assert parsed_condition(text, KINDS) == condition


def test_condition_on_an_unknown_column_is_refused():
    with raises(DataError, "there-is-no", "column", "old"):
        parsed_condition("old > 3", KINDS)
