"""Figures, one per file, each drawn from the numbers of diagnostics."""
