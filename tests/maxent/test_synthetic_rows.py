"""Synthetic rows on disk: the chunks of one draw, and tables that they agree with."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import sumwise
from messages import raises
from sumwise import DataError, Table, Tables, synthetic
from sumwise.aggregate import aggregate
from sumwise.maxent import MaxEntClassifier, NaiveBayesTables, SolverOptions, skyline
from sumwise.maxent.synthetic_rows import NO_PROMISE
from sumwise.noise import Gaussian
from sumwise.privacy import private_encoding, release
from sumwise.provenance import Provenance


@pytest.fixture(scope="module")
def world():
    made = synthetic.rows(6000, sizes=[3, 2, 4], rate=0.4, random_state=2)
    frame, names = made.frame(), list(made.domain.attributes)
    pairs = Tables.from_frame(frame, names, label="label", domain=made.domain)
    return frame, names, pairs, MaxEntClassifier(random_state=0).fit(pairs)


def test_rows_agree_with_pairs_and_held_out_triples(world, tmp_path):
    frame, names, pairs, model = world
    triples = Tables.from_frame(frame, names, label="label", order=3, domain=pairs.domain)
    for tables, fitted in ((pairs, True), (triples, False)):
        found = model.write_sample(tmp_path / "rows.parquet", 20_000, tables, chunk=7000, random_state=1)
        assert found["fitted"].tolist() == [fitted] * len(tables)
        rows = pd.read_parquet(tmp_path / "rows.parquet")
        assert rows.columns.tolist() == [*names, "label"]
        again = Tables.from_frame(rows, names, label="label", order=tables.tables[0].counts.ndim, domain=pairs.domain)
        for line, one, two in zip(found.itertuples(), tables, again):
            cells = [np.stack([t.counts - t.label_sums, t.label_sums]) / t.counts.sum() for t in (one, two)]
            assert line.variation == pytest.approx(0.5 * np.abs(cells[0] - cells[1]).sum())
            assert line.variation < 0.05
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_the_file_says_what_noise_its_tables_had(world, tmp_path):
    _, _, pairs, model = world
    made = [Table(t.attributes, t.counts + 0.5, t.label_sums + 0.25, Gaussian(3.0)) for t in pairs]
    noisy = Tables(made, pairs.domain, n=6000, label="label", classes=pairs.classes)
    model.write_sample(tmp_path / "rows.parquet", 10, noisy, random_state=0)
    about = json.loads(pq.read_schema(tmp_path / "rows.parquet").metadata[b"sumwise"])
    assert about == {"rows": 10, "noise": [repr(Gaussian(3.0))], "privacy": NO_PROMISE}
    assert len(model.write_sample(tmp_path / "rows.parquet", 10)) == 0


def test_other_levels_and_no_tables_are_refused(world, tmp_path):
    frame, names, _, model = world
    with raises(DataError, "tables-type-tables", "DataFrame"):
        model.write_sample(tmp_path / "rows.parquet", 10, frame)
    other = Tables.from_frame(frame[frame[names[0]] < 2], names, label="label")
    with raises(DataError, "levels-arent-those"):
        model.write_sample(tmp_path / "rows.parquet", 10, other)
    assert not list(tmp_path.iterdir())


def test_from_rows_to_synthetic_rows_nothing_is_copied_and_the_promise_is_stated(tmp_path):
    """A village and an amount that one person has: neither is in any file that leaves the office."""
    pytest.importorskip("opendp")
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"village": rng.choice(["Anvik", "Beryl"], 3000), "income": rng.uniform(0, 90, 3000)})
    people["ill"] = (rng.random(3000) < 0.3).astype(int)
    people.loc[17, ["village", "income"]] = "Zzyzxville", 77.12345678901
    spec = {"village": "levels", "income": {"kind": "quantiles", "bins": 3, "range": [0, 100]}}
    encoding = private_encoding(people, spec, 1.0, 1e-6, budget=None)
    tables = aggregate(people, ["village", "income"], label="ill", encoding=encoding)
    noisy = release(tables, 1.0, budget=None)
    model = MaxEntClassifier(random_state=0).fit(noisy)
    report = model.write_sample(tmp_path / "rows.parquet", 2000, noisy, random_state=0)
    sumwise.save(model, tmp_path / "model.sumwise")
    privacy = report.attrs["privacy"]
    assert privacy.startswith(
        "Differential privacy: epsilon 2, delta 1e-06, by gaussian and geometric noise; the unit is a row. "
        "Neighbouring data: up to 1 row of one person, added or removed. Rows are drawn from a model"
    )
    about = json.loads(pq.read_schema(tmp_path / "rows.parquet").metadata[b"sumwise"])
    assert about["privacy"] == report.attrs["privacy"]
    rows = pd.read_parquet(tmp_path / "rows.parquet")
    assert set(rows["village"]) <= set(encoding["village"].levels)
    for file in tmp_path.iterdir():
        archive = zipfile.ZipFile(file) if file.suffix == ".sumwise" else None
        unpacked = [archive.read(n) for n in archive.namelist()] if archive else []
        for content in (file.read_bytes(), *unpacked):
            assert b"Zzyzxville" not in content
            assert b"77.12345678" not in content


@pytest.fixture(scope="module")
def promised(world):
    """Exact tables counted with a private encoding, tables that state a release, and tables that are silent."""
    _, _, pairs, _ = world
    spent = {"mechanism": "gaussian", "epsilon": 0.1, "delta": 1e-6, "of": "levels and cut points"}
    exact = replace(pairs, provenance=Provenance(weighted=False, releases=[spent]))
    noisy = [Table(t.attributes, t.counts + 1, t.label_sums + 1, Gaussian(3.0)) for t in pairs]
    stated = Provenance(weighted=False, releases=[{"mechanism": "gaussian", "epsilon": 1.0, "delta": 1e-6}])
    released = Tables(noisy, pairs.domain, label="label", classes=pairs.classes, provenance=stated)
    return exact, released, pairs


def test_private_levels_promise_nothing_for_exact_counts(promised):
    exact, _, _ = promised
    assert NaiveBayesTables().fit(exact).releases_ == []


def test_a_release_promises_nothing_for_exact_tables_beside_it(promised):
    _, released, exact = promised
    assert NaiveBayesTables().fit(released).releases_
    for how in ("add", "merge"):
        assert NaiveBayesTables().fit(Tables.combine([released, exact], how=how)).releases_ == []
    brief = MaxEntClassifier(options=SolverOptions(max_iter=1), random_state=0)
    assert brief.fit([released, exact]).releases_ == []
    assert brief.fit([released, released]).releases_


def test_a_warm_start_from_exact_tables_promises_nothing(promised):
    """Parameters that exact tables left are where the fit to released ones begins."""
    _, released, exact = promised
    model = MaxEntClassifier(options=SolverOptions(max_iter=1), warm_start=True, random_state=0)
    assert model.fit(released).releases_
    assert len(model.fit(released).releases_) == 1
    model.fit(exact)
    assert model.fit(released).releases_ == []


def test_individuals_beside_released_tables_leave_no_promise(promised, world):
    """A fit to raw rows, or one that records how it scores them, depends on people whom no release covers."""
    frame = world[0]
    _, released, _ = promised
    names = list(released.domain.attributes)
    brief = MaxEntClassifier(options=SolverOptions(max_iter=1), random_state=0)
    assert brief.fit(released, rows=frame[names].head(50)).releases_ == []
    assert brief.fit(released, held_out=(frame.head(20), frame["label"].head(20))).releases_ == []
    assert brief.fit(released).releases_
    assert skyline(released, frame.head(200), frame["label"].head(200)).releases_ == []


def test_a_warm_start_from_rows_promises_nothing(promised, world):
    _, released, _ = promised
    model = MaxEntClassifier(options=SolverOptions(max_iter=1), warm_start=True, random_state=0)
    model.fit(released, rows=world[0][list(released.domain.attributes)].head(50))
    assert model.fit(released).releases_ == []
