"""Where a result comes from, as blocks of the page."""

from __future__ import annotations

from typing import Any

from sumwise.report.summary import SECTIONS, facts


def with_provenance(summary: dict[str, Any], provenance: dict[str, Any]) -> dict[str, Any]:
    """Return the summary with a last section that says how to get the same numbers.

    Parameters
    ----------
    summary : dict
        Of ``summary.json``.
    provenance : dict
        Of ``provenance.json``.

    Examples
    --------
    >>> from sumwise.report.provenance import with_provenance
    >>> facts = {"command": "sumwise fit p.toml", "seed": 0, "data": [], "versions": {}}
    >>> made = with_provenance({"sections": []}, facts)
    >>> made["sections"][0]["blocks"][0]["pairs"][0]
    ['command', 'sumwise fit p.toml']
    """
    shown = ("command", "method", "seed", "written", "seconds")
    blocks = [facts({key: provenance[key] for key in shown if key in provenance})]
    for data in provenance["data"]:
        blocks.append(facts({"file": data["file"], "bytes": data["bytes"], "SHA-256": data["sha256"]}))
    if provenance.get("options"):
        blocks.append(facts(provenance["options"], "Parameters of the method"))
    blocks.append(facts(provenance["versions"], "Versions"))
    if provenance.get("problem"):
        blocks.append({"kind": "source", "title": "The problem file", "text": provenance["problem"]})
    sections = [dict(section) for section in summary["sections"]]
    if not sections or sections[-1]["key"] != "provenance":
        sections.append({"key": "provenance", "title": SECTIONS["provenance"], "blocks": []})
    sections[-1]["blocks"] = [*sections[-1]["blocks"], *blocks]
    return {**summary, "sections": sections}
