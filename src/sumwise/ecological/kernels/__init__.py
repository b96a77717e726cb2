"""The mathematics of ecological inference: plain functions on arrays."""
