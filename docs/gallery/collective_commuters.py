"""Private commuting counts: noisy, true and recovered

Each dot is a pair of places; noise for privacy moves counts off the diagonal, the model brings them back.
"""

import matplotlib.pyplot as plt
import numpy as np

from sumwise import synthetic
from sumwise.collective import TreeModel, map_counts

plt.style.use("sumwise.plots.sumwise")
morning = synthetic.mobility((3, 4), 4, 20_000, scale=60.0, random_state=0)
fit = map_counts(TreeModel(morning.domain, morning.edges, morning.log_potentials), morning.edge_tables)
true = np.asarray(morning.edge_counts["t0", "t1"]).ravel()
fig, ax = plt.subplots(figsize=(5, 5))
ax.scatter(true, np.asarray(morning.edge_tables["t0", "t1"].counts).ravel(), s=14, color="#9a9a9a", label="released")
ax.scatter(true, np.asarray(fit.edges["t0", "t1"]).ravel(), s=14, color="#D55E00", label="recovered")
ax.axline((0, 0), slope=1, color="0.6", linestyle="--")
ax.set(xlabel="true count", ylabel="count")
ax.legend()
