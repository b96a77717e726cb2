"""Coefficients with intervals, from counts alone

Dots are estimates from bag counts, crosses the coefficients that the data were drawn with.
"""

from sumwise import synthetic
from sumwise.plots import plot_subgroups
from sumwise.proportions import CardinalityClassifier

data = synthetic.election(80, 40, n_categorical=0, mean_weight=1, weight_spread=0, random_state=0)
model = CardinalityClassifier("linear").fit(data.bags, data.counts[:, 1])
found = model.draws().estimate().to_frame().iloc[:-1]
truth = dict(zip(map(str, data.bags.features), data.coefficients[:, 1]))
numbers = {"names": list(found["feature"]), "share": found["coefficient"], "low": found["low"], "high": found["high"]}
ax = plot_subgroups({**numbers, "truth": [truth.get(f, 0.0) for f in found["feature"]], "level": 0.95})
ax.set_xlabel("coefficient")
ax.xaxis.set_major_formatter("{x:g}")
