"""The story of who voted for whom."""

from __future__ import annotations

from sumwise.demo.ecological import STORY


def test_estimates_are_near_the_truth_inside_their_intervals():
    lines: list[str] = []
    found = STORY.run(lines.append)
    assert "Who voted how is hidden" in lines[0]
    for finding in found:
        assert finding.low <= finding.truth <= finding.high
        assert abs(finding.estimated - finding.truth) < 0.15
