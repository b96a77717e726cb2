"""The mathematics of label proportions: plain functions on arrays."""
