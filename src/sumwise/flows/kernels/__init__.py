"""Mathematics of flows: arrays in, arrays out."""
