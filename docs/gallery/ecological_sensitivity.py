"""How much aggregation bias would change a first choice

The lead of a group's first choice over the runner-up, as both rates are allowed to vary with precinct composition.
"""

import matplotlib.pyplot as plt

from sumwise import synthetic
from sumwise.ecological import EcologicalEM, sensitivity_contours

margins = synthetic.precincts(80, random_state=0).margins
grid = sensitivity_contours(EcologicalEM().fit(margins), margins, "row0", steps=15)
fig, ax = plt.subplots(figsize=(5.5, 4.5))
filled = ax.contourf(grid["first_slope"], grid["second_slope"], grid["gap"].T, cmap="RdBu", levels=11)
ax.contour(grid["first_slope"], grid["second_slope"], grid["gap"].T, levels=[0], colors="black")
ax.set(xlabel=f"slope of {grid['first']}", ylabel=f"slope of {grid['second']}")
fig.colorbar(filled, label="lead")
