"""The report: what a fitted method found, as a summary (a dict for JSON), figures, tables and one offline page."""

from sumwise.report.contests_page import contests_overview
from sumwise.report.court import court_edition
from sumwise.report.exports import export_figures, export_tables
from sumwise.report.html import page
from sumwise.report.model_report import Figure, Report, report
from sumwise.report.summary import Summary

__all__ = [
    "Figure",
    "Report",
    "Summary",
    "contests_overview",
    "court_edition",
    "export_figures",
    "export_tables",
    "page",
    "report",
]
