"""Who chose what: shares with intervals and bounds

Dots are estimates, blue lines 95% intervals, pale bars the bounds that hold whatever the model.
"""

from sumwise import synthetic
from sumwise.ecological import EcologicalEM

margins = synthetic.precincts(120, 2, 3, random_state=0).margins
EcologicalEM().fit(margins).estimate(0.95).plot()
