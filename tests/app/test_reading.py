"""How the app reads files: what it answers, and that what it writes is what a fit takes."""

import importlib
import json
import tomllib
from shutil import copyfile

import pytest

from sumwise import synthetic
from sumwise.app.reading import (
    LISTS,
    NOT_COLUMNS,
    PACKAGES,
    ROLE_NAMES,
    checked,
    main,
    meaning_of,
    problem_text,
    suggestion,
)
from sumwise.cli.study.families import FAMILIES, study_class
from sumwise.datasets import example
from sumwise.io.formats import write_margins


def votes(folder):
    write_margins(synthetic.precincts(30, random_state=0).margins, folder / "votes.csv")
    return str(folder / "votes.csv")


def test_a_suggestion_has_every_column_with_its_role(tmp_path):
    found = suggestion([votes(tmp_path)], str(tmp_path / "problem.toml"))
    assert found["family"] == "ecological"
    assert (tmp_path / "problem.toml").read_text() == found["text"]
    columns = {c["name"]: c for c in found["columns"]}
    assert all(len(c["first"]) == 6 and c["file"] == "votes.csv" for c in columns.values())
    assert {c["role"] for c in columns.values()} <= {r["key"] for r in found["roles"]} | {""}
    assert all(m["meaning"] for m in found["methods"])
    assert found["named"] == ["groups", "outcomes"]
    assert found["noise"]["kinds"] == {}


def test_what_was_read_adds_up_to_a_number(tmp_path):
    (tmp_path / "votes.csv").write_text("precinct,young,old,yes,no\nA,60,40,55,45\nB,10,80,30,60\n")
    found = suggestion([str(tmp_path / "votes.csv")], str(tmp_path / "problem.toml"))
    assert found["sums"] == ["Adds up in all 2 units: groups 190, outcomes 190."]
    assert checked(str(tmp_path / "problem.toml"))["sums"] == found["sums"]


@pytest.mark.parametrize("family", ["proportions", "distribution", "maxent", "flows"])
def test_every_example_is_read_and_counted(tmp_path, family):
    files = [copyfile(path, tmp_path / path.name) for path in example(family)]
    found = suggestion([str(f) for f in files], str(tmp_path / "problem.toml"))
    expected = {
        "proportions": "1,000 individuals in 40 bags; the counts of classes add up to 1,000.",
        "distribution": "764 samples in 40 bags, with one response each.",
        "maxent": "5,000 individuals in 1 table.",
    }
    assert found["sums"] == [expected[family]] if family in expected else found["columns"]
    assert {c["file"] for c in found["columns"]} <= {f.name for f in files}


def test_values_become_the_file_that_was_read(tmp_path):
    suggestion([votes(tmp_path)], str(tmp_path / "problem.toml"))
    read = checked(str(tmp_path / "problem.toml"))
    text = problem_text(read["values"], read["contests"])
    kept = {k: v for k, v in tomllib.loads(read["text"]).items() if v != ""}
    assert tomllib.loads(text) == kept
    (tmp_path / "again.toml").write_text(text)
    assert checked(str(tmp_path / "again.toml"))["columns"] == read["columns"]


def test_hostile_names_stay_values():
    hostile = 'a"]\n[data]\nfile = "x'
    text = problem_text({"family": "ecological", "title": hostile, "columns": {"unit": hostile, "groups": [hostile]}})
    read = tomllib.loads(text)
    assert read["title"] == hostile
    assert read["columns"] == {"unit": hostile, "groups": [hostile]}
    assert "data" not in read
    kept = {"names": {hostile: "b"}, "court": {"case": "c"}, "pool": False}
    assert tomllib.loads(problem_text(kept)) == kept  # what the page has no menu for stays, too


def test_columns_that_are_not_named_have_the_role_that_a_fit_gives_them(tmp_path):
    rows = "young,phone,1\nold,desktop,0\nold,phone,1\nmiddle,tablet,0\n"
    (tmp_path / "rows.csv").write_text("age,device,click\n" + rows * 60)
    found = suggestion([str(tmp_path / "rows.csv")], str(tmp_path / "problem.toml"), "maxent")
    assert [c["role"] for c in found["columns"]] == ["attributes", "attributes", "label"]
    assert set(found["named"]) >= {"attributes", "label"}
    assert found["noise"]["kinds"] == {}  # counted rows are exact


def test_roles_are_called_by_plain_words_and_are_roles_of_columns():
    for family in FAMILIES:
        keys = [key for key in study_class(family).column_keys if key not in NOT_COLUMNS]
        words = [str(ROLE_NAMES.get(key, key)) for key in keys]
        assert len(set(words)) == len(words)
        assert not [word for word in words if "_" in word]
    described = {key for family in FAMILIES for key in study_class(family).column_keys}
    assert {*ROLE_NAMES, *NOT_COLUMNS, *LISTS} <= described


def test_a_feature_of_levels_stays_a_feature_and_a_second_role_is_kept(tmp_path):
    rows = [f"b{i % 6},{i % 4},{i % 5},{i % 2}" for i in range(120)]
    (tmp_path / "rows.csv").write_text("\n".join(["bag,code,age,ill", *rows]) + "\n")
    head = 'family = "proportions"\n[data]\nfile = "rows.csv"\n[columns]\nbag = "bag"\nlabel = "ill"\n'
    lines = 'features = ["code", "age"]\ncategorical = ["code"]\nsubgroups = ["age"]\n'
    (tmp_path / "problem.toml").write_text(head + lines)
    found = {c["name"]: c for c in checked(str(tmp_path / "problem.toml"))["columns"]}
    assert (found["code"]["role"], found["code"]["also"]) == ("categorical", [])
    assert (found["age"]["role"], found["age"]["also"]) == ("features", ["subgroups"])
    for lines in ('subgroups = ["age"]\n', 'subgroups = ["age"]\nfeatures = ["age"]\n'):  # all others, and named late
        (tmp_path / "problem.toml").write_text(head + lines)
        found = {c["name"]: c for c in checked(str(tmp_path / "problem.toml"))["columns"]}
        assert (found["age"]["role"], found["age"]["also"]) == ("features", ["subgroups"])


def test_counts_over_time_and_cells_offer_their_noise(tmp_path):
    places = [f"{t},{p},{5 + t}" for t in range(4) for p in "abc"]
    (tmp_path / "counts.csv").write_text("\n".join(["week,place,count", *places]) + "\n")
    found = suggestion([str(tmp_path / "counts.csv")], str(tmp_path / "problem.toml"), "collective")
    assert found["noise"]["table"] == "options"
    assert found["noise"]["kinds"]["gaussian"] == ["sd"]
    assert next(iter(found["noise"]["kinds"])) == "auto"
    assert found["named"] == []


def test_answers_are_json_and_errors_have_hints(tmp_path, capsys):
    (tmp_path / "odd.csv").write_text("a\nx\n")
    assert main(["suggest", str(tmp_path / "p.toml"), "", "{}", str(tmp_path / "odd.csv")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["not_recognised"]["error"]
    assert answer["not_recognised"]["hint"]
    assert [(c["name"], c["first"], c["role"]) for c in answer["columns"]] == [("a", ["x"], "")]
    (tmp_path / "empty.csv").write_text("")
    main(["suggest", str(tmp_path / "p.toml"), "", "{}", str(tmp_path / "empty.csv")])
    assert json.loads(capsys.readouterr().out)["error"]
    main(["check", str(tmp_path / "none.toml")])
    assert "no problem file" in json.loads(capsys.readouterr().out)["error"]
    main(["dance"])
    assert "no question" in json.loads(capsys.readouterr().out)["error"]


def test_every_method_has_the_meaning_of_its_documentation():
    for family in FAMILIES:
        kind = study_class(family)
        for method in (kind.classes_of.get(name, name) for name in kind.methods):
            thing = getattr(importlib.import_module(f"sumwise.{PACKAGES.get(family, family)}"), method)
            assert meaning_of(family, method) == thing.__doc__.strip().split("\n")[0] != ""
