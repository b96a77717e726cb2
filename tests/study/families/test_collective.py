"""Problems on counts over time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from study_cases import flocks, study
from sumwise.errors import DataError
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


def test_counts_are_read_and_the_former_name_of_the_method_is_known(tmp_path):
    text = TEXT.replace("[data]", 'method = "MovesByDistance"\n[data]') + "[options]\nscale = 0.8\n"
    made = study(tmp_path, flocks(), text)
    assert made.data.counts.shape == (5, 9)
    assert made.chosen == "DistanceMoves"
    np.testing.assert_allclose(made.model.edges_.sum(axis=2), made.model.nodes_[:-1], atol=1e-3)


def test_without_coordinates_there_are_no_positions(tmp_path):
    made = study(tmp_path, flocks().drop(columns=["x", "y"]), TEXT.replace('x = "x"\ny = "y"\n', ""), fit=False)
    assert made.data.positions is None
    assert "equally likely" in " ".join(made.notes)


def test_coordinates_in_a_second_file_and_times_in_order(tmp_path):
    frame = flocks(11)
    frame[["site", "x", "y"]].drop_duplicates().sample(frac=1, random_state=0).to_csv(
        tmp_path / "sites.csv", index=False
    )
    text = TEXT.replace("[columns]", 'places_file = "sites.csv"\n[columns]')
    made = study(tmp_path, frame.drop(columns=["x", "y"]).sample(frac=1, random_state=1), text, fit=False)
    assert made.times == [str(t) for t in range(1, 12)]  # 10 after 9
    k = made.places.index("cell 4")
    np.testing.assert_array_equal(made.positions[k], frame.loc[frame["site"] == "cell 4", ["x", "y"]].iloc[0])


@pytest.mark.parametrize(
    ("change", "rows", "told"),
    [
        (("", ""), slice(0, -1), "1 of 45 pairs of time and place have no row. First: '5' at 'cell 8'.*absent = "),
        (('time = "week"', 'time = "x"'), slice(None), "a time and place has two rows"),
        (('count = "birds"', 'count = "bird"'), slice(None), "line 7: .*no column 'bird'. Hint: did you mean 'birds'"),
        (("", ""), slice(0, 9), "there is one time"),
    ],
)
def test_bad_problems_are_told(tmp_path, change, rows, told):
    with pytest.raises(DataError, match=told):
        study(tmp_path, flocks().iloc[rows], TEXT.replace(*change) if change[0] else TEXT, fit=False)


def test_options_are_checked(tmp_path):
    with pytest.raises(DataError, match="noise is 'laplac'"):
        study(tmp_path, flocks(), TEXT + '[options]\nnoise = "laplac"\n')


def test_result_predicts_the_next_step(tmp_path):
    flocks().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "p.toml").write_text(TEXT + "[options]\nscale = 0.8\n")
    told = fit_problem(tmp_path / "p.toml", tmp_path / "r")
    assert {"estimates.csv", "places.csv"} <= set(told["files"])
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
    text = (
        'family = "collective"\n[data]\nfile = "data.csv"\n[columns]\ntime = "week"\nplace = "site"\ncount = "birds"\n'
    )
    with pytest.raises(DataError, match=r"'birds' is negative in \d+ of 12 rows.*noise = .laplace."):
        study(tmp_path, frame, text)
    made = study(tmp_path, frame, text + 'x = "x"\ny = "y"\n[options]\nnoise = "laplace"\nsd = 28.0\nscale = 1.0\n')
    assert (made.model.nodes_ >= -1e-6).all()
    assert "about" in made.report().summary["lead"][0]


def test_relative_abundance_is_not_called_individuals(tmp_path):
    frame = flocks(3, 2).assign(birds=lambda f: f["birds"] / 977)
    text = (
        'family = "collective"\n[data]\nfile = "data.csv"\n[columns]\ntime = "week"\nplace = "site"\ncount = "birds"\n'
    )
    made = study(tmp_path, frame, text + '[options]\nnoise = "gaussian"\nsd = 0.01\nscale = 1.0\n')
    assert "not individuals" in made.report().summary["lead"][0]
