"""A contingency table of two attributes

Tables like this, with the label sums beside the counts, are all that the maximum entropy model is given.
"""

from sumwise import synthetic

synthetic.rows(3000, random_state=0).tables(order=2).plot()
