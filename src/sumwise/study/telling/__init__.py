"""What the report says, one file per family: findings, certainty, assumptions, in words, tables and figures."""
