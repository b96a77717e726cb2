"""Counts over time and place

What an observer of a migration holds: noisy counts per cell and week, and no individual.
"""

from sumwise import synthetic
from sumwise.flows import CountsOverTime

season = synthetic.birds(3, 8, 1000, weights=(0.5, 1, 1, 1), random_state=0)
CountsOverTime([season.tables[f"t{t}"].counts for t in range(8)]).plot()
