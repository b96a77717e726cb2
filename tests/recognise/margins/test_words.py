"""Words in column names."""

import numpy as np
import pytest

from sumwise.recognise.margins import words
from sumwise.recognise.profile_file import Column


def column(name):
    return Column(name, np.arange(5.0), None, 5, 0)


def columns(*names):
    return [column(name) for name in names]


@pytest.mark.parametrize(
    "name", ["White.Pct", "WVAP", "pop_black", "X18.19", "18-24", "65+", "Female", "m", "Renters", "Estudiantes"]
)
def test_groups_are_known_by_name(name):
    assert words.like_group(column(name))


@pytest.mark.parametrize("name", ["dem16", "NoVote", "pres_rep_nix", "Yes", "Abstain"])
def test_outcomes_are_known_by_name(name):
    assert words.like_outcome(column(name))
    assert not words.like_group(column(name))


@pytest.mark.parametrize("name", ["TOTAL", "Grand Total", "Bladen total", "countywide", "Subtotal", "All precincts"])
def test_lines_of_totals_are_known_by_name(name):
    assert words.is_total_row(name)


@pytest.mark.parametrize("name", ["Summit", "Wide Ruins", "Ward 3", "Totality"])
def test_other_names_are_no_totals(name):
    assert not words.is_total_row(name)


@pytest.mark.parametrize(
    ("names", "marks"),
    [
        (["A1", "B1", "A2", "B2"], ["1", "2"]),
        (["dem_16", "rep_16", "dem_20", "rep_20", "lib_20"], ["16", "20"]),
        (["pres_dem", "pres_rep", "gov_dem", "gov_rep"], ["pres", "gov"]),
        (["C1", "C2", "C3"], [""]),
        (["dem_votes", "rep_votes"], [""]),
        (["Smith", "Jones"], [""]),
        (["john_smith", "ann_smith", "bob_jones", "eve_jones"], [""]),  # families, not contests
    ],
)
def test_contests_are_known_by_what_names_share(names, marks):
    assert list(words.by_contest(columns(*names))) == marks


@pytest.mark.parametrize("name", ["pct", "Pct.", "PCT_NUM", "prec", "pct no", "precinct"])
def test_numbers_of_precincts_name_units(name):
    assert words.names_unit(column(name))


@pytest.mark.parametrize("values", [[61.5, 40.0, 38.25], [50.0, 50.0, 61.0, 40.0], [61.0, 40.0, 38.0]])
@pytest.mark.parametrize("name", ["pct", "pct_no"])  # the percent of no
def test_percents_name_no_units(name, values):
    numbers = np.array(values)
    assert not words.names_unit(Column(name, numbers, None, len(set(values)), 0))
    assert not words.names_unit(Column("pct_black", np.arange(3.0), None, 3, 0))
    assert words.names_unit(Column("pct_id", numbers, None, len(set(values)), 0))


@pytest.mark.parametrize("name", ["Sección", "SECCION", "seccion_electoral", "Okręg"])
def test_units_are_known_by_name(name):
    assert words.names_unit(column(name))


def test_a_heading_is_what_names_have_in_common():
    assert words.heading(["Mayor: Ames", "Mayor: Voss"]) == "Mayor"
    assert words.heading(["ames_2020", "voss_2020"]) == "2020"
    assert words.heading(["Ann Ames", "Ann Voss"]) == ""
    assert words.heading(["Mayor: Ames", "Yes"]) == ""
