"""A response per bag: predicted against actual

The Gamma task: bags of numbers, and the shape parameter that they were drawn with.
"""

from sumwise import synthetic
from sumwise.distribution import BagRidge, QuantileEmbedding
from sumwise.plots import plot_predicted, predicted_numbers

data = synthetic.gamma(160, 60, noise=0.0, random_state=0)
model = BagRidge(QuantileEmbedding()).fit(data.bags[:80], data.response[:80])
plot_predicted(predicted_numbers(data.response[80:], model.predict(data.bags[80:]), "shape parameter"))
