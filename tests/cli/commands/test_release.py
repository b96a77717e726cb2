"""The command release: from exact to noisy tables, once."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest

from sumwise import Tables, save
from sumwise.cli import main as run
from sumwise.io.formats.tables_folder import read_tables_folder, write_tables_folder
from sumwise.maxent import MaxEntClassifier
from sumwise.noise import Gaussian, Summed

pytest.importorskip("opendp", reason="the extra 'privacy' isn't installed")


def main(arguments):
    """Release with levels that are no secret, unless a test is about them."""
    return run([*arguments, "--public-levels"] if arguments[0] == "release" else arguments)


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(0, 4, 300) for name in "abcdef"} | {"click": rng.integers(0, 2, 300)})
    frame.to_parquet("rows.parquet")
    assert main(["aggregate", "rows.parquet", "--label", "click", "--order", "2", "--out", "tables"]) == 0
    return read_tables_folder("tables")


def test_parquet_to_noisy_tables_on_the_command_line_alone(tables, capsys):
    assert main(["release", "tables", "--epsilon", "1", "--out", "noisy"]) == 0
    noisy = read_tables_folder("noisy")
    assert len(noisy) == 15
    assert all(t.noise == Summed(t.label_noise, 2) for t in noisy)
    assert [t.label_noise.scale for t in noisy] == pytest.approx([15.0] * 15)
    shown = capsys.readouterr().out
    assert "Spent 1 of epsilon 1" in shown
    assert "up to 1 row of one person" in shown
    assert "Noise is smaller by a factor of 2.00: counts by class" in shown
    assert "and 3 tables more" in shown


def test_second_release_overdraws_and_writes_nothing(tables, capsys):
    assert main(["release", "tables", "--epsilon", "1", "--out", "noisy"]) == 0
    assert main(["release", "tables", "--epsilon", "1", "--out", "again"]) == 2
    assert "has 0 left; 'release to again' would bring the total to 2" in capsys.readouterr().err
    assert not os.path.exists("again")


def test_larger_budget_is_spent_in_parts(tables):
    for i in range(2):
        arguments = ["--epsilon", "1", "--total-epsilon", "2", "--budget", "ledger.json", "--out", f"noisy{i}"]
        assert main(["release", "tables", *arguments]) == 0
    with open("ledger.json") as file:
        assert [e["epsilon"] for e in json.load(file)["entries"]] == pytest.approx([1, 1])


def test_plan_spends_and_writes_nothing(tables, capsys):
    capsys.readouterr()
    assert main(["release", "tables", "--plan", "--max-rows", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["tables"][0]["sensitivity"] == 3
    assert told["folder"] is None
    assert sorted(os.listdir("tables")) == ["summary.json", "tables.sumwise"]


def test_gaussian_release_and_its_facts(tables):
    arguments = ["--mechanism", "gaussian", "--delta", "1e-6", "--epsilon", "2", "--out", "noisy", "--cells"]
    assert main(["release", "tables", *arguments]) == 0
    assert isinstance(read_tables_folder("noisy")[0].noise, Gaussian)
    with open("noisy/summary.json") as file:
        facts = json.load(file)
    assert facts["release"]["mechanism"] == "gaussian"
    assert facts["budget"]["spent"] == pytest.approx(2)
    assert os.path.exists("noisy/cells.parquet")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["tables", "--epsilon", "0", "--out", "noisy"], "epsilon is 0.0; it must be above 0."),
        (["tables"], "There is no --out."),
        (["nowhere", "--out", "noisy"], "There is no file 'nowhere/tables.sumwise'."),
        (["tables", "--out", "tables"], "The folder 'tables' is not empty."),
        (["tables", "--mechanism", "gaussian", "--out", "noisy"], "delta is 0.0;"),
        (["tables", "--max-rows", "0", "--out", "noisy"], "rows is 0"),
    ],
)
def test_bad_input_is_one_line_and_spends_nothing(tables, capsys, arguments, line):
    capsys.readouterr()
    assert main(["release", *arguments]) == 2
    assert capsys.readouterr().err.startswith(line)
    assert sorted(os.listdir()) == ["rows.parquet", "tables"]
    assert not os.path.exists("tables/budget.json")


def test_ledger_remembers_what_it_allows(tables):
    assert main(["release", "tables", "--epsilon", "0.5", "--total-epsilon", "2", "--out", "first"]) == 0
    assert main(["release", "tables", "--epsilon", "1", "--out", "second"]) == 0
    assert main(["release", "tables", "--epsilon", "1", "--out", "third"]) == 2
    assert main(["release", "tables", "--epsilon", "0.5", "--total-epsilon", "3", "--out", "third"]) == 2


def test_pure_release_after_a_gaussian_one_spends_the_same_ledger(tables):
    gaussian = ["--mechanism", "gaussian", "--delta", "1e-6", "--total-epsilon", "2"]
    assert main(["release", "tables", *gaussian, "--out", "first"]) == 0
    assert main(["release", "tables", "--epsilon", "0.5", "--out", "second"]) == 0
    assert main(["release", "tables", "--epsilon", "1", "--out", "third"]) == 2


def test_total_epsilon_of_zero_is_refused(tables, capsys):
    assert main(["release", "tables", "--total-epsilon", "0", "--out", "noisy"]) == 2
    assert "must be above 0" in capsys.readouterr().err


def test_whole_weights_need_a_bound(tables, capsys):
    frame = pd.read_parquet("rows.parquet").assign(w=3)
    frame.to_parquet("weighted.parquet")
    arguments = ["-a", "a", "--order", "1", "--weight", "w", "--out", "weighted"]
    assert main(["aggregate", "weighted.parquet", *arguments]) == 0
    capsys.readouterr()
    assert main(["release", "weighted", "--out", "noisy"]) == 2
    assert capsys.readouterr().err.startswith("The tables were counted with weights")
    assert main(["release", "weighted", "--max-rows", "1", "--out", "noisy"]) == 2
    assert main(["release", "weighted", "--max-weight", "3", "--mechanism", "laplace", "--out", "noisy"]) == 2
    assert "count again with max_weight=3" in capsys.readouterr().err
    assert main(["aggregate", "weighted.parquet", *arguments[:-1], "clipped", "--max-weight", "3"]) == 0
    assert main(["release", "clipped", "--mechanism", "laplace", "--out", "noisy"]) == 0
    assert read_tables_folder("noisy")["a"].noise.scale == pytest.approx(3)


def test_levels_read_from_the_rows_are_not_released_silently(tables, capsys):
    capsys.readouterr()
    assert run(["release", "tables", "--out", "noisy"]) == 2
    assert "were read from the rows" in capsys.readouterr().err
    assert sorted(os.listdir("tables")) == ["summary.json", "tables.sumwise"]


def test_nothing_is_spent_where_the_result_cannot_be_written(tables, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        assert main(["release", "tables", "--out", "noisy"]) == 2
        assert "There is no room" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.mkdtemp", full)
        assert main(["release", "tables", "--out", "noisy"]) == 2
        assert "can't be created" in capsys.readouterr().err
    assert sorted(os.listdir()) == ["rows.parquet", "tables"]
    assert not os.path.exists("tables/budget.json")
    assert main(["release", "tables", "--out", "noisy"]) == 0


@pytest.mark.parametrize("folder", ["tables", "copy"])
def test_another_budget_is_refused_by_the_ledger_beside_the_tables_alone(tables, capsys, monkeypatch, tmp_path, folder):
    assert main(["release", "tables", "--epsilon", "1", "--out", "noisy"]) == 0
    shutil.copytree("tables", "copy")
    monkeypatch.setenv("SUMWISE_STATE", str(tmp_path / "another user"))
    assert main(["release", folder, "--budget", "other.json", "--out", "again"]) == 2
    assert "has recorded releases" in capsys.readouterr().err
    assert not os.path.exists("again")
    assert not os.path.exists("other.json")


def test_a_copied_folder_and_another_budget_are_refused(tables, capsys):
    import shutil

    shutil.copytree("tables", "copy")
    assert main(["release", "tables", "--out", "noisy"]) == 0
    assert main(["release", "copy", "--out", "again"]) == 2
    assert main(["release", "tables", "--budget", "other.json", "--out", "again"]) == 2
    os.symlink("tables", "linked")
    assert main(["release", "linked", "--out", "again"]) == 2
    assert "has 0 left" in capsys.readouterr().err
    assert not os.path.exists("again")


def test_aggregate_release_init_and_fit_in_a_row(tables, capsys):
    """Released tables state no n; everything after them works without."""
    assert main(["aggregate", "rows.parquet", "-a", "a", "-a", "b", "--label", "click", "--out", "small"]) == 0
    assert main(["release", "small", "--epsilon", "5", "--out", "noisy"]) == 0
    assert main(["init", "noisy"]) == 0
    assert main(["fit", "problem.toml", "--out", "result"]) == 0
    assert "learned a probability for each individual from 1 contingency table" in capsys.readouterr().out


SCHEMA = """
label = "ill"

[attributes.age]
kind = "quantiles"
bins = 3
range = [0, 100]

[attributes.town]
kind = "levels"
"""


@pytest.fixture
def people(tmp_path, monkeypatch):
    """Rows of people, and a schema of them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    towns = ["Alp", *rng.choice(["Bern", "Rome"], 2999)]
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return pd.DataFrame({"age": rng.integers(0, 90, 3000), "town": towns, "ill": rng.integers(0, 2, 3000)})


GAUSSIAN = ["--mechanism", "gaussian", "--delta", "1e-6", "--epsilon", "2"]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_rows_to_private_tables_in_one_go(people, kind):
    name = f"people.{kind}"
    people.to_parquet(name) if kind == "parquet" else people.to_csv(name, index=False)
    arguments = ["--rows", name, "--schema", "schema.toml", *GAUSSIAN]
    assert run(["release", *arguments, "--out", "noisy"]) == 0
    noisy = read_tables_folder("noisy")
    assert noisy.classes == (0, 1)
    assert noisy.domain.levels("town") == ("Bern", "Rome", "other", "missing")
    assert len(noisy.encoding["age"].edges) == 2
    with open("noisy/encoding.json") as file:
        assert "Alp" not in file.read()
    with open(f"{name}.budget.json") as file:
        assert [e["what"] for e in json.load(file)["entries"]] == ["release to noisy"] * 2
    assert [(r["epsilon"], r["delta"]) for r in noisy.provenance.releases] == [(2.0, 1e-6)]
    for other in ([], ["--budget", "other.json"]):  # spent, or another than the first
        assert run(["release", *arguments, "--out", "again", *other]) == 2
    assert sorted(os.listdir()) == [f".{name}.budget.json.lock", "noisy", name, f"{name}.budget.json", "schema.toml"]


def test_a_row_of_other_types_changes_no_type_and_prints_nothing(people, capsys):
    """One row more once made numbers into text, or ended the release after the charge."""
    schema = SCHEMA.replace('kind = "levels"', 'kind = "levels"\nvalues = [1, 2, 3]')
    for name, more in (("plain", []), ("odd", [{"age": "forty", "town": "x9", "ill": "perhaps"}])):
        pd.concat([people.assign(town=2), pd.DataFrame(more)]).to_csv(f"{name}.csv", index=False)
        with open("schema.toml", "w") as file:
            file.write(schema)
        capsys.readouterr()
        assert run(["release", "--rows", f"{name}.csv", "--schema", "schema.toml", "--out", name]) == 0
        assert not {"forty", "x9", "perhaps"} & set(capsys.readouterr().out.split())
        assert read_tables_folder(name).domain.levels("town") == (1, 2, 3, "other", "missing")


def test_a_plan_for_rows_looks_at_none_of_them(people, capsys):
    assert run(["release", "--rows", "nowhere.csv", "--schema", "schema.toml", *GAUSSIAN, "--plan", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["release"]["epsilon"] == 2.0
    assert sorted(os.listdir()) == ["schema.toml"]


@pytest.mark.parametrize(
    ("old", "new", "given", "line"),
    [
        ('"ill"', '"il"', [], "There is no column 'il'"),
        ('"ill"', '"age"', [], "Column 'age' is declared twice."),
        ("[0, 100]", "[5, 5]", [], "Attribute 'age' needs a range"),
        ("label", "lable", [], "There is no key of a declaration 'lable'"),
        ("", "", ["--delta", "0.1"], "delta is 0.1"),
        ("", "", ["--level-share", "1"], "level_share is 1."),
        ("", "", ["--max-rows", "2"], "--max-rows, --max-weight and --public-levels are for tables."),
    ],
)
def test_nothing_is_spent_on_rows_whose_release_is_refused(people, capsys, old, new, given, line):
    people.to_parquet("people.parquet")
    with open("schema.toml", "w") as file:
        file.write(SCHEMA.replace(old, new, 1) if old else SCHEMA)
    assert (
        run(["release", "--rows", "people.parquet", "--schema", "schema.toml", *GAUSSIAN, "--out", "noisy", *given])
        == 2
    )
    assert line in capsys.readouterr().err
    assert not os.path.exists("people.parquet.budget.json")


def test_a_quote_that_does_not_close_spoils_its_own_row_alone(people, capsys):
    people.to_csv("people.csv", index=False)
    with open("people.csv", "a") as file:
        file.write('40,"Secret,1\n')
    assert run(["release", "--rows", "people.csv", "--schema", "schema.toml", *GAUSSIAN, "--out", "noisy"]) == 0
    said = capsys.readouterr()
    assert "Secret" not in said.out + said.err
    assert os.path.exists("people.csv.budget.json")


def test_one_schema_counts_releases_scores_and_bounds_what_is_spent(people, capsys):
    people.to_csv("people.csv", index=False)
    with open("schema.toml", "w") as file:
        file.write(
            'label = "ill"\n[budget]\nepsilon = 9.0\n[attributes.age]\nkind = "width"\nrange = [0, 100]\nbins = 4\n'
            '[attributes.town]\nkind = "levels"\nvalues = ["Bern", "Rome"]\n'
        )
    schema = ["--schema", "schema.toml"]
    assert run(["aggregate", "people.csv", *schema, "--out", "exact"]) == 0
    assert read_tables_folder("exact").provenance.learned == ()
    assert run(["aggregate", "people.csv", *schema, "--label", "ill", "--out", "twice"]) == 2
    assert "The schema says what is counted." in capsys.readouterr().err
    assert run(["release", "--rows", "people.csv", *schema, "--epsilon", "8", "--out", "noisy"]) == 0
    save(MaxEntClassifier(random_state=0).fit(read_tables_folder("noisy")), "model.sumwise")
    more = ["--scores", "model.sumwise", "--out", "scores"]
    assert run(["release", "--rows", "people.csv", *schema, *more]) == 2  # all of the budget by default
    assert "has 1 left" in capsys.readouterr().err
    assert run(["release", "--rows", "people.csv", *schema, "--epsilon", "1", *more]) == 0
    assert read_tables_folder("scores").domain.attributes == ("probability",)
    assert run(["release", "--rows", "people.csv", *schema, "--total-epsilon", "20", "--out", "other"]) == 2
    assert "The schema allows epsilon 9 in all" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["exact", "--scores", "model.sumwise", "--out", "noisy"], "--scores goes with --rows."),
        (["--out", "noisy"], "Give a folder of tables, or --rows."),
        (["tables", "--rows", "rows.parquet", "--out", "noisy"], "Give a folder of tables, or --rows."),
        (["--rows", "rows.parquet", "--plan"], "--rows and --schema go together."),
    ],
)
def test_rows_and_tables_are_not_mixed(tables, capsys, arguments, line):
    capsys.readouterr()
    assert main(["release", *arguments]) == 2
    assert capsys.readouterr().err.startswith(line)


def test_the_index_of_a_pandas_frame_is_no_attribute(tables):
    """A frame that was filtered keeps its index in the file: a level of its own for every row."""
    frame = pd.read_parquet("rows.parquet")
    frame[frame["a"] == frame["a"].iloc[0]].to_parquet("some.parquet")
    assert main(["aggregate", "some.parquet", "--label", "click", "--out", "some"]) == 0
    assert not [a for a in read_tables_folder("some").domain.attributes if a.startswith("__index")]


def test_two_folders_of_the_same_rows_have_one_ledger(tables, capsys):
    """Folders of other tables: their attributes differ, the people are the same."""
    for name, attributes in (("first", "ab"), ("second", "cd")):
        given = [w for a in attributes for w in ("-a", a)]
        assert main(["aggregate", "rows.parquet", "--label", "click", "--out", name, *given]) == 0
    spend = ["--epsilon", "1", "--public-levels", "--out"]
    assert main(["release", "first", *spend, "noisy"]) == 0
    capsys.readouterr()
    assert main(["release", "second", *spend, "more"]) == 2
    assert "other tables of the same rows" in (said := capsys.readouterr().err)
    assert "--budget" in said
    assert main(["release", "second", *spend, "more", "--budget", "first/budget.json"]) == 2
    assert "has 0 left" in capsys.readouterr().err
    assert not os.path.exists("more")


def test_links_to_rows_and_copies_of_them_have_no_ledger_of_their_own(people, capsys):
    """Other tables of the same rows are other data to a ledger that knows tables alone."""
    people.to_parquet("rows.parquet")
    os.symlink("rows.parquet", "link.parquet")
    shutil.copy("rows.parquet", "copy.parquet")
    options = ["--schema", "schema.toml", *GAUSSIAN]
    assert run(["release", "--rows", "rows.parquet", "--out", "noisy", *options]) == 0
    for name, why in (("link", "would bring the total to"), ("copy", "is another than the one that these data, or")):
        capsys.readouterr()
        assert run(["release", "--rows", f"{name}.parquet", "--order", "1", "--out", name, *options]) == 2
        assert why in capsys.readouterr().err
        assert not os.path.exists(name)


def test_parts_that_were_added_ask_for_rows_per_person(tables, capsys):
    """--replace says nothing about how many rows one person has."""
    write_tables_folder(Tables.combine([tables, tables]), "both")
    assert main(["release", "both", "--replace", "--out", "noisy"]) == 2
    assert "--max-rows" in capsys.readouterr().err
    assert main(["release", "both", "--replace", "--max-rows", "2", "--out", "noisy"]) == 0
    assert read_tables_folder("noisy").tables[0].label_noise.scale == pytest.approx(4 * 15)  # two rows, out and in
