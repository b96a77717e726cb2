"""Uncertainty of each group's share

The distribution of every group's overall share of the first option, from draws of the fitted method.
"""

from sumwise import synthetic
from sumwise.ecological import King
from sumwise.plots import plot_share_density, share_density_numbers

margins = synthetic.precincts(60, random_state=0).margins
plot_share_density(share_density_numbers(King(random_state=0).fit(margins), n_draws=500))
