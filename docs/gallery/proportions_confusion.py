"""Hidden labels against predictions

Rows are the true classes of individuals that the method never saw; it learned from the counts of bags alone.
"""

from sumwise import synthetic
from sumwise.plots import confusion_numbers, plot_confusion
from sumwise.proportions import CardinalityClassifier

data = synthetic.election(80, 40, n_categorical=0, mean_weight=1, weight_spread=0, random_state=0)
model = CardinalityClassifier(penalty=1.0).fit(data.bags, data.counts[:, 1])
plot_confusion(confusion_numbers(data.test_labels, model.predict(data.test_values).astype(int), data.classes))
