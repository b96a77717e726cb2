"""The ONNX graph gives the probabilities of predict_proba, run in onnxruntime."""

import json

import numpy as np
import pandas as pd
import pytest

from sumwise import DataError, Tables
from sumwise.aggregate import aggregate
from sumwise.encoding import Encoding
from sumwise.encoding.rules import Cross, Cuts, Hashed, Levels, Target
from sumwise.maxent import MaxEntClassifier, merge_levels

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def scored(model, frame):
    session = runtime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    given = {}
    for wanted in session.get_inputs():
        column = frame[wanted.name.removeprefix("c_")]
        text = wanted.type == "tensor(string)"
        given[wanted.name] = column.fillna("").to_numpy(dtype=object) if text else column.to_numpy(dtype=float)
    return session.run(None, given)[0]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 1200
    frame = pd.DataFrame({"age": rng.normal(40, 15, n), "city": rng.choice(["Bern", "Rome", "it's"], n)})
    frame["size"], frame["site"] = rng.integers(0, 4, n), rng.choice(list("abcdef"), n)
    frame.loc[::7, "age"] = np.nan
    frame.loc[::11, "city"] = None
    frame["y"] = (rng.random(n) < 0.3 + 0.3 * (frame["size"] > 1)).astype(int)
    return frame


def encoding():
    return Encoding(
        {
            "age": Cuts("age", (20.0, 40.5), "missing"),
            "city": Levels("city", ("Bern", "Rome"), other="other", missing="missing"),
            "size": Levels("size", (0, 1, 2, 3)),
            "site": Target("site", tuple("abcde"), (0, 1, 1, 0, 1), ("low", "high")),
            "age x size": Cross(("age", "size"), 7, 2),
        }
    )


def test_probabilities_are_those_of_the_model(rows):
    tables = aggregate(rows, ["age", "city", "size", "site", "age x size"], label="y", encoding=encoding())
    model = MaxEntClassifier(random_state=0, options={"n_chains": 200, "max_iter": 30, "tol": 99.0}, engine="gibbs")
    with pytest.warns(Warning, match="Stopped"):
        model.fit(tables)
    with pytest.warns(Warning, match="no table has a level for"):
        wanted = model.predict_proba(rows)
    np.testing.assert_allclose(scored(model, rows), wanted, rtol=0, atol=1e-9)


def test_classes_merged_levels_and_metadata(rows, tmp_path):
    frame = rows.assign(kind=rows["size"].map({0: "p", 1: "q", 2: "r", 3: "r"}), n=np.arange(len(rows)) ** 2 % 41)
    tables = merge_levels(Tables.from_frame(frame, ["site", "n"], label="kind"), "n", min_count=40)
    model = MaxEntClassifier().fit(tables)
    proto = model.to_onnx(tmp_path / "m.onnx")
    assert onnx.load(tmp_path / "m.onnx") == proto
    np.testing.assert_allclose(scored(model, frame), model.predict_proba(frame), rtol=0, atol=1e-9)
    about = json.loads({p.key: p.value for p in proto.metadata_props}["sumwise"])
    assert about["classes"] == ["p", "q", "r"]


def test_what_a_graph_cannot_compute_is_refused(rows):
    hashed = Encoding({"site": Hashed("site", 4), "size": Levels("size", (0, 1, 2, 3))})
    model = MaxEntClassifier().fit(aggregate(rows, ["site", "size"], label="y", encoding=hashed))
    with pytest.raises(DataError, match="Hashed, which ONNX"):
        model.to_onnx()
