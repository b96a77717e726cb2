"""The report on components: what was learned, without claims about the world."""

from __future__ import annotations

from sumwise import synthetic
from sumwise.distribution import FourierEmbedding
from sumwise.report import report


def test_an_embedding_has_a_page_with_parameters_and_what_was_learned():
    data = synthetic.gamma(10, 5, random_state=0)
    found = report(FourierEmbedding(random_state=0).fit(data.bags), data.bags)
    assert found.title == "FourierEmbedding on 10 units"
    assert found.summary["findings"] == []
    assert len(found.frames["estimates"]) > 0
    assert "random_state" in str(found.summary["sections"])
