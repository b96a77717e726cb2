import pytest

from sumwise.distribution import FourierEmbedding, MomentEmbedding
from sumwise.distribution.sub_estimators import fresh
from sumwise.errors import DataError


def test_parts_are_copied_and_seeded_where_they_have_no_seed():
    given = FourierEmbedding(n_frequencies=3)
    part = fresh(given, FourierEmbedding, 5)
    assert part is not given
    assert (part.n_frequencies, part.random_state, given.random_state) == (3, 5, None)
    assert fresh(FourierEmbedding(random_state=1), FourierEmbedding, 5).random_state == 1
    assert isinstance(fresh(MomentEmbedding(), FourierEmbedding, 5), MomentEmbedding)


def test_other_objects_are_refused():
    with pytest.raises(DataError, match=r"embedding is of type int. Hint: give one such as FourierEmbedding\(\)"):
        fresh(3, FourierEmbedding, None)
