"""The report on individuals learned from counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from messages import raises, warns
from study_cases import people
from sumwise import Bags
from sumwise.errors import DataError
from sumwise.proportions import CardinalityClassifier, MeanEmbeddingClassifier
from sumwise.report import report


def case(n_bags=24):
    frame = people(n_bags)
    numbers = frame.assign(age=(frame["age"] - 40) / 12, female=(frame["sex"] == "f").astype(float))
    bags = Bags.from_frame(numbers, bag="area", features=["age", "female"])
    labels = (frame["vote"] == "yes").astype(int).to_numpy()
    counts = np.add.reduceat(labels, bags.offsets[:-1])
    options = {"classes": ["no", "yes"], "groups": {"sex": frame["sex"].to_numpy()}}
    return (bags, counts), labels, options


def test_findings_contrast_subgroups_and_check_against_labels():
    data, labels, options = case()
    model = CardinalityClassifier(penalty=1.0).fit(*data)
    found = report(model, data, truth=labels, compare=[MeanEmbeddingClassifier()], **options)
    assert found.title == "Share of yes by sex"
    assert "but not which ones" in found.summary["lead"][0]
    assert found.findings[0].startswith("Share of “yes” for sex f: ")
    assert "labels are known here" in " ".join(found.summary["checked"])
    text = str(found.summary["sections"])
    for words in (
        "Is the model identifiable?",
        "Cross-validation over bags",
        "MeanEmbeddingClassifier",
        "against the labels",
        "AUC",
    ):
        assert words in text


def test_levels_keep_their_brackets_and_features_their_display_names():
    data, _, options = case()
    model = CardinalityClassifier(penalty=1.0).fit(*data)
    groups = {"sex": np.where(options["groups"]["sex"] == "f", "f (female)", "m (male)")}
    names = {"age": "age in years / 12"}
    found = report(model, data, classes=options["classes"], groups=groups, names=names)
    assert found.findings[0].startswith("Share of “yes” for sex f (female): ")
    assert "age in years / 12" in str(found.summary["sections"])


def test_a_survey_is_set_beside_the_estimates():
    data, _, options = case()
    model = CardinalityClassifier(penalty=1.0).fit(*data)
    survey = pd.DataFrame({"group": "sex", "level": ["f", "m"], "class": "yes", "survey": [0.55, 0.01]})
    text = str(report(model, data, survey=survey, **options).summary)
    assert "Comparison with the survey" in text
    assert "inside the interval in 1 of 2 subgroups" in text
    with raises(DataError, "no-row-survey"):
        report(model, data, survey=survey.assign(group="age"), **options)


def test_bags_that_are_too_few_come_first():
    data, _, options = case(3)
    found = report(CardinalityClassifier(penalty=1.0).fit(*data), data, **options)
    assert found.summary["lead"][0].startswith("3 bags are too few to estimate any of the 2 effects")
    assert "do not determine how the share of “yes” differs by sex" in found.summary["lead"][1]
    assert [f["what"] for f in found.summary["findings"]] == ["Share of “yes” among all individuals"]


def test_no_difference_is_a_finding_where_no_effect_is_answerable():
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(200, 12)) + np.r_[3.0 * k, np.zeros(11)] for k in (-1, -0.5, 0, 0.5, 1)]
    bags = Bags.from_arrays(rows)  # they differ in one feature, and are fewer than features
    counts = np.array([(x[:, 0] > 0).sum() for x in rows])
    groups = {"side": np.where(bags.values[:, 0] > 0, "right", "left")}
    with warns(UserWarning, "bags-too-few-estimate", 5, 12):
        model = CardinalityClassifier(penalty=1.0).fit(bags, counts)
    found = report(model, (bags, counts), classes=["no", "yes"], groups=groups)
    assert found.summary["lead"][0].startswith("5 bags are too few to estimate any of the 12 effects")
    assert [f["what"] for f in found.summary["findings"]] == ["Share of “yes” among all individuals"]


def test_counts_are_needed():
    data, _, _ = case()
    with raises(DataError, "report-classifier-individuals"):
        report(MeanEmbeddingClassifier().fit(*data), data[0])


def test_those_whose_level_is_missing_are_no_finding():
    from types import SimpleNamespace

    from sumwise.report.text.proportions import _contrasts, _findings

    shares = {"(missing)": 0.1, "low": 0.4, "high": 0.8}
    rows = [("income", level, "yes", 30, share, share - 0.1, share + 0.1, 0.7, 0.4) for level, share in shares.items()]
    rows.append(("everybody", "all", "yes", 90, 0.5, 0.5, 0.5, 1.0, 1.0))
    names = ["group", "level", "class", "people", "share", "low", "high", "highest", "lowest"]
    frame = pd.DataFrame(rows, columns=names)
    context: Any = SimpleNamespace(
        level=0.95, method="x", data=(None, np.zeros(3)), groups={"income": np.repeat(list(shares), 30)}
    )
    bags: Any = SimpleNamespace(weights=np.ones(90))
    contrasts = _contrasts(context, frame, "yes", bags, None)
    found = _findings(context, frame, "yes", contrasts)
    assert [f["what"] for f in found] == ["Share of “yes” for income high", "Share of “yes” for income low"]
    assert [f["because"] for f in found] == [
        "That no other level of income is higher is likely (probability 0.70), given the model.",
        "That no other level of income is lower is about as likely as not (probability 0.40), given the model.",
    ]


def test_of_two_classes_the_one_that_is_no_denial_is_reported():
    data, _, options = case()
    model = CardinalityClassifier(penalty=1.0).fit(*data)
    pairs = [["college", "no college"], ["no", "yes"], ["D", "R"], ["yes", "Not yet"], ["south", "north"]]
    titles = [report(model, data, classes=pair, groups=options["groups"]).title for pair in pairs]
    assert titles == [f"Share of {name} by sex" for name in ("college", "yes", "R", "yes", "north")]


def test_other_methods_are_compared_level_by_level_whatever_the_order_of_levels():
    data, _, options = case()
    ages = data[0].values[:, 0]
    thirds = np.array(["up to -0.4", "-0.4 to 0.4", "above 0.4"])[np.digitize(ages, [-0.4, 0.4])]  # sorted otherwise
    model = CardinalityClassifier(penalty=1.0).fit(*data)
    other = CardinalityClassifier(penalty=2.0).fit(*data)
    found = report(model, data, compare=[other], classes=options["classes"], groups={"age": thirds})
    tables = [b for s in found.summary["sections"] for b in s["blocks"] if b["kind"] == "table"]
    row = next(t["rows"][0] for t in tables if t["title"] == "Other methods on the same data")
    assert max(row[1:]) < 0.1


@pytest.mark.parametrize("effect", [0.0, 2.0])
def test_the_first_line_states_a_difference_only_where_intervals_are_apart(effect):
    rng = np.random.default_rng(2)
    bag = np.repeat(np.arange(30), 20)
    values = rng.normal(size=(600, 2)) + rng.normal(0, 0.7, 30)[bag, None]
    labels = rng.random(600) < 1 / (1 + np.exp(-effect * values[:, 0]))
    bags = Bags.from_frame(pd.DataFrame({"bag": bag, "x": values[:, 0], "z": values[:, 1]}), bag="bag")
    counts = np.bincount(bag, labels).astype(int)
    side = {"side": np.where(bags.values[:, 0] > 0, "above", "below").astype(object)}
    lead = report(CardinalityClassifier().fit(bags, counts), (bags, counts), groups=side).summary["lead"][0]
    assert lead.startswith("Overall, the share") == (effect == 0)
