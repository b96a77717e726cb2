import numpy as np
import pytest

from messages import raises
from sumwise import Bags
from sumwise.distribution import DeepSets
from sumwise.distribution.set_presets import PRESETS
from sumwise.errors import DataError


@pytest.mark.parametrize("name", PRESETS)
def test_presets_run(name):
    pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")
    rng = np.random.default_rng(0)
    bags, y = Bags(rng.normal(size=(90, 2)), np.arange(0, 91, 3)), rng.normal(size=30)
    net = DeepSets.preset(name, max_epochs=1, schedule="cosine")
    net.fit(bags, y > 0 if net.task == "classification" else y)
    assert net.predict(bags).shape == (30,)


def test_settings_can_be_changed_and_names_are_checked():
    assert DeepSets.preset("gamma", phi=(3,)).network["phi"] == (3,)
    assert DeepSets.preset("gamma").network["rho"] == (75, 75)
    with raises(DataError, "is-takes", "name"):
        DeepSets.preset("epsilon")
