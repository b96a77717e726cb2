"""The story of the containers."""

from __future__ import annotations

from sumwise.demo.containers import STORY


def test_containers_agree_with_the_truth_and_refuse_a_slip():
    lines: list[str] = []
    (finding,) = STORY.run(lines.append)
    assert finding.estimated == finding.truth
    assert lines[-1].startswith("A slip in two precincts:  Row and column totals differ in 2 of 8 units.")
    assert any("Bags(bags=8" in line for line in lines)
