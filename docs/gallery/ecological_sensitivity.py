"""How much aggregation bias would change a first choice

The lead of a group's first choice over the runner-up, as both rates are allowed to vary with precinct composition.
"""

from sumwise import synthetic
from sumwise.ecological import EcologicalEM, sensitivity_contours
from sumwise.plots import plot_sensitivity_contours

margins = synthetic.precincts(80, random_state=0).margins
grid = sensitivity_contours(EcologicalEM().fit(margins), margins, "group 1", steps=15)
plot_sensitivity_contours(grid)
