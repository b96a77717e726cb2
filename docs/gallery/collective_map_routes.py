"""Routes on a map, with a scale bar

Routes that agree with weekly counts, coloured by week; orange dots are starts.
"""

import numpy as np

from sumwise import plots
from sumwise.flows import FlowModel, Movement, Places

lon, lat = (v.ravel() for v in np.meshgrid(np.arange(-100, -84, 3.0), np.arange(28, 46, 3.0)))
weeks = [np.exp(-0.04 * (lat - 29 - 1.5 * t) ** 2 - 0.02 * (lon + 95 - 0.6 * t) ** 2) for t in range(9)]
counts = np.random.default_rng(0).poisson([1000 * w / w.sum() for w in weeks])
flow = FlowModel(Places(lon=lon, lat=lat), Movement(1.0, 250.0)).fit(counts)
plots.plot_routes(plots.route_numbers(flow, 12))
