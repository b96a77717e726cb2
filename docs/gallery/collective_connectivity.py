"""Which regions exchange individuals

Rows are regions of departure: where their individuals were five weeks later.
"""

import numpy as np

from sumwise import plots
from sumwise.flows import FlowModel, Movement, Places

x, y = (v.ravel() for v in np.meshgrid(np.arange(6.0), np.arange(6.0)))
weeks = [np.exp(-0.3 * (x - t) ** 2 - 0.1 * (y - 3) ** 2) for t in range(6)]
counts = np.random.default_rng(0).poisson([2000 * w / w.sum() for w in weeks])
flow = FlowModel(Places(x=x, y=y), Movement(1.0, 0.8)).fit(counts)
plots.plot_connectivity(plots.connectivity_numbers(flow))
