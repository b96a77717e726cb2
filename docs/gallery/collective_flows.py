"""The most likely flows behind the counts

Arrows are the mean moves out of each cell; their colour shows how many birds start there.
"""

from sumwise import synthetic
from sumwise.collective import TreeModel, map_counts
from sumwise.plots import flow_numbers, plot_flows

season = synthetic.birds(5, 6, 2000, weights=(0.5, 1, 1, 1), random_state=0)
fit = map_counts(TreeModel(season.domain, season.edges, season.log_potentials), season.tables)
plot_flows(flow_numbers(fit, ("t2", "t3"), season.positions))
