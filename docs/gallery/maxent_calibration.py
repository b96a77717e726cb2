"""A classifier of individuals, learned from tables

Predicted probabilities on rows that were never in the tables, against observed rates.
"""

from sumwise import synthetic
from sumwise.maxent import MaxEntClassifier, NaiveBayesTables
from sumwise.metrics import calibration
from sumwise.plots import plot_calibration

data = synthetic.rows(4000, random_state=0)
test = synthetic.rows(8000, random_state=0).frame().iloc[4000:]
tables, shown = data.tables(order=2), {}
for name, model in {"maximum entropy": MaxEntClassifier(random_state=0), "naive Bayes": NaiveBayesTables()}.items():
    probabilities = model.fit(tables).predict_proba(test[list(data.domain.attributes)])[:, 1]
    shown[name] = calibration(test["label"].to_numpy(), probabilities, bins=6)
plot_calibration(shown)
