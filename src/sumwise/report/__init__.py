"""The report: a summary (a dict for JSON) and the one offline page that is made of it."""

from sumwise.report.html import page
from sumwise.report.summary import Summary

__all__ = ["Summary", "page"]
