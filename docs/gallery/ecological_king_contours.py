"""King's model on the tomography lines

The fitted distribution of the two shares (contours) decides where on its line each precinct is likely to be.
"""

from sumwise import synthetic
from sumwise.ecological import King
from sumwise.plots import plot_tomography, tomography_numbers

margins = synthetic.precincts(60, segregation=0.3, random_state=0).margins
plot_tomography(tomography_numbers(margins, King(random_state=0).fit(margins)))
