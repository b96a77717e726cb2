"""Convergence to a certified optimum

The objective by iteration; every fit also carries a bound on how far it can be from the optimum.
"""

from sumwise import synthetic
from sumwise.collective import TreeModel, map_counts
from sumwise.plots import plot_training_curve, training_numbers

season = synthetic.birds(5, 8, 1000, random_state=0)
model = TreeModel(season.domain, season.edges, season.log_potentials)
plot_training_curve(training_numbers({"MAP": map_counts(model, season.tables)}))
