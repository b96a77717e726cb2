import numpy as np

from messages import raises
from sumwise import Bags
from sumwise.distribution.set_response import Response
from sumwise.errors import DataError

BAGS = Bags.from_arrays([[1.0], [2.0], [3.0]])


def test_numbers_are_standardised_and_restored():
    y = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]])
    seen = Response.learn("regression", BAGS, y)
    target = seen.encode(BAGS, y)
    np.testing.assert_allclose(target.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(target.std(axis=0), [1, 0])  # a constant response has scale 1
    np.testing.assert_allclose(seen.decode(target), y)
    assert not seen.flat


def test_shares_stay_and_come_back_by_the_logistic():
    seen = Response.learn("share", BAGS, [0.0, 0.5, 1.0])
    assert seen.flat
    assert seen.encode(BAGS, [0.0, 0.5, 1.0])[:, 0].tolist() == [0.0, 0.5, 1.0]
    assert seen.decode(np.array([[0.0], [40.0]]))[:, 0].tolist() == [0.5, 1.0]
    with raises(DataError, "shares-must-lie"):
        seen.encode(BAGS, [0.0, 0.5, 1.1])


def test_labels_of_any_kind_are_numbered():
    seen = Response.learn("classification", BAGS, ["b", "a", "b"])
    assert seen.encode(BAGS, ["b", "a", "b"]).tolist() == [1, 0, 1]
    np.testing.assert_allclose(seen.decode(np.array([[0.0, np.log(3.0)]])), [[0.25, 0.75]])
    more = Response.learn("classification", BAGS, [1, 1, 1], classes=[1, 2, 3])
    assert more.n_outputs == 3


def test_bad_responses_are_refused():
    with raises(DataError, "only-class", 1):
        Response.learn("classification", BAGS, [1, 1, 1])
    seen = Response.learn("classification", BAGS, ["b", "a", "b"])
    with raises(DataError, "y-class-not", "c"):
        seen.encode(BAGS, ["b", "a", "c"])
    with raises(DataError, "y-columns-network", 2, 1):
        Response.learn("regression", BAGS, [1.0, 2.0, 3.0]).encode(BAGS, np.ones((3, 2)))
