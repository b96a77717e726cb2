"""County returns, regions, crosswalks, exit polls."""

import numpy as np
import pytest

from sumwise import datasets
from sumwise.errors import DataError, UnknownName


def test_regions_share_their_names(load):
    names = load("regions_2016")["region"]
    assert len(names) == 979
    assert set(names) == set(load("regions_2012")["region"]) == set(load("region_centroids")["region"])


def test_pummeler_regions_of_both_censuses(load):
    assert len(load("pummeler_regions_2012")) == 979
    assert len(load("pummeler_regions_2012", 2000)) == 840


@pytest.mark.parametrize(("areas", "rows"), [(2010, 4546), (2000, 4433)])
def test_crosswalk_shares_sum_to_one_by_county(load, areas, rows):
    frame = load("crosswalk", areas)
    assert len(frame) == rows
    assert frame["county"].str.len().eq(5).all()
    np.testing.assert_allclose(frame.groupby("county")["afact"].sum(), 1, atol=0.005)
    assert frame["pop10"].dtype.kind == "i"


def test_crosswalk_reads_latin_1(load):
    assert load("crosswalk")["PUMAname"].str.contains("Doña Ana", regex=False).any()


def test_exit_polls_have_the_nation_and_22_states(load):
    frame = load("exit_polls_2016")
    assert frame["state"].nunique() == 23
    assert frame["cell_pct"].isna().sum() == 4811


@pytest.mark.parametrize(("year", "rows"), [(2016, 3141), (2020, 3152), (2024, 3160)])
def test_county_results_keep_five_digit_codes(load, year, rows):
    frame = load("county_results", year)
    assert len(frame) == rows
    assert frame["fips"].str.fullmatch(r"\d{5}").all()
    assert frame["fips"].is_unique


def test_other_county_files_keep_five_digit_codes(load):
    assert load("county_results_2008_2016")["fips"].str.fullmatch(r"\d{5}").all()
    assert load("county_candidates_2016")["fips"].str.fullmatch(r"\d{5}").all()
    frame = load("county_2012_2016")
    assert frame["fips_code"].str.fullmatch(r"\d{5}").all()
    assert frame["2016_turnout"].isna().sum() == 2
    assert frame["2016_turnout"].dtype.kind == "f"


def test_other_years_are_refused():
    with pytest.raises(DataError, match="no county results of 2012"):
        datasets.county_results(2012)
    with pytest.raises(DataError, match="areas is 1990"):
        datasets.crosswalk(1990)


def test_exit_poll_shares_are_two_party_shares(load):
    load("exit_polls_2016")
    race = datasets.exit_poll_shares("Race")
    nation = race[race["state"] == "National"].set_index("answer")
    assert nation["share"].round(2).to_dict() == {
        "White": 0.39, "Black": 0.92, "Latino": 0.69, "Asian": 0.69, "Other race": 0.6,
    }  # fmt: skip
    assert nation["size"]["White"] == 0.7
    assert race["state"].nunique() == 23
    assert not race.duplicated(["state", "answer"]).any()
    two = datasets.exit_poll_shares("Race", number=5)
    assert two["answer"][two["state"] == "National"].tolist() == ["White", "Non-white"]
    with pytest.raises(UnknownName, match="Gender"):
        datasets.exit_poll_shares("gender")
    with pytest.raises(DataError, match="no table of number 77"):
        datasets.exit_poll_shares("Race", number=77)
    with pytest.raises(UnknownName):
        datasets.exit_poll_shares("Race", parties=("Clinton", "Sanders"))
