"""The mathematics of collective graphical models: plain functions on arrays."""
