"""Findings, stories, and what holds for every story of the folder."""

from __future__ import annotations

import math

import pytest

from sumwise.demo import Finding, Story, choose, stories
from sumwise.errors import UnknownName


@pytest.mark.parametrize(
    ("finding", "line", "covers"),
    [
        (Finding("x", 0.5), "x: estimated 0.5", None),
        (Finding("x", 0.5, truth=1234567.0), "x: estimated 0.5, truth 1.235e+06", None),
        (Finding("x", 0.5, low=0.4, high=0.6), "x: estimated 0.5 (0.4 to 0.6)", None),
        (
            Finding("x", 0.5, 0.6, 0.4, 0.6),
            "x: estimated 0.5 (0.4 to 0.6), truth 0.6, interval covers: yes",
            True,
        ),
        (
            Finding("x", 0.5, 0.7, 0.4, 0.6),
            "x: estimated 0.5 (0.4 to 0.6), truth 0.7, interval covers: no",
            False,
        ),
    ],
)
def test_finding_says_whether_the_interval_covers(finding, line, covers):
    assert finding.line() == line
    assert finding.covers is covers
    assert finding.record()["covers"] is covers


def test_choose_keeps_the_order_and_refuses_unknown_families():
    told = [Story("A", "a", lambda say: []), Story("B", "b", lambda say: [])]
    assert choose(told, ["b", "a"]) == told
    assert choose(told, ["b"]) == told[1:]
    with pytest.raises(UnknownName, match=r"no story of 'c'\. Hint: one of a, b\."):
        choose(told, ["a", "c"])


def test_stories_come_in_order_and_have_names_of_their_own():
    told = stories()
    assert [story.order for story in told] == sorted(story.order for story in told)
    assert len({story.name for story in told}) == len(told)


@pytest.mark.parametrize("story", stories(), ids=lambda story: story.family)
def test_every_story_says_the_same_twice_and_leaves_nothing(story, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    first, second = [], []
    findings = story.run(first.append)
    assert story.run(second.append) == findings
    assert first == second
    assert first
    assert findings
    for finding in findings:
        assert math.isfinite(finding.estimated)
    assert capsys.readouterr().out == ""  # a story speaks through say only
    assert list(tmp_path.iterdir()) == []
