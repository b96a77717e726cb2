"""Routes of single birds, drawn from the flows

No bird was followed; these are paths that agree with the counts.
"""

import matplotlib.pyplot as plt

from sumwise import synthetic
from sumwise.collective import TreeModel, map_counts
from sumwise.flows.routes import routes

plt.style.use("sumwise.plots.sumwise")
season = synthetic.birds(5, 8, 1000, weights=(0.5, 1, 1, 1), random_state=0)
fit = map_counts(TreeModel(season.domain, season.edges, season.log_potentials), season.tables)
fig, ax = plt.subplots(figsize=(5, 5))
ax.scatter(*season.positions.T, s=8, color="#a8a8a8")
for _, route in routes(fit, season.positions, 12, random_state=0).groupby("route_id"):
    ax.plot(route["x"], route["y"], alpha=0.6)
    ax.plot(*route[["x", "y"]].iloc[0], "o", color="#333333", markersize=4)  # where it starts
ax.set(xlabel="east", ylabel="north", aspect="equal")
