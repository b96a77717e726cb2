"""The mathematics: plain functions on arrays."""
