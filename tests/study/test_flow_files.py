"""Counts over time in other layouts than a row per time and place."""

import numpy as np
import pandas as pd
import pytest

from study_cases import flocks, study
from sumwise.errors import DataError
from sumwise.readers import BirdFlow, write_birdflow
from sumwise.study.families import study_of
from sumwise.study.initialise import suggest_problem
from sumwise.study.problem import Problem
from sumwise.study.sources import is_birdflow

LONG = 'family = "collective"\n[data]\nfile = "data.csv"\n[columns]\ntime = "week"\nplace = "site"\ncount = "birds"\n'
XY = 'x = "x"\ny = "y"\n'


def test_times_in_columns_and_places_in_columns_are_read_as_rows_are(tmp_path):
    frame = flocks(11)
    wanted = study(tmp_path, frame, LONG + XY, fit=False)
    wide = frame.pivot_table(index=["site", "x", "y"], columns="week", values="birds").reset_index()
    wide.columns = [f"week{c}" if isinstance(c, int) else c for c in wide.columns]
    names = [f"week{k}" for k in range(1, 12)]
    head = 'family = "collective"\n[data]\nfile = "data.csv"\n[columns]\n'
    across = study(tmp_path, wide, f'{head}place = "site"\ntimes = {names}\n{XY}'.replace("'", '"'), fit=False)
    assert across.times == names  # week10 after week9
    tall = frame.pivot_table(index="week", columns="site", values="birds").reset_index()
    sites = sorted(set(frame["site"]))
    down = study(tmp_path, tall, f'{head}time = "week"\nplaces = {sites}\n'.replace("'", '"'), fit=False)
    for made in (across, down):
        found = made.data.pivot_table(index="time", columns="place", values="count").loc[made.times, sites]
        expected = wanted.data.pivot_table(index="time", columns="place", values="count")[sites]
        np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())
    np.testing.assert_array_equal(across.places.positions, wide[["x", "y"]])


def test_places_without_names_are_known_by_their_coordinates(tmp_path):
    frame = flocks(4).drop(columns="site").rename(columns={"x": "lon", "y": "lat"}).sample(frac=1, random_state=0)
    text = LONG.replace('place = "site"\n', "") + 'lon = "lon"\nlat = "lat"\n'
    made = study(tmp_path, frame, text, fit=False)
    assert len(made.places) == 9
    assert made.places.names[0] == f"{frame['lon'].iloc[0]:.10g}, {frame['lat'].iloc[0]:.10g}"
    with pytest.raises(DataError, match="names no place"):
        study(tmp_path, frame, LONG.replace('place = "site"\n', ""), fit=False)


def test_a_place_that_moves_is_refused_with_its_row(tmp_path):
    frame = flocks(4)
    frame.loc[20, "x"] += 1
    with pytest.raises(DataError, match="other coordinates than before in 1 of 36 rows. First: row 22"):
        study(tmp_path, frame, LONG + XY, fit=False)


def test_init_reads_files_that_nobody_prepared(tmp_path):
    days = pd.date_range("2021-01-04", periods=6, freq="7D").strftime("%Y-%m-%d").to_numpy()
    frame = flocks(6).rename(columns={"x": "longitude", "y": "latitude"})
    frame = frame.assign(survey_date=days[frame["week"] - 1]).drop(columns=["week", "site"])
    frame = frame[(frame["birds"] > 0) & (frame["survey_date"] != days[2])]
    frame.assign(species="rewbla").sample(frac=1, random_state=0).to_csv(tmp_path / "survey.csv", index=False)
    found = suggest_problem([tmp_path / "survey.csv"], tmp_path / "a.toml").guess
    assert found.columns == {"time": "survey_date", "count": "birds", "lon": "longitude", "lat": "latitude"}
    assert (found.data["absent"], found.data["times"]) == ("zero", "regular")
    wide = flocks(5).pivot_table(index="site", columns="week", values="birds").add_prefix("week0").reset_index()
    wide.to_csv(tmp_path / "wide.csv", index=False)
    flocks(5)[["site", "x", "y"]].drop_duplicates().to_csv(tmp_path / "sites.csv", index=False)
    found = suggest_problem([tmp_path / "wide.csv", tmp_path / "sites.csv"], tmp_path / "b.toml").guess
    assert found.columns["times"] == [f"week0{k}" for k in range(1, 6)]
    tall = flocks(5).pivot_table(index="week", columns="site", values="birds").reset_index()
    tall.to_csv(tmp_path / "tall.csv", index=False)
    found = suggest_problem([tmp_path / "tall.csv", tmp_path / "sites.csv"], tmp_path / "c.toml").guess
    assert found.columns["places"] == sorted(set(flocks(5)["site"]))


def test_a_birdflow_model_needs_no_columns(tmp_path):
    pytest.importorskip("h5py")
    geom = {"nrow": 1, "ncol": 3, "res": [1.0, 1.0], "ext": [0.0, 3.0, 0.0, 1.0], "crs": "", "mask": [[True] * 3]}
    shares = np.array([[0.5, 0.2], [0.5, 0.8], [0.0, 0.0]])
    used = np.array([[True, True], [True, True], [False, True]])
    model = BirdFlow(geom, shares, pd.DataFrame({"timestep": [1, 2]}), dynamic_mask=used)
    write_birdflow(model, tmp_path / "model.hdf5")
    assert is_birdflow(tmp_path / "model.hdf5")
    found = suggest_problem([tmp_path / "model.hdf5"], tmp_path / "problem.toml")
    made = study_of(Problem.parse(found.text, tmp_path / "problem.toml"))
    made.read()
    assert made.data["mask"].tolist() == [1, 1, 0, 1, 1, 1]
    np.testing.assert_array_equal(made.data["count"], [0.5, 0.5, np.nan, 0.2, 0.8, 0.0])
    assert made.places.x.tolist() == [0.5, 1.5, 2.5]
