"""The story of aggregation."""

from __future__ import annotations

from sumwise.demo.aggregate import STORY


def test_aggregation_equals_a_count_by_hand():
    lines: list[str] = []
    findings = STORY.run(lines.append)
    assert len(findings) == 2
    for finding in findings:
        assert finding.estimated == finding.truth > 0
    assert any("city: levels, 5 levels" in line for line in lines)
