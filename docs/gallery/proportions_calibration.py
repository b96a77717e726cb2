"""A classifier of individuals, learned from counts per bag

Predicted probabilities against how often the (hidden) label is 1, with two standard errors. The
likelihood of the counts is well calibrated here; the mean map is overconfident, and its fit warns of it.
"""

import warnings

from sumwise import synthetic
from sumwise.metrics import calibration
from sumwise.plots import plot_calibration
from sumwise.proportions import CardinalityClassifier, MeanMap

data = synthetic.election(80, 40, n_categorical=0, mean_weight=1, weight_spread=0, random_state=0)
models = {"counts": CardinalityClassifier(penalty=1.0), "mean map": MeanMap(penalty=1.0)}
shown = {}
warnings.filterwarnings("ignore", "Counts of the bags vary")  # the mean map's, seen in the figure
for name, model in models.items():
    model.fit(data.bags, data.counts[:, 1])
    shown[name] = calibration(data.test_labels, model.predict_proba(data.test_values)[:, 1], bins=8)
plot_calibration(shown)
