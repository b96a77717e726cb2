"""Exported weights, added up by hand, give the model's predictions."""

import json
import math
import time

import numpy as np
import pandas as pd
import pytest

from messages import warns
from sumwise import Domain, Table, Tables
from sumwise.encoding import Encoding
from sumwise.errors import NotConverged
from sumwise.maxent import MaxEntClassifier, SolverOptions


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.choice(["Bern", "Rome", "Å"], 800), "age": rng.integers(18, 80, 800)})
    frame["vote"] = (rng.random(800) < 0.2 + 0.4 * (frame["city"] == "Rome") * (frame["age"] > 40)).astype(int)
    frame["party"] = rng.choice(["red", "green", "blue"], 800, p=[0.2, 0.5, 0.3])
    return frame


def counted(frame, label):
    encoding = Encoding.fit(frame, {"city": "levels", "age": [30, 50]})
    rows = encoding.transform(frame).assign(label=frame[label])
    made = Tables.from_frame(rows, ["city", "age"], label="label", domain=encoding.domain)
    return Tables(list(made), made.domain, label="label", classes=made.classes, encoding=encoding)


def added_up(plain, person):
    total = np.array(plain["intercept"], dtype=float)
    for w in plain["weights"]:
        if all(person[f] == level for f, level in zip(w["features"], w["levels"])):
            total = total + np.array(w["weight"])
    return total


def test_by_hand_from_the_file(frame, tmp_path):
    model = MaxEntClassifier().fit(counted(frame, "vote"))
    model.to_logistic(tmp_path / "weights.json")
    plain = json.loads((tmp_path / "weights.json").read_text(encoding="utf-8"))
    levels = Encoding.from_dict(plain["encoding"]).transform(frame.head(20))
    by_hand = [1 / (1 + math.exp(-added_up(plain, person))) for person in levels.to_dict("records")]
    np.testing.assert_allclose(by_hand, model.predict_proba(frame.head(20))[:, 1], rtol=1e-9)


def test_three_classes_by_hand(frame):
    model = MaxEntClassifier().fit(counted(frame, "party"))
    plain = model.to_logistic()
    person = model.encoding_.transform(frame.head(1)).to_dict("records")[0]
    z = np.exp(added_up(plain, person))
    np.testing.assert_allclose(z / z.sum(), model.predict_proba(frame.head(1))[0], rtol=1e-9)
    assert plain["classes"] == ["blue", "green", "red"]


def test_a_program_that_reads_json_alone_scores_raw_columns(frame, tmp_path):
    """No class of the library after the file is written: cut points, levels and weights are looked up by hand."""
    model = MaxEntClassifier().fit(counted(frame, "vote"))
    model.to_logistic(tmp_path / "weights.json")
    with open(tmp_path / "weights.json", encoding="utf-8") as file:
        plain = json.load(file)
    table = {(tuple(w["features"]), tuple(w["levels"])): w["weight"] for w in plain["weights"]}
    edges = plain["encoding"]["age"]["edges"]
    names = ["below 30", "[30, 50)", "50 and above"]
    for city, age in (("Rome", 55), ("Bern", 20), ("\u00c5", 30)):
        level = names[sum(age >= e for e in edges)]
        total = plain["intercept"] + table[("city",), (city,)] + table[("age",), (level,)]
        total += table[("city", "age"), (city, level)]
        by_model = model.predict_proba(pd.DataFrame({"city": [city], "age": [age]}))[0, 1]
        assert 1 / (1 + math.exp(-total)) == pytest.approx(by_model, rel=1e-9)


def test_levels_are_listed_once_whatever_their_number():
    """Two million weights of 100,000 levels took hours when every weight listed them anew."""
    n = 100_000
    tables = Tables([Table("a", np.full(n, 2.0), np.tile([0.0, 2.0], n // 2))], Domain({"a": n}))
    with warns(NotConverged, "fit-worse-linear"):  # of two rows a level, as said
        model = MaxEntClassifier(engine="exact", options=SolverOptions()).fit(tables)
    begin = time.process_time()
    plain = model.to_logistic()
    frame = model.coefficients()
    assert time.process_time() - begin < 60.0  # seconds of work in place of hours, on any machine
    assert len(plain["weights"]) == len(frame) == n
    assert plain["weights"][-1]["levels"] == [n - 1]
