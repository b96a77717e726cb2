"""Classifiers of individuals from class counts per bag."""
