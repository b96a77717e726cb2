"""The mathematics of distribution regression: plain functions on arrays."""
