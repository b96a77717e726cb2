"""Classifiers of individuals from contingency tables."""
