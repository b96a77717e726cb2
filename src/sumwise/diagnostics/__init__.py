"""The numbers behind every figure, one file per family; figures only draw them."""

from sumwise.diagnostics.ecological import interval_numbers, share_density, tomography, unit_scatter

__all__ = ["interval_numbers", "share_density", "tomography", "unit_scatter"]
