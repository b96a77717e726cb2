"""Problems on tables with a label: rows, cells, folders."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from messages import raises
from study_cases import study
from sumwise import Tables, load, synthetic
from sumwise.aggregate import aggregate
from sumwise.cli.study import Problem, study_of
from sumwise.cli.study.fitting import fit_problem, predict_file
from sumwise.encoding import Encoding
from sumwise.errors import DataError
from sumwise.io.formats import write_tables
from sumwise.io.formats.tables_folder import write_tables_folder
from sumwise.noise import Gaussian
from sumwise.report.level_shares import class_margin

TEXT = """family = "maxent"
[data]
file = "data.csv"
[columns]
label = "click"
"""


def rows(n=3000):
    made = synthetic.rows(n, sizes=[3, 2, 4], rate=0.4, correlation=0.5, random_state=2)
    frame = made.frame().rename(columns={made.label: "click"})
    rng = np.random.default_rng(0)
    frame["age"] = 20 + 30 * rng.random(n) + 10 * frame["click"]
    return frame.assign(click=np.where(frame["click"] == 1, "yes", "no"), name=["a", "b", None] * (n // 3))


def test_rows_are_counted_and_held_out_ones_are_not(tmp_path):
    frame = rows()
    made = study(tmp_path, frame, TEXT, fit=False)
    assert made.tables.n + len(made.rows) == len(frame)
    assert 0.15 < len(made.rows) / len(frame) < 0.25
    assert len(made.tables) == 10  # pairs of five attributes
    counts, sums = class_margin(made.tables, "age")
    assert counts.sum() == made.tables.n
    assert sums.sum() == made.tables.n


def test_the_index_of_a_pandas_frame_is_no_attribute(tmp_path):
    frame = rows(900)
    frame[frame["age"] > 30].to_parquet(tmp_path / "data.parquet")
    made = study_of(Problem.parse(TEXT.replace("data.csv", str(tmp_path / "data.parquet"))))
    made.read()
    assert "age" in made.tables.domain.attributes
    assert not [a for a in made.tables.domain.attributes if a.startswith("__index")]


def test_fit_beats_a_constant_and_agrees_with_its_tables(tmp_path):
    rows().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "p.toml").write_text(TEXT)
    told = fit_problem(tmp_path / "p.toml", tmp_path / "r")
    assert told["record"]["held out"]["normalised log-likelihood"] > 0.05
    text = str(told["sections"])
    for words in ("Scores on held-out rows", "NaiveBayesTables", "converged", "maximum entropy"):
        assert words in text
    assert "AUC" in " ".join(f["line"] for f in told["findings"])
    found = predict_file(tmp_path / "r", tmp_path / "data.csv")
    assert found.columns.tolist() == ["row", "p(no)", "p(yes)", "class"]
    assert (found["class"] == rows()["click"]).mean() > 0.6
    scores = found.attrs["scores"]  # the file has the label
    assert scores["mean prediction"] == pytest.approx(found["p(yes)"].mean())
    assert scores["rate of these rows"] == pytest.approx((rows()["click"] == "yes").mean())
    assert scores["log-loss"] < scores["log-loss of a constant"]


def test_cells_and_folders_need_no_rows(tmp_path):
    made = synthetic.rows(2000, sizes=[3, 2], rate=0.4, random_state=0)
    tables = Tables.from_frame(made.frame(), list(made.domain.attributes), label=made.label)
    write_tables_folder(tables, tmp_path / "tables")
    write_tables(tables, tmp_path / "cells.csv")
    texts = {
        "folder": 'family = "maxent"\n[data]\nfile = "tables"\n',
        "cells": 'family = "maxent"\n[data]\nfile = "cells.csv"\nkind = "cells"\n[columns]\nlabel = "y"\n',
    }
    shares = []
    for kind, text in texts.items():
        (tmp_path / f"{kind}.toml").write_text(text)
        one = study_of(Problem.from_file(tmp_path / f"{kind}.toml"))
        one.read()
        one.fit()
        assert one.rows is None
        made = one.report()
        shares.append(made.frames["estimates"]["share by model"].to_numpy())
        assert "no individual rows" in " ".join(made.summary["lead"])
    np.testing.assert_allclose(shares[0], shares[1], atol=1e-6)


def test_a_problem_file_says_the_noise_of_cells(tmp_path):
    made = synthetic.rows(500, sizes=[3, 2], rate=0.4, random_state=0)
    frame = Tables.from_frame(made.frame(), list(made.domain.attributes), label=made.label)
    write_tables(frame, tmp_path / "cells.csv")
    text = 'family = "maxent"\n[data]\nfile = "cells.csv"\nkind = "cells"\nnoise = "gaussian"\nsd = 3.0\n'
    cells = pd.read_csv(tmp_path / "cells.csv").drop(columns="noise", errors="ignore")
    cells.to_csv(tmp_path / "cells.csv", index=False)
    one = study_of(Problem.parse(text + '[columns]\nlabel = "y"\n', tmp_path / "p.toml"))
    one.read()
    assert all(table.noise == Gaussian(3.0) for table in one.tables)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('file = "data.csv"', 'file = "data.csv"\nnoise = "exact"'), ("noise-data", "rows")),
        (('label = "click"', ""), ("columns-names-no", "label")),
        (('label = "click"', 'label = "clik"'), ("no-did-you", "column", "clik", "click")),
        (('file = "data.csv"', 'file = "data.csv"\nkind = "row"'), ("did-you-mean",)),
        (('file = "data.csv"', 'file = "data.csv"\nholdout = 2'), ("share-rows-such",)),
    ],
)
def test_bad_problems_are_told(tmp_path, change, told):
    with raises(DataError, *told):
        study(tmp_path, rows(), TEXT.replace(*change), fit=False)


@pytest.mark.parametrize("encoded", [False, True])
def test_predictions_know_levels_as_they_were_counted(tmp_path, encoded):
    """Empty texts, NA (Namibia) and a word with a blank are levels of their own to whoever counted them.

    Without an encoding that says so, levels that differ by blanks alone are refused.
    """
    rng = np.random.default_rng(0)
    rates = {"": 0.9, "NA": 0.1, " x": 0.8, "x" if encoded else "y": 0.2}
    rows = pd.DataFrame({"land": np.array([*rates])[rng.integers(0, 4, 800)], "old": rng.integers(0, 2, 800)})
    rows["y"] = (rng.random(800) < rows["land"].map(rates)).astype(int)
    rows.to_parquet(tmp_path / "rows.parquet")
    rule = Encoding.fit(rows, {"land": {"kind": "levels", "missing": "missing", "other": "other"}}) if encoded else None
    write_tables_folder(aggregate(str(tmp_path / "rows.parquet"), ["land", "old"], "y", encoding=rule), tmp_path / "t")
    (tmp_path / "p.toml").write_text('family = "maxent"\n[data]\nfile = "t"\nkind = "folder"\n')
    fit_problem(tmp_path / "p.toml", tmp_path / "result")
    found = predict_file(tmp_path / "result", tmp_path / "rows.parquet")
    model = load(tmp_path / "result" / "model.sumwise")
    np.testing.assert_allclose(found["p(1)"], model.predict_proba(rows)[:, 1], atol=1e-12)
    assert found["p(1)"][rows["land"] == ""].min() > 0.6
