"""The default model of counts over time, which `advise` names too."""

from __future__ import annotations

from sumwise import advise
from sumwise.collective import CountsOverTime, default_method


def test_advise_gives_the_default_and_its_reason():
    counts = CountsOverTime([[9, 1, 0], [4, 6, 0]])
    method, why = default_method(counts)
    assert why.startswith("2 times and 3 places")
    assert (advise(counts).method, advise(counts).why[0]) == (f"sumwise.collective.{method}", why)
