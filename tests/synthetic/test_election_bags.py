import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from messages import raises
from sumwise import synthetic
from sumwise.errors import DataError, UnknownName


@pytest.fixture(scope="module")
def data():
    return synthetic.election(60, 200, n_classes=3, n_test=500, random_state=0)


def test_counts_and_totals_add_up(data):
    for c in range(3):
        np.testing.assert_array_equal(
            np.bincount(data.bags.bag_index[data.labels == c], minlength=60), data.counts[:, c]
        )
    np.testing.assert_array_equal(data.votes.sum(axis=1), data.bags.weights)
    np.testing.assert_array_equal(data.totals.sum(axis=0), data.votes.sum(axis=0))
    assert (data.votes[np.arange(len(data.labels)), data.labels] >= 1).all()
    assert (data.totals >= data.counts).all()


def test_probabilities_are_the_softmax_regression(data):
    logits = data.bags.values @ data.coefficients + data.intercepts
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(data.probabilities, p, rtol=1e-10)
    assert (data.region_effects == 0).all()
    assert (data.coefficients[:, 0] == 0).all()
    np.testing.assert_allclose(logits[:, 1:].std(axis=0), 1.5, rtol=0.02)
    np.testing.assert_allclose(logits.mean(axis=0), 0, atol=1e-9)


def test_labels_and_votes_are_draws_from_the_probabilities(data):
    n = len(data.labels)
    np.testing.assert_allclose(np.bincount(data.labels) / n, data.probabilities.mean(axis=0), atol=0.015)
    expected = (data.bags.weights[:, None] * data.probabilities).sum(axis=0)
    np.testing.assert_allclose(data.votes.sum(axis=0), expected, rtol=0.01)


def test_cells_margins_and_shares_tell_one_truth(data):
    cells, margins = data.cells("race"), data.margins("race")
    np.testing.assert_array_equal(cells.sum(axis=2), margins.rows)
    np.testing.assert_array_equal(margins.cols, data.totals)
    assert margins.col_names == ("R", "D", "no vote")
    shares = data.shares("race")
    np.testing.assert_allclose(
        shares[list(data.classes)].to_numpy(), cells.sum(axis=0) / cells.sum(axis=(0, 2))[:, None]
    )
    np.testing.assert_array_equal(shares["people"], cells.sum(axis=(0, 2)))
    by_state = data.shares("sex", "state")
    assert by_state["people"].sum() == data.totals.sum()
    assert set(by_state["state"]) <= set(range(28))


def test_frames_are_microdata(data):
    frame = data.frame()
    assert list(frame.columns[:4]) == ["region", "state", "weight", "age"]
    assert frame["education"].cat.categories.tolist() == ["high school", "some college", "college", "postgraduate"]
    np.testing.assert_array_equal(frame["vote"].cat.codes, data.labels)
    test = data.test_frame()
    assert len(test) == 500
    assert (test["weight"] == 1).all()


def test_oracle_recovers_the_truth_and_meets_the_bayes_accuracy():
    data = synthetic.election(100, 300, mean_weight=1, weight_spread=0, n_test=5000, random_state=1)
    assert not data.bags.weighted
    np.testing.assert_array_equal(data.counts, data.totals)
    model = LogisticRegression(max_iter=500).fit(data.bags.values, data.labels)
    accuracy = model.score(data.test_values, data.test_labels)
    np.testing.assert_allclose(accuracy, data.bayes_accuracy, atol=0.025)


def test_test_set_follows_the_people_not_the_rows():
    data = synthetic.election(40, 1000, separation=0.0, weight_spread=0.8, n_test=20_000, random_state=2)
    covariates = data.bags.values[:, :5]
    plain, weighted = covariates.mean(axis=0), np.average(covariates, axis=0, weights=data.bags.weights)
    got = data.test_values[:, :5].mean(axis=0)
    assert np.abs(plain - weighted).max() > 0.1
    np.testing.assert_allclose(got, weighted, atol=0.25 * np.abs(plain - weighted).max())


def test_region_effects_spread_the_counts():
    calm, rough = (synthetic.election(200, 300, region_effect=s, random_state=3) for s in (0.0, 1.0))

    def excess(data):
        p = np.add.reduceat(data.probabilities, data.bags.offsets[:-1], axis=0)[:, 1]
        flat = np.exp(data.bags.values @ data.coefficients + data.intercepts)
        q = np.add.reduceat(flat[:, 1] / flat.sum(axis=1), data.bags.offsets[:-1])
        return np.abs(p - q).mean()

    assert excess(calm) < 1e-9
    assert excess(rough) > 20
    np.testing.assert_allclose(rough.region_effects[:, 1].std(), 1, atol=0.15)


def test_sizes_may_differ_and_dtype_may_be_single():
    data = synthetic.election(3, [5, 1, 9], dtype="float32", n_test=1, random_state=0)
    assert data.bags.sizes.tolist() == [5, 1, 9]
    assert data.bags.values.dtype == np.float32
    assert data.counts.sum(axis=1).tolist() == [5, 1, 9]


def test_one_region_one_individual_many_classes():
    data = synthetic.election(1, 1, n_classes=5, n_test=1, random_state=0)
    assert data.classes == ("R", "D", "no vote", "class3", "class4")
    assert data.counts.sum() == 1


def test_same_seed_same_election():
    a, b = (synthetic.election(5, 10, n_test=5, random_state=9) for _ in range(2))
    np.testing.assert_array_equal(a.bags.values, b.bags.values)
    np.testing.assert_array_equal(a.votes, b.votes)
    np.testing.assert_array_equal(a.test_labels, b.test_labels)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_regions": 0}, ("must-least", "n_regions")),
        ({"n_individuals": 0}, ("must-least", "n_individuals")),
        ({"n_individuals": [1, 2, 3]}, ("n-individuals-sizes", 3, 1, 2)),
        ({"n_individuals": [1, 0]}, ("n-individuals-sizes", 0)),
        ({"n_individuals": [1, 1.5]}, ("not-whole-number",)),
        ({"n_classes": 1}, ("must-least", "n_classes")),
        ({"n_continuous": -1}, ("must-least", "n_continuous")),
        ({"n_categorical": -1}, ("must-least", "n_categorical")),
        ({"separation": 1.0}, ("separation-must-below",)),
        ({"signal": -1.0}, ("must-least", "signal")),
        ({"region_effect": -1.0}, ("must-least", "region_effect")),
        ({"mean_weight": 0.5}, ("must-least", "mean_weight")),
        ({"weight_spread": -1.0}, ("must-least", "weight_spread")),
        ({"n_test": 0}, ("must-least", "n_test")),
        ({"dtype": "int32"}, ("dtype-float-float",)),
    ],
)
def test_bad_parameters_are_refused(bad, message):
    with raises(DataError, *message):
        synthetic.election(**{"n_regions": 2, "n_individuals": 3, "n_test": 2, **bad})


def test_unknown_groups_are_refused(data):
    with raises(UnknownName, "no-did-you", "rase"):
        data.margins("rase")
    with raises(UnknownName, "there-is-no", "age"):
        data.shares("age")
    with raises(DataError, "nothing-group-name"):
        data.shares()


def test_no_sizes_at_all_are_refused():
    with raises(DataError, "n-individuals-sizes", 0, 3):
        synthetic.election(3, [])
