"""The report on flows."""

from __future__ import annotations

import numpy as np
import pytest

from sumwise import synthetic
from sumwise.collective import CountsOverTime, DistanceMoves
from sumwise.errors import DataError
from sumwise.report import report


def counts(n_times=5, positions=True):
    season = synthetic.birds(3, n_times, 400, rate=1.0, random_state=1)
    seen = np.stack([season.tables[name].counts for name in season.domain.attributes])
    return CountsOverTime(seen, positions=season.positions if positions else None)


def test_flows_come_with_their_limits():
    data = counts()
    found = report(DistanceMoves().fit(data), data)
    assert "who went where was not observed" in found.summary["lead"][0]
    assert found.findings[1].startswith("From ")
    assert all("lower_bound" in f for f in found.summary["findings"])
    text = str(found.summary["sections"])
    for words in ("which was left out", "Sensitivity to the scale", "distance to the optimum", "independently"):
        assert words in text
    figure = found.summary["sections"][0]["blocks"][0]
    assert figure["plot"] == "flows"
    assert figure["labels"] == ["time 0 to 1", "time 1 to 2", "time 2 to 3", "time 3 to 4"]


def test_places_without_coordinates_are_drawn_on_a_circle_and_the_reader_is_warned():
    data = counts(3, positions=False)
    found = report(DistanceMoves(scale=1.0).fit(data), data)
    assert "on a circle" in found.figures[0].caption
    assert any("No coordinates" in line for line in found.summary["lead"])


def test_true_flows_give_the_share_in_a_wrong_flow():
    data = counts(3)
    model = DistanceMoves(scale=1.0).fit(data)
    found = report(model, data, truth=model.edges_)
    assert any("0.0% of the individuals are assigned to a wrong flow" in line for line in found.summary["checked"])


def test_other_data_are_refused():
    data = counts(3)
    with pytest.raises(DataError, match="needs the counts over time"):
        report(DistanceMoves(scale=1.0).fit(data), data.counts)
