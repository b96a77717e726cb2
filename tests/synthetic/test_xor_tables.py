import numpy as np

from messages import raises
from sumwise import synthetic
from sumwise.errors import DataError


def test_rows_follow_the_definition():
    example = synthetic.xor(200_000, random_state=0)
    x, y = example.codes, example.labels
    np.testing.assert_array_equal(x[:, 2], x[:, 0] ^ x[:, 1])
    np.testing.assert_allclose(x.mean(axis=0), 0.5, atol=0.005)
    for level in (0, 1):
        np.testing.assert_allclose(y[x[:, 2] == level].mean(), 0.25 + 0.5 * level, atol=0.006)
    np.testing.assert_allclose(example.probability[:, :, 1], 0.75)


def test_tables_count_the_rows():
    example = synthetic.xor(1000, random_state=1)
    frame = example.frame()
    for pair in (("x1", "x2"), ("x1", "x3"), ("x2", "x3")):
        table = example.tables[pair]
        grouped = frame.groupby(list(pair))["y"]
        np.testing.assert_array_equal(table.counts.ravel(), grouped.count())
        np.testing.assert_array_equal(table.label_sums.ravel(), grouped.sum())
    assert example.tables.n == 1000


def test_expected_tables_are_those_of_independent_coins():
    example = synthetic.xor(8, random_state=0)
    for table in example.expected_tables:
        np.testing.assert_array_equal(table.counts, np.full((2, 2), 2.0))
    np.testing.assert_array_equal(example.expected_tables["x1", "x2"].label_sums, [[0.5, 1.5], [1.5, 0.5]])
    np.testing.assert_array_equal(example.expected_tables["x1", "x3"].label_sums, [[0.5, 1.5], [0.5, 1.5]])


def test_pairwise_prediction_is_the_maximum_entropy_answer():
    """Fit p(x, y) proportional to exp(all pairs and their crosses with y) to the expected tables by scaling."""
    example = synthetic.xor(4, random_state=0)
    joint = np.full((2, 2, 2, 2), 1 / 16)
    for _ in range(2000):
        for axes, pair in (((2,), ("x1", "x2")), ((1,), ("x1", "x3")), ((0,), ("x2", "x3"))):
            table = example.expected_tables[pair]
            wanted = np.stack([table.counts - table.label_sums, table.label_sums], axis=-1) / 4
            now = joint.sum(axis=axes)
            joint *= np.expand_dims(wanted / now, axes)
    predicted = joint[..., 1] / joint.sum(axis=-1)
    for x1, x2 in np.ndindex(2, 2):
        x3 = x1 ^ x2
        np.testing.assert_allclose(predicted[x1, x2, x3], example.pairwise_prediction[x3], atol=1e-6)


def test_same_seed_same_rows():
    a, b = (synthetic.xor(50, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(a.codes, b.codes)
    np.testing.assert_array_equal(a.labels, b.labels)


def test_one_row_works_and_none_is_refused():
    assert synthetic.xor(1, random_state=0).tables.n == 1
    with raises(DataError, "must-least", "n", 0):
        synthetic.xor(0)
