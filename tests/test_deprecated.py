"""Names that changed still work, and warn."""

import importlib

import pytest

from sumwise.deprecated import renamed

OLD_NAMES = {
    "sumwise.ecological": {"findings": "voting_patterns", "Findings": "VotingPatterns"},
    "sumwise.diagnostics": {"course": "training_curve"},
}


@pytest.mark.parametrize(
    ("package", "old", "new"), [(p, o, n) for p, names in OLD_NAMES.items() for o, n in names.items()]
)
def test_old_names_warn_and_give_the_new_object(package, old, new):
    module = importlib.import_module(package)
    with pytest.warns(DeprecationWarning, match=f"now called {package}.{new}"):
        assert getattr(module, old) is getattr(module, new)
    assert new in module.__all__
    assert old not in module.__all__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'sumwise.errors' has no attribute 'nothing'"):
        renamed("sumwise.errors", {})("nothing")
