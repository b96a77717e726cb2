"""The story of bags with a response."""

from __future__ import annotations

from sumwise.demo.distribution import STORY


def test_the_whole_distribution_tells_more_than_its_mean_and_intervals_are_given():
    lines: list[str] = []
    findings = STORY.run(lines.append)
    means, whole = (
        float(x)
        for x in lines[1]
        .replace(".", ".")
        .rstrip(".")
        .split("R squared on other bags is ")[1]
        .split("; from the whole distribution, ")
    )
    assert whole > means
    assert all(f.covers is not None for f in findings)
