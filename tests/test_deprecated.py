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


def test_contextual_warns_and_gives_what_the_new_test_has():
    from sumwise import diagnostics, synthetic
    from sumwise.ecological import aggregation_bias_test

    margins = synthetic.precincts(40, random_state=0).margins
    with pytest.warns(DeprecationWarning, match="is now sumwise.ecological.aggregation_bias_test"):
        found = diagnostics.contextual(margins)
    assert found[0]["p value"] == aggregation_bias_test(margins)["p value"][0]
    assert "contextual" not in diagnostics.__all__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'sumwise.errors' has no attribute 'nothing'"):
        renamed("sumwise.errors", {})("nothing")
