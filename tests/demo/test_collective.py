"""The story of the birds."""

from __future__ import annotations

import re

import pytest

from sumwise.demo.collective import STORY


def test_flights_are_close_to_the_truth_and_better_than_raw_counts():
    lines: list[str] = []
    findings = STORY.run(lines.append)
    for finding in findings:
        assert finding.estimated == pytest.approx(finding.truth, rel=0.15)
    plain, ours = re.findall(r"(\d+\.\d+) b", lines[-1])
    assert float(ours) < float(plain)
