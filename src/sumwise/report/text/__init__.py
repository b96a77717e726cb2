"""The text of the report, one file per family: findings, certainty and assumptions in sentences, tables and figures."""
