"""Individuals in bags, in the shapes that people keep them in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import public_data
from study_cases import people
from sumwise.errors import DataError
from sumwise.recognise import recognise
from sumwise.recognise.profile_file import profile_file


def guessed(tmp_path, *frames, header=True):
    profiles = []
    for k, frame in enumerate(frames):
        frame.to_csv(tmp_path / f"{k}.csv", index=False, header=header)
        profiles.append(profile_file(tmp_path / f"{k}.csv"))
    return recognise(profiles)


def test_a_label_in_bags_is_a_problem_of_proportions(tmp_path):
    found = guessed(tmp_path, people())
    assert found.family == "proportions"
    assert found.columns["bag"] == "area"
    assert found.columns["label"] == "vote"


def test_results_in_a_second_file_are_counts(tmp_path):
    frame = people()
    counts = pd.crosstab(frame["area"], frame["vote"]).reset_index()
    found = guessed(tmp_path, frame.drop(columns="vote"), counts)
    assert found.data["counts_file"] == str(tmp_path / "1.csv")
    assert found.columns["counts"] == ["no", "yes"]
    assert found.options == {"totals": "scale"}


def test_one_value_per_bag_is_a_response(tmp_path):
    rng = np.random.default_rng(0)
    bag = np.repeat(np.arange(20), 10)
    frame = pd.DataFrame({"y": rng.normal(size=20)[bag], "bag": bag, "x": rng.normal(size=200)})
    found = guessed(tmp_path, frame)
    assert (found.family, found.columns["bag"], found.columns["response"]) == ("distribution", "bag", "y")
    found = guessed(tmp_path, frame.assign(y=bag % 2), header=False)
    assert (found.columns["bag"], found.columns["response"], found.data["header"]) == ("c2", "c1", False)
    one = frame.groupby("bag")["y"].first().reset_index()
    found = guessed(tmp_path, frame.drop(columns="y"), one)
    assert (found.family, found.columns["response"]) == ("distribution", "y")


@pytest.mark.skipif(not public_data.present(), reason=public_data.REASON)
@pytest.mark.parametrize(
    ("path", "family", "columns"),
    [
        ("dr/mil_musk1.csv.gz", "distribution", {"bag": "c2", "response": "c1"}),
        ("llp/pums_ma2019.csv.gz", "proportions", {"bag": "PUMA", "label": "DEAR"}),
        ("mrf/adult.train.csv.gz", "maxent", {"label": "c15"}),
    ],
)
def test_public_files_are_recognised(path, family, columns):
    found = recognise([profile_file(public_data.folder() / path)])
    assert found.family == family
    assert {k: found.columns[k] for k in columns} == columns


def results():
    frame = people()
    return frame.drop(columns="vote"), pd.crosstab(frame["area"], frame["vote"]).reset_index()


def test_a_sum_of_counts_is_no_class_and_scaling_is_said(tmp_path):
    frame, counts = results()
    found = guessed(tmp_path, frame, counts.assign(persons=counts["no"] + counts["yes"], pct_yes=50.5))
    assert found.columns["counts"] == ["no", "yes"]
    assert found.unused["persons"] == "the sum of the others"
    assert "pct_yes" in found.unused
    many = guessed(tmp_path, frame, counts.assign(no=3 * counts["no"], yes=3 * counts["yes"]))
    assert any("3 times its individuals" in line for line in many.ask)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.assign(n=c["no"] + c["yes"])[["area", "n", "yes"]], "no column counts the rest"),
        (lambda c: c.assign(yes=40.5, no=59.5), "sum to 100 in every row: shares of classes"),
        (
            lambda c: c[["area"]].assign(income=[f"${1000 + k:,}" for k in range(len(c))]),
            "aren't plain numbers, such as",
        ),
        (lambda c: c.assign(area=["x" + str(a) for a in c["area"]]), "write 'area' in different ways"),
        (lambda c: pd.concat([c, c.iloc[[1]]]), "repeats a bag in 1 of"),
    ],
)
def test_results_with_two_readings_are_refused(tmp_path, change, words):
    frame, counts = results()
    with pytest.raises(DataError, match=words):
        guessed(tmp_path, frame, change(counts))


def test_one_response_of_several_is_said_to_be_guessed(tmp_path):
    frame, counts = results()
    found = guessed(tmp_path, frame, counts[["area"]].assign(a=np.arange(len(counts)) / 7, b=1.5))
    assert found.columns["response"] == "a"
    assert found.unused == {"b": "not the response"}
    assert any("may also be b" in line for line in found.ask)


def test_a_column_of_few_regions_is_no_bag_where_a_label_is_known(tmp_path):
    frame = people().drop(columns="area")
    frame["region"] = np.resize(["north", "south", "west"], len(frame))
    frame.insert(0, "label", frame.pop("vote"))
    found = guessed(tmp_path, frame)
    assert (found.family, found.columns["label"]) == ("maxent", "label")
    assert any("bags by region: --family proportions takes it so" in line for line in found.ask)
    bags = recognise([profile_file(tmp_path / "0.csv")], "proportions")
    assert any("region has 3 values, so there are 3 bags: few to learn from" in line for line in bags.ask)


def test_rows_in_few_regions_make_tables_where_the_last_column_is_a_label_in_words(tmp_path):
    frame = people().drop(columns="area").rename(columns={"vote": "owns_home"})
    frame.insert(0, "region", np.resize(["north", "south", "west"], len(frame)))
    found = guessed(tmp_path, frame)
    assert (found.family, found.columns["label"]) == ("maxent", "owns_home")
    assert any("bags by region: --family proportions takes it so" in line for line in found.ask)


def test_rows_in_few_regions_make_tables_where_the_last_column_has_two_numbers(tmp_path):
    frame = people().drop(columns="area").rename(columns={"vote": "ill"})
    frame.insert(0, "region", np.resize(["north", "south", "west"], len(frame)))
    found = guessed(tmp_path, frame.assign(ill=(frame["ill"] == "yes").astype(int)))
    assert (found.family, found.columns["label"]) == ("maxent", "ill")


def test_scores_of_every_method_on_every_data_set_are_no_individuals(tmp_path):
    rng = np.random.default_rng(0)
    keys = [(f"D{d}", m, r) for d in range(20) for m in ("em", "king", "md", "lp") for r in (1, 2)]
    frame = pd.DataFrame(keys, columns=["district", "method", "run"])
    frame["error"] = rng.random(len(frame)).round(4)
    frame["seconds"] = rng.random(len(frame)).round(3)
    with pytest.raises(DataError, match="has no form that is known"):
        guessed(tmp_path, frame)


def test_an_index_that_pandas_wrote_is_no_key_and_no_class(tmp_path):
    frame = people()
    frame["hours"] = np.arange(len(frame)) % 24
    counts = pd.crosstab(frame["area"], frame["vote"]).reset_index()
    counts.insert(0, "Unnamed: 0", range(len(counts)))
    found = guessed(tmp_path, frame.drop(columns="vote"), counts)
    assert (found.columns["bag"], found.columns["counts"]) == ("area", ["no", "yes"])


def test_samples_are_recognised_by_their_structure_where_the_bag_has_an_uncommon_name(tmp_path):
    rng = np.random.default_rng(0)
    harvest = np.repeat(rng.normal(6, 1, 30).round(2), 12)
    frame = pd.DataFrame({"field": np.repeat([f"Feld {k}" for k in range(30)], 12)})
    frame["acidity"] = rng.normal(harvest, 0.3).round(2)
    frame.loc[::9, "acidity"] = np.nan
    frame["wheat yield (t/ha)"] = harvest
    found = guessed(tmp_path, frame)
    assert (found.family, found.columns["bag"]) == ("distribution", "field")
    assert found.columns["response"] == "wheat yield (t/ha)"
    assert any("that field names the bags was guessed" in line for line in found.ask)
    frame["owner"] = np.repeat(rng.normal(0, 1, 30).round(2), 12)  # two such columns: which one is the response?
    with pytest.raises(DataError, match="has no form that is known"):
        guessed(tmp_path, frame)


def test_counts_that_run_0_1_2_are_a_class_where_the_sizes_of_bags_need_them(tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"area": np.repeat([f"A{k}" for k in range(25)], 40), "age": rng.integers(18, 90, 1000)})
    counts = pd.DataFrame({"area": [f"A{k}" for k in range(25)], "ill": range(25), "well": 40 - np.arange(25)})
    assert guessed(tmp_path, frame, counts).columns["counts"] == ["ill", "well"]
    assert guessed(tmp_path, frame, counts.assign(all=40)).columns["counts"] == ["ill", "well"]


def test_one_column_that_may_count_a_class_is_asked_about(tmp_path):
    frame = people()
    counts = pd.crosstab(frame["area"], frame["vote"]).reset_index()
    found = guessed(tmp_path, frame.drop(columns="vote"), counts[["area", "yes"]])
    assert (found.family, found.columns["response"]) == ("distribution", "yes")
    assert any("counts members of a class" in line for line in found.ask)
    found = guessed(tmp_path, frame.drop(columns="vote"), counts[["area"]].assign(yes=10_000 + counts["yes"]))
    assert found.ask == []
