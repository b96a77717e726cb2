"""What is said of flows."""

from __future__ import annotations

from study_cases import flocks, study

TEXT = 'family = "collective"\n[data]\nfile = "data.csv"\n[columns]\ntime = "week"\nplace = "site"\ncount = "birds"\n'


def test_flows_are_told_with_their_limits(tmp_path):
    told = study(tmp_path, flocks(), TEXT + 'x = "x"\ny = "y"\n').summary().to_dict()
    assert "who went where is not" in told["lead"][0].replace("\n", " ")
    assert told["lead"][2].startswith("From cell ")
    text = str(told["sections"])
    for words in (
        "predicts a left-out time best",
        "What another scale would give",
        "proven gap",
        "independently",
    ):
        assert words in text
    figure = told["sections"][0]["blocks"][0]
    assert figure["plot"] == "flows"
    assert figure["labels"] == ["1 to 2", "2 to 3", "3 to 4", "4 to 5"]


def test_places_without_coordinates_stand_on_a_circle(tmp_path):
    told = study(
        tmp_path, flocks(3).drop(columns=["x", "y"]), TEXT.replace("[data]", "sensitivity = false\n[data]")
    ).summary()
    assert "on a circle" in told.to_dict()["sections"][0]["blocks"][0]["caption"]
