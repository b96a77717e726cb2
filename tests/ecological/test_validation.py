"""Validation against known truth."""

import numpy as np

from messages import raises
from sumwise import synthetic
from sumwise.datasets import Election
from sumwise.datasets.records import Contest
from sumwise.ecological import EcologicalEM, Goodman, MultinomialDirichlet, error_index, validate
from sumwise.errors import DataError


def contests(n=3, **more):
    made = [synthetic.precincts(40, 2, 3, random_state=seed) for seed in range(n)]
    return [Contest(f"c{k}", p.margins, total=np.asarray(p.total, float), **more) for k, p in enumerate(made)]


def test_index_is_the_percentage_in_the_wrong_cell():
    assert error_index([[5, 5], [5, 5]], [[5, 5], [5, 5]]) == 0
    assert error_index([[10, 0], [0, 10]], [[0, 10], [10, 0]]) == 100
    with raises(DataError, "estimate-shape-truth"):
        error_index([[1, 2]], [[1], [2]])


def test_table_has_a_row_per_contest_and_an_honest_summary():
    mixed = contests(2, dataset="NZ_2005") + contests(1, dataset="NZ_2008")
    done = validate(EcologicalEM(), mixed)
    assert len(done.frame) == 3
    assert done.frame["index"].between(0, 30).all()
    summary = done.summary().set_index("contests of")
    assert list(summary.index) == ["NZ_2005", "NZ_2008", "all"]
    assert summary["contests"].tolist() == [2, 1, 3]
    text = done.to_text()
    assert "EcologicalEM" in text


def test_coverage_counts_cells_and_failures():
    done = validate(Goodman(), contests())
    assert 0 < done.summary()["coverage"].iloc[-1] <= 1
    stuck = validate(MultinomialDirichlet(n_draws=20, max_draws=20, r_hat=1.00001), contests(1))
    assert stuck.frame["covered"].sum() == 0
    assert "chains don't agree" in stuck.frame["failed"][0]
    assert "Stopped after" in stuck.frame["warned"][0]
    assert "gave no interval" in stuck.to_text()


def test_contests_without_truth_are_refused():
    p = synthetic.precincts(10, random_state=0)
    with raises(DataError, "truth-isnt-known", "x"):
        validate(Goodman(), [Election("x", p.margins)])
    with raises(DataError, "no-contests-datasets"):
        validate(Goodman(), [])
