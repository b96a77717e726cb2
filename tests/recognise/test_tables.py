"""Cells, and rows with a label."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sumwise.errors import DataError
from sumwise.recognise import recognise
from sumwise.recognise.profile_file import profile_file
from sumwise.recognise.tables import guess


def guessed(tmp_path, frame):
    frame.to_csv(tmp_path / "a.csv", index=False)
    return guess([profile_file(tmp_path / "a.csv")])


def test_cells_have_counts_and_sums_that_are_no_larger(tmp_path):
    frame = pd.DataFrame({"sex": ["f", "m"], "age": ["y", "o"], "impressions": [10, 20], "clicks": [1, 5]})
    (found,) = guessed(tmp_path, frame)
    assert found.columns == {"attributes": ["sex", "age"], "count": "impressions", "label_sum": "clicks"}
    assert guessed(tmp_path, frame.assign(clicks=[11, 5])) == []
    many = pd.concat([frame] * 10, ignore_index=True)
    many.loc[4, "clicks"] = 11
    with pytest.raises(DataError, match=r"'clicks' exceeds impressions in 1 of 20 rows\. First: row 6"):
        guessed(tmp_path, many)


def test_lines_of_totals_are_left_out_of_cells(tmp_path):
    frame = pd.DataFrame({"sex": ["f", "m", "Total"], "impressions": [10, 20, 30], "clicks": [1, 5, 6]})
    (found,) = guessed(tmp_path, frame)
    assert found.data["without"] == [{"sex": "Total"}]
    assert "rows of totals (sex = Total)" in found.ask[0]


def test_noisy_cells_may_be_negative(tmp_path):
    frame = pd.DataFrame(
        {"sex": ["f", "m"], "count": [10.5, -2.0], "label_sum": [1.5, 3.0], "noise": "laplace", "scale": 2}
    )
    (found,) = guessed(tmp_path, frame)
    assert found.columns["attributes"] == ["sex"]


def test_rows_have_a_label_and_ids_are_left_out(tmp_path):
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame(
        {"id": np.arange(n), "age": rng.integers(20, 60, n), "job": ["a", "?"] * 100, "bought": ["no", "yes"] * 100}
    )
    (found,) = guessed(tmp_path, frame)
    assert found.columns == {"label": "bought", "attributes": ["age", "job"]}
    assert found.data["missing"] == ["?"]


CELLS = pd.DataFrame(
    {"sex": ["f", "m", "f", "m"], "age": list("yyoo"), "count": [40, 50, 60, 70], "label_sum": [4, 5, 6, 7]}
)


def test_rates_are_no_levels(tmp_path):
    (found,) = guessed(tmp_path, CELLS.assign(rate=CELLS["label_sum"] / CELLS["count"] + 0.001 * np.arange(4)))
    assert found.columns["attributes"] == ["sex", "age"]
    assert "rate" in found.unused


def test_a_word_for_all_is_an_attribute_that_a_table_lacks(tmp_path):
    frame = pd.concat([CELLS[:2].assign(age="All"), CELLS[1:3].assign(sex="All")])
    (found,) = guessed(tmp_path, frame)
    assert found.data["missing"] == ["All"]
    assert "without" not in found.data


def test_cells_that_are_noisy_or_withheld_are_refused_as_such(tmp_path):
    with pytest.raises(DataError, match="'count' is negative in 1 of 4 rows.*noise and scale"):
        guessed(tmp_path, CELLS.assign(count=[-3, 2, 1, 4]))
    with pytest.raises(DataError, match="'count' is withheld in 2 of 4 rows.*low and high"):
        guessed(tmp_path, CELLS.assign(count=["<5", "<5", 60, 70]))


def test_classes_that_differ_in_capitals_are_asked_about(tmp_path):
    frame = pd.DataFrame({"a": list("xyz") * 40, "b": list("uv") * 60, "y": ["Yes", "no", "yes"] * 40})
    (found,) = guessed(tmp_path, frame)
    assert "'Yes' and 'yes' are treated as different classes" in found.ask[0]


def cells():
    rng = np.random.default_rng(0)
    keys = [(a, b, c) for a in "pqrstu" for b in "xyz" for c in "kl"]
    count = rng.integers(5, 60, len(keys))
    return pd.DataFrame(keys, columns=["Beruf", "Stand", "Bildung"]).assign(count=count, label_sum=count // 7)


def test_the_rate_of_a_label_is_no_attribute_however_it_is_rounded(tmp_path):
    for frame in (
        cells().assign(rate=lambda d: (d["label_sum"] / d["count"]).round(2)),
        cells().assign(rate=lambda d: (100 * d["label_sum"] / d["count"]).round(1)),
    ):
        found = guessed(tmp_path, frame)[0]
        assert found.columns["attributes"] == ["Beruf", "Stand", "Bildung"]
        assert "rate" in found.unused


def test_cells_are_known_by_their_rows_where_names_say_nothing(tmp_path):
    found = guessed(tmp_path, cells().rename(columns={"count": "Anzahl", "label_sum": "davon_ja"}))[0]
    assert found.data["kind"] == "cells"
    assert (found.columns["count"], found.columns["label_sum"]) == ("Anzahl", "davon_ja")
    assert "was guessed: no two rows have the same Beruf" in found.ask[0]
    again = pd.concat([cells()] * 4).rename(columns={"count": "Anzahl", "label_sum": "davon_ja"})
    assert all(g.data["kind"] == "rows" for g in guessed(tmp_path, again))


def test_a_column_that_names_persons_with_several_rows_is_no_attribute(tmp_path):
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(100), 3)
    frame = pd.DataFrame({"person_id": person, "sex": rng.choice(["f", "m"], 300), "job": rng.choice(["a", "b"], 300)})
    (found,) = guessed(tmp_path, frame.assign(ill=rng.integers(0, 2, 300)))
    assert found.columns == {"label": "ill", "attributes": ["sex", "job"]}
    assert found.unused == {"person_id": "names persons: 100 values in 300 rows"}
    assert "a person_id has up to 3 rows" in found.ask[0]
    assert "--person person_id --max-rows 3" in found.ask[0]
    (found,) = guessed(tmp_path, frame.rename(columns={"person_id": "person id"}).assign(ill=rng.integers(0, 2, 300)))
    assert "--person 'person id' --max-rows 3" in found.ask[0]
    (found,) = guessed(tmp_path, frame.assign(person_id=person % 7, ill=rng.integers(0, 2, 300)))
    assert "attributes" not in found.columns  # seven values are levels
    (found,) = guessed(tmp_path, frame[["person_id"]].assign(row=range(300), ill=rng.integers(0, 2, 300)))
    assert found.columns["attributes"] == ["person_id"]  # nothing else is left


@pytest.mark.parametrize("name", ["customer_age", "household_income", "patient_city", "number_of_visits", "product_id"])
def test_what_is_measured_of_persons_is_an_attribute(tmp_path, name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(18, 80, 300), "sex": rng.choice(["f", "m"], 300)})
    (found,) = guessed(tmp_path, frame.assign(ill=rng.integers(0, 2, 300)))
    assert found.columns == {"label": "ill"}


def test_a_label_among_several_columns_of_two_values_is_a_guess(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(0, 2, 300) for name in ("smoker", "sick")})
    frame = frame.assign(age=rng.integers(18, 80, 300), female=rng.integers(0, 2, 300))
    (found,) = guessed(tmp_path, frame)
    assert found.ask == ["which column is the label was guessed; it may also be smoker, sick."]
    (found,) = guessed(tmp_path, frame.rename(columns={"female": "label"}))
    assert found.ask == []


def test_people_with_numbers_and_a_label_are_no_margins(tmp_path):
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "job": rng.choice(["clerk", "cook", "nurse"], n),
            "marital": rng.choice(["single", "married"], n),
            "contact": rng.choice(["phone", "letter"], n),
            "duration": rng.integers(0, 900, n),
            "campaign": rng.integers(1, 9, n),
            "previous": rng.integers(0, 5, n),
            "cons.conf.idx": rng.choice([-36.4, -42.7, -50.0], n),
            "nr.employed": rng.choice([5191.0, 5099.1, 5228.1], n),
            "y": rng.choice(["no", "yes"], n),
        }
    )
    frame.to_csv(tmp_path / "bank.csv", index=False)
    profile = profile_file(tmp_path / "bank.csv")
    assert recognise([profile]).family == "maxent"
    assert recognise([profile], "maxent").family == "maxent"


def test_a_form_of_another_family_that_refuses_a_file_does_not_keep_one_from_it(tmp_path, monkeypatch):
    from sumwise.recognise import margins

    def refuse(_):
        raise DataError("these are shares, and no column says of how many people.")

    monkeypatch.setattr(margins, "guess", refuse)
    (tmp_path / "a.csv").write_text("a,b,y\n" + "u,v,1\nw,v,0\nu,x,1\nw,x,0\n" * 50)
    profile = profile_file(tmp_path / "a.csv")
    assert recognise([profile], "maxent").family == "maxent"
    with pytest.raises(DataError, match="no column says"):
        recognise([profile])
