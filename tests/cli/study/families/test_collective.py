"""Problems on counts over time: the command line is a shell over FlowModel."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from messages import raises
from study_cases import flocks, study
from sumwise import load
from sumwise.cli.study.families import study_of
from sumwise.cli.study.fitting import fit_problem, predict_file
from sumwise.cli.study.initialise import suggest_problem
from sumwise.errors import DataError
from sumwise.flows import Movement
from sumwise.io.formats import BirdFlow, write_birdflow
from sumwise.noise import Geometric, Laplace, NegativeBinomial, Poisson
from sumwise.schema.opened import is_birdflow
from sumwise.schema.problem import Problem

TEXT = """family = "collective"
[data]
file = "data.csv"
[columns]
time = "week"
place = "site"
count = "birds"
x = "x"
y = "y"
"""
GIVEN = "[options]\nstay = 1.0\nscale = 0.8\n"

LONG = 'family = "collective"\n[data]\nfile = "data.csv"\n[columns]\ntime = "week"\nplace = "site"\ncount = "birds"\n'
XY = 'x = "x"\ny = "y"\n'


def test_counts_are_read_and_the_former_names_of_the_method_are_known(tmp_path):
    for old in ("MovesByDistance", "DistanceMoves"):
        text = TEXT.replace("[data]", f'method = "{old}"\n[data]') + "[options]\nscale = 0.8\n"
        made = study(tmp_path, flocks(3), text)
        assert made.chosen == "FlowModel"
        assert made.model.movements_ == [Movement(0.0, 0.8)]
        np.testing.assert_allclose(np.sum(made.model.steps_[0], axis=2), made.model.nodes_[:-1], atol=0.1)


def test_names_of_columns_are_refused(tmp_path):
    with raises(DataError, "names-no-use"):
        study(tmp_path, flocks(3), TEXT + '[names]\nsite = "place"\n', fit=False)


def test_without_coordinates_all_moves_are_alike(tmp_path):
    made = study(tmp_path, flocks(3).drop(columns=["x", "y"]), TEXT.replace('x = "x"\ny = "y"\n', ""), fit=False)
    assert made.places is None
    assert "equally likely" in " ".join(made.notes)


def test_coordinates_in_a_second_file_and_times_in_order(tmp_path):
    frame = flocks(11)
    frame[["site", "x", "y"]].drop_duplicates().sample(frac=1, random_state=0).to_csv(
        tmp_path / "sites.csv", index=False
    )
    text = TEXT.replace("[columns]", 'places_file = "sites.csv"\n[columns]')
    made = study(tmp_path, frame.drop(columns=["x", "y"]).sample(frac=1, random_state=1), text, fit=False)
    assert made.times == list(range(1, 12))  # 10 after 9
    k = list(made.places.names).index("cell 4")
    np.testing.assert_array_equal(made.places.positions[k], frame.loc[frame["site"] == "cell 4", ["x", "y"]].iloc[0])


def test_every_key_reaches_the_model(tmp_path):
    frame = flocks(4).assign(year=2020, seen=0.5, open=1, size=2.0, part=lambda f: np.where(f["x"] > 1, "e", "w"))
    frame = pd.concat([frame, frame.assign(year=2021)])
    frame = frame.rename(columns={"x": "lon", "y": "lat"})
    text = TEXT.replace('x = "x"\ny = "y"', 'lon = "lon"\nlat = "lat"\narea = "size"\nregion = "part"')
    text += 'season = "year"\neffort = "seen"\nmask = "open"\n'
    options = 'population = "varying"\nturnover = 0.02\nnoise = "negative-binomial"\ndispersion = 0.2\nreach = 400.0\n'
    made = study(tmp_path, frame, text + "[options]\nstay = 1.0\nscale = 90.0\ncyclic = true\n" + options)
    model = made.model
    assert (model.population, model.turnover, model.cyclic, model.places.reach) == ("varying", 0.02, True, 400.0)
    assert sorted(model.seasons_) == [2020, 2021]
    one = model.seasons_[2020]
    assert isinstance(one.noise_, NegativeBinomial)
    np.testing.assert_array_equal(one.noise_.rate, 1.0)  # the same effort everywhere
    assert one.mask_.all()
    assert made.places.area is not None
    assert set(made.details["regions"]) == {"e", "w"}
    assert "connectivity" in [f.plot for f in made.report().figures]


def test_distances_tracks_outlines_and_gaps_come_from_files(tmp_path):
    frame = flocks(6, 2)
    sites = frame["site"].unique()
    pairs = [(a, b, 1.0) for a in sites for b in sites if a != b and {a, b} != {"cell 0", "cell 3"}]
    pd.DataFrame(pairs, columns=["origin", "destination", "distance"]).to_csv(tmp_path / "far.csv", index=False)
    tracks = {"from_place": ["cell 0"], "from_time": [1], "to_place": ["cell 1"], "to_time": [2]}
    pd.DataFrame(tracks).to_csv(tmp_path / "tracks.csv", index=False)
    (tmp_path / "land.json").write_text(json.dumps({"type": "FeatureCollection", "features": []}))
    keys = 'distances_file = "far.csv"\ntracks_file = "tracks.csv"\noutlines_file = "land.json"\n'
    keys += 'times = "regular"\nabsent = "unobserved"\n[columns]'
    made = study(tmp_path, frame[frame["week"] != 3], TEXT.replace("[columns]", keys))
    assert made.model.times_ == [1, 2, 3, 4, 5, 6]
    assert np.asarray(made.model.steps_[0][0])[0, 3] == 0.0
    assert made.model.log_likelihood_ is not None
    assert "outlines" in made.details
    (tmp_path / "land.json").write_text("[1]")
    with raises(DataError, "not-geojson-polygons"):
        study(tmp_path, frame, TEXT.replace("[columns]", keys), fit=False)


@pytest.mark.parametrize(
    ("options", "noise"),
    [
        ("rate = 0.5", Poisson(0.5)),
        ('noise = "laplace"\nsd = 2.0', Laplace(2.0 / np.sqrt(2))),
        ('noise = "geometric"\nsd = 2.0', Geometric(2.0 / np.sqrt(2))),
        ('noise = "relative"', None),
    ],
)
def test_noise_is_read(tmp_path, options, noise):
    made = study(tmp_path, flocks(3, 2), TEXT + f"[options]\n{options}\n", fit=False)
    assert made.configured("FlowModel").noise == noise


@pytest.mark.parametrize(
    ("change", "rows", "words"),
    [
        (("", ""), slice(0, -1), ("pairs-time-place", 1, 45, 5, "cell 8")),
        (('time = "week"', 'time = "x"'), slice(None), ("rows-first-add-them-up", "a time and place has two rows")),
        (('count = "birds"', 'count = "bird"'), slice(None), ("no-did-you", "column", "bird", "birds")),
        (("", ""), slice(0, 9), ("time-flows-need",)),
    ],
)
def test_bad_problems_are_refused(tmp_path, change, rows, words):
    with raises(DataError, *words):
        study(tmp_path, flocks().iloc[rows], TEXT.replace(*change) if change[0] else TEXT, fit=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ('noise = "laplac"', ("did-you-mean",)),
        ('noise = "exact"\nsd = 2.0', ("noise-noise-no", "sd", "2.0", "exact")),
        ('movement = "adaptive"\nscale = 2.0', ("movement-too-movement", "adaptive", "scale")),
        ("scal = 2.0", ("no-did-you", "key", "scal", "scale")),
        ('detection = "place"', ("detection-place-not", 3, 9)),
    ],
)
def test_options_are_checked(tmp_path, options, words):
    with raises(DataError, *words):
        study(tmp_path, flocks(3), TEXT + f"[options]\n{options}\n")


def test_counts_at_several_times_are_predicted_time_by_time(tmp_path):
    frame = flocks(3)
    frame.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "p.toml").write_text(TEXT + GIVEN)
    fit_problem(tmp_path / "p.toml", tmp_path / "r")
    found = predict_file(tmp_path / "r", tmp_path / "data.csv")
    model = load(tmp_path / "r" / "model.sumwise")
    assert found["time"].unique().tolist() == [1, 2, 3]  # the sum over all times is nobody's count
    for time in (1, 3):
        counted = frame[frame["week"] == time].set_index("site")["birds"]
        mine = found[found["time"] == time].set_index("place")
        np.testing.assert_allclose(mine["now"], counted.loc[mine.index])
        ahead = model.forecast(mine["now"].to_numpy(), time if time < 3 else None)  # no step begins at the last time
        np.testing.assert_allclose(mine["next"], ahead.values[0])


def test_result_predicts_the_next_step(tmp_path):
    flocks(3).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "p.toml").write_text(TEXT + GIVEN)
    made = fit_problem(tmp_path / "p.toml", tmp_path / "r")
    assert {"estimates.csv", "places.csv", "routes.csv"} <= set(made["files"])
    assert 'type="range"' in (tmp_path / "r" / "report.html").read_text()
    pd.DataFrame({"site": ["cell 0"], "birds": [100]}).to_csv(tmp_path / "now.csv", index=False)
    found = predict_file(tmp_path / "r", tmp_path / "now.csv")
    assert found["next"].sum() == pytest.approx(100)
    assert (found["low"] <= found["next"]).all()
    assert (found["next"] <= found["high"].clip(lower=0.05)).all()  # nobody, in 95 of 100 futures


def test_noisy_counts_may_be_negative_where_the_noise_says_so(tmp_path):
    frame = flocks(3, 2)
    frame["birds"] = frame["birds"] + np.random.default_rng(0).laplace(0, 20, len(frame)).round(1)
    assert (frame["birds"] < 0).any()
    with raises(DataError, "rows-first-noisy", "birds", 12):
        study(tmp_path, frame, TEXT)
    made = study(tmp_path, frame, TEXT + '[options]\nnoise = "laplace"\nsd = 28.0\nscale = 1.0\npopulation = 400\n')
    assert (made.model.nodes_ >= -1e-6).all()
    assert made.model.n_ == 400
    assert "about 400" in made.report().summary["lead"][0]


def test_relative_abundance_is_not_called_individuals(tmp_path):
    frame = flocks(3, 2).assign(birds=lambda f: f["birds"] / 977)
    made = study(tmp_path, frame, TEXT + '[options]\nnoise = "relative"\nscale = 1.0\n')
    assert "relative abundance" in made.report().summary["lead"][0]


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
    with raises(DataError, "columns-names-no", "place"):
        study(tmp_path, frame, LONG.replace('place = "site"\n', ""), fit=False)


def test_a_place_that_moves_is_refused_with_its_row(tmp_path):
    frame = flocks(4)
    frame.loc[20, "x"] += 1
    with raises(DataError, "rows-first-name-right", "other coordinates than before", 1, 36, "row 22"):
        study(tmp_path, frame, LONG + XY, fit=False)


def test_init_reads_files_that_nobody_prepared(tmp_path):
    days = pd.date_range("2021-01-04", periods=6, freq="7D").strftime("%Y-%m-%d").to_numpy()
    frame = flocks(6).rename(columns={"x": "longitude", "y": "latitude"})
    frame = frame.assign(survey_date=days[frame["week"] - 1]).drop(columns=["week", "site"])
    frame = frame[(frame["birds"] > 0) & (frame["survey_date"] != days[2])]
    frame.assign(species="rewbla").sample(frac=1, random_state=0).to_csv(tmp_path / "survey.csv", index=False)
    answers = {"absent": "nobody was there", "times": "estimate the missing times"}
    found = suggest_problem([tmp_path / "survey.csv"], tmp_path / "a.toml", answers).schema
    assert found.questions == ()
    assert found.columns == {"time": "survey_date", "count": "birds", "lon": "longitude", "lat": "latitude"}
    assert (found.data["absent"], found.data["times"]) == ("zero", "regular")
    wide = flocks(5).pivot_table(index="site", columns="week", values="birds").add_prefix("week0").reset_index()
    wide.to_csv(tmp_path / "wide.csv", index=False)
    flocks(5)[["site", "x", "y"]].drop_duplicates().to_csv(tmp_path / "sites.csv", index=False)
    found = suggest_problem([tmp_path / "wide.csv", tmp_path / "sites.csv"], tmp_path / "b.toml").schema
    assert found.columns["times"] == [f"week0{k}" for k in range(1, 6)]
    tall = flocks(5).pivot_table(index="week", columns="site", values="birds").reset_index()
    tall.to_csv(tmp_path / "tall.csv", index=False)
    found = suggest_problem([tmp_path / "tall.csv", tmp_path / "sites.csv"], tmp_path / "c.toml").schema
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
