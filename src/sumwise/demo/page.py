"""One page of all stories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

INTRO = (
    "One example per family, on generated data whose truth is known: what was estimated (dot), its interval (line) and "
    "what is true (cross). Intervals are at 95%, those of bags and birds at 90%: one in twenty, or in ten, should miss."
)
COVERS = {True: "The interval covers the truth.", False: "The interval misses the truth."}


def stories_page(stories: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of stories, as ``sumwise demo --json`` gives them.

    Parameters
    ----------
    stories : sequence of mappings
        ``name``, ``family``, ``lines``, ``findings`` (records of `Finding`) and perhaps ``figure``.

    Examples
    --------
    >>> from sumwise.demo.page import stories_page
    >>> finding = {"what": "heads", "estimated": 0.6, "truth": 0.5, "low": 0.3, "high": 0.9, "covers": True}
    >>> text = stories_page([{"name": "Ten coins", "family": "coins", "lines": ["Toss."], "findings": [finding]}])
    >>> '<h2 class="title">Ten coins</h2>' in text
    True
    """
    from sumwise.report import Summary, page
    from sumwise.report.summary import bullets, figure, finding

    covered = [f["covers"] for story in stories for f in story["findings"] if f["covers"] is not None]
    summaries = []
    for story in stories:
        lead, *steps = story["lines"]
        found = [
            finding(
                f["what"],
                f["estimated"],
                f.get("kind", "number"),
                (f["low"], f["high"]),
                f.get("level", 0.95),
                because=COVERS.get(f["covers"]),
                truth=f["truth"],
            )
            for f in story["findings"]
        ]
        summary = Summary(story["name"], story["family"], "", [lead], found)
        if story.get("figure"):
            summary.add("found", figure(*story["figure"]))
        if steps:
            summary.add("found", bullets([" ".join(line.split()) for line in steps], "Step by step"))
        summaries.append(summary.to_dict())
    intro = [INTRO, f"Here {sum(covered)} of {len(covered)} intervals cover the truth."] if covered else [INTRO]
    return page(*summaries, title="sumwise: the demo", intro=intro)
