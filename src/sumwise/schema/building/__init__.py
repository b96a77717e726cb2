"""Containers from frames whose columns are named: what `from_frame` and `Schema.read` do with arrays, checked once."""
