"""The report on group behaviour from aggregate totals (ecological inference), a file for each part of the page."""

from sumwise.report.text.ecological.page import write as write
