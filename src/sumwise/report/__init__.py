"""The report: what a fitted method found, as a summary (a dict for JSON), figures, tables and one offline page.

Names load when they are first used: reading a problem file needs one small module from here, not the drawing of pages.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sumwise.report.contests_page import contests_overview
    from sumwise.report.court import court_edition
    from sumwise.report.court_contests import ContestResult, court_edition_contests
    from sumwise.report.exports import export_figures, export_tables
    from sumwise.report.html import page
    from sumwise.report.model_report import Figure, Report, report
    from sumwise.report.summary import Summary

__all__ = [
    "ContestResult",
    "Figure",
    "Report",
    "Summary",
    "contests_overview",
    "court_edition",
    "court_edition_contests",
    "export_figures",
    "export_tables",
    "page",
    "report",
]

_MODULES = {
    "ContestResult": "court_contests",
    "Figure": "model_report",
    "Report": "model_report",
    "Summary": "summary",
    "contests_overview": "contests_page",
    "court_edition": "court",
    "court_edition_contests": "court_contests",
    "export_figures": "exports",
    "export_tables": "exports",
    "page": "html",
    "report": "model_report",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'sumwise.report' has no attribute {name!r}")
    return getattr(importlib.import_module(f"sumwise.report.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
