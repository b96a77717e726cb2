"""The story of the birds."""

from __future__ import annotations

import re

import pytest

from sumwise.demo.collective import STORY


@pytest.mark.check
def test_flights_are_close_to_the_truth_and_better_than_raw_counts():
    lines: list[str] = []
    findings = STORY.run(lines.append)
    for finding in findings:
        assert finding.estimated == pytest.approx(finding.truth, rel=0.15)
    plain, ours = re.findall(r"(\d+\.\d+) b", next(line for line in lines if "Mean error" in line))
    assert float(ours) < float(plain)
    low, high = map(int, re.findall(r"(\d+) to (\d+) birds", lines[-1])[0])
    assert low < findings[0].truth < high
    weights = [float(w) for w in re.findall(r"\d+\.\d", next(line for line in lines if "learned" in line))]
    assert weights[:3] == pytest.approx([5, 10, 10], rel=0.15)
