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
