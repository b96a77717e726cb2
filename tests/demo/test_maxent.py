"""The story's findings are near their truth."""

from sumwise.demo.maxent import STORY


def test_findings_are_near_the_truth():
    said = []
    score, area, count, likeliest = STORY.run(said.append)
    assert abs(score.estimated - score.truth) < 0.01
    assert abs(area.estimated - area.truth) < 0.01
    assert abs(count.estimated - count.truth) < 0.05 * count.truth
    assert likeliest.covers
    assert len(said) == 3
