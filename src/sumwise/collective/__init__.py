"""Population models on trees: most likely flows and individual models from noisy counts."""
