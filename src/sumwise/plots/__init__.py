"""Figures, one per file, each drawn from the numbers of diagnostics."""

from sumwise.plots.font_cache import prepare_font_cache

prepare_font_cache()
