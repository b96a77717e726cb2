"""Shares, uncertainty and residuals on a map of units

A GeoJSON file of the units gives three maps: estimated shares, how wide their intervals are, and what the fit leaves.
"""

import matplotlib.pyplot as plt

from sumwise import synthetic
from sumwise.ecological import EcologicalEM
from sumwise.plots import map_numbers, plot_unit_map, unit_shapes

plt.style.use("sumwise.plots.sumwise")
margins = synthetic.precincts(64, 2, 2, random_state=0).margins
features = []
for k, unit in enumerate(margins.units):  # precincts on a grid; json.load gives the same from a file
    x, y = k % 8, k // 8
    square = [[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1], [x, y]]
    features.append({"properties": {"name": unit}, "geometry": {"type": "Polygon", "coordinates": [square]}})
shapes = unit_shapes({"type": "FeatureCollection", "features": features}, margins.units, "name")
est = EcologicalEM().fit(margins)
figure, axes = plt.subplots(1, 3, figsize=(9, 3.4))
for what, ax in zip(("share", "uncertainty", "residual"), axes):
    numbers = map_numbers(est, margins, shapes, margins.row_names[0], margins.col_names[0], what)
    plot_unit_map(numbers, ax=ax).set_title(what)
