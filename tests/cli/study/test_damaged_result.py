"""A result whose documents were changed by hand is damaged, and no defect of sumwise."""

import json
import shutil

import pytest

from sumwise.cli import main

PROBLEM = 'family = "ecological"\nmethod = "Bounds"\n[data]\nfile = "votes.csv"\n'
PROBLEM += '[columns]\nunit = "precinct"\ngroups = ["young", "old"]\noutcomes = ["yes", "no"]\n'
CHANGES = {
    "text for a number": ("summary.json", lambda d: d["findings"][0].update(low="text")),
    "sections": ("summary.json", lambda d: d["sections"].insert(0, True)),
    "no lead": ("summary.json", lambda d: d.update(lead=1e308)),
    "no rows": ("summary.json", lambda d: d["sections"][0]["blocks"][0].update(table=[["x"]])),
    "data": ("provenance.json", lambda d: d.update(data=0)),
    "problem": ("provenance.json", lambda d: d.update(problem=True)),
    "versions": ("provenance.json", lambda d: d.update(versions="text")),
}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "votes.csv").write_text("precinct,young,old,yes,no\nA,60,40,55,45\nB,10,80,30,60\nC,50,20,35,35\n")
    (folder / "problem.toml").write_text(PROBLEM)
    assert main(["fit", str(folder / "problem.toml"), "--out", str(folder / "result")]) == 0
    shutil.copytree(folder / "result", folder / "result-copy")
    return folder / "result"


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_document_is_an_error_of_the_input(result, capsys, change):
    name, damage = CHANGES[change]
    whole = (result / name).read_text()
    document = json.loads(whole)
    damage(document)
    (result / name).write_text(json.dumps(document))
    compared = main(["compare", str(result), f"{result}-copy", "--out", f"{result}-compared"])
    codes = {main(["report", str(result)]), compared}
    (result / name).write_text(whole)
    assert 2 in codes
    assert codes <= {0, 2}
    assert str(result) in capsys.readouterr().err
