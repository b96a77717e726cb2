import numpy as np
import pytest

from messages import raises
from sumwise import synthetic
from sumwise.errors import DataError
from sumwise.synthetic.statistics_bags import TASKS


def sample_covariance(x):
    return x.T @ x / len(x)


@pytest.mark.parametrize("task", TASKS)
def test_response_is_the_statistic_of_the_population(task):
    data = synthetic.statistics(task, 3, 200_000, dtype="float32", random_state=0)
    for x, response in zip(data.bags, data.response, strict=True):
        s = sample_covariance(x.astype(float))
        if task == "rotation":
            estimate = 0.5 * np.log(2 * np.pi * np.e * s[0, 0])
        elif task == "correlation":
            parts = (s[:16, :16], s[16:, 16:], s)
            a, b, whole = (np.linalg.slogdet(p)[1] for p in parts)
            estimate = 0.5 * (a + b - whole)
        else:
            estimate = 0.5 * (np.log(np.diag(s)).sum() - np.linalg.slogdet(s)[1])
        np.testing.assert_allclose(estimate, response, atol=0.2 if task == "random" else 0.02)


def test_rotation_turns_one_covariance():
    data = synthetic.statistics("rotation", 4, 100_000, random_state=1)
    assert data.parameter is not None
    assert data.base is not None
    assert ((data.parameter > 0) & (data.parameter < np.pi)).all()
    for x, angle in zip(data.bags, data.parameter, strict=True):
        r = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        np.testing.assert_allclose(sample_covariance(x), r @ data.base @ r.T, atol=0.02)


def test_correlation_blocks_share_the_base():
    data = synthetic.statistics("correlation", 2, 100_000, random_state=1)
    assert data.parameter is not None
    for x, a in zip(data.bags, data.parameter, strict=True):
        s = sample_covariance(x)
        np.testing.assert_allclose(s[:16, :16], data.base, atol=0.02)
        np.testing.assert_allclose(s[:16, 16:], a * np.asarray(data.base), atol=0.02)


def test_rank_one_has_a_unit_direction():
    data = synthetic.statistics("rank1", 2, 100_000, random_state=1)
    assert data.base is not None
    assert data.parameter is not None
    np.testing.assert_allclose(np.linalg.norm(data.base), 1)
    for x, scale in zip(data.bags, data.parameter, strict=True):
        np.testing.assert_allclose((x @ data.base).var(), 1 + scale, rtol=0.02)


def test_base_is_reused():
    train = synthetic.statistics("rotation", 2, random_state=0)
    test = synthetic.statistics("rotation", 2, base=train.base, random_state=1)
    np.testing.assert_array_equal(train.base, test.base)
    assert not np.array_equal(train.bags.values, test.bags.values)


@pytest.mark.parametrize("task", ["rotation", "correlation", "rank1"])
def test_bayes_beats_the_plug_in_estimate(task):
    data = synthetic.statistics(task, 300, 64, random_state=0)
    plug_in = []
    for x in data.bags:
        s = sample_covariance(x)
        if task == "rotation":
            plug_in.append(0.5 * np.log(2 * np.pi * np.e * s[0, 0]))
        elif task == "correlation":
            a, b, whole = (np.linalg.slogdet(p)[1] for p in (s[:16, :16], s[16:, 16:], s))
            plug_in.append(0.5 * (a + b - whole))
        else:
            plug_in.append(0.5 * (np.log(np.diag(s)).sum() - np.linalg.slogdet(s)[1]))
    assert data.bayes_error < np.mean((np.array(plug_in) - data.response) ** 2)
    assert data.bayes_error < data.response.var()


def test_bayes_is_the_posterior_mean_for_one_row():
    """With one row of the rank-one task, integrate the posterior directly."""
    data = synthetic.statistics("rank1", 1, 1, random_state=0)
    assert data.base is not None
    along = float(data.bags.values[0] @ data.base)
    grid = np.linspace(0, 1, 20_001)
    density = np.exp(-0.5 * np.log1p(grid) + 0.5 * along**2 * grid / (1 + grid))
    diagonal = 1 + grid[:, None] * data.base**2
    answer = 0.5 * (np.log(diagonal).sum(axis=1) - np.log1p(grid))
    np.testing.assert_allclose(data.bayes()[0], density @ answer / density.sum(), rtol=1e-4)


def test_random_task_has_no_bayes_predictor():
    data = synthetic.statistics("random", 2, random_state=0)
    assert data.parameter is None
    with raises(DataError, "bayes-predictor-random"):
        data.bayes()


def test_chunks_do_not_change_single_precision():
    data = synthetic.statistics("random", 300, 512, dtype=np.float32, random_state=0)
    assert data.bags.values.dtype == np.float32
    assert len(data.bags) == 300
    late = sample_covariance(data.bags[299].astype(float))  # in the second chunk
    estimate = 0.5 * (np.log(np.diag(late)).sum() - np.linalg.slogdet(late)[1])
    np.testing.assert_allclose(estimate, data.response[299], atol=1.5)


def test_same_seed_same_bags_and_one_bag_of_one():
    a, b = (synthetic.statistics("correlation", 1, 1, random_state=2) for _ in range(2))
    np.testing.assert_array_equal(a.bags.values, b.bags.values)
    assert a.bags.values.shape == (1, 32)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"task": "rotations"}, ("did-you-mean", "rotation")),
        ({"n_bags": 0}, ("must-least", "n_bags")),
        ({"bag_size": -1}, ("must-least", "bag_size")),
        ({"dtype": "int64"}, ("dtype-float-float", "int64")),
        ({"base": np.eye(3)}, ("base-shape-task", "(3, 3)")),
        ({"base": [[1.0, 2.0], [2.0, 1.0]]}, ("base-not-covariance",)),
        ({"task": "random", "base": np.eye(2)}, ("random-task-no",)),
    ],
)
def test_bad_parameters_are_refused(bad, message):
    with raises(DataError, *message):
        synthetic.statistics(**bad)
