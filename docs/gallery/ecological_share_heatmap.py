"""Groups against options as a heat map

With many groups and options, a map of shares (in percent) is easier to read than bars.
"""

from sumwise import synthetic
from sumwise.ecological import EcologicalEM
from sumwise.plots import interval_numbers, plot_share_heatmap

margins = synthetic.precincts(150, 4, 5, random_state=0).margins
plot_share_heatmap(interval_numbers(EcologicalEM().fit(margins)))
