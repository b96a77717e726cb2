"""Bags: the mean of a covariate against the size of the bag

The first look at bags: differences between the bags' means are what counts can be explained by.
"""

from sumwise import synthetic

synthetic.election(80, 40, random_state=0).bags.plot(x=0, y=1)
