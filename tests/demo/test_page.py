"""The page of all stories."""

from __future__ import annotations

from sumwise.demo.page import stories_page


def test_every_story_has_its_article_and_names_are_text():
    finding = {"what": "<b>heads</b>", "estimated": 0.6, "truth": 0.5, "low": 0.3, "high": 0.9, "covers": True}
    bare = {"what": "tails", "estimated": 0.4, "truth": None, "low": None, "high": None, "covers": None}
    shown = ("predicted", {"actual": [1.0, 2.0], "predicted": [1.5, 2.0], "what": "toss"}, "Tosses.")
    told = [
        {"name": "Coins", "family": "coins", "lines": ["Toss."], "findings": [finding, bare], "figure": shown},
        {"name": "More", "family": "more", "lines": ["Again."], "findings": [bare]},
    ]
    text = stories_page(told)
    assert text.count("<article") == 2
    assert text.count("<figure") == 1
    assert text.count('class="truth"') == 1
    assert "1 of 1 intervals cover the truth" in text
    assert "<b>heads" not in text
