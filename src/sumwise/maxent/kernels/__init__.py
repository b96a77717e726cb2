"""The mathematics of maximum entropy models: plain functions on arrays."""
