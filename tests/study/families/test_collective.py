"""Problems on counts over time: the command line is a shell over FlowModel."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from study_cases import flocks, study
from sumwise import load
from sumwise.collective import Movement
from sumwise.errors import DataError
from sumwise.noise import Geometric, Laplace, NegativeBinomial, Poisson
from sumwise.study.fitting import fit_problem
from sumwise.study.predicting import predict_file

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


def test_counts_are_read_and_the_former_names_of_the_method_are_known(tmp_path):
    for old in ("MovesByDistance", "DistanceMoves"):
        text = TEXT.replace("[data]", f'method = "{old}"\n[data]') + "[options]\nscale = 0.8\n"
        made = study(tmp_path, flocks(3), text)
        assert made.chosen == "FlowModel"
        assert made.model.movements_ == [Movement(0.0, 0.8)]
        np.testing.assert_allclose(np.sum(made.model.steps_[0], axis=2), made.model.nodes_[:-1], atol=0.1)


def test_names_of_columns_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"\[names\] has no use here"):
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
    np.testing.assert_array_equal(one.noise_.rate, 0.5)
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
    with pytest.raises(DataError, match=r"'land.json' is no GeoJSON"):
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
        (("", ""), slice(0, -1), "1 of 45 pairs of time and place have no row. First: '5' at 'cell 8'.*absent = "),
        (('time = "week"', 'time = "x"'), slice(None), "a time and place has two rows"),
        (('count = "birds"', 'count = "bird"'), slice(None), "line 7: .*no column 'bird'. Hint: did you mean 'birds'"),
        (("", ""), slice(0, 9), "there is one time"),
    ],
)
def test_bad_problems_are_refused(tmp_path, change, rows, words):
    with pytest.raises(DataError, match=words):
        study(tmp_path, flocks().iloc[rows], TEXT.replace(*change) if change[0] else TEXT, fit=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ('noise = "laplac"', "line 11: noise is 'laplac'"),
        ('noise = "exact"\nsd = 2.0', "sd is 2.0 with noise 'exact'"),
        ('movement = "adaptive"\nscale = 2.0', "movement is 'adaptive', and scale is given too"),
        ("scal = 2.0", "no key in .options. 'scal'. Hint: did you mean 'scale'"),
        ('detection = "place"', "Detection by place is not identified: 3 times without gaps for 9 places"),
    ],
)
def test_options_are_checked(tmp_path, options, words):
    with pytest.raises(DataError, match=words):
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
        moved = model.predict(mine["now"].to_numpy(), time if time < 3 else None)  # no step begins at the last time
        np.testing.assert_allclose(mine["next"], moved)


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
    assert (found["next"] <= found["high"]).all()


def test_noisy_counts_may_be_negative_where_the_noise_says_so(tmp_path):
    frame = flocks(3, 2)
    frame["birds"] = frame["birds"] + np.random.default_rng(0).laplace(0, 20, len(frame)).round(1)
    assert (frame["birds"] < 0).any()
    with pytest.raises(DataError, match=r"'birds' is negative in \d+ of 12 rows.*noise = .laplace."):
        study(tmp_path, frame, TEXT)
    made = study(tmp_path, frame, TEXT + '[options]\nnoise = "laplace"\nsd = 28.0\nscale = 1.0\npopulation = 400\n')
    assert (made.model.nodes_ >= -1e-6).all()
    assert made.model.n_ == 400
    assert "about 400" in made.report().summary["lead"][0]


def test_relative_abundance_is_not_called_individuals(tmp_path):
    frame = flocks(3, 2).assign(birds=lambda f: f["birds"] / 977)
    made = study(tmp_path, frame, TEXT + '[options]\nnoise = "relative"\nscale = 1.0\n')
    assert "relative abundance" in made.report().summary["lead"][0]


def test_the_reason_names_times_and_places_not_rows_and_columns(tmp_path):
    made = study(tmp_path, flocks(5), TEXT, fit=False)
    assert made.choose()[1].startswith(f"5 times and {flocks(5)['site'].nunique()} places:")
