"""Synthetic rows on disk: the chunks of one draw, and tables that they agree with."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from sumwise import DataError, Table, Tables, synthetic
from sumwise.maxent import MaxEntClassifier
from sumwise.noise import Gaussian


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
    assert not (tmp_path / "rows.parquet.part").exists()


def test_the_file_says_what_noise_its_tables_had(world, tmp_path):
    _, _, pairs, model = world
    made = [Table(t.attributes, t.counts + 0.5, t.label_sums + 0.25, Gaussian(3.0)) for t in pairs]
    noisy = Tables(made, pairs.domain, n=6000, label="label", classes=pairs.classes)
    model.write_sample(tmp_path / "rows.parquet", 10, noisy, random_state=0)
    about = json.loads(pq.read_schema(tmp_path / "rows.parquet").metadata[b"sumwise"])
    assert about == {"rows": 10, "noise": [repr(Gaussian(3.0))]}
    assert len(model.write_sample(tmp_path / "rows.parquet", 10)) == 0


def test_other_levels_and_no_tables_are_refused(world, tmp_path):
    frame, names, _, model = world
    with pytest.raises(DataError, match="tables is a DataFrame"):
        model.write_sample(tmp_path / "rows.parquet", 10, frame)
    other = Tables.from_frame(frame[frame[names[0]] < 2], names, label="label")
    with pytest.raises(DataError, match="Levels of .* aren't those of the model"):
        model.write_sample(tmp_path / "rows.parquet", 10, other)
    assert not list(tmp_path.iterdir())
