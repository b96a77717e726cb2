"""The story of privacy."""

from __future__ import annotations

from sumwise.demo.privacy import STORY


def test_budget_is_spent_once_and_the_noise_is_small():
    lines: list[str] = []
    (finding,) = STORY.run(lines.append)
    assert finding.estimated != finding.truth
    assert abs(finding.estimated - finding.truth) < 50
    assert any("has 0 left; 'the same table again'" in line for line in lines)
