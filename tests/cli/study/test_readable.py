"""Names as people write them."""

from __future__ import annotations

import pytest

from sumwise.cli.study.initialise import suggest_problem
from sumwise.cli.study.readable import readable_names
from sumwise.schema import Schema


@pytest.mark.parametrize(
    ("side", "columns", "names"),
    [
        ("groups", ["pct_black", "pct_white"], {"pct_black": "Black", "pct_white": "white"}),
        ("groups", ["black voters", "white voters"], {"black voters": "Black voters"}),
        ("groups", ["young", "18 to 24"], {}),
        ("outcomes", ["yes", "no"], {}),
        ("outcomes", ["kemp_votes", "abrams_votes", "no_vote"], {"kemp_votes": "Kemp", "abrams_votes": "Abrams"}),
        ("outcomes", ["hardy1", "hardy2"], {}),  # both would be Hardy
        ("outcomes", ["McCain", "dem_16"], {"dem_16": "dem 16"}),
    ],
)
def test_codes_become_names_and_names_stay(side, columns, names):
    assert readable_names(Schema("ecological", {}, {side: columns})) == names


def test_init_suggests_names_that_the_report_shows(tmp_path):
    (tmp_path / "v.csv").write_text("precinct,wvap,bvap,kemp,abrams\nA,60,40,55,45\nB,10,80,30,60\nC,50,20,40,30\n")
    found = suggest_problem([tmp_path / "v.csv"], tmp_path / "problem.toml")
    assert 'bvap = "Black"' in found.text
    assert found.read[0]["groups"] == {"white": 120.0, "Black": 140.0}
    assert list(found.read[0]["outcomes"]) == ["Kemp", "Abrams"]
