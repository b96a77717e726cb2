"""The report on flows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from messages import raises, warns
from sumwise import synthetic
from sumwise.collective import CollectiveEM, FreeTables
from sumwise.errors import DataError, ModelWarning, NotConverged
from sumwise.flows import FlowModel, Movement, Places, Tracks
from sumwise.noise import Exact, Laplace
from sumwise.report import report
from sumwise.report.text import flows

NEAR = Movement(1.0, 100.0)  # km
OUTLINES = {
    "type": "FeatureCollection",
    "features": [
        {"geometry": {"type": "Polygon", "coordinates": [[[0, 0], [3, 0], [3, 3], [0, 0]]]}, "properties": {}}
    ],
}


def season(n_times=6):
    made = synthetic.birds(3, n_times, 400, rate=1.0, random_state=1)
    counts = np.stack([made.tables[name].counts for name in made.domain.attributes])
    return made, counts, Places(lon=made.positions[:, 0], lat=made.positions[:, 1])


def blocks(found, kind):
    return [b for s in found.summary["sections"] for b in s["blocks"] if b["kind"] == kind]


def test_a_page_has_maps_routes_connectivity_checks_and_intervals():
    _, counts, places = season()
    model = FlowModel(places).fit(counts)
    found = report(model, counts, outlines=OUTLINES, regions={"low": [0, 1, 2, 3], "high": [4, 5, 6, 7, 8]})
    assert "who went where was not observed" in found.summary["lead"][0]
    assert found.findings[1].startswith("From ")
    assert "95% interval" in found.findings[1]
    assert "alone imply" not in found.findings[1]  # counts are noisy: nothing is implied with certainty
    shown = [f.plot for f in found.figures]
    assert shown[:3] == ["flows", "connectivity", "routes"]
    assert "places" in shown
    assert len(found.figures[0].numbers[0]["outlines"]) == 1
    words = str(found.summary["sections"])
    for part in ("Forecast check", "How individuals move", "converged", "closed", "Poisson(rate=1)"):
        assert part in words
    assert found.figures[1].numbers["regions"] == ["low", "high"]
    assert {"estimates", "places", "routes"} <= set(found.frames)
    top = blocks(found, "table")
    assert any("intervals" in t["title"] for t in top)
    assert "model.seasons_" not in words
    assert found.figures[2].svg().startswith("<svg")


def test_bounds_of_exact_counts_are_what_the_data_imply():
    counts = np.array([[30.0, 10.0], [20.0, 20.0]])
    found = report(FlowModel(movement=NEAR, noise=Exact()).fit(counts), counts)
    assert "; the data alone imply 10 to 20." in found.findings[1]


def test_places_without_coordinates_have_no_map_and_the_reader_is_warned():
    _, counts, _ = season(3)
    found = report(FlowModel(movement=NEAR).fit(counts), counts)
    assert any("No coordinates" in line for line in found.summary["lead"])
    assert not any(f.plot.startswith("map") for f in found.figures)


def test_true_flows_give_the_share_in_a_wrong_flow():
    _, counts, places = season(3)
    model = FlowModel(places, NEAR).fit(counts)
    found = report(model, counts, truth=np.array(model.steps_[0]))
    assert "0.0% of the individuals are assigned to a wrong flow" in str(found.summary["checked"])


@pytest.mark.filterwarnings("ignore:Totals range from")  # counts have Poisson noise besides
def test_seasons_tracks_noise_and_learned_movement_are_named():
    _, counts, places = season(5)
    t, k = np.indices(counts.shape).reshape(2, -1)
    rows = [pd.DataFrame({"year": y, "time": t, "place": k, "count": counts.ravel()}) for y in (2019, 2020)]
    frame = pd.concat(rows)
    years = FlowModel(places, NEAR).fit(frame, season="year")
    found = report(years, frame)
    assert "in 2 seasons" in found.summary["lead"][0]
    assert any(b["title"] == "Seasons" for b in blocks(found, "table"))
    noisy = counts + np.random.default_rng(0).laplace(0, 3, counts.shape)
    kinked = FlowModel(places, NEAR, noise=Laplace(3.0), size=400).fit(noisy)
    assert "95% interval" in report(kinked, noisy).findings[1]
    tracked = FlowModel(places, [NEAR, Movement(3.0, 100.0)]).fit(counts, tracks=Tracks([0], [0], [1], [2]))
    assert "tracks of individuals" in str(report(tracked, counts).summary)
    varying = FlowModel(places, population="varying").fit(counts)
    words = str(report(varying, counts).summary)
    assert "enter and leave" in words
    assert "averaged over movement models" in words


def test_totals_that_vary_under_a_fixed_population_are_a_caution():
    _, counts, places = season(3)
    grown = np.round(counts * np.array([1.0, 1.3, 1.7])[:, None])
    with warns(ModelWarning, "totals-range-time") as said:
        model = FlowModel(places, NEAR).fit(grown)
    assert said[0].filename == __file__
    found = report(model, grown).summary["lead"]
    assert any("totals range from" in line and "varying" in line for line in found)
    varying = report(FlowModel(places, NEAR, population="varying").fit(grown), grown).summary["lead"]
    for lead in (varying, report(FlowModel(places, NEAR).fit(counts), counts).summary["lead"]):
        assert not any("totals range" in line for line in lead)


def test_other_counts_are_refused_and_other_models_have_a_plain_page():
    made, counts, places = season(3)
    model = FlowModel(places, NEAR).fit(counts)
    with raises(DataError, "not-data-model"):
        report(model, counts[:2])
    with pytest.warns(NotConverged):
        learned = CollectiveEM(FreeTables(), max_iter=2).fit(made.tables)
    assert report(learned, made.tables).summary["method"] == "CollectiveEM"


@pytest.mark.parametrize(
    ("start", "end", "word", "shown"),
    [
        ("2026-05-04 06:00:00", "2026-05-04 07:00:00", "hour", "2026-05-04 06:00 to 07:00"),
        ("2026-05-04T23:00", "2026-05-05T00:00", "hour", "2026-05-04 23:00 to 2026-05-05 00:00"),
        ("2026-05-04 06:00:30", "2026-05-04 06:01:00", "time", "2026-05-04 06:00:30 to 2026-05-04 06:01"),
        (1, 2, "week", "week 1 to 2"),
    ],
)
def test_times_of_a_day_are_without_seconds_and_the_day_is_said_once(start, end, word, shown):
    assert flows._called(start, word, end) == shown
