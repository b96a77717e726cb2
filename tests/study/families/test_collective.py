"""Problems on counts over time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from study_cases import flocks, study
from sumwise.errors import DataError
from sumwise.study.families.collective import MovesByDistance
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


def test_flows_agree_with_the_counts_and_lie_in_their_bounds(tmp_path):
    made = study(tmp_path, flocks(), TEXT)
    edges, nodes = made.model["edges"], made.model["nodes"]
    np.testing.assert_allclose(edges.sum(axis=2), nodes[:-1], atol=1e-3)
    np.testing.assert_allclose(edges.sum(axis=1), nodes[1:], atol=1e-3)
    assert made.model["fit"]["converged"]
    assert made.model["settings"]["scale"] in made.model["scores"]
    told = made.estimates()
    assert (told["least"] <= told["count"]).all()
    assert (told["count"] <= told["most"]).all()
    assert (told["lower_bound"] <= told["count"] + 1e-6).all()
    assert (told["count"] <= told["upper_bound"] + 1e-6).all()
    raw = np.abs(nodes - made.counts).mean()
    assert raw < 0.2 * made.counts.mean()  # the counts have their say


def test_without_coordinates_all_moves_are_alike(tmp_path):
    made = study(tmp_path, flocks().drop(columns=["x", "y"]), TEXT.replace('x = "x"\ny = "y"\n', ""), fit=False)
    assert made.positions is None
    moves = np.exp(MovesByDistance(scale=1.0).log_moves(None, 3))
    np.testing.assert_allclose(moves.sum(axis=1), 1)
    assert moves[0, 1] == moves[0, 2] < moves[0, 0]


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
    assert {"estimates.csv", "places.csv", "features.json"} <= set(told["files"])
    assert 'type="range"' in (tmp_path / "r" / "report.html").read_text()
    pd.DataFrame({"site": ["cell 0"], "birds": [100]}).to_csv(tmp_path / "now.csv", index=False)
    found = predict_file(tmp_path / "r", tmp_path / "now.csv")
    assert found["next"].sum() == pytest.approx(100)
    assert (found["low"] <= found["next"]).all()
    assert (found["next"] <= found["high"]).all()
