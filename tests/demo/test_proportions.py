"""The story of individuals from region counts."""

from __future__ import annotations

from sumwise.demo.proportions import STORY


def test_strangers_are_told_nearly_as_well_as_the_truth_allows():
    lines: list[str] = []
    accuracy, women = STORY.run(lines.append)
    assert accuracy.truth - accuracy.estimated < 0.1
    assert abs(women.estimated - women.truth) < 0.08
    assert women.covers
    assert "80 regions" in lines[0]
