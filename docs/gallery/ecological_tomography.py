"""Tomography: what each precinct's totals allow

Every line is one precinct: all pairs of group shares that agree with its totals. Steep or flat lines are informative.
"""

from sumwise import synthetic

data = synthetic.precincts(60, random_state=0)
data.margins.plot()
