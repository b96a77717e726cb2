"""Results side by side: matched by name, differences last less first, intervals apart or not."""

import pandas as pd
import pytest

from messages import raises
from sumwise.errors import DataError
from sumwise.report.comparison import compare_results

SUMMARY = {"title": "Votes", "family": "ecological", "method": "King", "lead": ["Verdict."], "findings": []}


def estimates(**changes):
    frame = pd.DataFrame(
        {"group": ["a", "b"], "outcome": "x", "share": [0.5, 0.2], "low": [0.4, 0.1], "high": [0.6, 0.3]}
    )
    return frame.assign(**changes)


def test_estimates_are_matched_whatever_their_order():
    later = estimates(share=[0.8, 0.25], low=[0.7, 0.15], high=[0.9, 0.35]).iloc[::-1]
    found, frame = compare_results({"2016": (SUMMARY, estimates()), "2020": (SUMMARY, later)})
    assert frame.set_index("group")["difference"].round(6).to_dict() == {"a": 0.3, "b": 0.05}
    assert frame.set_index("group")["intervals"].to_dict() == {"a": "apart", "b": "overlap"}
    assert found.title == "2016 and 2020 compared (Votes)"
    assert found.lead == [
        "2 estimates are in both results. In 1 of 2 the intervals do not overlap. The largest difference is in a, x: "
        "50.0% in 2016, 80.0% in 2020."
    ]
    assert found.findings[0]["line"] == "a, x: 2020 minus 2016: +30.0 points."
    figure = found.to_dict()["sections"][0]["blocks"][0]
    assert figure["numbers"]["labels"] == ["a, x", "b, x"]
    assert [c["name"] for c in found.to_dict()["sections"][1]["blocks"][0]["columns"]][2:5] == [
        "difference",
        "2016",
        "interval, 2016",
    ]
    assert "Votes (King)" in str(found.to_dict()["sections"])


def test_estimates_without_counterpart_are_named():
    found, frame = compare_results({"one": (SUMMARY, estimates()), "two": (SUMMARY, estimates().head(1))})
    assert len(frame) == 1
    assert found.lead[1] == "1 estimate of one has no counterpart."


def test_results_without_intervals_claim_nothing():
    plain = estimates().drop(columns=["low", "high"])
    found, _ = compare_results({"one": (SUMMARY, plain), "two": (SUMMARY, plain)})
    assert "no intervals" in found.lead[0]
    assert "interval" not in found.findings[0]["because"]


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ({"one": (SUMMARY, estimates())}, ("result-compare-name",)),
        ({"a": (SUMMARY, estimates()), "b": (SUMMARY, estimates(group=["c", "d"]))}, ("results-no-estimate",)),
        (
            {"a": (SUMMARY, estimates()), "b": (SUMMARY, pd.DataFrame({"bag": ["1"], "predicted": [1.0]}))},
            ("results-contain-different",),
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(results, words):
    with raises(DataError, *words):
        compare_results(results)


def test_a_share_that_is_impossible_is_called_so():
    beyond = estimates(share=[1.1, 0.2], low=[1.05, 0.1], high=[1.15, 0.3])
    found = compare_results({"one": (SUMMARY, estimates()), "two": (SUMMARY, beyond)})[0].findings[0]
    assert "impossible" in found["because"]


def test_differences_of_independent_data_have_intervals():
    later = estimates(share=[0.8, 0.25], low=[0.72, 0.15], high=[0.9, 0.35])
    found, frame = compare_results({"2016": (SUMMARY, estimates()), "2020": (SUMMARY, later)}, "independent", 0.9)
    assert frame["difference_low"].tolist() == pytest.approx([0.3 - (0.08**2 + 0.1**2) ** 0.5, 0.05 - 0.02**0.5])
    assert frame["difference_high"].tolist() == pytest.approx([0.3 + 0.02**0.5, 0.05 + 0.02**0.5])
    assert "The interval of the difference excludes zero in 1 of 2." in found.lead[0]
    assert "independent" in found.lead[1]
    assert found.findings[0]["line"] == ("a, x: 2020 minus 2016: +30 points (90% interval +17 to +44 points).")
    assert "there may be no difference" in found.findings[1]["because"]
    drawn, estimate = found.to_dict()["sections"][0]["blocks"]
    assert drawn["plot"] == "polarisation"
    assert estimate["plot"] == "methods"
    assert "about 0.2 of 2 intervals" in str(found.to_dict()["sections"][1])


def test_bounds_add_up_and_unknown_ends_stay_unknown():
    bounds = {**SUMMARY, "method": "Bounds"}
    open_end = estimates(low=[0.4, None])
    found, frame = compare_results({"one": (SUMMARY, estimates()), "two": (bounds, open_end)}, "same units")
    assert frame["difference_low"].iloc[0] == pytest.approx(-0.2)
    assert frame["intervals"].tolist() == ["overlap", ""]
    assert ["there may be no difference" in f["because"] for f in found.findings] == [True, False]


def test_the_same_data_and_other_levels_have_no_interval_and_say_why():
    for relation, words in (("same data", "not a matter of chance"), ("levels", "different levels")):
        found, frame = compare_results({"a": (SUMMARY, estimates()), "b": (SUMMARY, estimates())}, relation)
        assert words in found.lead[-1]
        assert "difference_low" not in frame


def test_flows_are_matched_by_time_and_names_are_unique():
    flows = pd.DataFrame({"time": [1, 2], "next time": [2, 3], "from": "a", "to": "b", "count": [5.0, 7.0]})
    _, frame = compare_results({"one": (SUMMARY, flows), "two": (SUMMARY, flows.assign(count=[6.0, 9.0]))})
    assert frame["difference"].tolist() == [1.0, 2.0]
    with raises(DataError, "estimates-share-name"):
        compare_results({"one": (SUMMARY, flows.assign(**{"time": 1, "next time": 2})), "two": (SUMMARY, flows)})


def test_methods_on_the_same_data_differ_for_sure_and_may_both_be_wrong():
    one = pd.DataFrame(
        {"group": ["a", "b"], "outcome": "x", "share": [0.5, 0.2], "low": [0.4, 0.1], "high": [0.6, 0.3]}
    )
    page = {"title": "t", "family": "ecological", "method": "King", "findings": []}
    near = one.assign(share=[0.55, 0.2])
    found, _ = compare_results({"King": (page, one), "Goodman": (page, near)}, "same data")
    assert "the methods do not contradict each other" in found.lead[0]
    assert found.findings[0]["because"].endswith("the data do not say which is nearer to the truth.")
    far = one.assign(share=[0.9, 0.2], low=[0.8, 0.1], high=[1.0, 0.3])
    found, _ = compare_results({"King": (page, one), "Goodman": (page, far)}, "same data")
    assert found.findings[0]["because"].endswith("the assumptions of at least one method are in doubt here.")


def test_every_figure_has_the_data_behind_it():
    found = compare_results({"one": (SUMMARY, estimates()), "two": (SUMMARY, estimates())}, "independent")[0]
    figures = [b for s in found.to_dict()["sections"] for b in s["blocks"] if b["kind"] == "figure"]
    assert figures
    assert all(figure["table"]["rows"] for figure in figures)
