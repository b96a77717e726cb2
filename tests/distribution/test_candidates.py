import numpy as np

from sumwise import Bags, synthetic
from sumwise.distribution.candidates import default_candidates


def test_a_network_is_tried_where_bags_suffice():
    many, told = default_candidates(synthetic.gamma(300, 2, random_state=0).bags, "regression", 3)
    assert "DeepSets" in many
    assert not told
    few, reasons = default_candidates(synthetic.gamma(299, 2, random_state=0).bags, "regression", 3)
    assert "DeepSets" not in few
    assert "299 bags are few" in reasons[0]


def test_simplest_first_and_seeded():
    found, _ = default_candidates(synthetic.gamma(300, 2, random_state=0).bags, "regression", 3)
    assert next(iter(found)) == "means"
    assert list(found)[-1] == "DeepSets"
    assert {c.random_state for c in found.values()} == {3}


def test_long_fisher_vectors_and_large_gram_matrices_are_left_out():
    wide = Bags(np.random.default_rng(0).normal(size=(40, 60)), np.arange(41))
    found, reasons = default_candidates(wide, "regression", 0)
    assert "Fisher vector" not in found
    assert "3872 numbers for 40 bags" in reasons[0]
    many = Bags(np.zeros((20_001, 1)), np.arange(20_002))
    found, reasons = default_candidates(many, "regression", 0)
    assert "Wasserstein kernel" not in found
    assert "Kernels were not tried" in reasons[0]


def test_classes_get_classifiers():
    found, _ = default_candidates(synthetic.shapes(304, 5, random_state=0).bags, "classification", 3)
    assert found["DeepSets"].task == "classification"
    assert found["moments"].target == "classes"


def test_the_forest_of_classes_is_seeded_and_learns():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 120)
    rows = rng.normal(size=(120, 8, 3))
    rows[labels == 1, 0, 0] += 4.0
    bags = Bags.from_arrays(list(rows))
    found = [default_candidates(bags, "classification", seed)[0]["random forest"] for seed in (3, 3, 4)]
    chances = [forest.fit(bags[:90], labels[:90]).predict_proba(bags[90:]) for forest in found]
    np.testing.assert_array_equal(chances[0], chances[1])
    assert np.abs(chances[0] - chances[2]).max() > 0
    assert found[0].score(bags[90:], labels[90:]) > 0.8
    assert "random forest" not in default_candidates(bags, "regression", 3)[0]
