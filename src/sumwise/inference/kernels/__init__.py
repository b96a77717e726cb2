"""Mathematics that two families or more share: plain functions on arrays."""
