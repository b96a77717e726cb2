"""Goodman's regression, with each precinct's bounds

The line through the precincts is read off at 0 and 1; the vertical bars are what the totals imply without a model.
"""

from sumwise import synthetic
from sumwise.plots import plot_unit_scatter, unit_scatter_numbers

margins = synthetic.precincts(80, segregation=0.4, random_state=1).margins
plot_unit_scatter(unit_scatter_numbers(margins))
