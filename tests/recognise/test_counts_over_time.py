"""Counts per time and place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from study_cases import flocks
from sumwise.errors import DataError
from sumwise.recognise.counts_over_time import guess
from wide_cases import profiled


def guessed(tmp_path, *frames):
    return guess(profiled(tmp_path, *frames))


def test_time_place_and_count_are_known_by_name_and_shape(tmp_path):
    found = guessed(tmp_path, flocks())
    assert found.columns == {"time": "week", "place": "site", "count": "birds", "x": "x", "y": "y"}
    assert found.options == {"noise": "poisson", "rate": 1.0}
    gaps = guessed(tmp_path, flocks().iloc[1:])
    assert gaps.data["absent"] == "unobserved"


def test_coordinates_may_stand_in_a_second_file(tmp_path):
    frame = flocks()
    sites = frame[["site", "x", "y"]].drop_duplicates()
    found = guessed(tmp_path, sites, frame.drop(columns=["x", "y"]))
    assert found.data["places_file"] == str(tmp_path / "0.csv")
    assert found.columns["count"] == "birds"


def test_degrees_are_known_by_their_names(tmp_path):
    found = guessed(tmp_path, flocks().rename(columns={"x": "longitude", "y": "lat"}))
    assert (found.columns["lon"], found.columns["lat"]) == ("longitude", "lat")


def test_negative_counts_are_noisy_ones(tmp_path):
    noisy = flocks().assign(birds=lambda f: f["birds"] + np.random.default_rng(0).laplace(0, 3, len(f)).round(2))
    found = guessed(tmp_path, noisy)
    assert found.options["noise"] == "laplace"
    assert 2 < found.options["sd"] < 8
    assert any("negative" in line for line in found.ask)


def test_relative_abundance_is_no_number_of_individuals(tmp_path):
    found = guessed(tmp_path, flocks().assign(birds=lambda f: f["birds"] / 977))
    assert found.options == {"noise": "relative"}
    assert any("relative abundance" in line for line in found.ask)


def test_places_called_otherwise_are_known_where_every_one_has_a_row_at_every_time(tmp_path):
    towers = flocks().rename(columns={"site": "tower", "x": "lon", "y": "lat", "birds": "devices"})
    assert guessed(tmp_path, towers).columns["place"] == "tower"
    farms = flocks().rename(columns={"site": "farm"}).assign(farm=lambda f: "farm " + f["farm"].astype(str))
    assert guessed(tmp_path, farms).columns["place"] == "farm"
    gaps = farms.iloc[1:]  # one name for each pair of coordinates
    assert guessed(tmp_path, gaps).columns["place"] == "farm"
    assert guessed(tmp_path, gaps.drop(columns=["x", "y"])) is None


def test_other_files_are_no_counts(tmp_path):
    assert guessed(tmp_path, flocks().rename(columns={"week": "a", "site": "b"})) is None


def test_a_place_that_is_the_sum_of_all_others_is_left_out(tmp_path):
    frame = flocks()
    total = frame.groupby("week", as_index=False)["birds"].sum().assign(site="Total", x=0, y=0)
    found = guessed(tmp_path, pd.concat([frame, total]))
    assert found.data["without"] == {"site": "Total"}
    assert found.seen.startswith(f"{frame['site'].nunique()} places")
    assert "sum of all others" in found.ask[-1]


def test_days_and_hours_are_a_season_and_its_times(tmp_path):
    frame = pd.concat([flocks().assign(date=day) for day in ("2021-03-01", "2021-03-02")])
    found = guessed(tmp_path, frame.rename(columns={"week": "hour", "site": "county"}))
    assert (found.columns["time"], found.columns["season"], found.columns["place"]) == ("hour", "date", "county")


def test_several_kinds_in_one_file_are_refused(tmp_path):
    frame = pd.concat([flocks().assign(species=name) for name in ("robin", "wren")])
    assert "of 2 kinds" in str(guessed(tmp_path, frame).refusal)


def test_many_withheld_counts_are_refused_as_such(tmp_path):
    frame = flocks().assign(birds=lambda f: ["<5" if k % 2 else str(n) for k, n in enumerate(f["birds"])])
    with pytest.raises(DataError, match="'birds' is withheld in"):
        guessed(tmp_path, frame)


def steady(n_times=12, n_places=20):
    """Counts of one population that moves, exactly."""
    rng = np.random.default_rng(0)
    counts = rng.multinomial(2000, np.full(n_places, 1 / n_places), size=n_times)
    t, k = np.indices(counts.shape)
    return pd.DataFrame({"week": t.ravel(), "site": k.ravel(), "birds": counts.ravel()})


def test_a_negative_count_that_no_noise_explains_is_refused(tmp_path):
    frame = steady()
    frame.loc[17, "birds"] = -500
    with pytest.raises(DataError, match="vary too little for noise of that size, in 1 of 240 rows. First: row 19"):
        guessed(tmp_path, frame)


def test_sd_is_guessed_from_negative_counts_and_totals(tmp_path):
    rng = np.random.default_rng(1)
    frame = steady().assign(birds=lambda f: (f["birds"] // 3 + rng.laplace(0, 10, len(f))).round(1))
    assert 10.5 < guessed(tmp_path, frame).options["sd"] < 19  # 14.1


def test_other_columns_are_named(tmp_path):
    found = guessed(tmp_path, steady().assign(visitors=3, share=0.5))
    assert found.unused == {"visitors": "another count; birds is used", "share": "no time, place or count"}


def test_a_row_that_lacks_among_large_counts_was_not_observed(tmp_path):
    keys = [(w, s) for w in range(1, 6) for s in "abcde"]
    frame = pd.DataFrame(keys, columns=["Woche", "Ort"]).assign(Anzahl=range(900, 925))
    found = guessed(tmp_path, frame.drop(7))
    assert found.columns == {"time": "Woche", "place": "Ort", "count": "Anzahl"}
    assert found.data["absent"] == "unobserved"
    assert any("no row: they are taken to mean that nobody looked" in line for line in found.ask)
    frame.loc[3, "Anzahl"] = 1
    assert guessed(tmp_path, frame.drop(7)).data["absent"] == "zero"


def test_times_in_columns_leave_out_totals_and_name_what_is_not_used(tmp_path):
    wide = flocks().pivot_table(index="site", columns="week", values="birds").add_prefix("week").reset_index()
    sums = wide.iloc[:, 1:].sum()
    wide = pd.concat([wide, pd.DataFrame([{"site": "Total", **sums}])], ignore_index=True)
    wide.insert(0, "Unnamed: 0", range(len(wide)))
    found = guessed(tmp_path, wide.assign(all=wide.iloc[:, 2:].sum(axis=1)))
    assert found.columns["place"] == "site"
    assert found.data["without"] == {"site": "Total"}
    assert set(found.unused) == {"Unnamed: 0", "all"}
    wide.loc[len(wide) - 1, "week2"] += 50
    with pytest.raises(DataError, match="'Total' reads like a total, and isn't the sum"):
        guessed(tmp_path, wide)
