"""Estimators on Margins: the cells behind row and column totals."""
