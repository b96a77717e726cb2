"""Embeddings, bag kernels and estimators on bags with a response."""
