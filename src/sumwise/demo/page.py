"""One page of all stories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["stories_page"]

INTRO = (
    "Generated data with known truth, one example per family. Each ends with what was estimated, what is true, and "
    "whether the interval covers the truth. One 95% interval in twenty is expected to miss."
)


def stories_page(stories: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of stories, as ``sumwise demo --json`` gives them.

    Parameters
    ----------
    stories : sequence of mappings
        ``name``, ``family``, ``lines``, ``findings`` (records of `Finding`).

    Examples
    --------
    >>> from sumwise.demo.page import stories_page
    >>> finding = {"what": "heads", "estimated": 0.6, "truth": 0.5, "low": 0.3, "high": 0.9, "covers": True}
    >>> text = stories_page([{"name": "Ten coins", "family": "coins", "lines": ["Toss."], "findings": [finding]}])
    >>> '<h2 class="title">Ten coins</h2>' in text
    True
    """
    import pandas as pd

    from sumwise.diagnostics import finding_numbers
    from sumwise.report import Summary, page
    from sumwise.report.summary import figure, table

    everything = [{**f, "what": f"{story['family']}: {f['what']}"} for story in stories for f in story["findings"]]
    covered = [f["covers"] for f in everything if f["covers"] is not None]
    summaries = []
    for story in stories:
        summary = Summary(story["name"], story["family"], "", list(story["lines"]))
        frame: Any = pd.DataFrame(story["findings"])[["what", "estimated", "low", "high", "truth", "covers"]]
        frame["covers"] = ["" if c is None else "yes" if c else "no" for c in frame["covers"]]
        block = table(frame.rename(columns={"covers": "interval covers"}), "Estimated and true")
        numbers = finding_numbers(story["findings"])
        caption = "How far the estimates (dots) are from the truth (dashed), in percent of it, with their intervals."
        picture = figure("findings", numbers, caption, block) if len(numbers["names"]) else None
        summary.add("found", block, picture)
        summaries.append(summary.to_dict())
    intro = [INTRO, f"Here {sum(covered)} of {len(covered)} intervals cover the truth."] if covered else [INTRO]
    return page(*summaries, title="sumwise: the demo", intro=intro)
