"""Schema: inferred, answered, written and read back, with the same container by every door."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from messages import raises
from study_cases import flocks, people, votes
from sumwise import Schema
from sumwise.errors import DataError, ModelWarning
from sumwise.schema.questions import NAME, STOP


def results(individuals):
    """Voters and yes votes of every area."""
    counted = individuals.groupby("area")["vote"].agg(voters="size", yes=lambda v: (v == "yes").sum())
    return counted.reset_index()


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "parquet", "feather", "frame"])
def test_file_and_frame_give_the_same_container(tmp_path, suffix):
    frame = votes(12)
    path = tmp_path / f"votes.{suffix}"
    write = {"parquet": frame.to_parquet, "feather": frame.to_feather, "frame": lambda p: None}
    write.get(suffix, lambda p: frame.to_csv(p, index=False, sep="\t" if suffix == "tsv" else ","))(path)
    source = frame if suffix == "frame" else path
    margins = Schema.infer(source).read(source)
    np.testing.assert_array_equal(margins.rows, frame[["young", "old"]])
    assert margins.units.tolist() == frame["precinct"].tolist()


def test_from_frame_file_problem_and_app_give_the_same_container(tmp_path):
    from sumwise import Margins
    from sumwise.app.reading import checked, suggestion
    from sumwise.cli.study.families import study_of
    from sumwise.schema.problem import Problem

    frame = votes(12).astype({"young": str})  # numbers in a column of text, as a frame may have them
    frame.to_csv(tmp_path / "votes.csv", index=False)
    suggestion([str(tmp_path / "votes.csv")], str(tmp_path / "p.toml"))
    assert checked(str(tmp_path / "p.toml"))["contests"] == []
    study = study_of(Problem.from_file(tmp_path / "p.toml"))
    study.read()
    named = Margins.from_frame(frame, ["young", "old"], ["yes", "no"], unit="precinct")
    assert study.margins == named == Schema.infer(tmp_path / "votes.csv").read(tmp_path / "votes.csv")


def test_a_warning_about_what_was_read_is_given(tmp_path):
    frame = pd.DataFrame({"White": [60, 50], "Black": [40, 50], "Hispanic": [10, 20], "a": [30, 30], "b": [20, 10]})
    columns = {"groups": ["White", "Black", "Hispanic"], "outcomes": ["a", "b"]}
    with pytest.warns(ModelWarning):
        Schema("ecological", {"mismatch": "no_vote"}, columns).read(frame)


def test_questions_have_options_and_no_default():
    frame = votes(12)
    frame["no"] //= 2
    schema = Schema.infer(frame)
    assert [q.key for q in schema.questions] == ["confirm", "fewer"]
    assert schema.questions[1].options[0] == STOP
    assert NAME in schema.questions[0].options
    with raises(DataError, "questions-open-answer"):
        schema.read(frame)
    answered = Schema.infer(frame, {"confirm": "yes", "fewer": "they did not vote"})
    assert answered.read(frame).col_names[-1] == "no vote"
    with raises(DataError, "answered-stop-none", "fewer"):
        Schema.infer(frame, {"confirm": "yes", "fewer": STOP})


@pytest.mark.parametrize("named", [{}, {"precinct": ["p"]}, {"contest": ["A", "B"], "district": [1, 2]}])
def test_options_in_rows_of_one_unit_are_refused(named):
    rows = {"side": ["row", "row", "col", "col"], "option": ["young", "old", "yes", "no"], "votes": [30, 20, 26, 24]}
    n_units = max(map(len, named.values()), default=1)
    frame = pd.DataFrame({k: v * n_units for k, v in rows.items()} | {k: np.repeat(v, 4) for k, v in named.items()})
    with raises(DataError, "only-unit-per"):
        Schema.infer(frame)


def test_columns_can_be_named():
    frame = votes(12).rename(columns={"young": "a", "old": "b", "yes": "c", "no": "d"})
    frame["c"] += 3
    schema = Schema.infer(frame, {"columns.groups": "a,b", "columns.outcomes": ["c", "d"]})
    assert [q.key for q in schema.questions] == ["near"]


def test_a_problem_file_of_a_schema_is_the_schema():
    schema = Schema.infer(votes(12))
    again = Schema.from_toml(schema.to_toml())
    assert (again.family, again.columns, again.data) == (schema.family, schema.columns, schema.data)


@pytest.mark.parametrize(
    ("columns", "answers"),
    [
        (["area", "voters", "yes"], {}),
        (["area", "yes"], {"target": "yes is the count"}),
        (["area", "share"], {"target": "share is the share"}),
        (["area", "yes", "no"], {}),
    ],
)
def test_counts_of_positives_are_counts(columns, answers):
    individuals = people(24, 20)
    known = results(individuals).assign(share=lambda d: d["yes"] / d["voters"], no=lambda d: d["voters"] - d["yes"])
    sources = [individuals.drop(columns="vote"), known[columns]]
    schema = Schema.infer(sources, answers)
    assert schema.family == "proportions"
    assert schema.questions == ()
    counts = schema.read(sources)[1]
    np.testing.assert_allclose(counts, known["no"] if "no" in columns else known["yes"])


def test_counts_of_positives_in_the_file_of_individuals_are_counts():
    individuals = people(24, 20)
    frame = individuals.drop(columns="vote").merge(results(individuals), on="area")
    schema = Schema.infer(frame)
    assert schema.family == "proportions"
    np.testing.assert_array_equal(schema.read(frame)[1], results(individuals)["yes"])


def test_a_boolean_is_two_levels_from_file_and_frame(tmp_path):
    frame = people(24, 20).assign(member=lambda d: d.index % 2 == 0)
    frame.to_csv(tmp_path / "a.csv", index=False)
    bags = [Schema.infer(source).read(source)[0] for source in (frame, tmp_path / "a.csv")]
    assert bags[0].levels["member"] == bags[1].levels["member"] == ("False", "True")
    np.testing.assert_array_equal(bags[0].values, bags[1].values)


def test_effort_is_asked_about():
    frame = flocks(5, 3).assign(minutes=lambda d: 30 + d.index % 7)
    assert "effort" in [q.key for q in Schema.infer(frame).questions]
    assert Schema.infer(frame, {"effort": "yes"}).columns["effort"] == "minutes"


def test_more_votes_than_ballots_are_asked_about():
    frame = votes(12)
    people_of = frame["young"] + frame["old"]
    frame = frame.assign(Smith=frame["yes"] + 3, Jones=people_of - 5, Lee=people_of // 2, Ballots=people_of)
    schema = Schema.infer(frame.drop(columns=["yes", "no"]))
    assert {"more", "confirm"} & {q.key for q in schema.questions}


def test_votes_without_people_are_asked_about():
    frame = pd.concat([votes(12), pd.DataFrame([{"precinct": "ABS", "young": 0, "old": 0, "yes": 900, "no": 700}])])
    assert "nobody" in [q.key for q in Schema.infer(frame).questions]


def test_answers_to_no_question_are_refused():
    with raises(DataError, "no-question-about", "fewr"):
        Schema.infer(votes(12), {"fewr": "they did not vote"})


def test_columns_that_are_called_by_numbers_are_read():
    frame = votes(12).set_axis(range(5), axis=1)
    answers = {"columns.groups": "1,2", "columns.outcomes": "3,4"}
    margins = Schema.infer(frame, answers).read(frame)
    np.testing.assert_array_equal(margins.rows, frame[[1, 2]])


def test_several_rows_of_names_are_refused():
    frame = votes(12)
    frame.columns = pd.MultiIndex.from_tuples([("votes", name) for name in frame])
    with raises(DataError, "frame-several-rows"):
        Schema.infer(frame)


def test_answers_before_the_columns_were_named_stay():
    """A person who answers one question, and names the columns at the next, isn't refused the first answer."""
    frame = votes(12).rename(columns={"yes": "Smith", "no": "Jones"})
    frame["Smith"] //= 2
    answers = {"confirm": NAME, "columns.groups": "young,old", "columns.outcomes": "Smith,Jones", "fewer": "they did"}
    assert Schema.infer(frame, answers).read(frame).col_names == ("Smith", "Jones", "no vote")
    with raises(DataError, "no-question-about", "columns.outcme"):
        Schema.infer(frame, {**answers, "columns.outcme": "Smith"})


@pytest.mark.parametrize("number", ["3", "none of these: I"])
def test_the_way_out_can_be_answered_by_number_or_beginning(number):
    frame = votes(12)
    frame["no"] //= 2
    keys = [q.key for q in Schema.infer(frame, {"confirm": number}).questions]
    assert keys[0] == "form"
    keys = [q.key for q in Schema.infer(frame, {"confirm": number, "form": "a unit"}).questions]
    assert keys == ["columns.groups", "columns.outcomes"]


def test_columns_of_bags_and_series_can_be_named():
    individuals = people(24, 20)
    frame = individuals.rename(columns={"area": "team", "vote": "won"})
    bags, counts = Schema.infer(frame, {"columns.bag": "team", "columns.label": "won"}).read(frame)
    assert len(bags) == 24
    np.testing.assert_array_equal(counts, results(individuals)["yes"])
    series = flocks(5, 3)[["week", "site", "birds"]].set_axis(["a", "b", "c"], axis=1)
    schema = Schema.infer(series, {"columns.time": "a", "columns.place": "b", "columns.count": "c"})
    assert len(schema.read(series)) == len(series)


def test_a_second_split_of_people_is_no_contest():
    frame = votes(12).assign(renters=lambda d: d["young"] // 2, owners=lambda d: d["old"] + d["young"] - d["renters"])
    assert {"groups", "contests"} & {q.key for q in Schema.infer(frame).questions}


def test_two_frames_in_any_order_are_matched_by_their_columns():
    frame = votes(12)
    rows = frame.melt("precinct", ["yes", "no"], "candidate", "votes")
    sources = [rows, frame[["precinct", "young", "old"]]]
    margins = Schema.infer(sources).read(sources)
    assert margins.col_names == ("yes", "no")
    np.testing.assert_array_equal(margins.rows, frame[["young", "old"]])


def test_a_time_called_total_is_left_out_if_it_is_the_sum_of_all_others():
    frame = pd.DataFrame({"week": np.repeat(["2021-01-04", "2021-01-11", "2021-01-18"], 2), "site": ["A", "B"] * 3})
    frame["count"] = [3, 4, 5, 6, 9, 8]
    totals = pd.DataFrame({"week": "Total", "site": ["A", "B"], "count": [17, 18]})
    schema = Schema.infer(pd.concat([frame, totals], ignore_index=True))
    assert schema.data["leave_out"] == [7, 8]
    totals["count"] += 1
    with raises(DataError, "place-called-total", "time", "Total"):
        Schema.infer(pd.concat([frame, totals], ignore_index=True))


def test_a_word_among_dates_is_refused():
    frame = pd.DataFrame({"week": np.repeat(["2021-01-04", "2021-01-11", "later"], 2), "site": ["A", "B"] * 3})
    with pytest.raises(DataError, match="is no time in 2 of 6 rows. First: row 5 has 'later'"):
        Schema.infer(frame.assign(count=[3, 4, 5, 6, 9, 8]))


@pytest.mark.parametrize("bags", [True, False])
@pytest.mark.parametrize(("word", "asked"), [("", False), ("NA", True), ("?", True)])
def test_rows_without_a_label_are_no_class(tmp_path, word, asked, bags):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"job": rng.choice(["a", "b", "c"], 200), "city": rng.choice(["x", "y"], 200)})
    frame["label"] = rng.choice(["no", "yes"], 200)
    frame.loc[:19, "label"] = word
    if bags:
        frame["bag"] = np.repeat(np.arange(10), 20)
    frame.to_csv(path := tmp_path / "rows.csv", index=False)
    family = "proportions" if bags else "maxent"
    schema = Schema.infer(path, family=family)
    assert [q.key for q in schema.questions] == ["unlabelled"] * asked
    read = Schema.infer(path, {"unlabelled": "yes"} if asked else {}, family=family).read(path)
    if bags:
        assert read[1].tolist() == (frame["label"] == "yes").groupby(frame["bag"]).sum()[1:].tolist()
    else:
        assert (read.classes, read["job", "city"].counts.sum()) == (("no", "yes"), 180)


def test_a_count_above_the_size_of_its_bag_is_no_response_without_a_question():
    people = pd.DataFrame({"school": np.repeat([f"s{k}" for k in range(10)], 6), "x": np.arange(60.0)})
    results = pd.DataFrame({"school": [f"s{k}" for k in range(10)], "passed": [3, 2, 6, 1, 5, 4, 60, 0, 2, 3]})
    (question,) = Schema.infer([people, results]).questions
    assert STOP in question.options
    assert "passed exceeds the number of rows in 1 of 10 bags" in question.text


def test_label_sums_that_look_like_shares_are_asked_about():
    frame = pd.DataFrame({"age": ["a", "a", "b", "b"], "sex": ["f", "m"] * 2, "count": [50, 60, 70, 80]})
    assert not Schema.infer(frame.assign(clicks=[5, 6, 0, 9])).questions
    assert [q.key for q in Schema.infer(frame.assign(clicks=[0.1, 0.25, 0.05, 0.5])).questions] == ["shares"]


@pytest.mark.parametrize("digits", [2, 3])
def test_shares_are_counts_as_far_as_they_are_written(digits):
    sizes = np.arange(20, 60, 4)
    passed = np.arange(3, 23, 2)
    names = [f"s{k}" for k in range(10)]
    people = pd.DataFrame({"school": np.repeat(names, sizes), "x": np.arange(sizes.sum(), dtype=float)})
    results = pd.DataFrame({"school": names, "passed": (passed / sizes).round(digits)})
    schema = Schema.infer([people, results], {"target": "passed is the share"})
    assert schema.read([people, results])[1].tolist() == passed.tolist()
