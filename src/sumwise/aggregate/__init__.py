"""Rows to containers: one plan, many engines."""
