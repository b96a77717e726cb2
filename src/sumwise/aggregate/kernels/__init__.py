"""The mathematics of counting: plain functions on arrays."""
